"""Contracts 0 to 4: the numbers that attend gives, and those it must never let through."""

import math

import pytest
import torch
from torch import Tensor

from regard import Mask
from regard.core.attend import Attended
from tests.core.cases import gradients
from tests.core.check import (
    contract,
    empty_rows,
    empty_rows_with_gradients,
    keys_seen_by_some,
    unseen_keys,
)
from tests.core.definition import define
from tests.core.setting import Attend, Setting, exactly, four_axes, near, squared

# ---- 0. score, hide, normalize, average -----------------------------------------------------


@contract(0)
def the_reference_gives_the_same_numbers(attend: Attend, s: Setting) -> None:
    context, weights = s.answer()
    attended = s.ask(attend)
    assert attended.context.dtype == s.dtype
    near(attended.context, context, s.dtype)
    defined = define(s)
    near(defined.context, context, torch.float64)  # or its derivatives would be of something else
    near(defined.weights, weights, torch.float64)
    if s.cell.observed == "weights":
        near(attended.weights, weights, s.dtype)
        near(attended.lse, defined.lse, torch.promote_types(s.dtype, torch.float32))


@contract(0)
def reordered_keys_change_nothing(attend: Attend, s: Setting) -> None:
    s = s.without_dropout()
    order = torch.randperm(s.sizes.key_len, generator=torch.Generator().manual_seed(s.seed))
    moved = s.with_(
        case=s.case.with_(key=s.case.key[..., order, :], value=s.case.value[..., order, :]),
        bias=None if s.bias is None else s.bias[..., order],
        may_attend=Mask.dense(four_axes(s.allowed[..., order])),
    )
    plain, reordered = s.ask(attend), moved.ask(attend)
    near(reordered.context, plain.context, s.dtype)
    if plain.weights is not None:
        near(reordered.weights, plain.weights[..., order], s.dtype)
    for one, other in zip(_inputs(s, plain), _inputs(s, reordered), strict=True):
        near(other, one, s.dtype)


@contract(0)
def examples_do_not_touch_each_other(attend: Attend, s: Setting) -> None:
    s = s.without_dropout()
    together = s.ask(attend)
    for row in range(s.sizes.batch):
        at = slice(row, row + 1)
        alone = s.with_(
            case=s.case.with_(**{n: getattr(s.case, n)[at] for n in ("query", "key", "value")}),
            bias=None if s.bias is None else s.bias[at],
            may_attend=Mask.dense(four_axes(s.allowed[at])),
        ).ask(attend)
        near(alone.context[0], together.context[row], s.dtype)
        if together.weights is not None and alone.weights is not None:
            near(alone.weights[0], together.weights[row], s.dtype)


@contract(0)
def axes_of_size_zero_are_no_special_case(attend: Attend, s: Setting) -> None:
    for axes in ({"batch": 0}, {"query_len": 0}, {"key_len": 0}):
        none = s.resized(**axes)
        attended = none.ask(attend, need_weights=True, need_lse=True)
        assert attended.weights is not None
        assert attended.lse is not None
        assert attended.weights.shape == none.allowed.shape
        assert attended.lse.shape == none.allowed.shape[:-1]
        assert attended.context.shape == (*none.allowed.shape[:-1], s.sizes.value_dim)
        exactly(attended.context, torch.zeros_like(attended.context))
        assert (attended.lse == -math.inf).all()
        for derivative in none.derivatives(attended):
            exactly(derivative, torch.zeros_like(derivative))


# ---- 1. one mask polarity -------------------------------------------------------------------


@contract(1)
def true_means_may_attend(attend: Attend, s: Setting) -> None:
    """To a query all keys alike are equal: its context is the mean of the values it may see."""
    with torch.no_grad():
        alike = s.without_dropout().with_(
            case=s.case.with_(key=torch.zeros_like(s.case.key)), bias=None
        )
        count = s.allowed.double().sum(-1, keepdim=True)
        weights = s.allowed.double() / count.masked_fill(count == 0.0, 1.0)
        for may_attend in (s.may_attend, s.grid):
            attended = alike.ask(attend, may_attend=may_attend, need_weights=True)
            near(attended.weights, weights, s.dtype)
            near(attended.context, weights @ s.case.value.double(), s.dtype)


@contract(1)
def numbers_are_not_a_mask(attend: Attend, s: Setting) -> None:
    grid = s.grid
    for numbers in (grid.to(s.dtype), grid.int(), torch.zeros(grid.shape).log().where(~grid, 0.0)):
        with pytest.raises(TypeError, match="A mask must be bool, True meaning 'may attend'"):
            s.ask(attend, may_attend=numbers)


# ---- 2. an empty row ------------------------------------------------------------------------


@contract(2, empty_rows)
def an_empty_row_is_zero(attend: Attend, s: Setting) -> None:
    attended = s.ask(attend, need_weights=True, need_lse=True)
    assert attended.weights is not None
    assert attended.lse is not None
    for output in (attended.context[s.empty], attended.weights[s.empty]):
        exactly(output, torch.zeros_like(output))
    assert (attended.lse[s.empty] == -math.inf).all()
    for output in (attended.context, attended.weights, attended.lse[~s.empty]):
        assert output.isfinite().all()


@contract(2, empty_rows_with_gradients)
def an_empty_row_moves_nothing(attend: Attend, s: Setting) -> None:
    """A loss over empty rows has gradient 0; over all rows, only they have; nothing is NaN."""
    attended = s.ask(attend, need_weights=True, need_lse=True)
    assert attended.weights is not None
    of_empty = attended.context[s.empty].sum() + attended.weights[s.empty].sum()
    for derivative in gradients(of_empty, s.leaves, retain_graph=True):
        exactly(derivative, torch.zeros_like(derivative))
    first = s.derivatives(attended, create_graph=True)
    of_query = first[0][s.empty]
    exactly(of_query, torch.zeros_like(of_query))
    second = gradients(squared(first), s.leaves)
    for derivative in (*first, *second):
        assert derivative.isfinite().all()


# ---- 3. hidden means absent -----------------------------------------------------------------


@contract(3, unseen_keys)
def hidden_means_absent(attend: Attend, s: Setting) -> None:
    """Whatever lies at positions hidden from every query changes no output and no gradient."""
    at, expected = s.unseen.unsqueeze(-1), None
    largest = min(1e6, torch.finfo(s.dtype).max)
    # Keys are prepared without a mask here, and no parameter could bear the gradient of a NaN.
    junk = (0.0, largest) if s.cell.key == "prepared" else (0.0, math.nan, math.inf, largest)
    for number in junk:
        key = s.case.key.detach().masked_fill(at, number).requires_grad_()
        value = s.case.value.detach().masked_fill(at, number).requires_grad_()
        filled = s.with_(case=s.case.with_(key=key, value=value))
        attended = filled.ask(attend)
        found = (*attended, *filled.derivatives(attended))
        expected = expected or found
        exactly(found, expected)
        if s.differentiates:
            for derivative in found[4:6]:
                assert derivative is not None
                exactly(derivative[s.unseen], torch.zeros_like(derivative[s.unseen]))


@contract(3, keys_seen_by_some)
def large_numbers_stay_with_those_who_see_them(attend: Attend, s: Setting) -> None:
    """A key that is not hidden from all cannot be zeroed, and must still not reach the others."""
    s = s.without_dropout()
    partly = s.allowed.any(-2) & ~s.allowed.all(-2)
    blind = ~(s.allowed & partly.unsqueeze(-2)).any(-1)
    if not blind.any():  # every row sees one: leave all but one of them as they are
        partly = partly & (partly.cumsum(-1) == 1)
        blind = ~(s.allowed & partly.unsqueeze(-2)).any(-1)
    found = []
    for number in (0.0, min(1e6, torch.finfo(s.dtype).max)):
        key = s.case.key.detach().masked_fill(partly.unsqueeze(-1), number).requires_grad_()
        value = s.case.value.detach().masked_fill(partly.unsqueeze(-1), number).requires_grad_()
        large = s.with_(case=s.case.with_(key=key, value=value))
        attended = large.ask(attend, need_weights=True)
        assert attended.weights is not None
        context, weights = attended.context[blind], attended.weights[blind]
        derivatives = gradients(context.sum(), large.leaves) if s.differentiates else ()
        found.append((context, weights, *derivatives))
    for one, other in zip(*found, strict=True):
        near(other, one, s.dtype)


@contract(3)
def padding_changes_nothing(attend: Attend, s: Setting) -> None:
    s = s.without_dropout()

    def padded(tensor: Tensor, axis: int, filling: float) -> Tensor:
        shape = list(tensor.shape)
        shape[axis] = 3
        return torch.cat([tensor, torch.full(shape, filling, dtype=tensor.dtype)], dim=axis)

    longer = s.with_(
        case=s.case.with_(key=padded(s.case.key, -2, 9.0), value=padded(s.case.value, -2, 9.0)),
        bias=None if s.bias is None else padded(s.bias, -1, 9.0),
        may_attend=Mask.dense(four_axes(padded(s.allowed, -1, False))),
    )
    alone, among = s.ask(attend), longer.ask(attend)
    near(among.context, alone.context, s.dtype)
    if among.weights is not None:
        near(among.weights[..., : s.sizes.key_len], alone.weights, s.dtype)
    for one, other in zip(_inputs(s, alone), _inputs(s, among), strict=True):
        near(other, one, s.dtype)


# ---- 4. observing changes nothing -----------------------------------------------------------


@contract(4)
def observing_changes_nothing(attend: Attend, s: Setting) -> None:
    """To rounding, since another kernel may have to run; never a number here and NaN there."""
    expected = None
    for observed in ((), ("need_weights",), ("need_lse",), ("need_weights", "need_lse")):
        wanted = {name: name in observed for name in ("need_weights", "need_lse")}
        attended = s.ask(attend, **wanted)
        assert (attended.weights is not None) == wanted["need_weights"]
        assert (attended.lse is not None) == wanted["need_lse"]
        found = (attended.context, *_inputs(s, attended))
        expected = expected or found
        for one, other in zip(expected, found, strict=True):
            near(other, one, s.dtype)


@contract(4)
def weights_sum_to_one_over_the_keys(attend: Attend, s: Setting) -> None:
    """In training too, where dropout comes after them."""
    attended = s.ask(attend, need_weights=True)
    assert attended.weights is not None
    assert attended.weights.dtype == s.dtype
    assert attended.weights.shape == s.allowed.shape
    assert (attended.weights >= 0.0).all()
    near(attended.weights.double().sum(-1), (~s.empty).double(), s.dtype)


# ---- helpers --------------------------------------------------------------------------------


def _inputs(s: Setting, attended: Attended) -> tuple[Tensor, ...]:
    """Derivatives of the context alone, by everything."""
    return s.derivatives(Attended(attended.context))
