"""Each of these broken variants of attend must be caught by the checks that ours passes."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from regard.core import attend as core
from regard.core import dropout
from regard.core.attend import attend_reference
from regard.core.masks import Mask
from regard.core.scores import ScaledDot
from tests.core.checks import CHECKS, broken

Break = Callable[[pytest.MonkeyPatch], None]


def softmax_over_the_query_axis(patch: pytest.MonkeyPatch) -> None:
    patch.setitem(core.NORMALIZERS, "softmax", lambda scores: torch.softmax(scores, dim=-2))


def a_large_finite_fill(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Mask, "hide", lambda mask, scores: scores.masked_fill(~_grid(mask, scores), -1e9))


def a_small_finite_fill(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Mask, "hide", lambda mask, scores: scores.masked_fill(~_grid(mask, scores), -1e4))


def hidden_positions_not_zeroed(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(core, "drop_hidden", lambda key, value, may_attend, query_len: (key, value))


def only_hidden_values_zeroed(patch: pytest.MonkeyPatch) -> None:
    right = core.drop_hidden
    patch.setattr(core, "drop_hidden", lambda key, *rest: (key, right(key, *rest)[1]))


def weights_returned_after_dropout(patch: pytest.MonkeyPatch) -> None:
    def drop_in_place(weights: Tensor, dropout_p: float) -> Tensor:
        if dropout_p:
            keep = dropout.keep_mask(dropout.draw_seed(), 2, 1, 4, 5, dropout_p)[:, 0]
            weights.mul_(keep / (1.0 - dropout_p))
        return weights

    patch.setattr(core, "drop", drop_in_place)


def dropout_without_scaling_up(patch: pytest.MonkeyPatch) -> None:
    right = core.drop
    patch.setattr(core, "drop", lambda weights, p: right(weights, p) * (1.0 - p))


def query_not_scaled(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ScaledDot, "project_query", lambda score, query: query)


def inverted_polarity(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(
        Mask, "hide", lambda mask, scores: scores.masked_fill(_grid(mask, scores), -torch.inf)
    )


def empty_rows_uniform(patch: pytest.MonkeyPatch) -> None:
    def softmax(scores: Tensor) -> Tensor:
        empty = (scores == -torch.inf).all(dim=-1, keepdim=True)
        return torch.softmax(scores.masked_fill(empty, 0.0), dim=-1)

    patch.setitem(core.NORMALIZERS, "softmax", softmax)


def empty_rows_nan(patch: pytest.MonkeyPatch) -> None:
    patch.setitem(core.NORMALIZERS, "softmax", lambda scores: torch.softmax(scores, dim=-1))


def empty_rows_zero_but_their_gradients_nan(patch: pytest.MonkeyPatch) -> None:
    patch.setitem(
        core.NORMALIZERS, "softmax", lambda scores: torch.softmax(scores, dim=-1).nan_to_num(0.0)
    )


def half_precision_scored_in_half(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(core, "widen", lambda tensor: tensor)


def masked_after_the_softmax(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Mask, "hide", lambda mask, scores: scores + 0.0 * _grid(mask, scores))


def lse_before_masking(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(core, "logsumexp", lambda scores: scores.exp().sum(dim=-1).log() + 1.0)


CAUGHT_BY: dict[Break, str] = {
    softmax_over_the_query_axis: "weights_sum_to_one_over_the_keys",
    a_large_finite_fill: "an_empty_row_is_zero",
    a_small_finite_fill: "live_rows_sum_to_one_however_low_they_score",
    hidden_positions_not_zeroed: "hidden_means_absent",
    only_hidden_values_zeroed: "hidden_means_absent",
    weights_returned_after_dropout: "weights_are_those_before_dropout",
    dropout_without_scaling_up: "weights_are_those_before_dropout",
    query_not_scaled: "it_agrees_with_the_oracle",
    inverted_polarity: "true_means_may_attend",
    empty_rows_uniform: "an_empty_row_is_zero",
    empty_rows_nan: "an_empty_row_is_zero",
    empty_rows_zero_but_their_gradients_nan: "an_empty_row_is_zero",
    half_precision_scored_in_half: "half_precision_is_scored_in_float32",
    masked_after_the_softmax: "true_means_may_attend",
    lse_before_masking: "lse_is_the_log_of_the_summed_exponentials",
}


@pytest.mark.parametrize("break_it", CAUGHT_BY, ids=lambda b: b.__name__)
def test_an_attend_is_caught_that_has(break_it: Break, monkeypatch: pytest.MonkeyPatch) -> None:
    break_it(monkeypatch)
    with pytest.raises(AssertionError):
        CHECKS[CAUGHT_BY[break_it]](attend_reference, "scaled_dot")


def test_nothing_is_caught_where_nothing_is_broken() -> None:
    assert broken(attend_reference, "scaled_dot") == []


def _grid(mask: Mask, scores: Tensor) -> Tensor:
    return mask.grid_for(scores.shape, scores.device)
