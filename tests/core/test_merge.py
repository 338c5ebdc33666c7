"""Two parts of the key axis, attended to apart and joined."""

import math

import pytest
import torch
from torch.testing import assert_close

from regard import Attended, Mask, attend
from tests.core.cases import SCORES, Case, Sizes, gradients, make_case

ALL = Mask.lengths([[5, 2, 0, 3], [0, 0, 1, 5]])


def part(case: Case, keys: slice, may_attend: Mask = ALL) -> Attended:
    grid = may_attend.dense_for(4, 5)[..., keys]
    return attend(
        case.query,
        case.key[:, keys],
        case.value[:, keys],
        score=case.score,
        may_attend=Mask.dense(grid),
        need_weights=True,
        need_lse=True,
    )


@pytest.mark.parametrize("split", range(6))
@pytest.mark.parametrize("name", SCORES)
def test_parts_merge_into_the_whole_with_all_gradients(name: str, split: int) -> None:
    case = make_case(name)
    whole = part(case, slice(0, 5))
    merged = part(case, slice(0, split)).merge(part(case, slice(split, 5)))
    assert_close(merged, whole)
    live = whole.lse > -math.inf  # type: ignore[operator]
    found = []
    for attended in (whole, merged):
        assert attended.lse is not None
        assert attended.weights is not None
        loss = (
            attended.context.sin().sum() + attended.weights.cos().sum() + attended.lse[live].sum()
        )
        found.append(list(gradients(loss, case.leaves)))
    assert_close(found[1], found[0])


def test_three_parts_merge_in_any_order_of_joining() -> None:
    case = make_case("additive")
    one, two, three = (part(case, slice(*ends)) for ends in ((0, 1), (1, 3), (3, 5)))
    assert_close(one.merge(two).merge(three), one.merge(two.merge(three)))


def test_rows_empty_in_both_parts_stay_empty() -> None:
    case = make_case("dot")
    merged = part(case, slice(0, 2)).merge(part(case, slice(2, 5)))
    assert merged.weights is not None
    assert merged.lse is not None
    assert merged.lse[0, 2] == merged.lse[1, 0] == -math.inf
    assert (merged.context[0, 2] == 0).all()
    assert (merged.weights[0, 2] == 0).all()


def test_a_merge_is_finite_in_both_derivatives_where_either_or_both_parts_are_empty() -> None:
    one = torch.tensor([-math.inf, 1.0, -math.inf, 0.5], requires_grad=True)
    other = torch.tensor([-math.inf, -math.inf, 2.0, 1e4], requires_grad=True)
    context = torch.arange(8.0).view(4, 2)
    merged = Attended(context, None, one).merge(Attended(2 * context, None, other))
    assert merged.lse is not None
    loss = (merged.context**2).sum() + (merged.lse[1:] ** 2).sum()
    first = torch.autograd.grad(loss, (one, other), create_graph=True)
    second = torch.autograd.grad(sum((g**2).sum() for g in first), (one, other))
    for derivative in (*first, *second):
        assert derivative.isfinite().all()
    assert first[0][[0, 2]].tolist() == [0.0, 0.0]


def test_parts_far_apart_in_size_merge_without_overflow() -> None:
    context = torch.ones(2, 1)
    low, high = (Attended(context * n, None, torch.tensor([n, -n])) for n in (-1e4, 1e4))
    merged = low.merge(high)
    assert_close(merged.lse, torch.tensor([1e4, 1e4]))
    assert_close(merged.context, torch.tensor([[1e4], [-1e4]]))


def test_half_precision_parts_merge_into_half_precision() -> None:
    case = make_case("scaled_dot", dtype=torch.float16)
    merged = part(case, slice(0, 2)).merge(part(case, slice(2, 5)))
    assert merged.weights is not None
    assert merged.context.dtype == merged.weights.dtype == torch.float16
    assert_close(merged, part(case, slice(0, 5)), rtol=5e-3, atol=2e-3)


def test_without_weights_in_both_parts_the_merge_has_none() -> None:
    case = make_case("dot")
    merged = part(case, slice(0, 2)).merge(part(case, slice(2, 5))._replace(weights=None))
    assert merged.weights is None


def test_a_part_without_lse_is_refused() -> None:
    case = make_case("dot")
    with pytest.raises(ValueError, match=r"a part has no lse.*need_lse=True"):
        part(case, slice(0, 2)).merge(part(case, slice(2, 5))._replace(lse=None))


def test_parts_of_other_queries_are_refused(as_a_user: None) -> None:
    case, other = make_case("dot"), make_case("dot", Sizes(value_dim=3))
    with pytest.raises(
        ValueError, match=r"contexts \(2, 4, 8\) and \(2, 4, 3\) differ.*same queries"
    ):
        part(case, slice(0, 2)).merge(part(other, slice(2, 5)))
