"""Known faults of the heads: cut, shared or joined in the wrong order."""

from collections.abc import Callable

import numpy as np

from regard.doctor.comparison.reference_model import Parts, Stages, merge_heads
from regard.doctor.comparison.variants import Variant
from regard.doctor.tracing.dependence import Array

HEADS_RULE = "(batch, T, heads · d) is cut by view(batch, T, heads, d).transpose(1, 2)"


def _viewed(x: Array, heads: int) -> Array:
    batch, length, width = x.shape
    return x.reshape(batch, heads, length, width // heads)


def _split(names: tuple[str, ...]) -> Variant:
    def change(stages: Stages) -> Stages:
        return stages.with_(**{f"split_{name}": _viewed for name in names})

    said = ", ".join(names)
    return Variant(
        "head-split",
        f"heads are cut by a view to (batch, heads, T, d) without the transpose ({said})",
        HEADS_RULE,
        "split",
        change,
        "head-split",
        lambda p: p.num_heads > 1,
    )


def _merge(does: str, form: Callable[[Array], Array]) -> Variant:
    return Variant(
        "head-split",
        does,
        "heads are joined by transpose(1, 2).reshape(batch, T, heads · d)",
        "merge",
        lambda s: s.with_(merge=form),
        "head-merge",
        lambda p: p.num_heads > 1,
    )


def _merge_by_view(c: Array) -> Array:
    batch, heads, length, dim = c.shape
    return c.reshape(batch, length, heads * dim)


def _merge_channels_first(c: Array) -> Array:
    batch, heads, length, dim = c.shape
    return c.transpose(0, 2, 3, 1).reshape(batch, length, heads * dim)


def _tiled(x: Array, times: int) -> Array:
    """Key head g serves the query heads g, g + groups, g + 2·groups ..."""
    return np.tile(x, (1, times, 1, 1))


def _joint(parts: Parts) -> Parts:
    """(batch, T, 3·heads·d) viewed as (batch, heads, T, 3·d), then cut in three."""
    heads = parts.num_heads
    if parts.raw_query is not parts.raw_key or parts.raw_key is not parts.raw_value:
        raise ValueError("only where one sequence is projected")
    joined = np.concatenate([parts.query, parts.key, parts.value], -1)
    batch, length, width = joined.shape
    cut = joined.reshape(batch, heads, length, width // heads)
    query, key, value = (merge_heads(each) for each in np.split(cut, 3, -1))
    return parts.with_(query=query, key=key, value=value)


HEADS = (
    Variant(
        "head-split",
        "query head h meets key head h % groups: the key heads are repeated as a whole",
        "query heads in groups share a key head: head h meets key head h // (heads / key heads)",
        "share",
        lambda s: s.with_(share=_tiled),
        "interleave",
        lambda p: p.key_heads < p.num_heads,
    ),
    Variant(
        "head-split",
        "the joint projection is cut by a view to (batch, heads, T, 3·d) without the transpose",
        HEADS_RULE,
        "split",
        lambda s: s.with_(prepare=_joint),
        "head-split",
        lambda p: p.num_heads > 1,
    ),
    _split(("query", "key", "value")),
    _split(("query", "key")),
    _split(("query",)),
    _split(("key",)),
    _split(("value",)),
    _split(("key", "value")),
    _merge("heads are joined by a view without the transpose back", _merge_by_view),
    _merge("heads are joined channel by channel, not head by head", _merge_channels_first),
    _merge("heads are averaged, not joined", lambda c: c.mean(1)),
    _merge("heads are summed, not joined", lambda c: c.sum(1)),
)
