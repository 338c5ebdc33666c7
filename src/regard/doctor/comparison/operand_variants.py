"""Known faults of what enters the stages: another query, key or value than the right one."""

import numpy as np

from regard.doctor.comparison.reference_model import Parts, Stages, merge_heads
from regard.doctor.comparison.states import CELL, FIRST
from regard.doctor.comparison.variants import Variant, operand_variant
from regard.doctor.tracing.dependence import Array


def _transposed(parts: Parts) -> Parts:
    if parts.bilinear is None or parts.bilinear.shape[0] != parts.bilinear.shape[1]:
        raise ValueError("only for a square W")
    return parts.with_(bilinear=parts.bilinear.T)


def _fit(parts: Parts, **changes: Array) -> Parts:
    for name, value in changes.items():
        if value.shape[-1] != getattr(parts, name).shape[-1]:
            raise ValueError("the widths differ")
    return parts.with_(**changes)


def _reshaped(x: Array) -> Array:
    """(batch, T, d) read as if it lay (T, batch, d) in memory."""
    batch, length, width = x.shape
    return x.reshape(length, batch, width).transpose(1, 0, 2)


def _length_first(x: Array) -> Array:
    batch, length, width = x.shape
    return x.transpose(1, 0, 2).reshape(batch, length, width)


def _swap(parts: Parts) -> Parts:
    if parts.swapped is None:
        raise ValueError("no two projections of like shape")
    return parts.with_(query=parts.swapped[0], key=parts.swapped[1])


def _state(said: str) -> Variant:
    def change(parts: Parts) -> Parts:
        if said not in parts.other_queries:
            raise ValueError("no such state")
        return parts.with_(query=parts.other_queries[said])

    return operand_variant(
        change,
        "score-formula",
        f"{said} is the query",
        "the query is the decoder's output state: h of the last layer",
        "first-layer" if said == FIRST else "state",
    )


BATCH_RULE = "(T, batch, d) becomes (batch, T, d) by transpose(0, 1); a view only relabels memory"


def _along_batch(stages: Stages) -> Stages:
    """Batch and length in each other's place, on the way in and on the way out."""

    def turned(parts: Parts) -> Parts:
        if parts.may_attend is not None and not parts.may_attend.all():
            raise ValueError("only without a mask")
        names = ("query", "key", "value")
        swapped = {name: getattr(parts, name).transpose(1, 0, 2) for name in names}
        return parts.with_(may_attend=None, **swapped)

    return stages.with_(
        prepare=turned, merge=lambda context: merge_heads(context).transpose(1, 0, 2)
    )


OPERANDS = (
    Variant(
        "batch-mixing",
        "attention runs over the batch: each position looks at other samples, not other positions",
        "the batch axis is first where the code takes it to be first (batch_first=True)",
        "score",
        _along_batch,
        "batch-first",
    ),
    _state(CELL),
    _state(FIRST),
    operand_variant(
        _transposed,
        "score-formula",
        "W is used transposed: s W^T h",
        "score(s, h) = s^T W h with W (d_s, d_h)",
        "W",
    ),
    operand_variant(
        _swap,
        "score-formula",
        "the projections are swapped: the query's matrix meets the keys",
        "W_q projects the query, W_k the keys",
        "swap",
    ),
    operand_variant(
        lambda p: _fit(p, key=p.value),
        "score-formula",
        "the query is compared with the values",
        "the query is compared with the keys",
        "use-key",
    ),
    operand_variant(
        lambda p: _fit(p, key=p.raw_key),
        "score-formula",
        "the query is compared with the unprojected keys",
        "the query is compared with the projected keys",
        "use-key",
    ),
    operand_variant(
        lambda p: _fit(p, query=p.raw_query),
        "score-formula",
        "the unprojected query is compared with the keys",
        "the projected query is compared with the keys",
        "use-query",
    ),
    operand_variant(
        lambda p: p.with_(query=np.broadcast_to(p.query[:, :1], p.query.shape)),
        "broadcast",
        "the first query's scores serve every query",
        "each query has its own row of scores",
        "each-query",
    ),
    operand_variant(
        lambda p: p.with_(query=np.broadcast_to(p.query[:, -1:], p.query.shape)),
        "broadcast",
        "the last query's scores serve every query",
        "each query has its own row of scores",
        "each-query",
    ),
    operand_variant(
        lambda p: p.with_(query=np.broadcast_to(p.query.mean(1, keepdims=True), p.query.shape)),
        "query-ignored",
        "the mean of the queries serves every query",
        "each query has its own row of scores",
        "each-query",
    ),
    operand_variant(
        lambda p: p.with_(query=np.broadcast_to(p.query[:1], p.query.shape)),
        "batch-mixing",
        "the first sample's query serves every sample",
        "each sample has its own query",
        "each-query",
    ),
    operand_variant(
        lambda p: p.with_(query=np.broadcast_to(p.query.mean(0, keepdims=True), p.query.shape)),
        "broadcast",
        "the mean of all samples' queries serves every sample",
        "each sample has its own query",
        "each-sample",
    ),
    operand_variant(
        lambda p: p.with_(query=np.broadcast_to(p.query.sum(0, keepdims=True), p.query.shape)),
        "broadcast",
        "the sum of all samples' queries serves every sample",
        "each sample has its own query",
        "each-sample",
    ),
    operand_variant(
        lambda p: p.with_(key=np.broadcast_to(p.key[:1], p.key.shape)),
        "batch-mixing",
        "the first sample's keys serve every sample",
        "each sample has its own keys",
        "each-query",
    ),
    *(
        operand_variant(
            lambda p, n=names, f=form: p.with_(**{name: f(getattr(p, name)) for name in n}),  # type: ignore[misc]
            "batch-mixing",
            f"the {' and the '.join(names)} are reshaped where batch and"
            " length should change places",
            BATCH_RULE,
            "transpose-batch",
        )
        for form in (_reshaped, _length_first)
        for names in (("key", "value"), ("key",), ("value",), ("query",))
    ),
)
