"""The reference, broken on purpose in one place each, and the check that must see it.

Every mutant patches one small part. `test_the_tests_can_fail.py` runs them.
"""

from collections.abc import Callable
from dataclasses import replace
from itertools import count
from typing import Any

import pytest
import torch
from torch import Tensor

from regard.core import attend as core
from regard.core import dropout
from regard.core.attend import Attended, attend_reference
from regard.core.masks import Mask, as_mask
from regard.core.masks.dense import Dense
from regard.core.normalizers import NORMALIZERS
from regard.core.scores import PreparedKey, ScaledDot, Score
from regard.kernels import dispatch
from regard.kernels.reference import REFERENCE

Patch = pytest.MonkeyPatch
Break = Callable[[Patch], None]

CAUGHT_BY: dict[Break, tuple[str, dict[str, str]]] = {}
"""The check, and where its cell differs from the usual one."""


def caught_by(check: str, **values: str) -> Callable[[Break], Break]:
    def register(break_it: Break) -> Break:
        CAUGHT_BY[break_it] = check, values
        return break_it

    return register


def _normalize(patch: Patch, normalize: Callable[[Tensor], Tensor]) -> None:
    patch.setitem(NORMALIZERS, "softmax", normalize)


def _hide(patch: Patch, hide: Callable[[Tensor, Tensor], Tensor]) -> None:
    """Instead of Mask.hide, a function of scores and of what is hidden."""

    def hidden(mask: Mask, scores: Tensor) -> Tensor:
        return hide(scores, ~mask.grid_for(scores.shape, scores.device))

    patch.setattr(Mask, "hide", hidden)


def _run(patch: Patch, run: Callable[..., Attended]) -> None:
    """Another function for the reference."""
    patch.setattr(dispatch, "KERNELS", (replace(REFERENCE, run=run),))


right_softmax = NORMALIZERS["softmax"]
right_drop = core.drop

# ---- 0. score, hide, normalize, average -----------------------------------------------------


@caught_by("contract_0_the_reference_gives_the_same_numbers")
def query_not_scaled(patch: Patch) -> None:
    patch.setattr(ScaledDot, "project_query", lambda score, query: query)


@caught_by("contract_0_the_reference_gives_the_same_numbers", dtype="bf16", observed="weights")
def half_precision_scored_in_half(patch: Patch) -> None:
    patch.setattr(core, "widen", lambda tensor: tensor)


@caught_by("contract_0_the_reference_gives_the_same_numbers", observed="weights")
def lse_before_masking(patch: Patch) -> None:
    patch.setattr(core, "logsumexp", lambda scores: scores.exp().sum(dim=-1).log() + 1.0)


@caught_by("contract_0_the_reference_gives_the_same_numbers", bias="biased")
def bias_added_to_the_weights(patch: Patch) -> None:
    def run(*args: Any, bias: Tensor, **options: Any) -> Attended:
        attended = attend_reference(*args, **options)
        return attended._replace(context=attended.context + (bias @ args[2]).to(args[2].dtype))

    _run(patch, run)


@caught_by("contract_0_reordered_keys_change_nothing")
def late_keys_weigh_more(patch: Patch) -> None:
    _normalize(patch, lambda scores: right_softmax(scores + torch.arange(scores.shape[-1]) / 10))


@caught_by("contract_0_examples_do_not_touch_each_other")
def one_softmax_for_the_batch(patch: Patch) -> None:
    _normalize(patch, lambda scores: scores.exp() / scores.exp().sum(dim=(0, -1), keepdim=True))


@caught_by("contract_0_axes_of_size_zero_are_no_special_case")
def lse_of_no_keys_is_zero(patch: Patch) -> None:
    patch.setattr(core, "logsumexp", lambda scores: scores.logsumexp(-1).nan_to_num(neginf=0.0))


# ---- 1. one mask polarity -------------------------------------------------------------------


@caught_by("contract_1_true_means_may_attend")
def inverted_polarity(patch: Patch) -> None:
    _hide(patch, lambda scores, hidden: scores.masked_fill(~hidden, -torch.inf))


@caught_by("contract_1_true_means_may_attend")
def masked_after_the_softmax(patch: Patch) -> None:
    def run(*args: Any, may_attend: Mask, need_weights: bool, **options: Any) -> Attended:
        _, weights, lse = attend_reference(*args, need_weights=True, **options)
        assert weights is not None
        weights = weights * may_attend.grid_for(weights.shape, weights.device)
        return Attended(weights @ args[2], weights if need_weights else None, lse)

    _run(patch, run)


@caught_by("contract_1_numbers_are_not_a_mask")
def numbers_taken_for_bools(patch: Patch) -> None:
    patch.setattr(dispatch, "as_mask", lambda m: as_mask(m.bool() if isinstance(m, Tensor) else m))


# ---- 2. an empty row ------------------------------------------------------------------------


@caught_by("contract_2_an_empty_row_is_zero")
def a_large_finite_fill(patch: Patch) -> None:
    _hide(patch, lambda scores, hidden: scores.masked_fill(hidden, -1e9))


@caught_by("contract_2_an_empty_row_is_zero")
def empty_rows_uniform(patch: Patch) -> None:
    def softmax(scores: Tensor) -> Tensor:
        empty = (scores == -torch.inf).all(dim=-1, keepdim=True)
        return torch.softmax(scores.masked_fill(empty, 0.0), dim=-1)

    _normalize(patch, softmax)


@caught_by("contract_2_an_empty_row_is_zero", mode="eval")
def empty_rows_nan(patch: Patch) -> None:
    _normalize(patch, lambda scores: torch.softmax(scores, dim=-1))


@caught_by("contract_2_an_empty_row_moves_nothing")
def empty_rows_zero_but_their_gradients_nan(patch: Patch) -> None:
    _normalize(patch, lambda scores: torch.softmax(scores, dim=-1).nan_to_num(0.0))


# ---- 3. hidden means absent -----------------------------------------------------------------


@caught_by("contract_3_hidden_means_absent", mode="eval")
def hidden_positions_not_zeroed(patch: Patch) -> None:
    patch.setattr(core, "drop_hidden", lambda key, value, *rest: (key, value))


@caught_by("contract_3_hidden_means_absent")
def only_hidden_values_zeroed(patch: Patch) -> None:
    right = core.drop_hidden
    patch.setattr(core, "drop_hidden", lambda key, *rest: (key, right(key, *rest)[1]))


@caught_by("contract_3_large_numbers_stay_with_those_who_see_them")
def a_finite_number_added(patch: Patch) -> None:
    _hide(patch, lambda scores, hidden: scores - 1e4 * hidden)


@caught_by("contract_3_padding_changes_nothing")
def the_number_of_keys_counts(patch: Patch) -> None:
    _normalize(patch, lambda scores: right_softmax(scores) * (1.0 - 0.01 * scores.shape[-1]))


# ---- 4. observing changes nothing -----------------------------------------------------------


@caught_by("contract_4_observing_changes_nothing")
def weights_asked_for_and_the_mask_forgotten(patch: Patch) -> None:
    def run(*args: Any, need_weights: bool, may_attend: Mask, **options: Any) -> Attended:
        mask = None if need_weights else may_attend
        return attend_reference(*args, need_weights=need_weights, may_attend=mask, **options)

    _run(patch, run)


@caught_by("contract_4_weights_sum_to_one_over_the_keys")
def softmax_over_the_query_axis(patch: Patch) -> None:
    _normalize(patch, lambda scores: torch.softmax(scores, dim=-2).nan_to_num(0.0))


@caught_by("contract_4_weights_sum_to_one_over_the_keys", mode="dropout")
def weights_returned_after_dropout(patch: Patch) -> None:
    def drop_in_place(weights: Tensor, dropout_p: float) -> Tensor:
        dropped = right_drop(weights, dropout_p)
        with torch.no_grad():
            weights.copy_(dropped)
        return dropped

    patch.setattr(core, "drop", drop_in_place)


# ---- 5 and 12. no silent broadcast; errors --------------------------------------------------


@caught_by("contract_5_no_axis_is_stretched")
def axes_not_checked(patch: Patch) -> None:
    patch.setattr(dispatch, "check_inputs", lambda *args, **options: None)


@caught_by("contract_5_no_mask_or_bias_is_stretched")
def masks_not_checked(patch: Patch) -> None:
    patch.setattr(Dense, "_check", lambda *args: None)


@caught_by("contract_5_no_mask_or_bias_is_stretched")
def biases_not_checked(patch: Patch) -> None:
    patch.setattr(dispatch, "check_bias", lambda bias, shape: bias)


@caught_by("contract_12_errors_say_what_was_given_and_how_to_mend_it")
def choices_not_checked(patch: Patch) -> None:
    patch.setattr(dispatch, "_check_choices", lambda *args: None)


@caught_by("contract_12_errors_say_what_was_given_and_how_to_mend_it")
def errors_of_one_word(patch: Patch) -> None:
    def check(score: Score, query: Tensor, key: Tensor, caller: str) -> None:
        if query.shape[-1] != key.shape[-1]:
            raise ValueError(f"{caller}: mismatch")

    patch.setattr(ScaledDot, "check", check)


# ---- 6. nothing goes stale ------------------------------------------------------------------


@caught_by("contract_6_nothing_goes_stale")
def keys_cached_on_the_module(patch: Patch) -> None:
    def project_key(score: ScaledDot, key: Tensor) -> Tensor:
        return vars(score).setdefault("_cached", key.clone())

    patch.setattr(ScaledDot, "project_key", project_key)


@caught_by("contract_6_nothing_goes_stale")
def keys_cached_by_the_address_of_the_tensor(patch: Patch) -> None:
    cached: dict[int, Tensor] = {}

    def project_key(score: ScaledDot, key: Tensor) -> Tensor:
        return cached.setdefault(key.data_ptr(), key.clone())

    patch.setattr(core, "drop_hidden", lambda key, value, *rest: (key, value))
    patch.setattr(ScaledDot, "project_key", project_key)


@caught_by("contract_6_prepared_keys_answer_as_plain_ones")
def prepared_keys_scaled_once_more(patch: Patch) -> None:
    right = Score.prepare

    def prepare(score: Score, key: Tensor) -> PreparedKey:
        prepared = right(score, key)
        return replace(prepared, projected=prepared.projected / 2.0)

    patch.setattr(Score, "prepare", prepare)


# ---- 8. no finite fill values ---------------------------------------------------------------


@caught_by("contract_8_live_rows_sum_to_one_however_low_they_score", mode="eval")
def a_small_finite_fill(patch: Patch) -> None:
    _hide(patch, lambda scores, hidden: scores.masked_fill(hidden, -1e4))


@caught_by("contract_8_large_scores_do_not_overflow")
def softmax_without_subtracting_the_largest(patch: Patch) -> None:
    def softmax(scores: Tensor) -> Tensor:
        exp = scores.exp()
        total = exp.sum(dim=-1, keepdim=True)
        return exp / total.masked_fill(total == 0.0, 1.0)

    _normalize(patch, softmax)


@caught_by("contract_8_large_scores_do_not_overflow", dtype="f16", score="dot")
def products_in_half_precision(patch: Patch) -> None:
    patch.setattr(core, "widen", lambda tensor: tensor)


# ---- 9. derivatives -------------------------------------------------------------------------


@caught_by("contract_9_first_derivatives_are_those_of_the_definition")
def the_softmax_detached(patch: Patch) -> None:
    _normalize(patch, lambda scores: right_softmax(scores.detach()))


@caught_by("contract_9_first_derivatives_are_those_of_the_definition", mode="dropout")
def another_keep_mask_in_the_backward(patch: Patch) -> None:
    def drop(weights: Tensor, dropout_p: float) -> Tensor:
        one, other = right_drop(weights, dropout_p), right_drop(weights, dropout_p)
        return other + (one - other).detach()

    patch.setattr(core, "drop", drop)


@caught_by("contract_9_second_derivatives_are_those_of_the_definition")
def a_backward_that_is_not_differentiable(patch: Patch) -> None:
    class Softmax(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, scores: Tensor) -> Tensor:
            weights = right_softmax(scores)
            ctx.save_for_backward(weights.detach())
            return weights

        @staticmethod
        def backward(ctx: Any, grad: Tensor) -> Tensor:
            weights = ctx.saved_tensors[0].detach()
            return weights * (grad - (grad * weights).sum(dim=-1, keepdim=True))

    _normalize(patch, Softmax.apply)


# ---- 10 and 11. dropout; same seed, same result ---------------------------------------------


@caught_by("contract_10_weights_are_dropped_by_a_hash_of_their_position", mode="dropout")
def dropout_without_scaling_up(patch: Patch) -> None:
    patch.setattr(core, "drop", lambda weights, p: right_drop(weights, p) * (1.0 - p))


@caught_by("contract_10_weights_are_dropped_by_a_hash_of_their_position", mode="dropout")
def dropout_by_torch(patch: Patch) -> None:
    patch.setattr(core, "drop", torch.nn.functional.dropout)


@caught_by("contract_11_the_same_seed_gives_the_same_result", mode="dropout")
def a_seed_from_elsewhere(patch: Patch) -> None:
    seeds = count()
    patch.setattr(dropout, "draw_seed", lambda: torch.tensor(next(seeds)))


@caught_by("contract_11_the_same_seed_gives_the_same_result")
def a_seed_drawn_without_dropout(patch: Patch) -> None:
    def drop(weights: Tensor, dropout_p: float) -> Tensor:
        dropout.draw_seed()
        return weights

    patch.setattr(core, "drop", drop)


@caught_by("contract_11_the_same_seed_gives_the_same_result", mode="eval")
def inputs_written_over(patch: Patch) -> None:
    def project_query(score: ScaledDot, query: Tensor) -> Tensor:
        with torch.no_grad():
            return query.mul_(query.shape[-1] ** -0.5)

    patch.setattr(ScaledDot, "project_query", project_query)
