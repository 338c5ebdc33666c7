"""Pairs beyond learned positions are found before a run begins, the longest by its text."""

import pytest

from regard.models import Side, Translator
from regard.text import Pair
from regard.training import TrainingOptions, train
from regard.training.lengths import check_lengths

SIZES = {"embed_dim": 4, "num_heads": 2, "encoder_layers": 1, "decoder_layers": 1}
PAIRS = [Pair("abcd", "A B"), Pair("ab", "A B C"), Pair("a", "")]  # both need 4 positions


def make_translator(**choices):
    sides = Side.build("characters", ["abcdef"]), Side.build("whitespace", ["A B C D"])
    return Translator.fresh(*sides, model="transformer", **SIZES | choices)


def test_a_position_for_each_token_and_the_begin_token_is_enough():
    check_lengths(make_translator(positions="learned", max_len=4), training=PAIRS, dev=[])


def test_other_positions_have_no_limit():
    check_lengths(make_translator(), training=[Pair("a" * 1000, "A " * 1000)])


@pytest.mark.parametrize(
    ("pair", "message"),
    [
        (Pair("abcdef", "A"), r"longest source of the dev pairs, 'abcdef', has 6 .* max_len=6, "),
        (Pair("a", "A B C D"), r"longest target of the dev pairs, 'A B C D', has 4 .* max_len=5, "),
    ],
)
def test_the_longest_and_what_it_needs_are_named(pair, message):
    translator = make_translator(positions="learned", max_len=4)
    with pytest.raises(ValueError, match=message):
        check_lengths(translator, training=PAIRS, dev=[*PAIRS, pair, *PAIRS])


@pytest.mark.parametrize("parts", [(PAIRS, [Pair("abcde", "A")]), ([Pair("abcde", "A")], PAIRS)])
def test_a_run_that_cannot_end_leaves_no_folder(tmp_path, parts):
    translator = make_translator(positions="learned", max_len=4)
    with pytest.raises(ValueError, match="has 5 tokens, with max_len=4"):
        train(translator, *parts, to=tmp_path / "m", options=TrainingOptions(epochs=1))
    assert not (tmp_path / "m").exists()
