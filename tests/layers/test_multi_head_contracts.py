"""The contracts of attention, kept by the whole layer, projections and their gradients included.

Of the collection of known faults: 1 to 3 (rows without keys, whether or not weights are wanted), 43
(masks of three and of four axes), 46 (examples do not look at each other), 71 and 74 (evaluation
and training give the same numbers).
"""

import math

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from regard import Mask
from regard.layers import MultiHeadAttention
from regard.scores import NAMES
from tests.layers.multi_head_by_hand import by_hand, randomized

LENGTHS = Mask.lengths([4, 2])


def made(score: str = "scaled_dot", *, bias: bool = True) -> MultiHeadAttention:
    return randomized(MultiHeadAttention(12, 3, score=score, bias=bias)).double()


def inputs(batch: int = 2, query_len: int = 3, key_len: int = 4) -> list[Tensor]:
    generator = torch.Generator().manual_seed(1)
    lengths = (query_len, key_len, key_len)
    return [
        torch.randn(batch, length, 12, generator=generator, dtype=torch.float64).requires_grad_()
        for length in lengths
    ]


def exactly(actual: object, expected: object) -> None:
    assert_close(actual, expected, rtol=0.0, atol=0.0)


# ---- an empty row is zero ---------------------------------------------------------------


@pytest.mark.parametrize("need_weights", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_a_query_with_nothing_to_attend_to_has_the_bias_for_output(
    name: str, need_weights: bool
) -> None:
    layer, given = made(name), inputs()
    may_attend = Mask.lengths([[1, 0, 4], [0, 0, 0]])
    empty = torch.tensor([[False, True, False], [True, True, True]])
    output, weights = layer(*given, may_attend=may_attend, need_weights=need_weights)
    exactly(output[empty], layer.output_projection.bias.expand(4, 12))
    if weights is not None:
        exactly(weights[empty], torch.zeros(4, 4).double())

    # a loss over the empty rows moves that bias and nothing else
    leaves = [*given, *layer.parameters()]
    of_empty = torch.autograd.grad(output[empty].sin().sum(), leaves, retain_graph=True)
    for leaf, gradient in zip(leaves, of_empty, strict=True):
        if leaf is not layer.output_projection.bias:
            exactly(gradient, torch.zeros_like(leaf))
    # and over the others gives finite gradients, none to a query that sees nothing
    of_all = torch.autograd.grad(output.sin().sum(), leaves)
    assert all(gradient.isfinite().all() for gradient in of_all)
    exactly(of_all[0][empty], torch.zeros(4, 12).double())


@pytest.mark.parametrize("need_weights", [False, True])
def test_a_blocked_head_is_zero_and_leaves_the_others_alone(need_weights: bool) -> None:
    layer, given = made(), inputs()
    grid = torch.ones(1, 3, 3, 4, dtype=torch.bool)
    grid[:, 2] = False
    output, weights = layer(
        *given, may_attend=grid, need_weights=need_weights, average_attn_weights=False
    )
    expected, of_heads = by_hand(layer, given, Mask.dense(grid))
    assert_close(output, expected)
    if weights is not None:
        assert_close(weights, of_heads)
        exactly(weights[:, 2], torch.zeros(2, 3, 4).double())


@pytest.mark.parametrize("sizes", [(0, 3, 4), (2, 0, 4), (2, 3, 0)])
def test_nothing_to_do_gives_empty_or_the_bias(sizes: tuple[int, int, int]) -> None:
    layer, given = made(), inputs(*sizes)
    for may_attend in (None, Mask.lengths([0] * sizes[0])):
        output, weights = layer(*given, may_attend=may_attend, need_weights=True)
        assert output.shape == (*sizes[:2], 12)
        assert weights is not None
        assert weights.shape == sizes
        if sizes[2] == 0:
            exactly(output, layer.output_projection.bias.expand(2, 3, 12))
        for gradient in torch.autograd.grad(output.sum(), [*given, *layer.parameters()]):
            assert gradient.isfinite().all()


# ---- hidden means absent ----------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_what_lies_at_hidden_positions_reaches_no_output_and_no_gradient(name: str) -> None:
    found = []
    for junk in (0.0, math.nan, math.inf, -math.inf, 1e6):
        layer, given = made(name), inputs()
        with torch.no_grad():
            for tensor in given[1:]:
                tensor[1, 2:] = junk
        output, weights = layer(*given, may_attend=LENGTHS, need_weights=True)
        leaves = [*given, *layer.parameters()]
        found.append((output, weights, *torch.autograd.grad(output.sin().sum(), leaves)))
    for other in found[1:]:
        exactly(other, found[0])
    exactly(found[0][3][1, 2:], torch.zeros(2, 12).double())


@pytest.mark.parametrize("name", NAMES)
def test_padding_in_self_attention_reaches_no_real_position_and_no_gradient(name: str) -> None:
    """There the hidden positions are queries as well, which the loss does not look at."""
    found = []
    for junk in (0.0, math.nan, math.inf, 1e6):
        layer, (_, x, _) = made(name), inputs()
        with torch.no_grad():
            x[1, 2:] = junk
        real = torch.tensor([[True] * 4, [True, True, False, False]])
        output, _ = layer(x, x, x, may_attend=LENGTHS)
        leaves = [x, *layer.parameters()]
        found.append((output[real], *torch.autograd.grad(output[real].sin().sum(), leaves)))
    for other in found[1:]:
        exactly(other, found[0])


def test_a_padded_query_of_finite_numbers_keeps_its_own_output() -> None:
    layer, (_, x, _) = made(), inputs()
    expected, _ = by_hand(layer, [x, x, x], LENGTHS)
    assert_close(layer(x, x, x, may_attend=LENGTHS).output, expected)
    with torch.no_grad():
        x[1, 3] = math.nan  # its neighbour in the padding, x[1, 2], stays a query like any other
    output = layer(x, x, x, may_attend=LENGTHS).output
    assert_close(output[0], expected[0])
    assert_close(output[1, :3], expected[1, :3])


def test_nan_that_a_single_head_may_see_is_not_swept_away() -> None:
    layer, given = made(), inputs()
    grid = torch.zeros(1, 3, 3, 4, dtype=torch.bool)
    grid[..., :3] = True
    grid[:, 1] = True  # the last key is for the middle head alone
    with torch.no_grad():
        given[1][1, 3] = math.nan
    output = layer(*given, may_attend=grid).output
    assert output[0].isfinite().all()
    assert output[1].isnan().all()


def test_padding_changes_nothing() -> None:
    layer, given = made(), inputs()
    padded = [given[0], *(torch.cat([t, torch.full((2, 3, 12), 9.0)], 1) for t in given[1:])]
    alone = layer(*given, need_weights=True)
    among = layer(*padded, may_attend=Mask.lengths([4, 4]), need_weights=True)
    assert_close(among.output, alone.output)
    assert_close(among.weights[..., :4], alone.weights)


def test_examples_do_not_touch_each_other() -> None:
    layer, given = made(), inputs(batch=3)
    together = layer(*given, may_attend=Mask.lengths([4, 0, 2])).output
    for row, length in enumerate((4, 0, 2)):
        alone = layer(*(t[row, None] for t in given), may_attend=Mask.lengths([length])).output
        assert_close(alone[0], together[row])


# ---- observing changes nothing ----------------------------------------------------------


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("shared", [False, True], ids=["cross", "self"])
@pytest.mark.parametrize("name", NAMES)
def test_asking_for_weights_changes_neither_output_nor_gradients(
    name: str, shared: bool, training: bool
) -> None:
    for may_attend in (None, LENGTHS, Mask.lengths([4, 0]), Mask.causal("start")):
        found = []
        for options in (
            {},
            {"need_weights": True},
            {"need_weights": True, "average_attn_weights": False},
        ):
            layer, given = made(name).train(training), inputs()
            given = [given[1]] * 3 if shared else given
            output, weights = layer(*given, may_attend=may_attend, **options)
            assert (weights is None) == (not options)
            leaves = [*given, *layer.parameters()]
            found.append((output, *torch.autograd.grad(output.sin().sum(), leaves)))
        assert_close(found[1], found[0])
        assert_close(found[2], found[0])


def test_without_gradients_in_evaluation_the_numbers_are_the_same() -> None:
    layer, (_, x, _) = made(), inputs()
    expected = layer.train()(x, x, x, may_attend=LENGTHS).output
    with torch.inference_mode():
        assert_close(layer.eval()(x, x, x, may_attend=LENGTHS).output, expected.detach())


# ---- dtypes -----------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("name", NAMES)
def test_every_dtype_gives_its_own_and_nearly_the_same_numbers(
    name: str, dtype: torch.dtype
) -> None:
    given = inputs()
    expected, of_heads = by_hand(made(name), given, LENGTHS)
    output, weights = made(name).to(dtype)(
        *(t.to(dtype) for t in given), may_attend=LENGTHS, need_weights=True
    )
    assert output.dtype == weights.dtype == dtype
    tolerance = {torch.float32: 1e-5, torch.float16: 2e-2, torch.bfloat16: 1e-1}[dtype]
    assert_close(output.double(), expected, rtol=0.0, atol=tolerance)
    assert_close(weights.double(), of_heads.mean(dim=1), rtol=0.0, atol=tolerance)


def test_autocast_runs_the_projections_in_half_precision() -> None:
    layer, given = made().float(), [t.float() for t in inputs()]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        output = layer(*given, may_attend=LENGTHS).output
    assert output.dtype == torch.bfloat16
    expected = layer(*given, may_attend=LENGTHS).output
    assert_close(output.float(), expected, rtol=0.0, atol=0.1)


# ---- derivatives ------------------------------------------------------------------------


@pytest.mark.parametrize("shared", [False, True], ids=["cross", "self"])
@pytest.mark.parametrize("name", NAMES)
def test_gradients_are_right_and_so_are_theirs(name: str, shared: bool) -> None:
    layer = randomized(MultiHeadAttention(4, 2, score=name)).double()
    query = torch.randn(2, 3, 4, generator=torch.Generator().manual_seed(0)).double()
    key = torch.randn(2, 3, 4, generator=torch.Generator().manual_seed(1)).double()
    may_attend = Mask.lengths([[3, 2, 1], [0, 3, 2]])

    def output(query: Tensor, key: Tensor, *parameters: Tensor) -> Tensor:
        key = query if shared else key
        found = torch.func.functional_call(
            layer,
            dict(zip(dict(layer.named_parameters()), parameters, strict=True)),
            (query, key, key),
            {"may_attend": may_attend},
        )
        return found.output

    leaves = [t.detach().requires_grad_() for t in (query, key, *layer.parameters())]
    assert torch.autograd.gradcheck(output, leaves, fast_mode=True)
    assert torch.autograd.gradgradcheck(output, leaves, fast_mode=True)
