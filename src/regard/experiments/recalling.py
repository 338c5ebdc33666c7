"""One cell of the scaling: a score at one width, trained to recall."""

import math
import time
from collections.abc import Callable
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.experiments.cells import Measured, Settings
from regard.experiments.recall import Questions, Recall, questions
from regard.kernels import Workers

TEST_SEED = 0
"""Of the test questions, which all trainings share; their own seeds begin at 1."""


class AtStart(NamedTuple):
    """Of the weights before any training, means over test questions."""

    entropy: float
    """In nats; ln(key_len) if uniform."""
    slope: float
    """Frobenius norm of softmax's Jacobian, diag(w) - w wᵀ: 0 if one-hot."""
    gradient_norm: float
    """Of the loss, by the projections of query and key."""


def measure_recall(settings: Settings, tell: Callable[[float], None]) -> Measured:
    """Train one network, and test it on the way.

    Args:
        settings: ``score``, ``key_dim``, ``seed`` and the fields of
            :class:`regard.experiments.scaling.Budget`.
        tell: told the share that is done.
    """
    start = time.monotonic()
    sizes = {"key_len": settings["key_len"], "num_symbols": settings["num_symbols"]}
    draw = torch.Generator().manual_seed(TEST_SEED)
    test = questions(settings["num_test"], **sizes, generator=draw)
    with torch.random.fork_rng(devices=[]), Workers(1):  # operations too small to be split
        torch.manual_seed(settings["seed"])
        network = Recall(
            settings["score"],
            key_dim=settings["key_dim"],
            embed_dim=settings["embed_dim"],
            num_symbols=settings["num_symbols"],
        )
        at_start = look_at_start(network, test)
        optimizer = torch.optim.Adam(network.parameters(), lr=settings["learning_rate"])
        draw.manual_seed(settings["seed"])
        reached = None
        right = _right(network, test)
        for update in range(1, settings["updates"] + 1):
            drawn = questions(settings["batch_size"], **sizes, generator=draw)
            optimizer.zero_grad()
            torch.autograd.backward(_loss(network, drawn))
            optimizer.step()
            if update % settings["evaluate_every"] == 0 or update == settings["updates"]:
                right = _right(network, test)
                if reached is None and sum(right) >= settings["reached"] * len(right):
                    reached = update
                tell(update / settings["updates"])
    return {
        "right": right,
        "updates_to_reach": reached,
        "at_start": at_start._asdict(),
        "seconds": round(time.monotonic() - start, 1),
    }


def look_at_start(network: Recall, test: Questions) -> AtStart:
    """What softmax makes of the first scores, and what gradient comes through it."""
    network.zero_grad()
    torch.autograd.backward(_loss(network, test))
    projections = [network.to_query.weight.grad, network.to_key.weight.grad]
    norm = math.sqrt(sum(float(p.square().sum()) for p in projections if p is not None))
    with torch.no_grad():
        weights = network(test).weights
    return AtStart(float(_entropy(weights).mean()), float(_slope(weights).mean()), norm)


def _entropy(weights: Float[Tensor, "batch key_len"]) -> Float[Tensor, " batch"]:
    return torch.special.entr(weights).sum(dim=-1)


def _slope(weights: Float[Tensor, "batch key_len"]) -> Float[Tensor, " batch"]:
    # ‖diag(w) - w wᵀ‖² = Σ w² - 2 Σ w³ + (Σ w²)²
    squares = weights.square().sum(dim=-1)
    return (squares - 2 * weights.pow(3).sum(dim=-1) + squares.square()).clamp(min=0.0).sqrt()


def _loss(network: Recall, drawn: Questions) -> Tensor:
    return nn.functional.cross_entropy(network(drawn).logits, drawn.answer)


@torch.no_grad()
def _right(network: Recall, test: Questions) -> list[int]:
    return (network(test).logits.argmax(dim=-1) == test.answer).int().tolist()
