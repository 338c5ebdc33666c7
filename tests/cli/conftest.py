"""One tiny model, trained once through the command line itself."""

import random

import pytest

from tests.cli.command import TINY, run

PHONEMES = {"a": "AH", "b": "B", "c": "K", "d": "D", "é": "ɛ"}


def _words(seed, num_words):
    draw = random.Random(seed)
    return ["".join(draw.choices("abcdé", k=draw.randint(1, 5))) for _ in range(num_words)]


def _pairs_file(path, words):
    lines = [f"{word}\t{' '.join(PHONEMES[letter] for letter in word)}\n" for word in words]
    path.write_text("".join(lines), encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def data(tmp_path_factory):
    """A folder with train.tsv, dev.tsv and test.tsv."""
    folder = tmp_path_factory.mktemp("data")
    for seed, (name, num_words) in enumerate({"train": 48, "dev": 10, "test": 12}.items()):
        _pairs_file(folder / f"{name}.tsv", _words(seed, num_words))
    return folder


@pytest.fixture(scope="session")
def files(data):
    """The arguments that train on that folder's files, and at tiny sizes."""
    return (data / "train.tsv", "--dev", data / "dev.tsv", *TINY)


@pytest.fixture(scope="session")
def model(files, tmp_path_factory):
    """A model's folder. No test may change it."""
    folder = tmp_path_factory.mktemp("models") / "model"
    wider = ("--hidden-dim", 24, "--dropout", 0, "--learning-rate", 0.02)
    ran = run("train", *files, "--to", folder, "--epochs", 30, *wider)
    assert ran.status == 0, ran.err
    return folder


@pytest.fixture(scope="session")
def blind_model(files, tmp_path_factory):
    """A model without attention."""
    folder = tmp_path_factory.mktemp("models") / "blind"
    ran = run("train", *files, "--to", folder, "--epochs", 1, "--attention", "none")
    assert ran.status == 0, ran.err
    return folder
