"""Sizes that nothing can be built with are refused where they are given."""

import pytest

from regard import layers, scores
from regard.core.sizes import check_sizes

WIDTHS = {"query_dim": 4, "key_dim": 6, "attn_dim": 8}


@pytest.mark.parametrize("size", [0, -3])
@pytest.mark.parametrize("name", ["query_dim", "key_dim", "attn_dim", "num_heads"])
def test_every_score_names_a_size_below_one(name, size):
    for score in (scores.Additive, scores.Concat, scores.Bilinear):
        if score is scores.Bilinear and name == "attn_dim":
            continue
        widths = {"query_dim": 4, "key_dim": 6} if score is scores.Bilinear else WIDTHS
        with pytest.raises(ValueError, match=rf"{score.__name__}: {name}={size}\. .*at least 1"):
            score(**widths | {name: size})


def test_scores_by_name_are_no_exception():
    with pytest.raises(ValueError, match=r"make_score: query_dim=0\. "):
        scores.make_score("dot", query_dim=0, key_dim=0)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: layers.MultiHeadAttention(8, 0), r"MultiHeadAttention: num_heads=0\. "),
        (lambda: layers.MultiHeadAttention(0, 2), r"MultiHeadAttention: embed_dim=0\. "),
        (lambda: layers.MultiHeadAttention(8, 2, key_dim=0), r"key_dim=0\. "),
        (lambda: layers.MultiHeadAttention(8, 2, output_dim=-1), r"output_dim=-1\. "),
        (lambda: layers.AdditiveAttention(**WIDTHS | {"attn_dim": 0}), r"attn_dim=0\. "),
        (lambda: layers.RecurrentEncoder(vocab_size=0, embed_dim=4, hidden_dim=3), "vocab_size=0"),
        (lambda: layers.RecurrentEncoder(vocab_size=9, embed_dim=4, hidden_dim=0), "hidden_dim=0"),
    ],
)
def test_every_layer_names_a_size_below_one(build, message):
    with pytest.raises(ValueError, match=message):
        build()


@pytest.mark.parametrize("size", [4.5, "4", None, True])
def test_a_size_is_a_whole_number(size):
    with pytest.raises(TypeError, match=r"Additive: key_dim=.* A size is a whole number"):
        check_sizes("Additive", query_dim=4, key_dim=size)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: layers.MultiHeadAttention(10**20, 1), r"MultiHeadAttention: embed_dim=10*\. "),
        (lambda: layers.MultiHeadAttention(128, 10**20), r"MultiHeadAttention: num_heads=10*\. "),
        (lambda: scores.Bilinear(query_dim=10**20, key_dim=2), r"Bilinear: query_dim=10*\. "),
        (
            lambda: scores.Additive(**WIDTHS | {"attn_dim": 2**20 + 1}),
            r"Additive: attn_dim=1048577",
        ),
        (lambda: scores.make_score("dot", query_dim=10**20, key_dim=10**20), "make_score: query"),
    ],
)
def test_a_size_beyond_any_model_is_refused_before_torch_overflows(build, message):
    with pytest.raises(ValueError, match=message + ".*Give at most 1,048,576"):
        build()


def test_the_largest_sizes_are_allowed():
    check_sizes("Encoder", vocab_size=10**8, hidden_dim=2**20, num_layers=1024, batch_size=10**9)
