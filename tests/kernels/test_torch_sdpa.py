"""The dot family's kernels against float64: context, weights and every gradient.

What is tested follows from the kernels' own data: dtypes with their tolerances, scores, masks.
"""

import itertools

import pytest
import torch
from torch import Tensor

from regard import Mask
from regard.kernels import Kernel
from regard.kernels.torch_sdpa import TORCH_SDPA
from regard.kernels.torch_softmax import TORCH_SOFTMAX
from tests.kernels.dot_by_hand import SCORES, Inputs, Sizes, by_hand, make, relative_error, run

KERNELS = (TORCH_SDPA, TORCH_SOFTMAX)
DTYPES = [(kernel, dtype) for kernel in KERNELS for dtype in kernel.tolerance]
every_kernel = pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
every_dtype = pytest.mark.parametrize(
    ("kernel", "dtype"), DTYPES, ids=[f"{kernel.name}-{dtype}" for kernel, dtype in DTYPES]
)
every_score = pytest.mark.parametrize("name", SCORES)

SIZES = (
    Sizes(2, 3, 7, 33, 5, 5),
    Sizes(3, None, 1, 30, 16, 16),
    Sizes(2, None, 37, 70, 9, 6),  # value_dim differs
    Sizes(4, 2, 5, 4, 3, 3),  # more queries than keys
    Sizes(3, 3, 3, 3, 3, 3),
    Sizes(1, 1, 1, 1, 1, 1),
    Sizes(2, 1, 70, 70, 8, 8),
)
ODD = Sizes(2, 3, 7, 33, 5, 5)


def masks_for(sizes: Sizes) -> dict[str, Mask | None]:
    batch, heads, query_len, key_len = sizes.batch, sizes.heads or 1, sizes.query_len, sizes.key_len
    generator = torch.Generator().manual_seed(1)
    lengths = torch.randint(0, key_len + 1, (batch,), generator=generator)
    per_query = torch.randint(0, key_len + 1, (batch, query_len), generator=generator)
    shape = (
        (batch, query_len, key_len) if sizes.heads is None else (batch, heads, query_len, key_len)
    )
    cells = torch.rand(shape, generator=generator) < 0.5
    cells[0, ..., 0, :] = False
    return {
        "none": None,
        "lengths": Mask.lengths(lengths),
        "lengths per query": Mask.lengths(per_query),
        "all empty": Mask.lengths([0] * batch),
        "causal from the start": Mask.causal("start"),
        "causal to the end": Mask.causal("end"),
        "padded and causal": Mask.lengths(lengths) & Mask.causal("end"),
        "window": Mask.window(2, 1, align="start"),
        "dense": Mask.dense(cells),
        "not": ~Mask.lengths(lengths),
    }


def assert_right(
    kernel: Kernel, name: str, sizes: Sizes, dtype: torch.dtype, **options: bool
) -> None:
    for kind, may_attend in masks_for(sizes).items():
        inputs = make(name, sizes, dtype, **options)
        attended = run(kernel, inputs, may_attend)
        context, weights = by_hand(inputs, may_attend)
        assert attended.context.dtype == dtype
        found, right = [attended.context], [context]
        if attended.weights is not None:
            found.append(attended.weights)
            right.append(weights)
        directions = [torch.randn(output.shape).to(dtype) for output in found]
        for outputs in (found, right):
            loss = sum((o.double() * d).sum() for o, d in zip(outputs, directions, strict=True))
            outputs += torch.autograd.grad(loss, inputs.leaves)
        for actual, expected in zip(found, right, strict=True):
            assert relative_error(actual, expected) <= kernel.tolerance[dtype], kind


@every_score
@every_dtype
def test_it_is_as_exact_as_it_says(kernel: Kernel, dtype: torch.dtype, name: str) -> None:
    for sizes in SIZES if dtype == torch.float64 else SIZES[:3]:
        assert_right(kernel, name, sizes, dtype)


@every_dtype
def test_a_bias_and_its_gradient_are_right(kernel: Kernel, dtype: torch.dtype) -> None:
    for sizes in SIZES[:3]:
        assert_right(kernel, "scaled_dot", sizes, dtype, biased=True)


@every_kernel
def test_memory_may_lie_in_any_order(kernel: Kernel) -> None:
    for sizes in SIZES:
        assert_right(kernel, "general", sizes, torch.float64, contiguous=False, biased=True)


@every_kernel
def test_heads_may_be_views_of_one_projection(kernel: Kernel) -> None:
    inputs = make("scaled_dot", ODD)
    as_views = inputs._replace(
        **{
            name: getattr(inputs, name).detach().transpose(1, 2).contiguous().transpose(1, 2)
            for name in ("query", "key", "value")
        }
    )
    for may_attend in masks_for(ODD).values():
        assert torch.equal(
            run(kernel, as_views, may_attend).context, run(kernel, inputs, may_attend).context
        )


@every_kernel
def test_a_bias_may_serve_every_example_head_and_query(kernel: Kernel) -> None:
    inputs = make("dot", ODD)
    for shape in ((1, 1, 7, 33), (2, 1, 1, 33), (1, 3, 7, 33)):
        bias = torch.randn(shape, dtype=torch.float64, requires_grad=True)
        narrow, wide = inputs._replace(bias=bias), inputs._replace(bias=bias.expand(2, 3, 7, 33))
        for may_attend in (None, Mask.lengths([5, 0]), Mask.causal("end")):
            context, expected = (
                run(kernel, narrow, may_attend).context,
                by_hand(wide, may_attend)[0],
            )
            assert relative_error(context, expected) < 1e-12
            ours, right = (torch.autograd.grad(c.sin().sum(), bias) for c in (context, expected))
            assert relative_error(*ours, *right) < 1e-12


@every_kernel
def test_two_axes_are_one_example(kernel: Kernel) -> None:
    inputs = make("scaled_dot", Sizes(1, None, 4, 6, 5, 5))
    alone = inputs._replace(**{n: getattr(inputs, n)[0] for n in ("query", "key", "value")})
    for may_attend in (None, Mask.causal("end"), Mask.lengths([4])):
        attended, expected = run(kernel, alone, may_attend), run(kernel, inputs, may_attend)
        assert torch.equal(attended.context, expected.context[0])


def derivatives(outputs: list[Tensor], leaves: list[Tensor]) -> list[Tensor]:
    """Of a loss, the gradients without and with a graph of their own, and the gradients of those.

    The first run a fused backward, the second another in its place.
    """
    loss = sum(output.sin().sum() for output in outputs)
    plain = torch.autograd.grad(loss, leaves, retain_graph=True)
    first = torch.autograd.grad(loss, leaves, create_graph=True)
    second = torch.autograd.grad(sum(f.cos().sum() for f in first), leaves)
    return [*plain, *first, *second]


@every_score
@every_kernel
def test_gradients_of_gradients_are_right(kernel: Kernel, name: str) -> None:
    for sizes, biased in itertools.product(SIZES[2:5], (False, True)):
        for kind, may_attend in masks_for(sizes).items():
            inputs = make(name, sizes, biased=biased)
            found = [output for output in run(kernel, inputs, may_attend) if output is not None]
            right = by_hand(inputs, may_attend)[: len(found)]
            for actual, expected in zip(
                derivatives(found, inputs.leaves), derivatives(right, inputs.leaves), strict=True
            ):
                assert relative_error(actual, expected) < 1e-11, (kind, biased)


@every_kernel
def test_self_attention_counts_each_gradient_once(kernel: Kernel) -> None:
    """Query, key and value are one tensor, in first and in second derivatives."""
    for heads in (None, 2):
        inputs = make("scaled_dot", Sizes(2, heads, 3, 3, 4, 4))
        x = inputs.query
        inputs = inputs._replace(key=x, value=x)
        found = [run(kernel, inputs, Mask.causal()).context]
        right = [by_hand(inputs, Mask.causal())[0]]
        for actual, expected in zip(derivatives(found, [x]), derivatives(right, [x]), strict=True):
            assert relative_error(actual, expected) < 1e-12


def test_finite_differences_agree() -> None:
    """With the numbers that the others are compared with, up to the second derivative."""
    inputs = make("general", Sizes(2, None, 2, 3, 2, 2), biased=True)

    def context(*tensors: Tensor) -> Tensor:
        return by_hand(Inputs(*tensors, inputs.score), Mask.lengths([[3, 0], [1, 2]]))[0]

    assert torch.autograd.gradcheck(context, inputs[:4])
    assert torch.autograd.gradgradcheck(context, inputs[:4])


@every_kernel
@pytest.mark.parametrize("axis", ["batch", "query_len", "key_len"])
def test_an_axis_of_nothing_is_no_special_case(kernel: Kernel, axis: str) -> None:
    for heads in (None, 2):
        sizes = Sizes(2, heads, 3, 4, 5, 5)._replace(**{axis: 0})
        inputs = make("general", sizes)
        for may_attend in (None, Mask.lengths([0] * sizes.batch), Mask.causal("end")):
            context = run(kernel, inputs, may_attend).context
            assert torch.equal(context, torch.zeros(*inputs.query.shape[:-1], 5).double())
            for gradient in torch.autograd.grad(context.sum(), inputs.leaves):
                assert torch.equal(gradient, torch.zeros_like(gradient))
