"""Attention piece by piece: weights by the loops, averages by torch's products."""

from typing import Any

import torch
from torch import Tensor

from regard.kernels.additive_cpu import forward, one_query
from regard.kernels.additive_cpu.dropout import drop
from regard.kernels.additive_cpu.given import Given, as_given, examples
from regard.kernels.additive_cpu.regions import Region, at_once, pieces

WORTH_A_PRODUCT = 2**22
"""Multiplications for an example's average to be computed by itself, over the keys it sees."""


def attend(given: Given, keep_weights: bool) -> tuple[Tensor, Tensor, Tensor]:
    """Context, weights (empty if not kept) and lse."""
    query, value = given.query, given.value
    num, query_len, key_len = examples_shape(given)
    weights = query.new_empty((num, query_len, key_len) if keep_weights else 0)
    lse = query.new_empty(num, query_len)
    context = value.new_empty(num, query_len, value.shape[-1])
    if 0 in given.scores_shape:
        context.zero_()
        lse.fill_(-torch.inf)
        return _outputs(given, context, weights, lse)
    arrays, values = given.arrays(), examples(value)

    def piece(some: Region) -> None:
        for region in some.within_scratch(key_len):
            part = (
                weights[region.place] if keep_weights else query.new_empty(*region.shape, key_len)
            )
            forward.weigh(*arrays, *region, part.numpy(), lse.numpy())
            part = dropped(part, region, given)
            if given.is_of_one_query:
                start = region.examples[0]
                one_query.average(part.numpy(), values.numpy(), start, context.numpy())
                continue
            for some_examples, own, keys in seen_keys(arrays.seen, region, value):
                out = context[some_examples, region.place[1]]
                torch.bmm(part[own, :, keys], values[some_examples, keys], out=out)

    at_once(piece, [some for row in pieces(num, query_len, given.work) for some in row])
    return _outputs(given, context, weights, lse)


def _outputs(
    given: Given, context: Tensor, weights: Tensor, lse: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    query = given.query
    kept = as_given(weights, query) if weights.dim() > 1 else weights
    return as_given(context, query), kept, as_given(lse, query)


def examples_shape(given: Given) -> tuple[int, int, int]:
    """(batch * heads, query, key)."""
    batch, heads, query_len, key_len = given.scores_shape
    return batch * heads, query_len, key_len


def seen_keys(
    seen: tuple[Any, ...], region: Region, value: Tensor
) -> list[tuple[slice, slice, slice]]:
    """The keys from the first to the last that some query of the region may see.

    For some of its examples at a time: which these are of all, which of the region's, which keys.
    """
    (start, stop), rows = region.examples, slice(*region.rows)
    first = seen[0][..., rows].min(-1).ravel()[start:stop].tolist()
    last = seen[1][..., rows].max(-1).ravel()[start:stop].tolist()
    work = region.shape[1] * value.shape[-2] * value.shape[-1]
    if work < WORTH_A_PRODUCT or len({*first}) == len({*last}) == 1:
        keys = slice(min(first), max(*first, *last))
        return [(slice(start, stop), slice(0, stop - start), keys)]
    return [
        (slice(start + n, start + n + 1), slice(n, n + 1), slice(low, max(low, high)))
        for n, (low, high) in enumerate(zip(first, last, strict=True))
    ]


def dropped(weights: Tensor, region: Region, given: Given) -> Tensor:
    """A region's weights, or their gradient, after dropout."""
    if given.dropout_p == 0.0:
        return weights
    found = torch.empty_like(weights)
    start, heads = (region.examples[0], region.rows[0]), given.key.shape[1]
    drop(weights.numpy(), int(given.seed), given.dropout_p, heads, *start, found.numpy())
    return found
