"""Who takes part in the table of the additive score: calls that give context and gradients."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from benchmarks.peers.textbook_additive import (
    Tensors,
    finish,
    textbook,
    textbook_with_projections,
)
from benchmarks.rounds import Call
from regard import Mask, attend, scores
from regard.kernels.additive_cpu.kernel import additive_attention

TEXTBOOK, COMPILED, OURS, SDPA = "textbook", "textbook, compiled", "regard", "SDPA"


class Name(NamedTuple):
    """A contestant and what it is asked."""

    who: str
    given: str  # "projected" queries and keys, "raw" ones, or "prepared" keys
    lengths: bool


def bahdanau(tensors: Tensors, step: bool) -> scores.Additive:
    """Our score, with the parameters that everyone has."""
    dim = len(tensors.v)
    score = scores.Additive(query_dim=dim, key_dim=dim, attn_dim=dim)
    with torch.no_grad():
        for own, given in zip(score.parameters(), tensors[3:6], strict=True):
            own.copy_(given)
    return score.requires_grad_(step)


def ours(tensors: Tensors, step: bool, lengths: bool) -> Call:
    """The kernel, from projected queries and keys."""
    query, key, value, v = leaves = tensors.projected(step)
    may_attend = Mask.lengths(tensors.lengths) if lengths else None
    heads = [tensor[:, None] for tensor in (query, key, value)]

    def context() -> Tensor:
        return additive_attention(*heads, v, may_attend=may_attend).context[:, 0]

    return _warm(_call(context, leaves, tensors, step))


def ours_public(tensors: Tensors, step: bool, lengths: bool) -> Call:
    """``attend``, with the projections."""
    query, key, value = tensors.leaves(step)[:3]
    score = bahdanau(tensors, step)
    may_attend = Mask.lengths(tensors.lengths) if lengths else None

    def context() -> Tensor:
        return attend(query, key, value, score=score, may_attend=may_attend).context

    return _warm(_call(context, [query, key, value, *score.parameters()], tensors, step))


def ours_decoder(tensors: Tensors, step: bool, lengths: bool) -> Call:
    """A decoder's step: ``attend`` with keys that were prepared before."""
    query, key, value = tensors.leaves(step)[:3]
    score = bahdanau(tensors, step)
    may_attend = Mask.lengths(tensors.lengths) if lengths else None
    prepared = score.prepare(key, may_attend)
    leaves = [query, prepared.projected, value, score.query_weight, score.v]

    def context() -> Tensor:
        return attend(query, prepared, value, score=score, may_attend=may_attend).context

    return _warm(_call(context, leaves, tensors, step))


def textbook_decoder(tensors: Tensors, step: bool, lengths: bool) -> Call:
    """The same by hand, with keys that were projected before."""
    query, _, value, query_weight, _, v = tensors.leaves(step)
    _, key, _, _ = tensors.projected(step)
    may_attend = tensors.may_attend() if lengths else None

    def context() -> Tensor:
        return textbook(query @ query_weight.T, key, value, v, may_attend)

    return _call(context, [query, key, value, query_weight, v], tensors, step)


def by_hand(tensors: Tensors, step: bool, lengths: bool, formula: Callable[..., Tensor]) -> Call:
    """The textbook's formula, or that compiled."""
    leaves = tensors.projected(step)
    may_attend = tensors.may_attend() if lengths else None
    return _call(lambda: formula(*leaves, may_attend), leaves, tensors, step)


def by_hand_with_projections(tensors: Tensors, step: bool, lengths: bool) -> Call:
    """The textbook's formula, with the projections."""
    leaves = tensors.leaves(step)
    may_attend = tensors.may_attend() if lengths else None
    return _call(lambda: textbook_with_projections(*leaves, may_attend), leaves, tensors, step)


def sdpa(tensors: Tensors, step: bool, lengths: bool) -> Call:
    """torch's dot-product attention at the same shapes: another formula, for scale."""
    query, key, value, _ = tensors.projected(step)
    may_attend = tensors.may_attend()[:, None] if lengths else None
    heads = [tensor[:, None] for tensor in (query, key, value)]

    def context() -> Tensor:
        return scaled_dot_product_attention(*heads, may_attend)[:, 0]

    return _call(context, [query, key, value], tensors, step)


def sdpa_by_hand(tensors: Tensors, lengths: bool) -> Tensor:
    """What ``sdpa`` must give."""
    query, key, value, v = tensors.projected(step=False)
    scores = query @ key.mT / math.sqrt(len(v))
    if lengths:
        scores = scores.masked_fill(~tensors.may_attend(), -math.inf)
    return torch.softmax(scores, dim=-1) @ value


def compiler_refuses() -> str | None:
    """Why torch.compile does not work here, or None."""
    try:
        torch.compile(lambda x: torch.tanh(x) + 1)(torch.zeros(8))
    except Exception as error:  # no compiler, no Python.h, an unwritable cache, ...
        return f"{type(error).__name__}: {str(error).strip().splitlines()[0]}"
    return None


def compiled(tensors: Tensors, step: bool, lengths: bool) -> Call:
    """The textbook's formula under torch.compile, its compilation already done."""
    formula = torch.compile(textbook, dynamic=False, fullgraph=True)
    return _warm(by_hand(tensors, step, lengths, formula))


def _call(
    context: Callable[[], Tensor], leaves: list[Tensor], tensors: Tensors, step: bool
) -> Call:
    def call() -> tuple[Tensor, ...]:
        with torch.set_grad_enabled(step):
            return finish(context(), leaves, tensors.upstream, step)

    return call


def _warm(call: Call) -> Call:
    """Compiled already."""
    call()
    return call
