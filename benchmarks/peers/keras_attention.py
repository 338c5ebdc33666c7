"""Keras's attention layers on its torch backend."""

import os

os.environ["KERAS_BACKEND"] = "torch"  # before keras is imported
os.environ["CUDA_VISIBLE_DEVICES"] = ""

import keras
import torch
from torch import Tensor

from benchmarks.peers.protocol import CannotBeAsked, Case, Found, answer_all


def attention(case: Case, query: Tensor, memory: Tensor) -> Found:
    """The unscaled dot product."""
    return _two_inputs(keras.layers.Attention, case, query, memory)


def additive(case: Case, query: Tensor, memory: Tensor) -> Found:
    """``v . tanh(q + k)``: its only weight is v, here named scale."""
    return _two_inputs(keras.layers.AdditiveAttention, case, query, memory)


def multi_head(case: Case, query: Tensor, memory: Tensor) -> Found:
    _only_its_own_causal(case)
    dim = memory.shape[-1]
    layer = keras.layers.MultiHeadAttention(
        num_heads=case.num_heads,
        key_dim=dim // case.num_heads,
        dropout=case.dropout,
        dtype=case.dtype,
    )
    layer.build((*memory.shape[:2], dim), memory.shape)
    for dense in (layer.query_dense, layer.key_dense, layer.value_dense, layer.output_dense):
        dense.kernel.assign(torch.eye(dim).reshape(dense.kernel.shape))
    mask = case.keep_tensor() if case.mask is None else case.mask_tensor()
    found = layer(
        query,
        memory,
        attention_mask=None if mask is None else mask[:, None],  # batch query key
        training=case.train,
        use_causal_mask=case.causal is not None,
        **_asked(case),
    )
    output, weights = found if isinstance(found, tuple) else (found, None)
    return Found(output, None if weights is None else weights.mean(dim=1), layer.parameters())


def _two_inputs(layer_class: type, case: Case, query: Tensor, memory: Tensor) -> Found:
    _only_its_own_causal(case)
    layer = layer_class(dropout=case.dropout, dtype=case.dtype)
    layer.build([query.shape, memory.shape])
    if layer.weights:
        v = torch.tensor(case.v)[: query.shape[-1]]
        layer.weights[0].assign(v)
    mask = case.keep_tensor() if case.mask is None else case.mask_tensor()
    found = layer(
        [query, memory],
        mask=None if mask is None else [None, mask],
        training=case.train,
        use_causal_mask=case.causal is not None,
        **_asked(case),
    )
    context, weights = found if isinstance(found, tuple) else (found, None)
    return Found(context, weights, layer.parameters())


def _only_its_own_causal(case: Case) -> None:
    if case.causal in ("start", "end"):
        raise CannotBeAsked("use_causal_mask has one alignment")


def _asked(case: Case) -> dict[str, bool]:
    if case.need_weights is None:
        return {}
    return {"return_attention_scores": case.need_weights}


if __name__ == "__main__":
    answer_all(
        {"attention": attention, "additive": additive, "multi_head": multi_head},
        packages=("keras", "torch"),
    )
