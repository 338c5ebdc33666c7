"""What is built from the source distribution holds all it needs, seen where nothing else is."""

import importlib.util
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path

import pytest

import regard

PROJECT = Path(__file__).parents[1]

pytestmark = pytest.mark.slow


def run(*command: str | Path, cwd: Path) -> str:
    ran = subprocess.run(command, cwd=cwd, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """A wheel that was built from the unpacked source distribution, not from this folder."""
    folder = tmp_path_factory.mktemp("build")
    build = (sys.executable, "-m", "hatchling", "build", "--directory", folder)
    run(*build, "--target", "sdist", cwd=PROJECT)
    with tarfile.open(next(folder.glob("regard-*.tar.gz"))) as archive:
        archive.extractall(folder, filter="data")
    run(*build, "--target", "wheel", cwd=folder / f"regard-{regard.__version__}")
    return next(folder.glob("regard-*.whl"))


def test_the_wheel_holds_every_file_of_the_package(wheel):
    source = PROJECT / "src"
    expected = {
        path.relative_to(source).as_posix()
        for path in (source / "regard").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    held = set(zipfile.ZipFile(wheel).namelist())
    assert "regard/py.typed" in expected
    assert any(name.startswith("regard/text/data/") for name in expected)
    assert expected == {name for name in held if name.startswith("regard/")}


def test_the_wheel_imports_where_only_lazy_loader_is_installed(wheel, tmp_path):
    run(sys.executable, "-m", "venv", "--without-pip", "env", cwd=tmp_path)
    scripts = tmp_path / "env" / Path(sysconfig.get_path("scripts")).name
    python = scripts / "python"
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", python)
    run(*pip, "install", "--no-deps", "--no-index", wheel, cwd=tmp_path)
    lazy_loader = Path(importlib.util.find_spec("lazy_loader").origin).parent
    where = "import sysconfig; print(sysconfig.get_path('purelib'))"
    site_packages = Path(run(python, "-I", "-c", where, cwd=tmp_path).strip())
    shutil.copytree(lazy_loader, site_packages / "lazy_loader")
    program = (
        "import sys, regard\n"
        "from importlib.metadata import version\n"
        "assert 'torch' not in sys.modules\n"
        "assert version('regard') == regard.__version__\n"
        "print(regard.__file__)\n"
    )
    imported = Path(run(python, "-I", "-c", program, cwd=tmp_path).strip())
    assert imported.is_relative_to(tmp_path)
    assert list(scripts.glob("regard*")), "the command was not installed"
