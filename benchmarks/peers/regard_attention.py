"""Ours, asked as the peers are."""

import torch
from torch import Tensor, nn

from benchmarks.peers.protocol import Case, Found, answer_all, identity
from regard import Mask, attend, scores
from regard.layers import MultiHeadAttention


def scaled_dot(case: Case, query: Tensor, memory: Tensor) -> Found:
    return _attend(case, query, memory, scores.ScaledDot())


def additive(case: Case, query: Tensor, memory: Tensor) -> Found:
    dim = memory.shape[-1]
    score = scores.Additive(query_dim=dim, key_dim=dim, attn_dim=dim).to(memory.dtype)
    identity(score.query_weight, score.key_weight)
    with torch.no_grad():
        score.v.copy_(torch.tensor(case.v))
    return _attend(case, query, memory, score)


def multi_head(case: Case, query: Tensor, memory: Tensor) -> Found:
    theirs = nn.MultiheadAttention(
        memory.shape[-1], case.num_heads, dropout=case.dropout, dtype=memory.dtype
    ).train(case.train)
    identity(*theirs.in_proj_weight.chunk(3), theirs.out_proj.weight)
    layer = MultiHeadAttention.from_torch(theirs)
    output, weights = layer(query, memory, memory, may_attend=_mask(case), **_asked(case))
    return Found(output, weights, layer.parameters())


def _attend(case: Case, query: Tensor, memory: Tensor, score: scores.Score) -> Found:
    attended = attend(
        query,
        memory,
        memory,
        score=score,
        may_attend=_mask(case),
        dropout_p=case.dropout if case.train else 0.0,
        **_asked(case),
    )
    return Found(attended.context, attended.weights, score.parameters())


def _mask(case: Case) -> Mask | Tensor | None:
    if case.mask is not None:
        return case.mask_tensor()[:, None]  # batch query key
    masks = []
    if case.keep is not None:
        masks.append(Mask.dense(case.keep_tensor()[:, None]))
    if case.causal is not None:
        masks.append(Mask.causal(None if case.causal == "flag" else case.causal))
    return masks[0] & masks[1] if len(masks) == 2 else masks[0] if masks else None


def _asked(case: Case) -> dict[str, bool]:
    return {} if case.need_weights is None else {"need_weights": case.need_weights}


if __name__ == "__main__":
    answer_all(
        {"scaled_dot": scaled_dot, "additive": additive, "multi_head": multi_head},
        packages=("regard", "torch"),
    )
