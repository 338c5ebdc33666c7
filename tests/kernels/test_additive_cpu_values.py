"""The numbers of additive_cpu: saturation, sizes that fill no block, NaN, dtypes, strides."""

from collections.abc import Callable
from itertools import product

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from regard import Mask, attend, scores
from regard.kernels.additive_cpu import ADDITIVE_CPU
from regard.kernels.additive_cpu.kernel import additive_attention
from tests.kernels.additive_by_hand import Inputs, by_hand, gradients, make

EXACT = {torch.float32: 1e-5, torch.float64: 1e-12}


def assert_answered(inputs: Inputs, dtype: torch.dtype) -> None:
    """Context, weights and lse of each query, and the gradients, against float64."""
    inputs = inputs.to(dtype)
    within = EXACT[dtype]
    wide = inputs.to(torch.float64)
    right, found = by_hand(wide), additive_attention(*inputs, need_weights=True)
    assert found.weights is not None
    assert found.lse is not None
    for name in ("context", "weights"):
        got, expected = (getattr(outputs, name).double() for outputs in (found, right))
        off = (got - expected).abs().amax(-1) / expected.abs().amax(-1)
        assert off.max() <= within, f"{name}: {off.max():.1e}"  # not of NaN either
    assert_close(found.lse.double(), right.lse, rtol=within, atol=within)
    with torch.no_grad():
        assert_close(additive_attention(*inputs).context, found.context, rtol=0.0, atol=0.0)

    expected = gradients(right, wide)
    for name, got, grad in zip(Inputs._fields, gradients(found, inputs), expected, strict=True):
        # what saturates, or cancels, is 0 to rounding of what was added up
        unsaturated = float(inputs.v.detach().abs().max()) * wide.query.shape[-2] ** 0.5
        atol = within * float(grad.abs().max()) + within / 20 * unsaturated
        assert_close(got.double(), grad, rtol=0.0, atol=atol, msg=lambda m, n=name: f"{n}: {m}")


def one_channel(tensor: Tensor, size: float) -> Tensor:
    tensor = tensor.detach().clone()
    tensor[..., 2] += size
    return tensor


SATURATED: dict[str, Callable[[Tensor, Tensor, float], tuple[Tensor, Tensor]]] = {
    "both": lambda query, key, size: (query * size, key * size),
    "large queries": lambda query, key, size: (query * size, key),
    "large keys": lambda query, key, size: (query, key * size),
    "terms that cancel": lambda query, key, size: (query + size, key - size),
    "terms that cancel, the other way": lambda query, key, size: (query - size, key + size),
    "one sign": lambda query, key, size: (query.abs() * size, key.abs() * size),
    "the other sign": lambda query, key, size: (-query.abs() * size, -key.abs() * size),
    "opposite signs": lambda query, key, size: (query.abs() * size, -key.abs() * size),
    "one channel": lambda query, key, size: (one_channel(query, size), one_channel(key, size)),
    "one channel cancels": lambda query, key, size: (
        one_channel(query, -size),
        one_channel(key, size),
    ),
    "one query": lambda query, key, size: (
        torch.cat([query[..., :2, :], query[..., 2:3, :] * size, query[..., 3:, :]], -2),
        key,
    ),
}


@pytest.mark.parametrize("dtype", EXACT)
@pytest.mark.parametrize("kind", SATURATED)
def test_saturation_is_exact(kind: str, dtype: torch.dtype) -> None:
    for query_len, size in product((6, 1), (0.0, 1.0, 10.0, 27.0, 40.0, 60.0, 1e2, 1e4)):
        inputs = make(query_len=query_len, key_len=35, dim=24)
        query, key = SATURATED[kind](inputs.query, inputs.key, size)
        # what is compared are the same rounded numbers: 1e4 + x has few digits of x
        rounded = Inputs(query.to(dtype), key.to(dtype), *inputs[2:])
        assert_answered(rounded, dtype)


@pytest.mark.parametrize("dtype", EXACT)
def test_every_sum_of_a_large_query_and_a_large_key_is_exact(dtype: torch.dtype) -> None:
    """Across the borders where exponentials overflow, vanish or are cut off; no rows mixed."""
    steps = torch.tensor([0.0, 1.0, 12.0, 27.4, 27.6, 39.0, 41.0, 43.0, 45.0, 88.0, 360.0, 1e4])
    steps = torch.cat([-steps.flip(0), steps]).double()
    query, key = steps[None, None, :, None], steps[None, None, :, None]
    inputs = Inputs(query, key, make(1, 1, 1, 24).value, torch.tensor([0.7]))
    assert_answered(inputs, dtype)
    assert_answered(inputs._replace(query=-query + 0.3, v=torch.tensor([-1.2])), dtype)


def test_a_sharp_row_sums_to_one() -> None:
    """Scores of ±4,000: the largest weighs 1, and none is NaN."""
    inputs = make(dim=8, dtype=torch.float32)
    inputs = inputs._replace(v=torch.full((8,), 500.0))
    weights = additive_attention(*inputs, need_weights=True).weights
    assert weights is not None
    assert_close(weights.sum(-1), torch.ones(2, 1, 5))
    assert torch.equal(weights.argmax(-1), by_hand(inputs).weights.argmax(-1))


@pytest.mark.parametrize("key_len", [1, 2, 15, 16, 17, 31, 33, 64, 65, 130])
def test_any_number_of_keys(key_len: int) -> None:
    for query_len in (1, 2, 3, 4, 5, 17):
        assert_answered(make(2, 2, query_len, key_len, own_v=True), torch.float64)
    assert_answered(make(query_len=17, key_len=key_len), torch.float32)


@pytest.mark.parametrize("dim", [1, 3, 4, 5, 130])
@pytest.mark.parametrize("value_dim", [1, 7])
def test_any_width(dim: int, value_dim: int) -> None:
    for dtype, own_v in product(EXACT, (False, True)):
        inputs = make(3, 2, 5, 18, dim, value_dim, own_v=own_v)
        # an average of one channel may be 0 to rounding, unless all are of one sign
        assert_answered(inputs._replace(value=inputs.value.abs()), dtype)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("size", [1.0, 40.0, 300.0])
def test_half_precision_is_computed_in_float32(dtype: torch.dtype, size: float) -> None:
    """Weights of one: the projections are the inputs, and only the results are rounded."""
    score = scores.Additive(query_dim=4, key_dim=4, attn_dim=4).to(dtype)
    with torch.no_grad():
        score.query_weight.copy_(torch.eye(4))
        score.key_weight.copy_(torch.eye(4))
    inputs = make(dim=4)
    inputs = Inputs(inputs.query * size, inputs.key * size, *inputs[2:]).to(dtype)
    inputs = inputs._replace(v=score.v.detach())
    query, key, value = (tensor.detach()[:, 0].requires_grad_() for tensor in inputs[:3])
    found = ADDITIVE_CPU.run(query, key, value, score=score, need_weights=True, need_lse=True)
    wide = inputs.to(torch.float64)
    right = by_hand(wide)
    rounding = 2 * torch.finfo(dtype).eps
    for got, expected in ((found.context, right.context), (found.weights, right.weights)):
        assert got.dtype == dtype
        assert_close(got.double(), expected[:, 0], rtol=rounding, atol=rounding / 8)
    assert_close(found.lse.double(), right.lse[:, 0], rtol=1e-5, atol=1e-5)
    same = attend(query, key, value, score=score).context
    assert_close(same, found.context, rtol=rounding, atol=rounding / 8)  # maybe another kernel
    grads = torch.autograd.grad(found.context.double().sum(), (query, key, value))
    rights = torch.autograd.grad(right.context.sum(), wide[:3])
    for got, expected in zip(grads, rights, strict=True):
        atol = 4 * rounding * float(expected.abs().max()) + 1e-6
        assert_close(got.double(), expected[:, 0], rtol=rounding, atol=atol)


def test_strides_do_not_matter() -> None:
    inputs = make(2, 3, 5, 18, own_v=True)
    moved = Inputs(*(tensor.detach().mT.contiguous().mT.requires_grad_() for tensor in inputs))
    batch_last = Inputs(*(t.detach().movedim(0, -1).contiguous().movedim(-1, 0) for t in inputs))
    right = by_hand(inputs)
    for strided in (moved, Inputs(*(t.requires_grad_() for t in batch_last))):
        found = additive_attention(*strided, need_weights=True)
        assert_close(tuple(found), tuple(right), rtol=1e-12, atol=1e-12)
        assert_close(gradients(found, strided), gradients(by_hand(inputs), inputs))
    nothing = inputs.query.new_zeros(1).expand(inputs.query.shape)
    found = additive_attention(nothing, *inputs[1:])
    right = by_hand(inputs._replace(query=torch.zeros_like(inputs.query)))
    assert_close(found.context, right.context, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("dtype", EXACT)
@pytest.mark.parametrize("junk", [torch.nan, torch.inf, -torch.inf])
def test_what_is_hidden_changes_nothing(dtype: torch.dtype, junk: float) -> None:
    """Of an example's 20 keys 13 are seen, and the second query sees none."""
    score = scores.Additive(query_dim=4, key_dim=4, attn_dim=3).to(dtype)
    lengths = torch.tensor([[13, 0, 9], [20, 0, 1]])
    clean = [torch.randn(2, length, 4, dtype=dtype) for length in (3, 20, 20)]
    dirty = [tensor.clone() for tensor in clean]
    dirty[0][:, 1] = junk
    dirty[1][0, 13:] = junk
    dirty[2][0, 13:] = junk
    found = []
    for tensors in (clean, dirty):
        leaves = [tensor.requires_grad_() for tensor in tensors]
        attended = ADDITIVE_CPU.run(
            *leaves, score=score, may_attend=Mask.lengths(lengths), need_weights=True, need_lse=True
        )
        grads = torch.autograd.grad(attended.context.sin().sum(), [*leaves, *score.parameters()])
        found.append([*attended, *grads])
    assert_close(found[1], found[0], rtol=EXACT[dtype], atol=EXACT[dtype] / 10)


@pytest.mark.parametrize("dtype", EXACT)
@pytest.mark.parametrize("need_weights", [False, True])
def test_a_visible_nan_is_seen_in_its_rows_alone(dtype: torch.dtype, need_weights: bool) -> None:
    inputs = make(2, 1, 4, 20, dtype=dtype)
    lengths = Mask.lengths(torch.tensor([[20, 5, 9, 12], [20, 20, 20, 20]]))
    query, key = inputs.query.detach().clone(), inputs.key.detach().clone()
    query[0, 0, 1, 3] = torch.nan  # of the query of 5 keys
    key[0, 0, 10, 2] = torch.nan  # seen by the queries of 20 and of 12 keys
    right = by_hand(inputs, lengths.dense_for(4, 20)[:, None])
    for changed, rows in ((dict(query=query), [1]), (dict(key=key), [0, 3])):
        found = additive_attention(
            *inputs._replace(**changed), may_attend=lengths, need_weights=need_weights
        )
        assert found.context[0, 0, rows].isnan().all()
        assert found.lse[0, 0, rows].isnan().all()
        clean = torch.ones(2, 1, 4, dtype=torch.bool)
        clean[0, 0, rows] = False
        assert_close(found.context[clean].double(), right.context[clean], rtol=1e-5, atol=1e-5)
        assert_close(found.lse[clean].double(), right.lse[clean], rtol=1e-5, atol=1e-5)


def test_the_only_visible_key_is_nan() -> None:
    """A row of which no score can be compared is NaN too, and not an empty one."""
    inputs = make(1, 1, 2, 17)
    key = inputs.key.detach().clone()
    key[..., 0, :] = torch.nan
    lengths = Mask.lengths(torch.tensor([[1, 0]]))
    found = additive_attention(*inputs._replace(key=key), may_attend=lengths)
    assert found.context[0, 0, 0].isnan().all()
    assert_close(found.context[0, 0, 1], torch.zeros(7).double(), rtol=0.0, atol=0.0)
    assert_close(found.lse[0, 0], torch.tensor([torch.nan, -torch.inf]).double(), equal_nan=True)
