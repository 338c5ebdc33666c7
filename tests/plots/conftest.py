"""A browser for the pages, where there is one."""

import os
import shutil

import pytest


@pytest.fixture(scope="session")
def browser():
    """The system's Chromium, without a window."""
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="playwright is not installed: pip install playwright"
    )
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        pytest.skip("no Chromium: apt install chromium")
    with playwright.sync_playwright() as running:
        # Chromium refuses to run as root inside its sandbox, as in a container.
        arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = running.chromium.launch(executable_path=chromium, args=arguments)
        yield browser
        browser.close()
