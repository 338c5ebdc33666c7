"""OpenNMT-py's ``GlobalAttention``, with its additive score."""

import torch
from onmt.modules.global_attention import GlobalAttention
from torch import Tensor

from benchmarks.peers.protocol import CannotBeAsked, Case, Found, answer_all, identity


def mlp(case: Case, query: Tensor, memory: Tensor) -> Found:
    """``v . tanh(q + k)``, then a linear layer on [context, query]: here it takes the context."""
    if case.causal:
        raise CannotBeAsked("it attends to an encoder, without causal masks")
    if case.dropout:
        raise CannotBeAsked("no dropout on the weights")
    layer = GlobalAttention(memory.shape[-1], attn_type="mlp").to(memory.dtype).train(case.train)
    identity(layer.linear_query.weight, layer.linear_context.weight, layer.linear_out.weight)
    with torch.no_grad():
        layer.v.weight.copy_(torch.tensor([case.v]))
        layer.linear_query.bias.zero_()
        layer.linear_out.bias.zero_()
    context, weights = layer(query, memory, src_len=case.lengths())
    return Found(context, weights, layer.parameters())


if __name__ == "__main__":
    answer_all({"mlp": mlp}, packages=("OpenNMT-py", "torch"))
