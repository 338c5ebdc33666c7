"""What attend refuses, each with what was given, the rule, and the fix."""

import math

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from regard import Mask, attend, scores

Q, K, V = torch.ones(2, 3, 4), torch.ones(2, 5, 4), torch.ones(2, 5, 6)
Q4, K4, V4 = torch.ones(2, 7, 3, 4), torch.ones(2, 7, 5, 4), torch.ones(2, 7, 5, 6)
ADDITIVE = scores.Additive(query_dim=4, key_dim=8, attn_dim=5)
HEADS = scores.Bilinear(query_dim=4, key_dim=4, num_heads=6)

REFUSED = {
    "an array": (
        lambda: attend(Q.numpy(), K, V),
        TypeError,
        r"attend: query is a ndarray. It must be a torch tensor. .*torch.as_tensor\(query\)",
    ),
    "a list": (lambda: attend(Q, [[1.0]], V), TypeError, "attend: key is a list"),
    "no value": (lambda: attend(Q, K, None), TypeError, "attend: value is a NoneType"),
    "a bias that is no tensor": (lambda: attend(Q, K, V, bias=1.0), TypeError, "bias is a float"),
    "one axis": (
        lambda: attend(Q[0, 0], K, V),
        ValueError,
        r"query \(4,\), key \(2, 5, 4\), value \(2, 5, 6\) have 1, 3 and 3 axes.*unsqueeze\(-2\)",
    ),
    "five axes": (lambda: attend(Q4[None], K4[None], V4[None]), ValueError, "have 5, 5 and 5 axes"),
    "a batch of one query": (
        lambda: attend(Q[:1], K, V),
        ValueError,
        r"the batch axis is 1 in query, 2 in key and 2 in value. query \(1, 3, 4\).*\.expand\(",
    ),
    "a batch of one value": (lambda: attend(Q, K, V[:1]), ValueError, "2 in key and 1 in value"),
    "one head": (
        lambda: attend(Q4, K4[:, :1], V4),
        ValueError,
        "the heads axis is 7 in query, 1 in key and 7 in value",
    ),
    "length first": (
        lambda: attend(Q.transpose(0, 1), K.transpose(0, 1), V.transpose(0, 1)),
        ValueError,
        r"the batch axis is 3 in query, 5 in key.*\.transpose\(0, 1\) if these are length-first",
    ),
    "values of other positions": (
        lambda: attend(Q, K, V[:, :4]),
        ValueError,
        r"key has 5 positions but value has 4. query \(2, 3, 4\).*Each key needs its value",
    ),
    "two dtypes": (
        lambda: attend(Q, K.double(), V.half()),
        TypeError,
        r"query is float32, key float64, value float16.*\.to\(torch.float64\)",
    ),
    "whole numbers": (
        lambda: attend(Q.long(), K.long(), V.long()),
        TypeError,
        r"query is int64.*one floating-point dtype.*\.to\(torch.float32\)",
    ),
    "eight bits": (
        lambda: attend(*(t.to(torch.float8_e4m3fn) for t in (Q, K, V))),
        TypeError,
        r"query is float8_e4m3fn.*16 bits or more.*\.to\(torch.float32\)",
    ),
    "no keys to prepare": (
        lambda: ADDITIVE.prepare(None),
        TypeError,
        "prepare: key is a NoneType. It must be a torch tensor",
    ),
    "whole numbers to prepare": (
        lambda: scores.Dot().prepare(K.long()),
        TypeError,
        r"prepare: key \(2, 5, 4\) is int64.*\.to\(query.dtype\)",
    ),
    "lengths to prepare with": (
        lambda: scores.Dot().prepare(K, [5, 3]),
        TypeError,
        "may_attend is a list. It must be a Mask",
    ),
    "widths that a dot cannot compare": (
        lambda: attend(Q, torch.ones(2, 5, 8), V),
        ValueError,
        r"query has dim 4 but key has dim 8, and ScaledDot needs them equal.*Bilinear\(query_dim=4",
    ),
    "a query of width one": (
        lambda: attend(Q[..., :1], K, V, score=scores.Dot()),
        ValueError,
        "query has dim 1 but key has dim 4, and Dot needs them equal",
    ),
    "another key width than the score's": (
        lambda: attend(Q, K, V, score=ADDITIVE),
        ValueError,
        r"key has dim 4 but Additive was built with key_dim=8.*key_dim=4.*not swapped",
    ),
    "a query width one than the score's": (
        lambda: attend(Q[..., :1], torch.ones(2, 5, 8), V, score=ADDITIVE),
        ValueError,
        "query has dim 1 but Additive was built with query_dim=4",
    ),
    "heads for a score that has other heads": (
        lambda: attend(Q4, K4, V4, score=HEADS),
        ValueError,
        r"Bilinear has parameters for 6 heads.*Give tensors \(batch, 6, position, dim\)",
    ),
    "no heads for a score that has heads": (
        lambda: attend(Q, K, V, score=HEADS),
        ValueError,
        "Bilinear has parameters for 6 heads",
    ),
    "a score by name": (
        lambda: attend(Q, K, V, score="dot"),
        TypeError,
        r"score is a str. It must be a Score.*make_score\(name",
    ),
    "a score's class": (
        lambda: attend(Q, K, V, score=scores.Dot),
        TypeError,
        "score is the class Dot",
    ),
    "a 0/1 float mask": (
        lambda: attend(Q, K, V, may_attend=torch.ones(2, 3, 5)),
        TypeError,
        "A mask must be bool, True meaning 'may attend'",
    ),
    "lengths as a mask": (
        lambda: attend(Q, K, V, may_attend=[5, 3]),
        TypeError,
        r"may_attend is a list. It must be a Mask or a bool tensor.*Mask.lengths\(",
    ),
    "an array mask": (
        lambda: attend(Q, K, V, may_attend=np.ones((2, 3, 5), bool)),
        TypeError,
        "may_attend is a ndarray",
    ),
    "a mask that could mean two things": (
        lambda: attend(Q, torch.ones(2, 5, 4), V, may_attend=torch.ones(2, 5, dtype=torch.bool)),
        ValueError,
        r"could be \(batch, key\) or \(query, key\)",
    ),
    "a bool bias": (
        lambda: attend(Q, K, V, bias=torch.ones(2, 3, 5, dtype=torch.bool)),
        TypeError,
        r"bias has dtype bool, shape \(2, 3, 5\).*pass may_attend=",
    ),
    "a bias of one key": (
        lambda: attend(Q, K, V, bias=torch.ones(2, 3, 1)),
        ValueError,
        r"bias \(2, 3, 1\) does not fit scores \(2, 3, 5\) in exactly one way",
    ),
    "a bias that could mean two things": (
        lambda: attend(Q[:, :2], K, V, bias=torch.ones(2, 5)),
        ValueError,
        r"bias \(2, 5\) does not fit scores \(2, 2, 5\) in exactly one way.*bias\[None\]",
    ),
    "a bias with heads that are not there": (
        lambda: attend(Q, K, V, bias=torch.ones(1, 7, 3, 5)),
        ValueError,
        r"bias \(1, 7, 3, 5\) does not fit",
    ),
    "a bias of heads without batch": (
        lambda: attend(Q4, K4, V4, bias=torch.ones(7, 3, 5)),
        ValueError,
        r"bias \(7, 3, 5\) does not fit scores \(2, 7, 3, 5\)",
    ),
    "an unknown normalizer": (
        lambda: attend(Q, K, V, normalize="sparsemax_"),
        ValueError,
        r"normalize='sparsemax_' is unknown. Choose one of: softmax",
    ),
    "a dropout of one": (
        lambda: attend(Q, K, V, dropout_p=1.0),
        ValueError,
        "dropout_p=1.0. It is a probability, at least 0 and below 1",
    ),
    "a dropout of nan": (
        lambda: attend(Q, K, V, dropout_p=float("nan")),
        ValueError,
        "dropout_p=nan",
    ),
    "a negative dropout": (lambda: attend(Q, K, V, dropout_p=-0.1), ValueError, "dropout_p=-0.1"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_attend_refuses(name: str, as_a_user: None) -> None:
    call, error, text = REFUSED[name]
    with pytest.raises(error, match=text):
        call()


def test_an_axis_that_the_caller_expanded_is_welcome() -> None:
    expanded = attend(Q[:1].expand(2, -1, -1), K, V).context
    assert expanded.shape == (2, 3, 6)


@pytest.mark.parametrize(
    "shape",
    [(3, 5), (1, 5), (2, 3, 5), (1, 3, 5), (2, 1, 5), (1, 1, 5), (2, 7, 3, 5), (1, 7, 1, 5)],
)
def test_a_bias_may_have_size_one_where_it_serves_all(shape: tuple[int, ...]) -> None:
    generator = torch.Generator().manual_seed(0)
    query, key, value = (torch.randn(t.shape, generator=generator) for t in (Q4, K4, V4))
    bias = torch.randn(shape, generator=generator)
    full = bias[:, None] if bias.dim() == 3 else bias
    biased = attend(query, key, value, bias=bias).context
    assert_close(biased, attend(query, key, value, bias=full.expand(2, 7, 3, 5)).context)
    assert not torch.allclose(biased, attend(query, key, value).context)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.bfloat16])
def test_a_bias_of_another_float_dtype_is_taken(dtype: torch.dtype) -> None:
    bias = torch.tensor([[[0.0, 1.0, -2.0, 0.5, -torch.inf]]])
    for inputs in ((Q, K, V), (Q.half(), K.half(), V.half())):
        attended = attend(*inputs, bias=bias.to(dtype), need_weights=True)
        right = torch.softmax(bias, dim=-1).expand(2, 3, 5)
        assert attended.weights is not None
        assert attended.context.dtype == attended.weights.dtype == inputs[0].dtype
        assert_close(attended.weights.float(), right, rtol=0.0, atol=1e-3)


def test_a_bias_of_minus_infinity_throughout_makes_an_empty_row() -> None:
    bias = torch.zeros(2, 3, 5)
    bias[0, 1] = -torch.inf
    attended = attend(Q, K, V, bias=bias, need_weights=True)
    assert attended.weights is not None
    assert (attended.weights[0, 1] == 0).all()
    assert_close(attended.weights.sum(-1), torch.tensor([[1.0, 0.0, 1.0], [1.0, 1.0, 1.0]]))


def test_unbatched_inputs_give_unbatched_results() -> None:
    attended = attend(
        Q[0], K[0], V[0], may_attend=Mask.lengths([2]), need_weights=True, need_lse=True
    )
    assert attended.weights is not None
    assert attended.lse is not None
    assert attended.context.shape == (3, 6)
    assert attended.weights.tolist() == [[0.5, 0.5, 0.0, 0.0, 0.0]] * 3
    assert attended.lse.shape == (3,)


def test_non_contiguous_inputs_give_the_same_result() -> None:
    generator = torch.Generator().manual_seed(0)
    query, key, value = (torch.randn(t.shape, generator=generator) for t in (Q, K, V))
    strided = (t.transpose(0, 1).contiguous().transpose(0, 1) for t in (query, key, value))
    assert_close(attend(*strided).context, attend(query, key, value).context)


def test_the_inputs_are_left_alone() -> None:
    given = [t.clone() for t in (Q, K, V)]
    grid = torch.zeros(2, 3, 5, dtype=torch.bool)
    attend(*given, may_attend=grid, bias=torch.zeros(3, 5), dropout_p=0.5)
    for tensor, before in zip(given, (Q, K, V), strict=True):
        assert torch.equal(tensor, before)
    assert not grid.any()


def test_autocast_changes_nothing() -> None:
    score = scores.Additive(query_dim=4, key_dim=4, attn_dim=5)
    generator = torch.Generator().manual_seed(0)
    query, key, value = (torch.randn(t.shape, generator=generator) for t in (Q, K, V))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        inside = attend(query, key, value, score=score, need_weights=True)
        prepared = attend(query, score.prepare(key), value, score=score, need_weights=True)
    outside = attend(query, key, value, score=score, need_weights=True)
    assert_close(inside, outside, rtol=0.0, atol=0.0)
    assert_close(prepared, outside)


@pytest.mark.parametrize("name", ["additive", "concat", "dot", "general", "scaled_dot"])
def test_shapes_are_worked_out_on_meta(name: str) -> None:
    with torch.device("meta"):
        score = scores.make_score(name, query_dim=4, key_dim=4)
        query, key, value = (torch.empty_like(t, device="meta") for t in (Q, K, V))
        lengths = torch.ones(2, dtype=torch.long)
    for prepared in (key, score.prepare(key)):
        attended = attend(
            query, prepared, value, score=score, may_attend=Mask.lengths(lengths), need_weights=True
        )
        assert attended.context.is_meta
        assert attended.context.shape == (2, 3, 6)


def test_devices_that_differ_are_refused() -> None:
    query, key = torch.randn(1, 2, 4), torch.randn(1, 3, 4)
    for tensors in ((query, key.to("meta"), key), (query, key, key.to("meta"))):
        with pytest.raises(ValueError, match=r"attend: query is on cpu, .*meta.* \.to\('cpu'\)"):
            attend(*tensors)
    prepared = scores.Dot().prepare(key.to("meta"))
    with pytest.raises(ValueError, match=r"key on meta"):
        attend(query, prepared, key, score=prepared.score)


@pytest.mark.parametrize("name", ["additive", "concat", "general"])
def test_parameters_on_another_device_are_refused(name: str) -> None:
    query = torch.randn(1, 2, 4)
    score = scores.make_score(name, query_dim=4, key_dim=4).to("meta")
    refused = r"query is on cpu, but the parameters of \w+ are on meta\. .* score\.to\('cpu'\)"
    with pytest.raises(ValueError, match=refused):
        attend(query, query, query, score=score)
    with pytest.raises(ValueError, match=refused):
        score(query, query)


@pytest.mark.parametrize("scale", [math.nan, math.inf, -math.inf])
def test_a_scale_is_a_finite_number(scale: float) -> None:
    with pytest.raises(ValueError, match=r"ScaledDot: scale=.* must be a finite number"):
        scores.ScaledDot(scale)


def test_a_key_prepared_by_another_of_the_same_kind_is_said_to_be() -> None:
    x = torch.randn(1, 2, 4)
    with pytest.raises(ValueError, match=r"prepared by another Dot\(\), but score is Dot\(\)"):
        attend(x, scores.Dot().prepare(x), x, score=scores.Dot())
