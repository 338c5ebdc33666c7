"""Files that are there whole or not at all."""

import os

import pytest

from regard.core.files import write_atomically


def test_an_error_names_the_file_that_was_asked_for(tmp_path):
    path = tmp_path / "nowhere" / "a.html"
    with pytest.raises(FileNotFoundError) as caught:
        write_atomically(path, b"new")
    assert caught.value.filename == str(path)


def test_a_name_as_long_as_can_be_is_written(tmp_path):
    path = tmp_path / ("a" * 255)
    write_atomically(path, b"new")
    assert path.read_bytes() == b"new"
    assert os.listdir(tmp_path) == [path.name]
