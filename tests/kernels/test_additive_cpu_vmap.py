"""additive_cpu under torch.vmap, beside the loop that it stands for."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from regard import Mask, attend, scores
from regard.core.attend import attend_reference
from regard.kernels import Request
from regard.kernels.additive_cpu import ADDITIVE_CPU, batched, kernel
from regard.kernels.additive_cpu.kernel import additive_attention
from tests.kernels.additive_by_hand import by_hand, make

NUM = 3
MASKS: dict[str, Callable[[int], Mask | None]] = {
    "none": lambda query_len: None,
    "lengths": lambda query_len: Mask.lengths([30, 0, *[17] * (BATCH[query_len] - 2)]),
    "segments": lambda query_len: Mask.segments(torch.arange(query_len) % 3, torch.arange(30) % 4),
    "dense": lambda query_len: Mask.dense(
        torch.rand(query_len, 30, generator=torch.Generator().manual_seed(1)) < 0.5
    ),
}
BATCH = {20: 2, 1: 40}
"""With as many queries, so many examples that it pays."""


@pytest.fixture(autouse=True)
def _it_pays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "PAYS_WITH_GRAD_FROM", kernel.PAYS_FROM)


def tensors(query_len: int) -> list[Tensor]:
    shapes = (query_len, 4), (30, 6), (30, 5)
    torch.manual_seed(0)
    return [
        torch.randn(NUM, BATCH[query_len], *shape, dtype=torch.float64, requires_grad=True)
        for shape in shapes
    ]


def watched(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many were asked for at once, call by call."""
    calls: list[int] = []
    each = batched.each

    def watching(function: Any, num: int, *others: Any) -> tuple[Tensor, ...]:
        calls.append(num)
        return each(function, num, *others)

    monkeypatch.setattr(batched, "each", watching)
    return calls


def score_of(num_heads: int | None = None) -> scores.Additive:
    return scores.Additive(query_dim=4, key_dim=6, attn_dim=32, num_heads=num_heads).double()


@pytest.mark.parametrize("query_len", [20, 1])
@pytest.mark.parametrize("kind", MASKS)
@pytest.mark.parametrize("axes", [(0, 0, 0), (0, None, None), (None, 0, 0)], ids=str)
def test_vmap_gives_the_loops_values_and_gradients(
    monkeypatch: pytest.MonkeyPatch, axes: tuple[int | None, ...], kind: str, query_len: int
) -> None:
    calls = watched(monkeypatch)
    score, may_attend = score_of(), MASKS[kind](query_len)
    given = [
        tensor if axis == 0 else tensor.detach()[0].requires_grad_()
        for tensor, axis in zip(tensors(query_len), axes, strict=True)
    ]

    def both(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, ...]:
        found = attend(
            query, key, value, score=score, may_attend=may_attend, need_weights=True, need_lse=True
        )
        assert found.weights is not None
        assert found.lse is not None
        return found.context, found.weights, found.lse

    outputs = torch.vmap(both, axes)(*given)
    assert calls == [NUM]
    loop = [
        both(*(t[n] if axis == 0 else t for t, axis in zip(given, axes, strict=True)))
        for n in range(NUM)
    ]
    rights = [torch.stack(parts) for parts in zip(*loop, strict=True)]
    assert_close(outputs, tuple(rights), rtol=1e-12, atol=1e-12)
    leaves = [*given, *score.parameters()]
    found = torch.autograd.grad(outputs[0].sin().sum() + outputs[1].square().sum(), leaves)
    right = torch.autograd.grad(rights[0].sin().sum() + rights[1].square().sum(), leaves)
    assert_close(found, right, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("num_heads", [None, 2])
@pytest.mark.parametrize("query_len", [20, 1])
def test_gradients_in_batches_are_those_one_by_one(
    monkeypatch: pytest.MonkeyPatch, query_len: int, num_heads: int | None
) -> None:
    calls = watched(monkeypatch)
    score = score_of(num_heads)
    leaves = [tensor.detach()[0] for tensor in tensors(query_len)]
    if num_heads:
        leaves = [torch.stack([leaf, -leaf], 1) for leaf in leaves]
    leaves = [leaf.requires_grad_() for leaf in leaves]
    context = attend(*leaves, score=score).context
    slopes = torch.randn(NUM, *context.shape, dtype=torch.float64)
    wanted = [*leaves, *score.parameters()]

    def grads(one: Tensor) -> tuple[Tensor, ...]:
        return torch.autograd.grad(context, wanted, one, retain_graph=True)

    together = torch.vmap(grads)(slopes)
    assert calls == [NUM]
    rights = tuple(torch.stack(parts) for parts in zip(*map(grads, slopes), strict=True))
    assert_close(together, rights, rtol=1e-10, atol=1e-12)


def test_each_may_have_its_own_v() -> None:
    """As an ensemble has it."""
    inputs = [make(2, 2, 4, 9, own_v=True, seed=seed) for seed in range(NUM)]
    stacked = [torch.stack(parts) for parts in zip(*inputs, strict=True)]

    def context(*given: Tensor) -> Tensor:
        return additive_attention(*given).context

    rights = torch.stack([by_hand(given).context for given in inputs])
    assert_close(torch.vmap(context)(*stacked), rights, rtol=1e-12, atol=1e-12)
    last = [tensor.movedim(0, -1) for tensor in stacked]
    assert_close(torch.vmap(context, -1, -1)(*last), rights.movedim(0, -1), rtol=1e-12, atol=1e-12)


def test_dropout_is_the_same_in_each_where_asked() -> None:
    score = score_of()
    query, key, value = (tensor.detach() for tensor in tensors(20))

    def dropped(*given: Tensor) -> Tensor:
        return attend(*given, score=score, dropout_p=0.4).context

    torch.manual_seed(5)
    found = torch.vmap(dropped, randomness="same")(query, key, value)
    for n in range(NUM):
        torch.manual_seed(5)
        assert_close(found[n], dropped(query[n], key[n], value[n]), rtol=1e-12, atol=1e-12)


def test_other_transforms_are_left_to_the_reference() -> None:
    request = Request((2, 99, 64), (2, 99, 64), (2, 99, 64), torch.float32, "cpu", "Additive", None)
    assert not ADDITIVE_CPU.refusals(request._replace(is_transformed=True, is_only_vmapped=True))
    assert ADDITIVE_CPU.refusals(request._replace(is_transformed=True)) == [
        "of torch.func and forward mode, only vmap can transform it"
    ]
    score = score_of()
    query, key, value = (tensor.detach() for tensor in tensors(20))

    def loss(*given: Tensor) -> Tensor:
        return attend(*given, score=score).context.sin().sum()

    def right(*given: Tensor) -> Tensor:
        return attend_reference(*given, score=score).context.sin().sum()

    found = torch.vmap(torch.func.grad(loss))(query, key, value)
    expected = torch.stack(
        [torch.func.grad(right)(*(t[n] for t in (query, key, value))) for n in range(NUM)]
    )
    assert_close(found, expected)
