"""Multi-head attention against the formula worked by hand.

Of the collection of known faults: 59 (the scale is the root of a head's width), 63 (all widths may
differ), 73 (weights of each head, or their mean, on their own axes).
"""

import copy

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from regard import Mask, attend, reference, scores
from regard.core import dropout
from regard.layers import MultiHeadAttention
from regard.scores import NAMES, make_score
from tests.layers.multi_head_by_hand import by_hand, numbers, parameters, randomized

FREE = {"query_dim": 5, "key_dim": 7, "value_dim": 9, "output_dim": 11}
GENERATOR = torch.Generator()


def randn(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(shape, generator=GENERATOR.manual_seed(seed), dtype=torch.float64)


def inputs(query_dim: int = 5, key_dim: int = 7, value_dim: int = 9) -> list[torch.Tensor]:
    """Batch 2, 3 queries, 4 keys."""
    return [randn(2, 3, query_dim), randn(2, 4, key_dim, seed=1), randn(2, 4, value_dim, seed=2)]


def test_eight_heads_of_64_are_their_concatenation_times_w_o() -> None:
    layer = randomized(MultiHeadAttention(512, 8)).double()
    query, key, value = inputs(512, 512, 512)
    output, weights = layer(query, key, value, need_weights=True, average_attn_weights=False)

    (W_q, b_q), (W_k, b_k), (W_v, b_v), (W_o, b_o) = parameters(layer)
    for b in range(2):
        Q = numbers(query[b]) @ W_q + b_q
        K = numbers(key[b]) @ W_k + b_k
        V = numbers(value[b]) @ W_v + b_v
        heads = []
        for i in range(8):
            part = slice(64 * i, 64 * (i + 1))
            exp = np.exp(Q[:, part] @ K[:, part].T / 8.0)  # √64
            alpha = exp / exp.sum(axis=1, keepdims=True)
            assert_close(numbers(weights[b, i]), alpha)
            heads.append(alpha @ V[:, part])
        assert_close(numbers(output[b]), np.concatenate(heads, axis=1) @ W_o + b_o)


@pytest.mark.parametrize("may_attend", [None, Mask.lengths([4, 2])], ids=["all", "lengths"])
def test_it_is_the_references_multi_head_attention(may_attend: Mask | None) -> None:
    layer = randomized(MultiHeadAttention(12, 3, **FREE, bias=False)).double()
    query, key, value = inputs()
    output, weights = layer(
        query, key, value, may_attend=may_attend, need_weights=True, average_attn_weights=False
    )
    W_q, W_k, W_v, W_o = (W for W, _ in parameters(layer))
    for b, length in enumerate([4, 2] if may_attend is not None else [4, 4]):
        expected = reference.multi_head_attention(
            query[b], key[b], value[b], W_q, W_k, W_v, W_o, 3, may_attend=np.arange(4) < length
        )
        assert_close(numbers(output[b]), expected.context)
        assert_close(numbers(weights[b]), expected.weights)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("name", NAMES)
def test_every_score_at_every_width(name: str, bias: bool) -> None:
    layer = randomized(MultiHeadAttention(12, 3, score=name, bias=bias, **FREE)).double()
    grid = torch.rand(2, 3, 3, 4, generator=GENERATOR.manual_seed(3)) < 0.6
    for may_attend in (
        None,
        Mask.lengths([4, 2]),
        Mask.lengths([[1, 0, 4], [2, 3, 0]]),
        Mask.causal("end"),
        Mask.dense(grid[:, 0]),
        Mask.dense(grid),
    ):
        expected, of_heads = by_hand(layer, inputs(), may_attend)
        each = layer(
            *inputs(), may_attend=may_attend, need_weights=True, average_attn_weights=False
        )
        assert_close(each.output, expected)
        assert_close(each.weights, of_heads)
        mean = layer(*inputs(), may_attend=may_attend, need_weights=True)
        assert_close(mean.weights, of_heads.mean(dim=1))


@pytest.mark.parametrize("num_heads", [None, 3])
@pytest.mark.parametrize("name", NAMES)
def test_a_score_built_by_the_caller_has_its_own_heads_or_serves_all(
    name: str, num_heads: int | None
) -> None:
    score = make_score(name, query_dim=4, key_dim=4, attn_dim=6, num_heads=num_heads)
    layer = randomized(MultiHeadAttention(12, 3, score=score, **FREE)).double()
    assert layer.score is score
    expected, _ = by_hand(layer, inputs())
    assert_close(layer(*inputs()).output, expected)


def test_each_head_has_its_own_parameters() -> None:
    layer = MultiHeadAttention(12, 3, score="additive")
    assert layer.score.query_weight.shape == (3, 4, 4)
    assert layer.score.v.shape == (3, 4)


def identity(dim: int, score: scores.Score | str) -> MultiHeadAttention:
    """One head, and projections that change nothing."""
    layer = MultiHeadAttention(dim, 1, score=score, bias=False).double()
    with torch.no_grad():
        layer.input_projections.weight.copy_(torch.eye(dim).repeat(3, 1))
        layer.output_projection.weight.copy_(torch.eye(dim))
    return layer


@pytest.mark.parametrize("name", NAMES)
def test_one_head_with_identity_projections_is_the_plain_score(name: str) -> None:
    score = make_score(name, query_dim=6, key_dim=6, attn_dim=4).double()
    given = inputs(6, 6, 6)
    output, weights = identity(6, score)(*given, need_weights=True)
    plain = attend(*given, score=score, need_weights=True)
    assert_close(output, plain.context)
    assert_close(weights, plain.weights)


def test_one_head_with_identity_projections_is_luongs_general_attention() -> None:
    layer = identity(6, "general")
    query, key, _ = inputs(6, 6)
    output, weights = layer(query, key, key, need_weights=True)
    W = numbers(layer.score.weight[0])
    for b in range(2):
        for q in range(3):
            expected = reference.general_attention(query[b, q], key[b], W)
            assert_close(numbers(output[b, q]), expected.context)
            assert_close(numbers(weights[b, q]), expected.weights)


def test_scores_112_and_96_over_the_root_of_64_weigh_088_and_012() -> None:
    query = torch.full((1, 1, 64), 2.0).double()
    key = torch.stack([torch.full((64,), 0.875), torch.full((64,), 0.75)])[None].double()
    assert_close(query @ key.mT, torch.tensor([[[112.0, 96.0]]]).double())
    value = torch.zeros(1, 2, 64).double()
    value[0, 0, 0] = value[0, 1, 1] = 1.0
    output, weights = identity(64, "scaled_dot")(query, key, value, need_weights=True)
    assert weights.round(decimals=2).tolist() == [[[0.88, 0.12]]]
    assert output[0, 0, :3].round(decimals=2).tolist() == [0.88, 0.12, 0.0]


def test_the_tutorials_example() -> None:
    layer = MultiHeadAttention(128, 8)
    query, key = torch.randn(2, 5, 128), torch.randn(2, 10, 128)
    output, weights = layer(query, key, key, need_weights=True)
    assert output.shape == (2, 5, 128)
    assert weights.shape == (2, 5, 10)
    assert_close(weights.sum(dim=-1), torch.ones(2, 5))
    expected, of_heads = by_hand(layer, [query, key, key])
    assert_close(output.double(), expected, rtol=1e-5, atol=1e-6)
    assert_close(weights.double(), of_heads.mean(dim=1), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "same", ["all", "key and value", "query and key", "query and value", "none"]
)
@pytest.mark.parametrize("bias", [True, False])
def test_the_same_tensor_twice_gives_what_two_equal_tensors_give(same: str, bias: bool) -> None:
    """Shared inputs share one matrix product, and nothing else: forward and every gradient."""
    layer = randomized(MultiHeadAttention(6, 2, bias=bias)).double()
    x, y, z = (randn(2, 4, 6, seed=seed).requires_grad_() for seed in (0, 1, 2))
    given = {
        "all": (x, x, x),
        "key and value": (x, y, y),
        "query and key": (x, x, y),
        "query and value": (x, y, x),
        "none": (x, y, z),
    }[same]
    may_attend = Mask.lengths([4, 2])
    output = layer(*given, may_attend=may_attend).output
    expected, _ = by_hand(layer, list(given), may_attend)
    assert_close(output, expected)

    apart = layer(*(tensor.clone() for tensor in given), may_attend=may_attend).output
    leaves = [*set(given), *layer.parameters()]
    assert_close(
        torch.autograd.grad(output.sin().sum(), leaves),
        torch.autograd.grad(apart.sin().sum(), leaves),
    )


@pytest.mark.parametrize("sizes", [(3, 3, 3), (1, 1, 1), (1, 4, 2), (4, 1, 4)])
def test_coincident_sizes_are_no_special_case(sizes: tuple[int, int, int]) -> None:
    """Batch, heads and positions of one size; a batch of one; one head; one query."""
    batch, num_heads, length = sizes
    layer = randomized(MultiHeadAttention(4 * num_heads, num_heads)).double()
    x = randn(batch, length, 4 * num_heads)
    may_attend = Mask.lengths([length, *range(1, batch)]) & Mask.causal()
    output, weights = layer(
        x, x, x, may_attend=may_attend, need_weights=True, average_attn_weights=False
    )
    expected, of_heads = by_hand(layer, [x, x, x], may_attend)
    assert_close(output, expected)
    assert_close(weights, of_heads)


def test_dropout_happens_while_training_alone_and_spares_the_returned_weights() -> None:
    layer = randomized(MultiHeadAttention(6, 3, dropout=0.5)).double()
    given = inputs(6, 6, 6)
    expected, of_heads = by_hand(layer, given)
    assert_close(layer.eval()(*given).output, expected)

    torch.manual_seed(3)
    output, weights = layer.train()(*given, need_weights=True, average_attn_weights=False)
    assert_close(weights, of_heads)
    torch.manual_seed(3)
    keep = numbers(dropout.keep_mask(dropout.draw_seed(), 2, 3, 3, 4, 0.5))
    (_, _), (_, _), (W_v, b_v), (W_o, b_o) = parameters(layer)
    V = np.stack(np.split(numbers(given[2]) @ W_v + b_v, 3, axis=-1), axis=1)
    concat = np.concatenate(list(((numbers(of_heads) * keep / 0.5) @ V).swapaxes(0, 1)), axis=-1)
    assert_close(numbers(output), concat @ W_o + b_o)


@pytest.mark.parametrize("free", [FREE, {}])
def test_a_state_dict_restores_the_layer(free: dict[str, int]) -> None:
    layer = randomized(MultiHeadAttention(9, 3, score="concat", **free)).double()
    other = MultiHeadAttention(9, 3, score="concat", **free).double()
    given = inputs() if free else inputs(9, 9, 9)
    other.load_state_dict(layer.state_dict())
    assert_close(other(*given).output, layer(*given).output, rtol=0.0, atol=0.0)


def test_a_copy_is_the_same_layer_apart_from_the_original() -> None:
    layer = randomized(MultiHeadAttention(12, 3, score="general", **FREE)).double()
    before = layer(*inputs()).output
    other = copy.deepcopy(layer)
    assert_close(other(*inputs()).output, before, rtol=0.0, atol=0.0)
    with torch.no_grad():
        other.score.weight.zero_()
    assert_close(layer(*inputs()).output, before, rtol=0.0, atol=0.0)
    assert not torch.equal(other(*inputs()).output, before)


def test_a_new_layer_keeps_the_variance_of_its_inputs() -> None:
    """Glorot's bound for each of the three weights, not for the three together."""
    torch.manual_seed(0)
    for free in ({}, {"key_dim": 512, "value_dim": 128}):
        layer = MultiHeadAttention(256, 8, **free)
        for weight in (*layer.input_projections.weights(), layer.output_projection.weight):
            bound = (6.0 / sum(weight.shape)) ** 0.5
            assert weight.abs().max() <= bound
            assert_close(weight.std().item(), bound / 3.0**0.5, rtol=0.02, atol=0.0)
        assert not layer.input_projections.bias.any()
        assert not layer.output_projection.bias.any()
