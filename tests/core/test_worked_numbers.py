"""Numbers worked by hand, and the shapes of the textbook."""

import math

import numpy as np
import torch
from torch import nn
from torch.testing import assert_close

from regard import Mask, attend, masked_softmax, reference, scores

KEYS = torch.tensor([[1.0, 0.0, 0.2], [0.5, 0.5, 0.1], [0.1, 0.9, 0.3]])
QUERY = torch.tensor([0.9, 0.1, 0.2])


def test_three_keys_weigh_464_305_and_231_thousandths() -> None:
    # scores .94 .52 .24; exponentials 2.5600 1.6820 1.2712, which sum to 5.5132
    right = torch.tensor([0.464, 0.305, 0.231])
    attended = attend(QUERY[None], KEYS, KEYS, score=scores.Dot(), need_weights=True)
    assert_close(attended.weights[0], right, rtol=0.0, atol=5e-4)
    assert_close(attended.context[0], right @ KEYS, rtol=0.0, atol=1e-3)
    context, weights = reference.dot_attention(QUERY.numpy(), KEYS.numpy())
    np.testing.assert_allclose(weights, right, atol=5e-4)
    np.testing.assert_allclose(context, right @ KEYS, atol=1e-3)


def test_a_query_near_the_third_key_moves_the_largest_weight_to_it() -> None:
    near = torch.tensor([0.1, 0.9, 0.3])
    weights = attend(near[None], KEYS, KEYS, score=scores.Dot(), need_weights=True).weights
    assert weights.argmax() == 2
    assert reference.dot_attention(near.numpy(), KEYS.numpy()).weights.argmax() == 2


def test_scores_112_and_96_at_key_dim_64_scale_to_14_and_12() -> None:
    query = torch.ones(1, 64)
    key = torch.stack([torch.full((64,), 112 / 64), torch.full((64,), 96 / 64)])
    value = torch.tensor([[1.0, 0.0, 2.0], [0.0, 1.0, 5.0]])
    assert_close(scores.Dot()(query, key), torch.tensor([[112.0, 96.0]]))
    assert_close(scores.ScaledDot()(query, key), torch.tensor([[14.0, 12.0]]))
    context, weights, _ = attend(query, key, value, need_weights=True)
    right = torch.tensor([[0.88, 0.12]])
    assert_close(weights, right, rtol=0.0, atol=1e-3)
    assert_close(context, right @ value, rtol=0.0, atol=5e-3)
    context, weights = reference.scaled_dot_attention(query, key, value)
    np.testing.assert_allclose(weights, right, atol=1e-3)
    np.testing.assert_allclose(context, right @ value, atol=5e-3)


def test_masked_softmax_of_lengths_5_and_3_shares_over_5_and_over_3() -> None:
    powers = torch.tensor([1.0, 2.0, 4.0, 8.0, 16.0]).log()
    weights = masked_softmax(powers.expand(2, 1, 5), [5, 3])
    right = torch.tensor([[1, 2, 4, 8, 16], [31 / 7, 62 / 7, 124 / 7, 0, 0]]) / 31
    assert_close(weights[:, 0], right)
    for row, length in enumerate([5, 3]):
        np.testing.assert_allclose(
            reference.masked_softmax(powers.numpy(), length), right[row], rtol=1e-6
        )


def test_the_shapes_are_those_of_the_textbook() -> None:
    length, hidden, d_s, d_attn = 5, 6, 7, 8
    encoder = nn.GRU(3, hidden, bidirectional=True, batch_first=True)
    encoder_states, _ = encoder(torch.randn(2, length, 3))
    d_h = encoder_states.shape[-1]
    assert d_h == 2 * hidden

    score = scores.Additive(query_dim=d_s, key_dim=d_h, attn_dim=d_attn)
    assert score.query_weight.shape == (d_attn, d_s)
    assert score.key_weight.shape == (d_attn, d_h)
    assert score.v.shape == (d_attn,)
    decoder_state = torch.randn(2, 1, d_s)
    attended = attend(decoder_state, encoder_states, encoder_states, score=score, need_weights=True)
    assert attended.context.shape == (2, 1, d_h)
    assert attended.weights.shape == (2, 1, length)

    for row in range(2):
        context, weights = reference.additive_attention(
            decoder_state[row, 0],
            encoder_states[row].detach(),
            *(p.detach() for p in (score.query_weight, score.key_weight, score.v)),
        )
        assert context.shape == (d_h,)
        assert weights.shape == (length,)
        np.testing.assert_allclose(context, attended.context[row, 0].detach(), rtol=1e-4, atol=1e-6)


def test_without_the_scale_a_softmax_over_512_channels_saturates() -> None:
    generator = torch.Generator().manual_seed(0)
    query = torch.randn(64, 1, 512, generator=generator, requires_grad=True)
    key = torch.randn(64, 8, 512, generator=generator)
    largest, slope = {}, {}
    for score in (scores.ScaledDot(), scores.Dot()):
        weights = attend(query, key, key, score=score, need_weights=True).weights[:, 0]
        largest[type(score)] = weights.amax(dim=-1).mean().item()
        # the softmax's own derivative, diag(w) - w wᵀ
        jacobian = torch.diag_embed(weights) - weights[:, :, None] * weights[:, None, :]
        slope[type(score)] = torch.linalg.matrix_norm(jacobian).mean().item()
    assert largest[scores.ScaledDot] < 0.5
    assert largest[scores.Dot] > 0.9
    assert slope[scores.Dot] < slope[scores.ScaledDot] / 3


def test_the_scale_keeps_scores_of_unit_variance_at_unit_variance() -> None:
    generator = torch.Generator().manual_seed(0)
    for dim in (16, 512):
        query, key = (torch.randn(1, 300, dim, generator=generator) for _ in range(2))
        assert abs(scores.ScaledDot()(query, key).std() - 1.0) < 0.05
        bilinear = scores.Bilinear(query_dim=dim, key_dim=dim)
        assert abs(bilinear(query, key).std() - 1.0) < 0.2
        assert abs(scores.Dot()(query, key).std() - math.sqrt(dim)) < 0.05 * math.sqrt(dim)


def test_equal_scores_average_what_may_be_seen() -> None:
    value = torch.tensor([[[10.0], [20.0], [90.0]]])
    attended = attend(
        torch.zeros(1, 1, 2), torch.zeros(1, 3, 2), value, may_attend=Mask.lengths([2])
    )
    assert_close(attended.context, torch.tensor([[[15.0]]]))
