"""The examples in docstrings run, and say what comes out."""

import doctest
import importlib
import pkgutil
from types import ModuleType

import pytest
import torch

import regard

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def modules() -> list[str]:
    found = pkgutil.walk_packages(regard.__path__, "regard.")
    return ["regard", *sorted(module.name for module in found if module.name != "regard.__main__")]


def examples_of(module: ModuleType) -> list[doctest.DocTest]:
    """The docstrings of a module that hold an example; what it imports is not its own."""
    return [test for test in doctest.DocTestFinder().find(module) if test.examples]


def failures_of(module: ModuleType) -> list[str]:
    """What each failing example of a module says, with what it should have said."""
    told: list[str] = []
    runner = doctest.DocTestRunner(optionflags=FLAGS, verbose=False)
    for test in examples_of(module):
        torch.manual_seed(0)
        runner.run(test, out=told.append)
    return told


@pytest.mark.parametrize("name", modules())
def test_every_example_gives_what_it_says(name):
    failures = failures_of(importlib.import_module(name))
    assert not failures, "".join(failures)


def test_there_are_examples():
    counts = {name: len(examples_of(importlib.import_module(name))) for name in modules()}
    assert sum(counts.values()) >= 50
    assert sum(count > 0 for count in counts.values()) >= 30


def test_a_wrong_example_would_be_seen():
    module = ModuleType("wrong")
    module.__doc__ = ">>> 1 + 1\n3"
    assert "Expected:\n    3" in "".join(failures_of(module))
