"""What words and defaults mean, in code that was once misread."""

import pytest
import torch
from torch import Tensor, nn

from regard.doctor import diagnose


def _attend(q: Tensor, k: Tensor, v: Tensor, hidden: Tensor | None) -> Tensor:
    scores = q @ k.transpose(1, 2) / q.shape[-1] ** 0.5
    if hidden is not None:
        scores = scores.masked_fill(hidden[:, None], float("-inf"))
    return scores.softmax(-1) @ v


def sound(q, k, v, padding_mask=None):
    """padding_mask: (B, T), True where the token is padding"""
    return _attend(q, k, v, padding_mask)


def inverted(q, k, v, padding_mask=None):
    """padding_mask: (B, T), True where the token is padding"""
    return _attend(q, k, v, None if padding_mask is None else ~padding_mask)


def in_blocks(Q, K, V, block=3):
    """Streaming softmax over key blocks."""
    top, total, context = torch.full((*Q.shape[:-1], 1), -torch.inf), 0.0, 0.0
    for start in range(0, K.shape[1], block):
        keys, values = K[:, start : start + block], V[:, start : start + block]
        scores = Q @ keys.transpose(1, 2) / Q.shape[-1] ** 0.5
        new = torch.maximum(top, scores.max(-1, keepdim=True).values)
        shares, before = torch.exp(scores - new), torch.exp(top - new)
        total = total * before + shares.sum(-1, keepdim=True)
        context, top = context * before + shares @ values, new
    return context / total


def test_true_where_the_token_is_padding_hides() -> None:
    assert diagnose(sound, isolate=False).status == 0
    assert [f.fault for f in diagnose(inverted, isolate=False).findings] == ["mask-polarity"]


def test_a_number_is_no_mask() -> None:
    assert diagnose(in_blocks, isolate=False).status == 0


def test_an_argument_that_is_not_there_cannot_be_bound() -> None:
    report = diagnose(sound, bind={"query": "zzz"}, isolate=False)
    assert (report.status, "has no argument 'zzz'" in report.question) == (2, True)


@pytest.mark.parametrize("layer", [nn.Linear(8, 4), nn.GRU(8, 4, batch_first=True)])
def test_what_is_no_attention_is_not_called_sound(layer: nn.Module) -> None:
    report = diagnose(layer, isolate=False)
    assert (report.status, "no attention is seen" in report.question) == (2, True)
