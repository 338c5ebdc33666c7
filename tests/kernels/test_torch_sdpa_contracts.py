"""What torch's attention leaves to its callers, restored; and what the kernels refuse."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.autograd import forward_ad
from torch.testing import assert_close

from regard import Mask, attend, scores
from regard.core.attend import attend_reference
from regard.kernels import KERNELS, Kernel, Request, choose, dispatch, dot_family
from regard.kernels.reference import REFERENCE
from regard.kernels.request import score_kind
from regard.kernels.torch_sdpa import TORCH_SDPA
from regard.kernels.torch_softmax import TORCH_SOFTMAX
from tests.kernels.dot_by_hand import Inputs, Sizes, make, run

every_kernel = pytest.mark.parametrize(
    "kernel", [TORCH_SDPA, TORCH_SOFTMAX], ids=lambda kernel: kernel.name
)
SIZES = Sizes(3, 2, 4, 6, 5, 5)
LENGTHS = Mask.lengths([6, 2, 0])


def exactly(actual: object, expected: object) -> None:
    assert_close(actual, expected, rtol=0.0, atol=0.0)


def outcome(kernel: Kernel, inputs: Inputs, may_attend: Mask | None) -> list[Tensor]:
    """All outputs and gradients."""
    outputs = [output for output in run(kernel, inputs, may_attend) if output is not None]
    loss = sum(output.sin().sum() for output in outputs)
    return [*outputs, *torch.autograd.grad(loss, inputs.leaves)]


# ---- hidden means absent ----------------------------------------------------------------------


@every_kernel
@pytest.mark.parametrize(
    ("may_attend", "unseen"),
    [
        (LENGTHS, [(1, slice(2, None)), (2, slice(None))]),
        (Mask.causal("start"), [(slice(None), slice(4, None))]),
        (Mask.lengths([6, 2, 0]) & Mask.causal("end"), [(1, slice(2, None)), (2, slice(None))]),
        (Mask.dense(torch.arange(6).expand(3, 4, 6) != 3), [(slice(None), slice(3, 4))]),
    ],
    ids=str,
)
def test_what_a_hidden_position_holds_changes_nothing(
    kernel: Kernel, may_attend: Mask, unseen: list[tuple[Any, slice]]
) -> None:
    outcomes = []
    for junk in (0.0, math.nan, math.inf, -math.inf, 1e30):
        inputs = make("general", SIZES)
        with torch.no_grad():
            for examples, positions in unseen:
                inputs.key[examples, :, positions] = junk
                inputs.value[examples, :, positions] = junk
        outcomes.append(outcome(kernel, inputs, may_attend))
    for found in outcomes:
        assert all(tensor.isfinite().all() for tensor in found)
        exactly(found, outcomes[0])
    of_key = outcomes[0][-3]
    for examples, positions in unseen:
        assert (of_key[examples, :, positions] == 0.0).all()


@every_kernel
def test_second_derivatives_do_not_feel_it_either(kernel: Kernel) -> None:
    seconds = []
    for junk in (0.0, math.nan):
        inputs = make("scaled_dot", SIZES)
        with torch.no_grad():
            inputs.key[1, :, 2:] = junk
        context = run(kernel, inputs, LENGTHS).context
        first = torch.autograd.grad(context.sin().sum(), inputs.leaves, create_graph=True)
        seconds.append(torch.autograd.grad(sum(f.cos().sum() for f in first), inputs.leaves))
    assert seconds[0][1].abs().max() > 0.0
    exactly(seconds[1], seconds[0])


@every_kernel
def test_a_bias_of_minus_infinity_hides_as_a_mask_does(kernel: Kernel) -> None:
    inputs = make("scaled_dot", SIZES, biased=True)
    grid = LENGTHS.dense_for(4, 6)[:, None]
    hiding = inputs._replace(
        bias=inputs.bias.detach().masked_fill(~grid, -math.inf).requires_grad_()
    )
    for may_attend in (None, Mask.causal("end")):
        both = LENGTHS if may_attend is None else LENGTHS & may_attend
        for actual, expected in zip(
            outcome(kernel, hiding, may_attend), outcome(kernel, inputs, both), strict=True
        ):
            assert_close(actual, expected)


# ---- keys prepared once -----------------------------------------------------------------------


@every_kernel
@pytest.mark.parametrize("name", ["scaled_dot", "general"])
@pytest.mark.parametrize("with_mask", [False, True])
def test_prepared_keys_give_the_same(kernel: Kernel, name: str, with_mask: bool) -> None:
    inputs = make(name, SIZES)
    expected = outcome(kernel, inputs, LENGTHS)
    prepared = inputs.score.prepare(inputs.key, LENGTHS if with_mask else None)
    outputs = kernel.run(
        inputs.query,
        prepared,
        inputs.value,
        score=inputs.score,
        may_attend=LENGTHS,
        need_weights=kernel is TORCH_SOFTMAX,
    )
    outputs = [output for output in outputs if output is not None]
    loss = sum(output.sin().sum() for output in outputs)
    exactly([*outputs, *torch.autograd.grad(loss, inputs.leaves)], expected)


@every_kernel
def test_keys_prepared_with_the_mask_are_not_filled_with_zeros_again(
    kernel: Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled: list[int] = []

    def count(hidden: Tensor, *tensors: Tensor) -> tuple[Tensor, ...]:
        filled.append(len(tensors))
        return right(hidden, *tensors)

    right = dot_family.zero_where
    monkeypatch.setattr(dot_family, "zero_where", count)
    inputs, rows = make("scaled_dot", SIZES), torch.tensor([0, 1, 2])
    value = inputs.value.detach().clone()
    value[2, ..., -1, :] = math.nan  # what is tame is not filled at all
    prepared = inputs.score.prepare(inputs.key, LENGTHS)
    for key in (
        prepared,
        prepared.index_select(rows),  # other examples: the mask may hide other positions
        inputs.score.prepare(inputs.key),
        inputs.score.prepare(inputs.key, Mask.lengths([6, 2, 0])),  # another mask
    ):
        kernel.run(inputs.query, key, value, score=inputs.score, may_attend=LENGTHS)
    assert filled == [1, 2, 2, 2]


# ---- half precision ---------------------------------------------------------------------------


@every_kernel
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_is_computed_in_float32(kernel: Kernel, dtype: torch.dtype) -> None:
    half = make("general", SIZES, dtype)
    wide = half._replace(**{n: getattr(half, n).float() for n in ("query", "key", "value")})
    attended, expected = run(kernel, half, LENGTHS), run(kernel, wide, LENGTHS)
    assert attended.context.dtype == dtype
    exactly(attended.context, expected.context.to(dtype))


@every_kernel
def test_a_product_may_overflow_half_precision(kernel: Kernel) -> None:
    query = torch.full((1, 1, 128), 24.0, dtype=torch.float16)  # its square, 73,728, is too large
    inputs = Inputs(query, torch.cat([query, query / 24], 1), torch.cat([query, query / 2], 1),
                    None, scores.Dot())  # fmt: skip
    exactly(run(kernel, inputs).context, query)


@every_kernel
@pytest.mark.parametrize("name", ["scaled_dot", "general"])
def test_autocast_changes_nothing(kernel: Kernel, name: str) -> None:
    for may_attend in (None, LENGTHS, Mask.causal("end")):
        inputs = make(name, SIZES, torch.float32)
        expected = run(kernel, inputs, may_attend).context
        with torch.autocast("cpu", torch.bfloat16):
            context = run(kernel, inputs, may_attend).context
        exactly(context, expected)
        gradients = torch.autograd.grad(expected.sum(), inputs.leaves)
        exactly(torch.autograd.grad(context.sum(), inputs.leaves, retain_graph=True), gradients)


@every_kernel
def test_autocast_changes_no_backward(kernel: Kernel) -> None:
    for create_graph in (False, True):
        inputs = make("scaled_dot", SIZES, torch.float32)
        context = run(kernel, inputs, LENGTHS).context
        options = {"retain_graph": True, "create_graph": create_graph}
        expected = torch.autograd.grad(context.sum(), inputs.leaves, **options)
        with torch.autocast("cpu", torch.bfloat16):
            exactly(torch.autograd.grad(context.sum(), inputs.leaves, **options), expected)


# ---- gradients --------------------------------------------------------------------------------


@every_kernel
def test_an_input_that_needs_no_gradient_gets_none(kernel: Kernel) -> None:
    inputs = make("dot", SIZES)
    expected = dict(
        zip(("query", "key", "value"), outcome(kernel, inputs, LENGTHS)[-3:], strict=True)
    )
    for name, gradient in expected.items():
        others = {n: getattr(inputs, n).detach() for n in expected if n != name}
        outputs = [o for o in run(kernel, inputs._replace(**others), LENGTHS) if o is not None]
        loss = sum(output.sin().sum() for output in outputs)
        for options in ({"retain_graph": True}, {"create_graph": True}):
            (found,) = torch.autograd.grad(loss, getattr(inputs, name), **options)
            assert_close(found, gradient)


def test_weights_alone_may_be_the_loss() -> None:
    inputs = make("general", SIZES)
    for create_graph in (False, True):
        found = []
        for attend_so in (TORCH_SOFTMAX.run, attend_reference):
            weights = attend_so(
                *inputs[:3], score=inputs.score, may_attend=LENGTHS, need_weights=True
            ).weights
            found.append(
                torch.autograd.grad(
                    weights.square().sum(),
                    inputs.leaves,
                    create_graph=create_graph,
                    materialize_grads=True,
                )
            )
        assert_close(found[0], found[1])


# ---- who runs ---------------------------------------------------------------------------------


class Shifted(scores.Dot):
    """A user's own: q · k - |k|²."""

    def compare(self, query: Tensor, key: Tensor) -> Tensor:
        return super().compare(query, key) - key.square().sum(-1).unsqueeze(-2)


Impostor = type("Dot", (Shifted,), {})


@pytest.mark.parametrize("kind", [Shifted, Impostor])
def test_a_score_made_from_dot_is_compared_its_own_way(kind: type[scores.Score]) -> None:
    query, key = torch.randn(2, 3, 4), torch.randn(2, 5, 4)
    found = attend(query, key, key, score=kind()).context
    right = torch.softmax(query @ key.mT - key.square().sum(-1).unsqueeze(-2), -1) @ key
    assert_close(found, right)
    assert score_kind(kind()) not in dot_family.DOT_FAMILY
    assert score_kind(scores.Dot()) == "Dot"


def request(**changes: Any) -> Request:
    shape = (2, 3, 4)
    return Request(shape, shape, shape, torch.float32, "cpu", "ScaledDot", None)._replace(**changes)


@pytest.mark.parametrize(
    ("changes", "name", "sentences"),
    [
        ({}, "torch_sdpa", []),
        ({"need_weights": True}, "torch_softmax", ["weights are asked for, and it keeps none"]),
        ({"need_lse": True}, "reference", ["lse is asked for, and it gives none"]),
        ({"has_dropout": True}, "torch_softmax", ["dropout is asked for, and it has none"]),
        ({"normalize": "sparsemax"}, "reference", ["it normalizes by softmax, not by sparsemax"]),
        (
            {"is_transformed": True},
            "reference",
            ["torch.func and forward mode cannot transform it"],
        ),
        ({"device": "cuda"}, "reference", ["device cuda is not among cpu"]),
        (
            {"score": "Additive"},
            "reference",
            ["score Additive is not among Bilinear, Dot, ScaledDot"],
        ),
    ],
    ids=str,
)
def test_who_runs_and_why_the_first_does_not(
    changes: dict[str, Any], name: str, sentences: list[str]
) -> None:
    assert choose(request(**changes)).name == name
    assert TORCH_SDPA.refusals(request(**changes)) == sentences


def test_the_faster_come_first() -> None:
    assert KERNELS[:2] == (TORCH_SDPA, TORCH_SOFTMAX)
    assert KERNELS[-1] is REFERENCE


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated")  # torch's own
def test_transforms_are_seen_and_left_to_the_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[bool] = []

    def listen(request: Request) -> Kernel:
        seen.append(request.is_transformed)
        return choose(request)

    monkeypatch.setattr(dispatch, "choose", listen)
    query, key = torch.randn(2, 3, 4), torch.randn(2, 5, 4)

    def context(query: Tensor) -> Tensor:
        return attend(query, key, key).context

    context(query)
    torch.func.vmap(torch.func.grad(lambda q, k: attend(q, k, k).context.sum()))(query, key)
    with forward_ad.dual_level():
        context(forward_ad.make_dual(query, torch.ones_like(query)))
    context(query)
    assert seen == [False, True, True, False]


def test_a_score_parametrized_by_torch_goes_by_its_own_numbers() -> None:
    score = scores.Bilinear(query_dim=4, key_dim=4)
    query, key = torch.randn(2, 3, 4), torch.randn(2, 5, 4)
    nn.utils.parametrizations.orthogonal(score)
    found = attend(query, key, key, score=score).context
    assert_close(found, torch.softmax(query @ score.weight @ key.mT, -1) @ key)


def test_negative_scales_hide_as_well() -> None:
    query, key = torch.randn(2, 5, 4), torch.randn(2, 5, 4)
    for scale in (-0.5, 0.0):
        found = attend(query, key, key, score=scores.ScaledDot(scale), may_attend=Mask.causal())
        hidden = torch.ones(5, 5, dtype=torch.bool).triu(1)
        right = (query @ key.mT * scale).masked_fill(hidden, -math.inf).softmax(-1) @ key
        assert_close(found.context, right)


@pytest.mark.parametrize("junk", [math.nan, math.inf, 3e38, 1e30, 1e6])
@pytest.mark.parametrize(
    "score", [scores.Dot(), scores.ScaledDot(), scores.ScaledDot(3.0)], ids=repr
)
def test_whatever_hides_a_position_undoes_it(score: scores.Score, junk: float) -> None:
    query, key, value = (torch.randn(2, n, 4) for n in (3, 5, 5))
    lengths = Mask.lengths([5, 3])

    def answer(filled: float) -> tuple[Tensor, ...]:
        tensors = [t.clone() for t in (query, key, value)]
        for tensor in tensors[1:]:
            tensor[1, 3:] = filled
        for tensor in tensors:
            tensor.requires_grad_()
        context = attend(*tensors, score=score, may_attend=lengths).context
        context.square().sum().backward()
        return context, *(torch.as_tensor(tensor.grad) for tensor in tensors)

    for clean, dirty in zip(answer(0.0), answer(junk), strict=True):
        assert_close(dirty, clean, rtol=1e-6, atol=1e-6)
