"""The contracts, as functions that any `attend` can be put through.

Each takes an ``attend`` and the name of a score, and raises AssertionError if a contract is broken.
`test_contracts.py` puts ours through them; `test_the_tests_can_fail.py` puts broken ones through.
"""

import math
from collections.abc import Callable

import torch
from torch.testing import assert_close

from regard import Mask, scores
from regard.core import dropout
from regard.core.attend import Attended
from tests.core.cases import Case, Sizes, gradients, make_case, oracle

Attend = Callable[..., Attended]


def run(attend: Attend, case: Case, **options: object) -> Attended:
    return attend(*case[:3], score=case.score, **options)


def exactly(actual: object, expected: object) -> None:
    assert_close(actual, expected, rtol=0.0, atol=0.0)


def it_agrees_with_the_oracle(attend: Attend, name: str) -> None:
    for heads, own_heads in ((None, False), (3, False), (3, True)):
        case = make_case(name, Sizes(heads=heads), own_heads=own_heads)
        for may_attend in (None, Mask.lengths([5, 3]), Mask.causal("end")):
            attended = run(attend, case, may_attend=may_attend, need_weights=True)
            context, weights = oracle(case, may_attend)
            assert_close(attended.context, context)
            assert_close(attended.weights, weights)


def coincident_sizes_are_no_special_case(attend: Attend, name: str) -> None:
    for sizes in (
        Sizes(3, None, 3, 3, 3, 3, 3, 3),
        Sizes(2, 2, 2, 2, 2, 2, 2, 2),
        Sizes(1, None, 1, 1, 1, 1, 1, 1),
        Sizes(1, 1, 4, 5),
        Sizes(5, 1, 1, 5),
    ):
        case = make_case(name, sizes)
        may_attend = Mask.lengths([sizes.key_len, *range(1, sizes.batch)])
        attended = run(attend, case, may_attend=may_attend, need_weights=True)
        context, weights = oracle(case, may_attend)
        assert_close(attended.context, context)
        assert_close(attended.weights, weights)


def true_means_may_attend(attend: Attend, name: str) -> None:
    case = make_case(name, Sizes(batch=1, query_len=1, key_len=3, value_dim=1))
    case = case.with_(value=torch.tensor([[[10.0], [20.0], [90.0]]]).double())
    case = case.with_(key=torch.zeros_like(case.key))  # equal scores
    attended = run(attend, case, may_attend=Mask.dense(torch.tensor([[True, True, False]])))
    assert_close(attended.context.item(), 15.0)


def weights_sum_to_one_over_the_keys(attend: Attend, name: str) -> None:
    for key_len in (5, 4):  # 4 = query_len: a sum over the wrong axis must not pass
        case = make_case(name, Sizes(key_len=key_len))
        weights = run(attend, case, need_weights=True, may_attend=Mask.lengths([3, 4])).weights
        assert weights is not None
        assert weights.shape == (2, 4, key_len)
        assert_close(weights.sum(dim=-1), torch.ones(2, 4).double())
        assert (weights >= 0.0).all()


def an_empty_row_is_zero(attend: Attend, name: str) -> None:
    """In weights, context and every derivative, with lse -inf, in each dtype."""
    lengths = torch.tensor([[3, 0, 5, 1], [0, 0, 0, 0]])
    empty = lengths == 0
    for dtype in (torch.float64, torch.float32, torch.bfloat16, torch.float16):
        case = make_case(name, dtype=dtype)
        options = dict(may_attend=Mask.lengths(lengths), need_weights=True, need_lse=True)
        attended = run(attend, case, **options)
        assert attended.weights is not None
        assert attended.lse is not None
        exactly(attended.context[empty], torch.zeros(5, 8, dtype=dtype))
        exactly(attended.weights[empty], torch.zeros(5, 5, dtype=dtype))
        assert (attended.lse[empty] == -math.inf).all()
        assert attended.lse[~empty].isfinite().all()

        # a loss over empty rows alone moves nothing; over all rows, everything stays finite
        of_empty = attended.context[empty].sum() + attended.weights[empty].sum()
        for gradient in gradients(of_empty, case.leaves, retain_graph=True):
            exactly(gradient, torch.zeros_like(gradient))
        loss = (attended.context.double() ** 2).sum() + (attended.weights.double() ** 2).sum()
        loss = loss + attended.lse[~empty].double().sum()
        first = list(gradients(loss, case.leaves, create_graph=True))
        exactly(first[0][empty], torch.zeros_like(first[0][empty]))
        second = gradients(sum((g.double() ** 2).sum() for g in first), case.leaves)
        for derivative in (*first, *second):
            assert derivative.isfinite().all()


def hidden_means_absent(attend: Attend, name: str) -> None:
    """Whatever lies at positions hidden from every query changes no output and no gradient."""
    options = dict(may_attend=Mask.lengths([5, 3]), need_weights=True, need_lse=True)
    expected = None
    for junk in (0.0, math.nan, math.inf, -math.inf, 1e6):
        case = make_case(name)
        with torch.no_grad():
            case.key[1, 3:] = junk
            case.value[1, 3:] = junk
        attended = run(attend, case, **options)
        loss = attended.context.sin().sum() + attended.lse.sum()  # type: ignore[union-attr]
        found = (*attended, *gradients(loss, case.leaves))
        expected = expected or found
        exactly(found, expected)
        exactly(found[4][1, 3:], torch.zeros(2, 7).double())  # key
        exactly(found[5][1, 3:], torch.zeros(2, 8).double())  # value


def large_numbers_do_not_reach_queries_that_may_not_see_them(attend: Attend, name: str) -> None:
    """The last key is visible to the last query alone, so it cannot be zero-filled."""
    found = []
    for junk in (0.0, 1e6):
        case = make_case(name, Sizes(key_len=4))
        with torch.no_grad():
            case.key[:, -1] = junk
            case.value[:, -1] = junk
        attended = run(attend, case, may_attend=Mask.causal(), need_weights=True)
        assert attended.weights is not None
        context, weights = attended.context[:, :-1], attended.weights[:, :-1]
        found.append((context, weights, *gradients(context.sin().sum(), case.leaves)))
    assert_close(found[0], found[1])


def padding_changes_nothing(attend: Attend, name: str) -> None:
    case = make_case(name)
    padded = case.with_(
        key=torch.cat([case.key, torch.full((2, 3, 7), 9.0)], dim=1),
        value=torch.cat([case.value, torch.full((2, 3, 8), 9.0)], dim=1),
    )
    alone = run(attend, case, need_weights=True)
    among = run(attend, padded, may_attend=Mask.lengths([5, 5]), need_weights=True)
    assert alone.weights is not None
    assert among.weights is not None
    assert_close(among.context, alone.context)
    assert_close(among.weights[..., :5], alone.weights)
    for one, other in zip(
        gradients(alone.context.sin().sum(), case.leaves),
        gradients(among.context.sin().sum(), case.leaves),
        strict=True,
    ):
        assert_close(one, other)


def observing_changes_nothing(attend: Attend, name: str) -> None:
    expected = None
    for may_attend in (None, Mask.lengths([5, 0])):
        for observed in (
            {},
            {"need_weights": True},
            {"need_lse": True},
            {"need_weights": True, "need_lse": True},
        ):
            case = make_case(name)
            attended = run(attend, case, may_attend=may_attend, **observed)
            assert (attended.weights is not None) == ("need_weights" in observed)
            assert (attended.lse is not None) == ("need_lse" in observed)
            loss = attended.context.sin().sum()
            found = (attended.context, *gradients(loss, case.leaves))
            expected = expected if observed else found
            exactly(found, expected)


def live_rows_sum_to_one_however_low_they_score(attend: Attend, name: str) -> None:
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        for shift in (-1e5, -1e4, 1e4):
            case = make_case(name, dtype=dtype)
            attended = run(
                attend,
                case,
                may_attend=Mask.lengths([3, 5]),
                bias=torch.full((1, 1, 5), shift),
                need_weights=True,
                need_lse=True,
            )
            assert attended.weights is not None
            assert attended.lse is not None
            total = attended.weights.double().sum(dim=-1)
            assert_close(total, torch.ones(2, 4).double(), rtol=0.0, atol=0.02)
            exactly(attended.weights[0, :, 3:], torch.zeros(4, 2, dtype=dtype))
            assert_close(attended.lse, torch.full((2, 4), shift), rtol=0.0, atol=50.0)


def half_precision_is_scored_in_float32(attend: Attend, name: str) -> None:
    """A dot product of 73,728 overflows float16, but is only an intermediate here."""
    del name
    query = torch.full((1, 1, 128), 24.0, dtype=torch.float16)
    key = torch.cat([query, query], dim=1)
    attended = attend(query, key, key, score=scores.Dot(), need_weights=True)
    assert attended.context.dtype == torch.float16
    exactly(attended.weights, torch.full((1, 1, 2), 0.5, dtype=torch.float16))


def weights_are_those_before_dropout(attend: Attend, name: str) -> None:
    case = make_case(name)
    options = dict(may_attend=Mask.lengths([5, 3]), need_weights=True)
    with torch.no_grad():
        expected = run(attend, case, **options)
        torch.manual_seed(1)
        attended = run(attend, case, dropout_p=0.5, **options)
        exactly(attended.weights, expected.weights)

        torch.manual_seed(1)
        keep = dropout.keep_mask(dropout.draw_seed(), 2, 1, 4, 5, 0.5)[:, 0]
        assert expected.weights is not None
        assert_close(attended.context, (expected.weights * keep / 0.5) @ case.value)


def reordered_keys_change_nothing(attend: Attend, name: str) -> None:
    case, order = make_case(name), torch.tensor([3, 1, 4, 0, 2])
    grid = torch.rand(2, 4, 5, generator=torch.Generator().manual_seed(0)) < 0.6
    plain = run(attend, case, may_attend=Mask.dense(grid), need_weights=True)
    reordered = case.with_(key=case.key[:, order], value=case.value[:, order])
    moved = run(attend, reordered, may_attend=Mask.dense(grid[..., order]), need_weights=True)
    assert plain.weights is not None
    assert_close(moved.context, plain.context)
    assert_close(moved.weights, plain.weights[..., order])


def examples_do_not_touch_each_other(attend: Attend, name: str) -> None:
    case = make_case(name, Sizes(batch=3))
    together = run(attend, case, may_attend=Mask.lengths([2, 0, 5]))
    for row, length in enumerate([2, 0, 5]):
        alone = case.with_(**{k: getattr(case, k)[row, None] for k in ("query", "key", "value")})
        one = run(attend, alone, may_attend=Mask.lengths([length]))
        assert_close(one.context[0], together.context[row])


def a_bias_is_added_to_the_scores(attend: Attend, name: str) -> None:
    case = make_case(name)
    bias = torch.randn(2, 4, 5, generator=torch.Generator().manual_seed(0)).double()
    plain = run(attend, case, need_weights=True)
    biased = run(attend, case, bias=bias, need_weights=True)
    assert plain.weights is not None
    shifted = plain.weights * bias.exp()
    assert_close(biased.weights, shifted / shifted.sum(dim=-1, keepdim=True))


def lse_is_the_log_of_the_summed_exponentials(attend: Attend, name: str) -> None:
    case = make_case(name)
    lse = run(attend, case, need_lse=True, may_attend=Mask.lengths([5, 2])).lse
    scores_ = case.score(case.query, case.key)
    assert_close(
        lse, torch.stack([scores_[0].exp().sum(-1), scores_[1, :, :2].exp().sum(-1)]).log()
    )


def nothing_to_do_gives_empty_or_zero(attend: Attend, name: str) -> None:
    for sizes in (Sizes(batch=0), Sizes(query_len=0), Sizes(key_len=0), Sizes(batch=0, key_len=0)):
        case = make_case(name, sizes)
        for may_attend in (None, Mask.lengths([0] * sizes.batch)):
            attended = run(attend, case, may_attend=may_attend, need_weights=True, need_lse=True)
            assert attended.weights is not None
            assert attended.lse is not None
            exactly(attended.context, torch.zeros(sizes.batch, sizes.query_len, 8).double())
            assert attended.weights.shape == (sizes.batch, sizes.query_len, sizes.key_len)
            assert (attended.lse == -math.inf).all() or sizes.key_len
            for gradient in gradients(attended.context.sum(), case.leaves):
                assert gradient.isfinite().all()


CHECKS: dict[str, Callable[[Attend, str], None]] = {
    check.__name__: check
    for check in (
        it_agrees_with_the_oracle,
        coincident_sizes_are_no_special_case,
        true_means_may_attend,
        weights_sum_to_one_over_the_keys,
        an_empty_row_is_zero,
        hidden_means_absent,
        large_numbers_do_not_reach_queries_that_may_not_see_them,
        padding_changes_nothing,
        observing_changes_nothing,
        live_rows_sum_to_one_however_low_they_score,
        half_precision_is_scored_in_float32,
        weights_are_those_before_dropout,
        reordered_keys_change_nothing,
        examples_do_not_touch_each_other,
        a_bias_is_added_to_the_scores,
        lse_is_the_log_of_the_summed_exponentials,
        nothing_to_do_gives_empty_or_zero,
    )
}


def broken(attend: Attend, name: str) -> list[str]:
    """The contracts that this attend breaks."""
    found = []
    for check in CHECKS.values():
        try:
            check(attend, name)
        except AssertionError:
            found.append(check.__name__)
    return found
