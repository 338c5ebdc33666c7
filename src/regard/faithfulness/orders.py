"""In which order positions are erased: by weight, and by what it has to be better than."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Generator, Tensor

from regard.faithfulness.decisions import Decisions


def weight_gradient(decisions: Decisions) -> Float[Tensor, "rows keys"]:
    """``∂P_y/∂α_j`` of each row's decision y, at the model's own weights.

    (Serrano & Smith 2019, arXiv:1906.03731, section 5, ranks by it.)
    """
    weights = decisions.weights.detach().requires_grad_()
    log_probs = decisions.respond(weights)
    (slope,) = torch.autograd.grad(log_probs.amax(dim=-1).exp().sum(), weights, allow_unused=True)
    return torch.zeros_like(weights) if slope is None else slope.detach()


def random_order(
    may_attend: Bool[Tensor, "rows keys"], generator: Generator
) -> Float[Tensor, "rows keys"]:
    """An importance that says nothing."""
    return torch.rand(may_attend.shape, generator=generator)


def ranks(
    importance: Float[Tensor, "rows keys"], may_attend: Bool[Tensor, "rows keys"]
) -> Int[Tensor, "rows keys"]:
    """0 for a row's most important position; what it may not attend to comes last.

    >>> ranks(torch.tensor([[.2, .9, .5]]), torch.tensor([[True, False, True]]))
    tensor([[1, 2, 0]])
    """
    seen = importance.masked_fill(~may_attend, -torch.inf)
    return seen.argsort(dim=-1, descending=True, stable=True).argsort(dim=-1)
