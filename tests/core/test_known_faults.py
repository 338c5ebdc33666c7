"""Faults that people really made in attention code, each with the answer that is right.

One test per entry of a collection of public reports made small: the number is the entry's, the name
is what must hold, the docstring is what went wrong. `tests/layers/test_known_faults.py` has those
of layers, and `test_every_fault_has_its_place.py` says where the rest is, or why it is nowhere.
"""

import math

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from regard import Mask, attend, masked_softmax, reference, scores
from regard.core.normalizers import logsumexp
from tests.core.cases import SCORES, Sizes, gradients, make_case


def keep(rows: object) -> Tensor:
    """A bool tensor from ones and zeros."""
    return torch.tensor(rows) == 1


def weigh(row: list[float], kept: list[int]) -> list[float]:
    return masked_softmax(torch.tensor([row], dtype=torch.float32), keep([kept]))[0].tolist()


def about(numbers: object) -> object:
    return pytest.approx(numbers, abs=1e-4)


def equal_scores(may_attend: Mask | Tensor, value: list[float], query_len: int) -> list[float]:
    """Contexts of queries to which every key is the same."""
    values = torch.tensor(value, dtype=torch.float32)[None, :, None]
    query, key = torch.zeros(1, query_len, 2), torch.zeros(1, len(value), 2)
    return attend(query, key, values, may_attend=may_attend).context.flatten().tolist()


# ---- rows with no visible key, NaN ----------------------------------------------------------


def test_fault_01_a_query_left_without_keys_spoils_no_gradient() -> None:
    """A window and padding together leave one query no key: NaN in gradients of other rows."""
    case = make_case("scaled_dot", Sizes(query_len=4, key_len=4))
    may_attend = Mask.window(1, 0) & Mask.lengths([4, 2])
    attended = attend(*case[:3], may_attend=may_attend, need_weights=True)
    assert attended.weights is not None
    assert (attended.weights[1, 3] == 0).all()
    assert (attended.context[1, 3] == 0).all()
    loss = attended.context[0].sum() + attended.context[1, :3].sum()
    assert all(gradient.isfinite().all() for gradient in gradients(loss, case.leaves))


def test_fault_02_a_blocked_head_is_zero_whether_or_not_weights_are_wanted() -> None:
    """One head fully blocked: asking for weights turned numbers into NaN."""
    case = make_case("scaled_dot", Sizes(batch=1, heads=3, query_len=5))
    may_attend = torch.ones(1, 3, 5, 5, dtype=torch.bool)
    may_attend[:, 2] = False
    without = attend(*case[:3], may_attend=may_attend)
    with_ = attend(*case[:3], may_attend=may_attend, need_weights=True)
    assert_close(with_.context, without.context)
    assert with_.context.isfinite().all()
    assert with_.weights is not None
    assert (with_.weights[:, 2] == 0).all()


def test_fault_03_an_example_of_length_zero_leaves_the_others_alone() -> None:
    """An example of length 0 in the batch."""
    case = make_case("scaled_dot", Sizes(batch=4, key_len=5))
    context = attend(*case[:3], may_attend=Mask.lengths([5, 3, 1, 0])).context
    assert (context[3] == 0).all()
    for row, length in enumerate([5, 3, 1]):
        alone = attend(case.query[row], case.key[row, :length], case.value[row, :length])
        assert_close(context[row], alone.context)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_fault_04_an_all_false_row_gives_zero_however_it_is_written(dtype: torch.dtype) -> None:
    """An all-False row gave three different answers for three ways to write the mask."""
    ones, value = torch.ones(2, 2, dtype=dtype), torch.tensor([[1, 2], [3, 6]], dtype=dtype)
    may_attend = keep([[1, 0], [0, 0]])
    assert attend(ones, ones, value, may_attend=may_attend).context.tolist() == [[1, 2], [0, 0]]
    bias = torch.zeros(2, 2).masked_fill(~may_attend, -torch.inf)
    assert attend(ones, ones, value, bias=bias).context.tolist() == [[1, 2], [0, 0]]
    with pytest.raises(TypeError, match="must be bool"):
        attend(ones, ones, value, may_attend=may_attend.to(dtype))


def test_fault_05_a_row_without_keys_is_not_uniform() -> None:
    """A large finite fill makes a row without keys uniform over padding."""
    weights = masked_softmax(torch.tensor([[[1.0, 2, 3, 4]]] * 2), [2, 0])
    assert weights[0, 0].tolist() == about([0.2689, 0.7311, 0, 0])
    assert weights[1, 0].tolist() == [0, 0, 0, 0]


def test_fault_07_a_log_of_nothing_is_minus_infinity_without_nan() -> None:
    """The log of an all-zero mask in a log-softmax: NaN. The logsumexp is -inf, its gradient 0."""
    row = torch.full((1, 3), 0.3, requires_grad=True)
    lse = logsumexp(Mask.dense(keep([[0, 0, 0]])).hide(row))
    assert lse.tolist() == [-math.inf]
    lse.exp().sum().backward()
    assert row.grad is not None
    assert row.grad.tolist() == [[0, 0, 0]]


@pytest.mark.parametrize("loud", [100.0, 300.0])
def test_fault_08_a_loud_hidden_key_takes_nothing_from_the_others(loud: float) -> None:
    """Softmax first, then times the mask, then divided by the sum: all but zero, or NaN."""
    assert weigh([1, 1, loud], [1, 1, 0]) == [0.5, 0.5, 0]
    assert weigh([1, 1, loud], [0, 0, 0]) == [0, 0, 0]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_fault_10_masks_combine_as_booleans(dtype: torch.dtype) -> None:
    """A causal and a padding mask, both the lowest float: their sum overflows to -inf, then NaN."""
    row = torch.zeros(1, 1, 2, dtype=dtype)
    causal = Mask.dense(keep([[[0, 0]]]))
    padding = Mask.dense(keep([[[0, 1]]]))
    assert masked_softmax(row, padding & Mask.lengths([2])).tolist() == [[[0, 1]]]
    assert masked_softmax(row, causal & padding).tolist() == [[[0, 0]]]


def test_fault_11_left_padding_under_a_causal_mask_gives_zero_rows() -> None:
    """Left padding and a causal mask: the first rows see nothing."""
    kept = keep([[0, 0, 1], [1, 1, 1], [0, 1, 1]])
    may_attend = Mask.dense(kept[:, None, :]) & Mask.causal()
    case = make_case("scaled_dot", Sizes(batch=3, query_len=3, key_len=3))
    attended = attend(*case[:3], may_attend=may_attend, need_weights=True)
    assert attended.weights is not None
    empty = keep([[1, 1, 0], [0, 0, 0], [1, 0, 0]])
    assert torch.equal((attended.weights == 0).all(dim=-1), empty)
    assert (attended.context[empty] == 0).all()
    alone = attend(case.query[2, 1:], case.key[2, 1:], case.value[2, 1:], may_attend=Mask.causal())
    assert_close(attended.context[2, 1:], alone.context)


def test_fault_13_a_mask_is_never_multiplied_by_infinity() -> None:
    """(1 - keep) times -inf is NaN where keep is 1; minus of -inf hides nothing."""
    kept = torch.tensor([[1, 1, 0]])
    assert masked_softmax(torch.tensor([[1.0, 2, 3]]), kept == 1).tolist() == [
        about([0.2689, 0.7311, 0])
    ]
    hidden = Mask.dense(kept == 1).hide(torch.zeros(1, 3))
    assert hidden.tolist() == [[0, 0, -math.inf]]


@pytest.mark.parametrize("name", SCORES)
def test_fault_16_parameters_are_finite_at_birth(name: str) -> None:
    """Parameters over memory that nobody initialized: sometimes NaN at step 0."""
    full_of_nan = [torch.full((9,), math.nan) for _ in range(100)]
    del full_of_nan
    torch.manual_seed(0)
    first = SCORES[name](Sizes(), 3).state_dict()
    torch.manual_seed(0)
    second = SCORES[name](Sizes(), 3).state_dict()
    assert all(parameter.isfinite().all() for parameter in first.values())
    assert_close(first, second, rtol=0.0, atol=0.0)


# ---- polarity and type of masks ---------------------------------------------------------------


def test_fault_17_true_means_may_attend() -> None:
    """A mask of what is hidden given where a mask of what is seen is wanted."""
    padding = keep([0, 0, 1])
    assert equal_scores(~padding[None], [10, 20, 90], 1) == about([15])
    assert equal_scores(~Mask.dense(padding[None]), [10, 20, 90], 1) == about([15])
    of_torch = Mask.from_torch(key_padding_mask=padding[None])
    assert equal_scores(of_torch, [10, 20, 90], 1) == about([15])


def test_fault_18_a_triangle_of_ones_must_be_bool() -> None:
    """A float triangle of ones meant as causal: it was added, not applied."""
    triangle = torch.ones(3, 3).tril()
    with pytest.raises(
        TypeError, match=r"if 1 means may attend, write Mask.dense\(may_attend == 1\)"
    ):
        Mask.dense(triangle)
    assert masked_softmax(torch.zeros(3, 3), triangle == 1)[0].tolist() == [1, 0, 0]


def test_fault_19_a_mask_of_zero_and_minus_infinity_is_refused() -> None:
    """A mask of 0 and -inf where 1 and 0 are expected: uniform, whatever the scores."""
    additive = torch.zeros(3, 3).masked_fill(torch.ones(3, 3).triu(1) == 1, -torch.inf)
    with pytest.raises(TypeError, match=r"If 0 means may attend and -inf hidden.*== 0"):
        Mask.dense(additive)
    with pytest.raises(
        ValueError, match=r"attention_mask\[0, 1\] is -inf.*must be 1 \(real\) or 0"
    ):
        Mask.from_attention_mask(additive)
    weights = masked_softmax(torch.tensor([[0.0, 5, -3]] * 3), additive == 0)
    assert weights[2].tolist() == about([0.0067, 0.9930, 0.0003])


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int64])
def test_fault_21_an_integer_mask_is_refused(dtype: torch.dtype) -> None:
    """~ of an integer mask is all truthy."""
    kept = torch.tensor([[1, 1, 0]], dtype=dtype)
    for mask in (kept, ~kept):
        with pytest.raises(TypeError, match="A mask must be bool"):
            Mask.dense(mask)
        with pytest.raises(TypeError, match=r"Pass attn_mask.bool\(\) if 1 means hidden"):
            Mask.from_torch(mask)
    for mask in (~~Mask.dense(kept == 1), Mask.from_attention_mask(kept)):
        assert equal_scores(mask, [10, 20, 90], 1) == about([15])


def test_fault_22_a_float_mask_is_never_read_as_bool() -> None:
    """A mask of 0 and -inf read as bool is the wrong way round."""
    square = torch.tensor([[0.0, -math.inf], [0.0, 0.0]])
    with pytest.raises(TypeError, match="must be bool"):
        Mask.dense(square)
    assert Mask.dense(square == 0).dense_for(2, 2).tolist() == [[True, False], [True, True]]
    assert Mask.from_torch(square).dense_for(2, 2).tolist() == [[[True, False], [True, True]]]


def test_fault_23_a_bias_may_have_another_float_dtype() -> None:
    """A float mask of another dtype than the query's."""
    for dtype, other in (
        (torch.bfloat16, torch.float32),
        (torch.float32, torch.float16),
        (torch.float32, torch.float64),
    ):
        ones = torch.ones(2, 2, dtype=dtype)
        bias = torch.tensor([[0.0, -math.inf], [0.0, 0.0]], dtype=other)
        attended = attend(ones, ones, torch.eye(2, dtype=dtype), bias=bias)
        assert attended.context.tolist() == [[1, 0], [0.5, 0.5]]


def test_fault_25_the_mask_takes_effect() -> None:
    """The result of an out-of-place masked_fill was dropped: no mask at all."""
    assert weigh([0, 0, 0], [1, 1, 0]) == [0.5, 0.5, 0]


def test_fault_26_a_mask_and_causal_both_hold() -> None:
    """A mask and causal together: which holds depended on the back end. Both do."""
    may_attend = Mask.dense(keep([[1, 1, 1], [0, 1, 1], [1, 1, 0]])) & Mask.causal()
    assert equal_scores(may_attend, [1, 2, 6], 3) == about([1, 2, 1.5])


# ---- mask values and precision ----------------------------------------------------------------


def test_fault_28_the_hidden_key_never_wins() -> None:
    """A tiny fill (1e-9) where a large one was meant: the masked key wins."""
    assert weigh([-2, -1, -3], [1, 1, 0]) == about([0.2689, 0.7311, 0])


def test_fault_29_low_scores_stay_above_hidden_ones() -> None:
    """A fill of -1e4 that is above the real scores."""
    assert weigh([-2e4, -2.1e4, 0], [1, 1, 0]) == [1, 0, 0]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_fault_30_half_precision_hides_like_any_other(dtype: torch.dtype) -> None:
    """Fills of -1e9 overflow half precision: an error, or a silent NaN in a full row."""
    row = torch.zeros(1, 3, dtype=dtype)
    assert masked_softmax(row, keep([[1, 1, 0]])).tolist() == [[0.5, 0.5, 0]]
    assert masked_softmax(row, keep([[0, 0, 0]])).tolist() == [[0, 0, 0]]


def test_fault_32_a_masked_row_still_sums_to_one() -> None:
    """Masked after the softmax, and not divided again: the row sums to a third."""
    assert weigh([1, 2, 3], [1, 1, 0]) == about([0.2689, 0.7311, 0])


@pytest.mark.parametrize("real", [[1.0, 4, 5, 3], [-3.0, -2, -1]])
def test_fault_33_padding_takes_no_weight(real: list[float]) -> None:
    """No padding mask: with low real scores the padding takes nearly everything."""
    padded = weigh([*real, 0, 0, 0], [1] * len(real) + [0] * 3)
    assert padded[: len(real)] == about(torch.tensor(real).softmax(-1).tolist())
    assert padded[len(real) :] == [0, 0, 0]


def test_fault_34_a_product_that_overflows_half_precision_does_not() -> None:
    """Scaled after a product that had already overflowed in float16."""
    query = torch.full((1, 128), 24.0, dtype=torch.float16)
    key = query.expand(2, 128)
    attended = attend(query, key, key, need_weights=True, need_lse=True)
    assert attended.weights is not None
    assert attended.lse is not None
    assert attended.weights.tolist() == [pytest.approx([0.5, 0.5], abs=1e-3)]
    assert attended.lse.item() == pytest.approx(6516.6 + math.log(2), abs=0.5)


def test_fault_35_a_hidden_value_leaks_nothing() -> None:
    """A bias of -10 leaks a trace of what it hides; the model learned to use it."""
    assert equal_scores(Mask.lengths([1]), [0, 1e6], 1) == [0]
    assert weigh([0, 0], [1, 0]) == [1, 0]


def test_fault_36_padding_changes_rounding_at_most() -> None:
    """Not a fault: padding changes the result by rounding."""
    case = make_case("scaled_dot", Sizes(key_len=16, key_dim=64), dtype=torch.float32)
    padded = attend(*case[:3], may_attend=Mask.lengths([7, 7])).context
    alone = attend(case.query, case.key[:, :7], case.value[:, :7]).context
    assert_close(padded, alone, rtol=0.0, atol=1e-6)


# ---- shapes and silent broadcasting -----------------------------------------------------------


def test_fault_37_a_mask_of_keys_hides_keys() -> None:
    """A (batch, key) mask laid over queries instead of keys."""
    kept = keep([[1, 1, 0]])
    for may_attend in (Mask.dense(kept[:, None, :]), Mask.lengths([2])):
        weights = masked_softmax(torch.zeros(1, 3, 3), may_attend)
        assert weights[0].tolist() == [[0.5, 0.5, 0]] * 3


def test_fault_40_a_mask_that_could_be_of_batch_or_of_queries_is_refused() -> None:
    """A (batch, key) padding mask given as (query, key): with batch = length it runs, wrongly."""
    padding = keep([[0, 0, 1], [0, 1, 1], [0, 0, 0]])
    for batch, mask in ((3, ~padding), (2, ~padding[:2])):
        with pytest.raises(ValueError, match=r"could be \(batch, key\) or \(query, key\)"):
            masked_softmax(torch.zeros(batch, 3, 3), mask)
    weights = masked_softmax(torch.zeros(3, 3, 3), ~padding[:, None, :])
    assert weights[0, 1].tolist() == [0.5, 0.5, 0]


def test_fault_41_a_mask_of_three_axes_is_of_batch_and_not_of_heads() -> None:
    """A (batch, query, key) mask whose batch axis landed on heads."""
    may_attend = torch.ones(2, 1, 3, dtype=torch.bool)
    may_attend[0, :, 2] = False
    for heads in (2, 4):
        weights = masked_softmax(torch.zeros(2, heads, 1, 3), may_attend)
        assert (weights[0, :, 0, 2] == 0).all()
        assert_close(weights[1], torch.full((heads, 1, 3), 1 / 3))


def test_fault_43_masks_of_three_and_of_four_axes_are_taken() -> None:
    """Masks of (batch, query, key) and of (batch, heads, query, key) were refused."""
    may_attend = torch.rand(2, 2, 3, generator=torch.Generator().manual_seed(0)) < 0.5
    scores_ = torch.zeros(2, 2, 2, 3)
    three = masked_softmax(scores_, may_attend)
    four = masked_softmax(scores_, may_attend[:, None].expand(2, 2, 2, 3))
    assert torch.equal(three, four)


def test_fault_45_a_batch_of_one_is_not_stretched() -> None:
    """A batch of one query against a batch of four keys gave a result instead of an error."""
    with pytest.raises(ValueError, match="batch axis is 1 in query, 4 in key"):
        attend(torch.ones(1, 1, 8), torch.ones(4, 6, 8), torch.ones(4, 6, 8))


def test_fault_46_examples_do_not_look_at_each_other() -> None:
    """Batch-first data taken for length-first: examples looked at each other."""
    x = torch.randn(2, 5, 4)
    attended = attend(x, x, x, need_weights=True)
    assert attended.weights is not None
    assert attended.weights.shape == (2, 5, 5)
    moved = x.clone()
    moved[1] += 1
    assert torch.equal(attend(moved, moved, moved).context[0], attend(x, x, x).context[0])


@pytest.mark.parametrize("sizes", [Sizes(1, None, 4, 5), Sizes(3, None, 1, 1), Sizes(1, 1, 1, 1)])
def test_fault_48_axes_of_size_one_stay(sizes: Sizes) -> None:
    """squeeze() without an axis drops a batch or a length of 1 as well."""
    case = make_case("additive", sizes)
    attended = attend(*case[:3], score=case.score, need_weights=True, need_lse=True)
    assert attended.weights is not None
    assert attended.lse is not None
    assert attended.context.shape == (*case.query.shape[:-1], 8)
    assert attended.weights.shape == (*case.query.shape[:-1], sizes.key_len)
    assert attended.lse.shape == case.query.shape[:-1]


def test_fault_50_a_mask_lies_on_its_own_axes() -> None:
    """A mask expanded on the wrong axis; sizes that are all different show it."""
    may_attend = keep([[1, 1, 0, 1], [1, 0, 0, 0]])[:, None, None, :]
    grid = Mask.dense(may_attend).grid_for((2, 7, 3, 4), torch.device("cpu"))
    assert grid.shape == (2, 1, 1, 4)
    weights = masked_softmax(torch.zeros(2, 7, 3, 4), may_attend)
    assert ((weights > 0) == may_attend).all()


def test_fault_51_lengths_count_keys_and_leave_scores_alone() -> None:
    """Lengths compared on the wrong axis, or the caller's scores written over, or bad lengths."""
    weights = masked_softmax(torch.zeros(2, 2, 4), [2, 3])
    assert weights[0].tolist() == [[0.5, 0.5, 0, 0]] * 2
    assert weights[1].tolist() == [about([1 / 3, 1 / 3, 1 / 3, 0])] * 2
    scores_ = torch.zeros(1, 1, 3, requires_grad=True)
    masked_softmax(scores_, [2]).sum().backward()
    assert scores_.tolist() == [[[0, 0, 0]]]
    for lengths, error in (([5], ValueError), ([-1], ValueError), ([2.5], TypeError)):
        with pytest.raises(error, match=r"Mask\.lengths"):
            masked_softmax(torch.zeros(1, 1, 3), torch.tensor(lengths))


def test_fault_52_weights_average_over_positions() -> None:
    """Weights times values without the query axis: silent where batch, length and width agree."""
    for sizes in (Sizes(2, None, 1, 5, value_dim=3), Sizes(3, None, 1, 3, value_dim=3)):
        case = make_case("scaled_dot", sizes)
        attended = attend(*case[:3], need_weights=True)
        assert attended.weights is not None
        by_hand = torch.stack([w[0] @ v for w, v in zip(attended.weights, case.value, strict=True)])
        assert_close(attended.context[:, 0], by_hand)


def test_fault_53_scores_are_of_queries_by_keys() -> None:
    """k qᵀ for q kᵀ, and the decoder's padding for the encoder's keys."""
    query, key = torch.randn(1, 3, 4), torch.randn(1, 5, 4)
    assert_close(scores.Dot()(query, key), query @ key.transpose(1, 2))
    assert scores.Dot()(query, key).shape == (1, 3, 5)
    with pytest.raises(ValueError, match=r"longer than the key axis, 3.*not the queries' lengths"):
        attend(key, query, query, may_attend=Mask.lengths([5]))


def test_fault_54_heads_must_divide_the_width() -> None:
    """A width that the number of heads does not divide: silent for some lengths."""
    for length in (6, 9):
        x = np.ones((length, 10))
        with pytest.raises(ValueError, match=r"10.*num_heads=3"):
            reference.multi_head_attention(x, x, x, *[np.ones((10, 10))] * 4, num_heads=3)


# ---- axis of the softmax ----------------------------------------------------------------------


def test_fault_56_weights_sum_to_one_over_keys() -> None:
    """A softmax over an axis of size 1: every weight is 1."""
    for query_len, key_len in ((1, 5), (3, 1), (1, 3)):
        weights = masked_softmax(torch.randn(1, query_len, key_len))
        assert_close(weights.sum(-1), torch.ones(1, query_len))


@pytest.mark.parametrize("shape", [(4, 5), (2, 4, 5), (2, 3, 4, 5)])
def test_fault_58_the_softmax_is_over_keys_at_any_rank(shape: tuple[int, ...]) -> None:
    """A softmax without a named axis: over heads, with four of them."""
    scores_ = torch.randn(shape)
    assert_close(masked_softmax(scores_), scores_.exp() / scores_.exp().sum(-1, keepdim=True))


# ---- scale and score --------------------------------------------------------------------------


def test_fault_59_the_scale_is_the_root_of_the_key_s_width() -> None:
    """Divided by d to the -1/2, by the root of the model's width, or not scaled at all."""
    query, key = torch.ones(1, 64), torch.stack([torch.full((64,), 8 / 64), torch.zeros(64)])
    assert scores.Dot()(query, key).tolist() == [[8, 0]]
    attended = attend(query, key, key, need_weights=True)
    assert attended.weights is not None
    assert attended.weights[0].tolist() == about([0.7311, 0.2689])


def test_fault_61_an_additive_score_is_not_bounded_by_one() -> None:
    """tanh after v bounds the scores to 1: no key can win."""
    score = scores.Additive(query_dim=1, key_dim=1, attn_dim=1)
    with torch.no_grad():
        score.query_weight.zero_()
        score.key_weight.fill_(100.0)
        score.v.fill_(50.0)
    key = torch.zeros(20, 1)
    key[0] = 1.0
    assert score(torch.ones(1, 1), key)[0].tolist() == [50] + [0] * 19
    attended = attend(torch.ones(1, 1), key, key, score=score, need_weights=True)
    assert attended.weights is not None
    assert attended.weights[0, 0].item() == about(1.0)
    with torch.no_grad():
        score.key_weight.fill_(-100.0)
    assert score(torch.ones(1, 1), key)[0, 0].item() == -50  # a relu would be dead here


def test_fault_63_query_and_key_may_differ_in_width() -> None:
    """Code that runs only if encoder, decoder and embedding have one width."""
    query, key = torch.randn(2, 1, 3), torch.randn(2, 4, 5)
    general = scores.Bilinear(query_dim=3, key_dim=5)
    assert general.weight.shape == (3, 5)
    by_hand = torch.einsum("bqd,de,bke->bqk", query, general.weight, key)
    assert_close(general(query, key), by_hand)
    refused = "query has dim 3 but key has dim 5, and Dot needs them equal"
    with pytest.raises(ValueError, match=refused):
        attend(query, key, key, score=scores.Dot())


# ---- causal masks and caches ------------------------------------------------------------------


def test_fault_65_causal_of_unequal_lengths_must_say_which() -> None:
    """Causal with unequal lengths: from the start, or to the end? A silent choice."""
    value = [0.0, 1, 2, 3, 4]
    for query_len in (1, 2):
        with pytest.raises(ValueError, match=r"causal\('start'\).*causal\('end'\)"):
            equal_scores(Mask.causal(), value, query_len)
    assert equal_scores(Mask.causal("end"), value, 2) == about([1.5, 2])
    assert equal_scores(Mask.causal("start"), value, 2) == about([0, 0.5])
    assert equal_scores(Mask.causal("end"), value, 1) == about([2])


def test_fault_66_queries_before_every_key_get_zero() -> None:
    """More queries than keys, causal to the end: the first see nothing."""
    assert equal_scores(Mask.causal("end"), [1, 3], 5) == about([0, 0, 0, 1, 2])


@pytest.mark.parametrize("new", [1, 2])
def test_fault_68_a_step_with_a_cache_is_the_last_row_of_the_whole(new: int) -> None:
    """A mask dropped, or cut from the top, when new queries meet cached keys."""
    case = make_case("scaled_dot", Sizes(query_len=6, key_len=6))
    whole = attend(*case[:3], may_attend=Mask.causal(), need_weights=True)
    cached = attend(
        case.query[:, -new:], *case[1:3], may_attend=Mask.causal("end"), need_weights=True
    )
    assert whole.weights is not None
    assert_close(cached.weights, whole.weights[:, -new:])
    assert_close(cached.context, whole.context[:, -new:])


@pytest.mark.parametrize("dropout_p", [0.0, 0.3])
def test_fault_69_causal_stays_causal_when_weights_or_dropout_are_asked_for(
    dropout_p: float,
) -> None:
    """Asked for weights, or for dropout, the causal part vanished."""
    case = make_case("scaled_dot", Sizes(query_len=3, key_len=3))
    for need_weights in (False, True):
        torch.manual_seed(0)
        case.value.grad = None
        attended = attend(
            *case[:3], may_attend=Mask.causal(), need_weights=need_weights, dropout_p=dropout_p
        )
        attended.context[:, 0].sum().backward()
        assert case.value.grad is not None
        assert (case.value.grad[:, 1:] == 0).all()
        if attended.weights is not None:
            assert (attended.weights.triu(1) == 0).all()


# ---- dropout and returned weights -------------------------------------------------------------


def test_fault_71_dropout_happens_only_where_it_is_asked_for() -> None:
    """Dropout that stays on in evaluation. Here it happens only where it is asked for."""
    case = make_case("additive")
    case.score.train()
    contexts = [attend(*case[:3], score=case.score).context for _ in range(2)]
    assert torch.equal(*contexts)


def test_fault_72_weights_returned_in_training_sum_to_one() -> None:
    """Weights looked at while training did not sum to 1."""
    torch.manual_seed(0)
    for _ in range(20):
        attended = attend(
            torch.ones(1, 1, 2),
            torch.ones(1, 1, 2),
            torch.ones(1, 1, 1),
            dropout_p=0.2,
            need_weights=True,
        )
        assert attended.weights is not None
        assert attended.weights.item() == 1
        assert attended.context.item() in (0, 1.25)


def test_fault_73_weights_are_of_each_head() -> None:
    """The mean over heads, or heads and batch confused, where weights of each head were meant."""
    case = make_case("scaled_dot", Sizes(batch=3, heads=2))
    attended = attend(*case[:3], need_weights=True)
    assert attended.weights is not None
    assert attended.weights.shape == (3, 2, 4, 5)
    for b in range(3):
        for h in range(2):
            alone = attend(case.query[b, h], case.key[b, h], case.value[b, h], need_weights=True)
            assert_close(attended.weights[b, h], alone.weights)
    assert attend(*case[:3]).weights is None


def test_fault_74_shape_and_values_are_the_same_in_evaluation() -> None:
    """In evaluation, with padding, the output had another shape or other values."""
    case = make_case("additive", Sizes(batch=3, query_len=6, key_len=6))
    found = []
    for training in (True, False):
        case.score.train(training)
        with torch.set_grad_enabled(training):
            may_attend = Mask.lengths([2, 3, 1])
            context = attend(*case[:3], score=case.score, may_attend=may_attend).context
        assert context.shape == (3, 6, 8)
        found.append(context.detach())
    assert torch.equal(*found)


def test_fault_75_a_mean_over_positions_leaves_padding_out() -> None:
    """A mean over positions that counts padding: an example changes with its neighbours."""
    value = torch.tensor([[[1.0, 0], [1, 0], [0, 2], [0, 2]]])
    pooled = attend(torch.zeros(1, 1, 2), value, value, may_attend=Mask.lengths([2])).context
    assert pooled.tolist() == [[[1, 0]]]


def test_fault_77_returned_weights_are_differentiable_and_nothing_keeps_them() -> None:
    """Returned weights are differentiable; nothing keeps them, so no graphs pile up."""
    case = make_case("additive")
    attended = attend(*case[:3], score=case.score, need_weights=True)
    assert attended.weights is not None
    assert attended.weights.requires_grad
    kept = [t for t in vars(case.score).values() if isinstance(t, Tensor)]
    assert kept == []
    assert list(case.score.buffers()) == []


# ---- autograd, dtype, sizes (compile and export: test_compile.py) -----------------------------


def test_fault_88_gradients_of_gradients_are_right() -> None:
    """Gradients of gradients were not implemented."""
    case = make_case("scaled_dot", Sizes(1, 1, 4, 4, 8, 8, 8))
    assert torch.autograd.gradgradcheck(lambda *qkv: attend(*qkv).context, case[:3], fast_mode=True)


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated")
def test_fault_89_forward_mode_and_per_example_gradients_are_right() -> None:
    """Forward-mode derivatives, per-example gradients and Hessians were not implemented."""
    q = torch.randn(3, 2, 4, 8, dtype=torch.float64)

    def total(q: Tensor) -> Tensor:
        return attend(q, q, q).context.sin().sum()

    _, forward = torch.func.jvp(total, (q,), (torch.ones_like(q),))
    assert_close(forward, torch.func.grad(total)(q).sum())
    assert_close(torch.func.vmap(torch.func.grad(total))(q), torch.func.grad(total)(q))
    assert torch.func.hessian(total)(q[:1, :1, :2, :2]).isfinite().all()


@pytest.mark.parametrize("name", SCORES)
def test_fault_90_half_precision_runs_on_the_cpu(name: str) -> None:
    """Half precision on the CPU."""
    for dtype in (torch.float16, torch.bfloat16):
        case = make_case(name, Sizes(heads=2), dtype=dtype)
        context = attend(*case[:3], score=case.score).context
        context.sum().backward()
        assert context.dtype == dtype
        assert case.query.grad is not None
        assert case.query.grad.dtype == dtype


def test_fault_94_a_mask_is_not_copied_for_each_head_and_query() -> None:
    """A mask copied for each head and query: gigabytes."""
    grid = Mask.lengths([3, 5]).grid_for((2, 12, 7784, 7784), torch.device("cpu"))
    assert grid.numel() == 2 * 7784


def test_fault_96_a_mask_may_serve_all_heads() -> None:
    """A mask of (batch, 1, query, key) for several heads was refused."""
    may_attend = torch.rand(2, 1, 3, 5, generator=torch.Generator().manual_seed(0)) < 0.6
    case = make_case("scaled_dot", Sizes(heads=4, query_len=3))
    served = attend(*case[:3], may_attend=may_attend).context
    copied = attend(*case[:3], may_attend=may_attend.expand(2, 4, 3, 5)).context
    assert torch.equal(served, copied)
