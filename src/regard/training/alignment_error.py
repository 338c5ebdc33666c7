"""How far an alignment is from a known one: the alignment error rate."""

from collections.abc import Iterable, Sequence, Set
from typing import NamedTuple, TypeAlias

from jaxtyping import Float
from torch import Tensor

Links: TypeAlias = Set[tuple[int, int]]
"""Pairs of (target position, source position)."""


class KnownAlignment(NamedTuple):
    """What is right: links that must be there, and links that may be, the sure ones included."""

    sure: Links
    possible: Links


class LinkCounts(NamedTuple):
    """What the error rate is made of; those of a corpus are sums."""

    in_sure: int
    in_possible: int
    found: int
    sure: int


def links(weights: Float[Tensor, "target_len source_len"]) -> Links:
    """The source position that each target position weighs most; the first, if several.

    A row of zeros has none.

    >>> import torch
    >>> sorted(links(torch.tensor([[0.2, 0.8], [0.9, 0.1], [0.0, 0.0]])))
    [(0, 1), (1, 0)]
    """
    looked = weights.sum(-1) > 0.0
    largest = weights.argmax(-1)
    return {(t, int(largest[t])) for t in range(len(weights)) if looked[t]}


def diagonal(target_len: int, source_len: int) -> Links:
    """The alignment of whoever knows nothing but the lengths: straight across the grid.

    >>> sorted(diagonal(2, 4))
    [(0, 1), (1, 3)]
    """
    return {(t, (2 * t + 1) * source_len // (2 * target_len)) for t in range(target_len)}


def alignment_error_rate(found: Iterable[Links], known: Iterable[KnownAlignment]) -> float:
    r"""Of a corpus, from 0 (right) to 1.

    .. math:: \mathrm{AER} = 1 - \frac{|A \cap S| + |A \cap P|}{|A| + |S|}

    with A the links found, S the sure and P the possible ones, each summed over the corpus (Och &
    Ney 2003, Computational Linguistics 29(1), section 4.1).

    Raises:
        ValueError: not as many found as known; sure links that are not possible; no links at all.

    >>> known = KnownAlignment(sure={(0, 0)}, possible={(0, 0), (1, 1), (1, 2)})
    >>> alignment_error_rate([{(0, 0), (1, 2)}], [known])
    0.0
    >>> alignment_error_rate([{(0, 0), (1, 0)}], [known])
    0.33333333333333337
    """
    total = LinkCounts(0, 0, 0, 0)
    found, known = list(found), list(known)
    if len(found) != len(known):
        raise ValueError(
            f"alignment_error_rate: {len(found)} alignments found, {len(known)} known. There is "
            "one of each for every pair. Give them in the same order."
        )
    for place, (links_found, right) in enumerate(zip(found, known, strict=True)):
        if not right.sure <= right.possible:
            raise ValueError(
                f"alignment_error_rate: known[{place}] has sure links that are not among its "
                "possible ones. What must be there may be there. Add them to possible."
            )
        counts = link_counts(links_found, right)
        total = LinkCounts(*(one + other for one, other in zip(total, counts, strict=True)))
    if total.found + total.sure == 0:
        raise ValueError(
            "alignment_error_rate: no links were found and none are sure. The rate is a share of "
            "links. Give at least one alignment with links."
        )
    return error_rate(total)


def link_counts(found: Links, known: KnownAlignment) -> LinkCounts:
    """What one alignment adds to a corpus's counts."""
    return LinkCounts(
        len(found & known.sure), len(found & known.possible), len(found), len(known.sure)
    )


def error_rate(counts: Sequence[int | float]) -> float:
    """The alignment error rate of summed :class:`LinkCounts`."""
    in_sure, in_possible, found, sure = counts
    return 1.0 - (in_sure + in_possible) / (found + sure)
