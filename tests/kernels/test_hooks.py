"""A score with hooks is called, not taken apart: whatever a hook does, every call of it does."""

import pytest
import torch
from torch.nn.utils import prune

from regard import attend, layers, scores
from regard.core.attend import attend_reference
from regard.kernels.request import score_kind
from regard.kernels.tiled import TILED

SCORES = {
    "additive": lambda: scores.Additive(query_dim=4, key_dim=4, attn_dim=8),
    "concat": lambda: scores.Concat(query_dim=4, key_dim=4, attn_dim=8),
    "general": lambda: scores.Bilinear(query_dim=4, key_dim=4),
    "scaled_dot": scores.ScaledDot,
}


@pytest.mark.parametrize("name", SCORES)
def test_a_hook_on_the_scores_is_run(name: str) -> None:
    score = SCORES[name]()
    x = torch.randn(2, 70, 4)  # large enough for the kernel of each
    score.register_forward_hook(lambda module, given, found: -found)
    for need_weights in (False, True):
        found = attend(x, x, x, score=score, need_weights=need_weights).context
        torch.testing.assert_close(found, attend_reference(x, x, x, score=score).context)


@pytest.mark.parametrize("kind", ["register_full_backward_hook", "register_full_backward_pre_hook"])
@pytest.mark.parametrize("name", SCORES)
def test_a_hook_on_the_gradients_is_run(name: str, kind: str) -> None:
    score = SCORES[name]()
    getattr(score, kind)(lambda module, *grads: tuple(-grad for grad in grads[0]))
    x = torch.randn(2, 70, 4, requires_grad=True)
    found, right = (
        torch.autograd.grad(run(x, x, x, score=score).context.square().sum(), x)
        for run in (attend, attend_reference)
    )
    torch.testing.assert_close(found, right)


def test_the_tiled_kernel_runs_a_hook() -> None:
    score = SCORES["additive"]()
    score.register_forward_hook(lambda module, given, found: -found)
    x = torch.randn(2, 70, 4)
    found = TILED.run(x, x, x, score=score).context
    torch.testing.assert_close(found, attend_reference(x, x, x, score=score).context)


@pytest.mark.parametrize("name", ["additive", "general"])
def test_a_pruned_layer_trains(name: str) -> None:
    """torch's pruning makes the weight anew in a hook before each call."""
    layer = layers.Attention(SCORES[name]())
    weight = next(name for name, _ in layer.score.named_parameters())
    prune.l1_unstructured(layer.score, weight, amount=0.5)
    x = torch.randn(2, 70, 4)
    optimizer = torch.optim.SGD(layer.parameters(), 0.1)
    for _ in range(2):
        optimizer.zero_grad()
        layer(x, x, x).context.square().sum().backward()
        optimizer.step()
    found = layer(x, x, x).context
    torch.testing.assert_close(found, attend_reference(x, x, x, score=layer.score).context)


def test_such_a_score_passes_for_no_other() -> None:
    score = scores.Dot()
    score.register_forward_pre_hook(lambda module, given: None)
    assert score_kind(score) == "Dot with hooks"
