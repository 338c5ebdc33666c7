"""What `regard` and its packages promise is what they have. Ruff keeps each `__all__` sorted."""

import importlib
import pkgutil
from types import ModuleType

import pytest

import regard

PACKAGES = sorted(
    module.name for module in pkgutil.walk_packages(regard.__path__, "regard.") if module.ispkg
)


def promised(module: ModuleType) -> list[str]:
    return getattr(module, "__all__", [])


def leaks(module: ModuleType) -> set[str]:
    """Names that `dir` shows beyond `__all__`: neither private nor a module."""
    return {
        name
        for name in dir(module)
        if not name.startswith("_")
        and not isinstance(getattr(module, name), ModuleType)
        and name not in promised(module)
    }


def test_the_public_names_are_these():
    assert regard.__all__ == [
        "Attended",
        "Mask",
        "Trace",
        "__version__",
        "attend",
        "diagnose",
        "doctor",
        "faithfulness",
        "intervene",
        "layers",
        "masked_softmax",
        "models",
        "plots",
        "record",
        "recording",
        "reference",
        "scores",
        "search",
        "text",
        "training",
    ]


@pytest.mark.parametrize("name", regard.__all__)
def test_every_public_name_can_be_imported(name):
    namespace: dict[str, object] = {}
    exec(f"from regard import {name}", namespace)
    assert namespace[name] is getattr(regard, name)


def test_dir_shows_the_public_names_and_nothing_else():
    assert dir(regard) == sorted(regard.__all__)


def test_a_name_that_does_not_exist_is_an_attribute_error():
    with pytest.raises(AttributeError, match="attention_please"):
        regard.attention_please  # noqa: B018


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_has_what_its_all_promises_and_leaks_nothing(package):
    module = importlib.import_module(package)
    missing = {name for name in promised(module) if not hasattr(module, name)}
    assert not missing
    assert not leaks(module)


def test_a_leak_would_be_seen():
    module = ModuleType("leaky")
    module.__all__ = ["Kept"]
    module.Kept = module.Leaked = type("Class", (), {})
    assert leaks(module) == {"Leaked"}


def test_scores_is_core_scores_under_its_public_name():
    from regard.core import scores as core_scores

    assert regard.scores.__all__ == core_scores.__all__
    assert all(
        getattr(regard.scores, name) is getattr(core_scores, name) for name in core_scores.__all__
    )
