"""The right answers: attention in float64, one query at a time, over the keys it may see.

Hidden keys are never touched, so what they hold cannot matter; a query without keys gets the empty
sum, zero. It shares no code with any contestant, ours included.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from benchmarks.peers.protocol import Case


class Truth(NamedTuple):
    context: Tensor
    weights: Tensor
    gradients: list[Tensor]
    """Of ``context[loss_over].sin().sum()`` for query and memory; empty without loss."""


def truth(case: Case, score: str, *, bias: Tensor | None = None) -> Truth:
    """Context, weights and gradients of a case; ``bias`` (batch, key) is added to the scores."""
    memory = torch.tensor(case.memory, dtype=torch.float64, requires_grad=True)
    query = memory
    if case.query is not None:
        query = torch.tensor(case.query, dtype=torch.float64, requires_grad=True)
    v = torch.tensor(case.v, dtype=torch.float64)
    visible = _visible(case, query.shape[1], memory.shape[1])

    context_rows, weight_rows = [], []
    for example in range(query.shape[0]):
        for position in range(query.shape[1]):
            keys = visible[example, position].nonzero().flatten()
            seen = memory[example, keys]
            scores = _scores(score, query[example, position], seen, v)
            scores = scores if bias is None else scores + bias[example, keys]
            weights = scores.softmax(dim=0)
            context_rows.append(weights @ seen)
            weight_rows.append(torch.zeros(memory.shape[1]).double().index_copy(0, keys, weights))
    context = torch.stack(context_rows).view(*query.shape[:2], -1)
    weights = torch.stack(weight_rows).view(*query.shape[:2], -1)

    gradients = []
    if case.loss_over is not None:
        loss = context[case.loss_over].sin().sum()
        gradients = list(torch.autograd.grad(loss, [query, memory]))
    return Truth(context.detach(), weights.detach(), gradients)


def _scores(score: str, query: Tensor, keys: Tensor, v: Tensor) -> Tensor:
    if score == "additive":
        return (query + keys).tanh() @ v
    scores = keys @ query
    return scores / len(query) ** 0.5 if score == "scaled_dot" else scores


def _visible(case: Case, query_len: int, key_len: int) -> Tensor:
    """(batch, query, key), true where the query may see the key."""
    shape = (len(case.memory), query_len, key_len)
    visible = torch.ones(shape, dtype=torch.bool)
    if case.keep is not None:
        visible &= torch.tensor(case.keep)[:, None]
    if case.causal is not None:
        shift = key_len - query_len if case.causal == "end" else 0
        visible &= torch.arange(key_len) <= torch.arange(query_len)[:, None] + shift
    return visible
