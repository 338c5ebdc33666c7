import hashlib
from importlib.resources import files
from itertools import combinations
from pathlib import Path

import pytest

from regard.text import DATASETS, Pair, load_dataset, read_pairs, references, split_by_source
from regard.text.cmudict import cmudict_pairs, read_dictionary

STANDARD_TEST = Path(__file__).parents[3] / "shared" / "data" / "cmudict-std" / "test.tsv"


@pytest.fixture(scope="module")
def cmudict():
    return load_dataset("cmudict")


@pytest.fixture(scope="module")
def plain(cmudict):
    return references(cmudict.train + cmudict.dev + cmudict.test)


@pytest.fixture(scope="module")
def stressed():
    return references(cmudict_pairs(stress=True))


def assert_no_source_is_in_two_parts(dataset):
    parts = [{pair.source for pair in part} for part in (dataset.train, dataset.dev, dataset.test)]
    for one, other in combinations(parts, 2):
        assert not one & other


def test_the_dictionary_is_the_published_file_with_its_licence():
    digest = hashlib.sha256(read_dictionary()).hexdigest()
    data = files("regard.text") / "data"
    assert f"`{digest}`" in (data / "README.md").read_text(encoding="utf-8")
    licence = (data / "LICENSE-CMUdict").read_text(encoding="utf-8")
    assert "Carnegie Mellon University" in licence
    assert "Redistribution and use" in licence


def test_variants_are_targets_of_one_word_and_comments_are_dropped(plain):
    assert plain["read"] == ["R EH D", "R IY D"]
    assert plain["aalborg"] == ["AO L B AO R G", "AA L B AO R G"]
    assert plain["'bout"] == ["B AW T"]
    phonemes = {
        phoneme for targets in plain.values() for target in targets for phoneme in target.split()
    }
    assert len(phonemes) == 39
    assert not any("(" in word or "#" in word for word in plain)


def test_stress_is_kept_on_request(stressed):
    assert stressed["'bout"] == ["B AW1 T"]


def test_pronunciations_that_differ_in_stress_alone_are_one(cmudict, plain, stressed):
    assert stressed["abstract"] == ["AE0 B S T R AE1 K T", "AE1 B S T R AE2 K T"]
    assert plain["abstract"] == ["AE B S T R AE K T"]
    pairs = cmudict.train + cmudict.dev + cmudict.test
    assert len(set(pairs)) == len(pairs)


def test_the_dictionary_is_split_by_word(cmudict):
    assert_no_source_is_in_two_parts(cmudict)
    sizes = [len(cmudict.train), len(cmudict.dev), len(cmudict.test)]
    assert sizes == [121_164, 6_807, 6_889]
    assert (cmudict.source_tokenizer, cmudict.target_tokenizer) == ("characters", "whitespace")


@pytest.mark.skipif(not STANDARD_TEST.exists(), reason="needs cmudict-std/test.tsv in shared/data")
def test_standard_test_words_have_a_standard_pronunciation(plain):
    standard = references(read_pairs(STANDARD_TEST))
    shared = [word for word in standard if word in plain]
    agreeing = [word for word in shared if set(standard[word]) & set(plain[word])]
    assert len(shared) > 0.95 * len(standard)
    assert len(agreeing) > 0.95 * len(shared)


def test_the_split_of_a_source_depends_on_nothing_else():
    pairs = [Pair(str(number), "x") for number in range(2000)]
    split = split_by_source(pairs)
    backwards = split_by_source(pairs[::-1])
    fewer = split_by_source(pairs[:500])
    for part, same_part, smaller_part in zip(split, backwards, fewer, strict=True):
        assert set(part) == set(same_part)
        assert 0 < len(set(smaller_part)) < len(part)
        assert set(smaller_part) <= set(part)


def test_fractions_of_a_split_are_met_roughly():
    pairs = [Pair(str(number), "x") for number in range(10_000)]
    sizes = [len(part) for part in split_by_source(pairs, dev_fraction=0.2, test_fraction=0.0)]
    assert sizes == pytest.approx([8000, 2000, 0], abs=100)
    assert sizes[2] == 0


def test_fractions_that_leave_nothing_to_train_on_are_an_error():
    with pytest.raises(ValueError, match=r"dev_fraction=0\.5, test_fraction=0\.5\. .* less than 1"):
        split_by_source([], dev_fraction=0.5, test_fraction=0.5)


@pytest.mark.parametrize(
    ("name", "solve"), [("copy", list), ("reverse", lambda s: s[::-1]), ("sort", sorted)]
)
def test_synthetic_targets_solve_the_task(name, solve):
    dataset = load_dataset(name, length=6, num_symbols=3, num_pairs=300)
    assert_no_source_is_in_two_parts(dataset)
    pairs = dataset.train + dataset.dev + dataset.test
    assert len(pairs) == 300
    for source, target in pairs:
        assert len(source.split()) == 6
        assert set(source.split()) <= set("abc")
        assert target.split() == solve(source.split())
    assert (dataset.source_tokenizer, dataset.target_tokenizer) == ("whitespace", "whitespace")


def test_synthetic_lengths_span_the_range():
    dataset = load_dataset("copy", length=9, min_length=4, num_pairs=500)
    assert {len(source.split()) for source, _ in dataset.train} == set(range(4, 10))


def test_the_seed_decides_synthetic_data():
    assert load_dataset("copy", seed=1) == load_dataset("copy", seed=1)
    assert load_dataset("copy", seed=1).train != load_dataset("copy", seed=2).train


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"length": 2, "num_symbols": 5}, r"make only 25 sequences .* give num_pairs <= 12\."),
        ({"length": 0}, r"length=0\. .* Give length >= 1"),
        ({"length": 3, "min_length": 4}, "lengths from 4 to 3"),
        ({"num_symbols": 27}, r"num_symbols=27\. .* Give 1 to 26"),
        ({"length": 10**9}, r"length=1\d+ and num_pairs=10000 make .* at most 20,000,000"),
        ({"num_pairs": 0}, r"num_pairs=0\. Give at least 1"),
        ({"num_pairs": 2}, r"copy: num_pairs=2 leaves a part of it empty\. .* num_pairs >= 200"),
        ({"stress": True}, r"stress=True was given for copy, .* copy takes length, min_length"),
    ],
)
def test_impossible_synthetic_data_is_an_error(options, problem):
    with pytest.raises(ValueError, match=problem):
        load_dataset("copy", **options)


def test_an_option_of_another_data_set_is_an_error():
    with pytest.raises(ValueError, match=r"length=5 was given .* takes stress\. Leave length out"):
        load_dataset("cmudict", length=5)


def test_an_unknown_data_set_is_an_error_that_lists_the_names():
    assert list(DATASETS) == ["cmudict", "copy", "reverse", "sort"]
    with pytest.raises(ValueError, match="Choose one of cmudict, copy, reverse, sort, or read"):
        load_dataset("mnist")
