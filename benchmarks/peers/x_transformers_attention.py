"""x-transformers' ``Attention``: its own softmax, and the ``flash=True`` path."""

from functools import partial

from torch import Tensor, nn
from x_transformers import Attention

from benchmarks.peers.protocol import CannotBeAsked, Case, Found, answer_all, identity


def attention(case: Case, query: Tensor, memory: Tensor, *, flash: bool) -> Found:
    """True in its ``context_mask`` means may attend."""
    if case.causal in ("start", "end"):
        raise CannotBeAsked("causal=True has one alignment")
    if flash and case.need_weights:
        raise CannotBeAsked("no weights with flash=True")
    dim = memory.shape[-1]
    layer = Attention(
        dim,
        dim_head=dim // case.num_heads,
        heads=case.num_heads,
        causal=case.causal is not None,
        dropout=case.dropout,
        flash=flash,
    )
    layer = layer.to(memory.dtype).train(case.train)
    layers = (layer.to_q, layer.to_k, layer.to_v, layer.to_out)
    identity(*(linear.weight for linear in layers if isinstance(linear, nn.Linear)))
    output, seen = layer(
        query,
        context=memory,
        context_mask=case.keep_tensor() if case.mask is None else case.mask_tensor(),
        return_intermediates=True,
    )
    weights = seen.post_softmax_attn if case.need_weights else None
    return Found(output, None if weights is None else weights.mean(dim=1), layer.parameters())


if __name__ == "__main__":
    answer_all(
        {"plain": partial(attention, flash=False), "flash": partial(attention, flash=True)},
        packages=("x-transformers", "torch"),
    )
