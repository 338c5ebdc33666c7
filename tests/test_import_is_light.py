"""`import regard` loads lazy_loader and nothing else that is not Python's own."""

import functools
import os
import subprocess
import sys

ATTENDING = "import regard; regard.attend; regard.layers"


@functools.cache
def packages_loaded_by(code: str) -> set[str]:
    """The top-level packages beyond the standard library that `code` loads in a new Python."""
    program = (
        "import sys\n"
        "before = set(sys.modules)\n"
        f"{code}\n"
        "print(*{name.partition('.')[0] for name in set(sys.modules) - before})\n"
    )
    environment = {name: value for name, value in os.environ.items() if name != "EAGER_IMPORT"}
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=environment
    )
    assert ran.returncode == 0, ran.stderr
    return set(ran.stdout.split()) - sys.stdlib_module_names


def test_import_regard_loads_nothing_heavy():
    assert packages_loaded_by("import regard") == {"regard", "lazy_loader"}


def test_listing_the_public_names_loads_nothing_heavy():
    code = "import regard; dir(regard); regard.__all__; regard.__version__"
    assert packages_loaded_by(code) == {"regard", "lazy_loader"}


def test_this_check_can_fail():
    assert {"torch", "numpy"} <= packages_loaded_by(ATTENDING)


def test_attending_loads_no_extra_and_no_command_line():
    others = {"accelerate", "matplotlib", "numba", "rapidfuzz", "rich", "safetensors", "typer"}
    assert not others & packages_loaded_by(ATTENDING)


def test_the_reference_needs_only_numpy():
    loaded = packages_loaded_by("import regard; regard.reference")
    assert "numpy" in loaded
    assert "torch" not in loaded
