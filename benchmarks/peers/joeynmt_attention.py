"""JoeyNMT's Bahdanau and Luong attention, asked one query at a time, as its decoder does."""

import torch
from joeynmt.attention import AttentionMechanism, BahdanauAttention, LuongAttention
from torch import Tensor

from benchmarks.peers.protocol import CannotBeAsked, Case, Found, answer_all, identity


def bahdanau(case: Case, query: Tensor, memory: Tensor) -> Found:
    """``v . tanh(q + k)``."""
    dim = memory.shape[-1]
    layer = BahdanauAttention(hidden_size=dim, key_size=dim, query_size=dim).to(memory.dtype)
    identity(layer.key_layer.weight, layer.query_layer.weight)
    with torch.no_grad():
        layer.energy_layer.weight.copy_(torch.tensor([case.v]))
    return _step_by_step(layer, case, query, memory)


def luong(case: Case, query: Tensor, memory: Tensor) -> Found:
    """With an identity for its matrix, the unscaled dot product."""
    dim = memory.shape[-1]
    layer = LuongAttention(hidden_size=dim, key_size=dim).to(memory.dtype)
    identity(layer.key_layer.weight)
    return _step_by_step(layer, case, query, memory)


def _step_by_step(layer: AttentionMechanism, case: Case, query: Tensor, memory: Tensor) -> Found:
    if case.causal:
        raise CannotBeAsked("it takes one query at a time")
    if case.dropout:
        raise CannotBeAsked("no dropout on the weights")
    layer.train(case.train)
    mask = case.keep_tensor() if case.mask is None else case.mask_tensor()
    if mask is None:  # it must be given
        mask = torch.ones(memory.shape[:2], dtype=torch.bool)
    layer.compute_proj_keys(memory)
    steps = [
        layer(query=query[:, step : step + 1], mask=mask[:, None], values=memory)
        for step in range(query.shape[1])
    ]
    context, weights = (torch.cat(parts, dim=1) for parts in zip(*steps, strict=True))
    return Found(context, weights, layer.parameters())


if __name__ == "__main__":
    answer_all({"bahdanau": bahdanau, "luong": luong}, packages=("joeynmt", "torch"))
