"""Faults that people really made around attention layers, each with the answer that is right.

As `tests/core/test_known_faults.py`, which has the faults of attention itself: the number is the
entry's in a collection of public reports made small, the docstring what went wrong.
"""

import math

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from regard import Mask
from regard.layers import AdditiveAttention, MultiHeadAttention


def layer(embed_dim: int, num_heads: int, dropout: float = 0.0) -> MultiHeadAttention:
    torch.manual_seed(0)
    made = MultiHeadAttention(embed_dim, num_heads, dropout=dropout)
    torch.nn.init.normal_(made.output_projection.bias)  # born zero, which would hide a fault
    return made


def derivatives(loss: Tensor, of: torch.nn.Module) -> list[Tensor]:
    return list(torch.autograd.grad(loss, list(of.parameters())))


def test_fault_01_a_window_and_padding_leave_a_query_no_key() -> None:
    """Its row was left out of the loss, and still every gradient was NaN."""
    attention, x = layer(4, 1), torch.randn(2, 4, 4)
    may_attend = Mask.window(1, 0) & Mask.lengths([4, 2])
    output, weights = attention(x, x, x, may_attend=may_attend, need_weights=True)
    assert weights is not None
    assert weights[1, 3].tolist() == [0, 0, 0, 0]
    assert_close(output[1, 3], attention.output_projection.bias)
    loss = output[0].sum() + output[1, :3].sum()
    assert all(gradient.isfinite().all() for gradient in derivatives(loss, attention))


def test_fault_02_a_blocked_head_is_no_nan_when_weights_are_wanted() -> None:
    """One head blocked: numbers without weights, NaN with them."""
    attention, x = layer(3, 3), torch.randn(1, 5, 3)
    may_attend = torch.ones(1, 3, 5, 5, dtype=torch.bool)
    may_attend[:, 2] = False
    without = attention(x, x, x, may_attend=may_attend)
    output, weights = attention(
        x, x, x, may_attend=may_attend, need_weights=True, average_attn_weights=False
    )
    assert_close(output, without.output)
    assert output.isfinite().all()
    assert (weights[:, 2] == 0).all()


def test_fault_03_an_example_of_length_zero_is_the_bias_and_leaves_the_others_alone() -> None:
    """The whole example NaN if weights were wanted, and the bias if not."""
    attention, x = layer(20, 5), torch.randn(4, 5, 20)
    for need_weights in (False, True):
        output, _ = attention(
            x, x, x, may_attend=Mask.lengths([5, 3, 1, 0]), need_weights=need_weights
        )
        assert_close(output[3], attention.output_projection.bias.expand(5, 20))
        for row, length in enumerate([5, 3, 1]):
            real = x[row, None, :length]
            assert_close(output[row, None], attention(x[row, None], real, real).output)


@pytest.mark.parametrize("number", [torch.float32, torch.bool])
def test_fault_18_a_triangle_for_torch_s_layer_says_what_is_hidden(number: torch.dtype) -> None:
    """A float triangle of ones was added and not applied; a bool one hid the past, with NaN."""
    triangle = torch.ones(3, 3).tril().to(number)
    if number == torch.float32:
        with pytest.raises(ValueError, match=r"attn_mask\[0, 0\] is 1.0.*as bias="):
            Mask.from_torch(triangle)
        return
    attention, x = layer(4, 1), torch.ones(1, 3, 4)  # equal keys
    _, weights = attention(x, x, x, may_attend=Mask.from_torch(triangle), need_weights=True)
    assert weights[0, 0].tolist() == [0, 0.5, 0.5]
    assert weights[0, 2].tolist() == [0, 0, 0]


def test_fault_40_padding_for_a_mask_of_queries_is_refused() -> None:
    """A (batch, key) padding mask where batch = length: another example's mask, silently."""
    attention, x = layer(4, 2), torch.randn(3, 3, 4)
    padding = torch.tensor([[0, 0, 1], [0, 1, 1], [0, 0, 0]]) == 1
    with pytest.raises(ValueError, match=r"could be \(batch, key\) or \(query, key\)"):
        attention(x, x, x, may_attend=~padding)
    may_attend = Mask.from_torch(key_padding_mask=padding)
    _, weights = attention(x, x, x, may_attend=may_attend, need_weights=True)
    assert ((weights == 0) == padding[:, None, :]).all()


def test_fault_43_masks_of_three_and_of_four_axes_are_taken() -> None:
    """Only (batch * heads, query, key) was."""
    attention, query, key = layer(4, 2), torch.randn(2, 2, 4), torch.randn(2, 3, 4)
    three = torch.tensor([[[1, 0, 1], [1, 1, 1]], [[0, 0, 1], [1, 1, 0]]]) == 1
    four = three[:, None].expand(2, 2, 2, 3)
    folded = Mask.from_torch(~four.flatten(0, 1), num_heads=2)
    found = [attention(query, key, key, may_attend=m).output for m in (three, four, folded)]
    assert_close(found[1], found[0])
    assert_close(found[2], found[0])
    alone = attention(query[1:, :1], key[1:, 2:], key[1:, 2:]).output  # what it may see
    assert_close(found[0][1:, :1], alone)


def test_fault_46_examples_do_not_look_at_each_other() -> None:
    """Batch-first numbers in a layer that puts positions first."""
    attention, x = layer(4, 1), torch.randn(2, 5, 4)
    assert attention(x, x, x, need_weights=True).weights.shape == (2, 5, 5)
    moved = torch.stack([x[0], x[1] + 1.0])
    assert torch.equal(attention(moved, moved, moved).output[0], attention(x, x, x).output[0])


def test_fault_48_one_step_of_one_example_keeps_its_axes() -> None:
    """squeeze() without an axis drops a batch of 1 as well."""
    attention = AdditiveAttention(query_dim=3, key_dim=2, attn_dim=4)
    for batch, length in ((1, 5), (3, 1), (1, 1)):
        key = torch.randn(batch, length, 2)
        context, weights = attention(torch.randn(batch, 3), key, key, need_weights=True)
        assert context.shape == (batch, 2)
        assert weights.shape == (batch, length)
        assert_close(weights.sum(dim=-1), torch.ones(batch))


@pytest.mark.parametrize("embed_dim", [10, 3])
def test_fault_54_heads_must_divide_the_width(embed_dim: int) -> None:
    """Views by hand ran for some lengths, and changed them."""
    num_heads = 3 if embed_dim == 10 else 2
    with pytest.raises(ValueError, match=f"embed_dim={embed_dim} and num_heads={num_heads}"):
        MultiHeadAttention(embed_dim, num_heads)


@pytest.mark.parametrize("dropout", [0.0, 0.3])
@pytest.mark.parametrize("need_weights", [False, True])
def test_fault_69_causal_stays_causal_whatever_else_is_asked(
    need_weights: bool, dropout: float
) -> None:
    """With weights, or with dropout, the causal part vanished: the future leaked."""
    attention, x = layer(4, 2, dropout=dropout), torch.randn(1, 3, 4, requires_grad=True)
    output, weights = attention(x, x, x, may_attend=Mask.causal(), need_weights=need_weights)
    (gradient,) = torch.autograd.grad(output[:, 0].sum(), x)
    assert (gradient[:, 1:] == 0).all()
    assert weights is None or (weights.triu(1) == 0).all()


def test_fault_71_nothing_is_dropped_in_evaluation() -> None:
    """Dropout stayed on in evaluation."""
    attention, x = layer(4, 2, dropout=0.5), torch.randn(2, 3, 4)
    assert not torch.equal(*(attention(x, x, x).output for _ in range(2)))
    attention.eval()
    assert torch.equal(*(attention(x, x, x).output for _ in range(2)))


def test_fault_72_weights_returned_in_training_sum_to_one() -> None:
    """One key, dropout of 0.2: its weight was 0 or 1.25."""
    attention, x = layer(4, 2, dropout=0.2), torch.randn(50, 1, 4)
    _, weights = attention(x, x, x, need_weights=True, average_attn_weights=False)
    assert (weights == 1).all()


def test_fault_73_weights_are_of_each_head_or_their_mean() -> None:
    """The mean where those of each head were meant; heads and examples read in the wrong order."""
    attention, x = layer(4, 2).eval(), torch.randn(3, 3, 4)
    _, mean = attention(x, x, x, need_weights=True)
    _, each = attention(x, x, x, need_weights=True, average_attn_weights=False)
    assert each.shape == (3, 2, 3, 3)
    assert_close(each.mean(dim=1), mean)
    for row in range(3):
        alone = attention(
            x[row, None], x[row, None], x[row, None], need_weights=True, average_attn_weights=False
        )
        assert_close(each[row], alone.weights[0])
    assert attention(x, x, x).weights is None


def test_fault_74_shape_and_numbers_are_the_same_in_evaluation() -> None:
    """In evaluation, with padding, the output was shorter, or zero at padded places."""
    attention, x = layer(8, 2), torch.randn(3, 6, 8)
    may_attend = Mask.lengths([2, 3, 1])
    trained = attention(x, x, x, may_attend=may_attend).output
    attention.eval()
    with torch.no_grad():
        evaluated = attention(x, x, x, may_attend=may_attend).output
    assert evaluated.shape == (3, 6, 8)
    assert_close(evaluated, trained)


def test_fault_77_nothing_of_a_call_stays_on_the_layer() -> None:
    """Weights kept on a layer with their graphs, which piled up."""
    attention, x = layer(4, 2), torch.randn(2, 3, 4)
    before = set(vars(attention))
    _, weights = attention(x, x, x, need_weights=True)
    assert weights.requires_grad
    assert set(vars(attention)) == before
    assert list(attention.buffers()) == []
    assert math.isclose(float(weights.detach().sum()), 6.0, rel_tol=1e-5)
