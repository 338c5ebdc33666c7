"""How far an alignment is from a known one: the alignment error rate."""

import operator
from collections.abc import Iterable, Sequence, Set
from typing import Any, NamedTuple, TypeAlias

from jaxtyping import Float
from torch import Tensor

from regard.core.errors import shape_text

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

    Raises:
        TypeError: not a tensor of floating-point numbers.
        ValueError: not of two axes, or numbers that are no weights: negative, NaN or infinite.

    >>> import torch
    >>> sorted(links(torch.tensor([[0.2, 0.8], [0.9, 0.1], [0.0, 0.0]])))
    [(0, 1), (1, 0)]
    """
    if not isinstance(weights, Tensor) or not weights.is_floating_point():
        kind = (
            f"tensor of {weights.dtype}" if isinstance(weights, Tensor) else type(weights).__name__
        )
        raise TypeError(
            f"links: weights is a {kind}. It must be a floating-point tensor. Write "
            "torch.as_tensor(weights, dtype=torch.float32)."
        )
    if weights.dim() != 2:
        raise ValueError(
            f"links: weights {shape_text(weights.shape)}. One alignment is read: (target_len, "
            "source_len). Choose an example and a head, as in weights[0, 0], or average the heads."
        )
    wrong = ~((weights >= 0.0) & weights.isfinite())
    if wrong.any():
        target, source = wrong.nonzero()[0].tolist()
        raise ValueError(
            f"links: weights[{target}, {source}] = {float(weights[target, source]):.4g}. Weights "
            "are finite and not negative. Pass them after normalizing, not scores; of a NaN, find "
            "where it arose."
        )
    looked = weights.sum(-1) > 0.0
    largest = weights.argmax(-1)
    return {(t, int(largest[t])) for t in range(len(weights)) if looked[t]}


def diagonal(target_len: int, source_len: int) -> Links:
    """The alignment of whoever knows nothing but the lengths: straight across the grid.

    Without a source position there is no link.

    >>> sorted(diagonal(2, 4))
    [(0, 1), (1, 3)]
    """
    if source_len == 0:
        return set()
    return {(t, (2 * t + 1) * source_len // (2 * target_len)) for t in range(target_len)}


def alignment_error_rate(found: Iterable[Links], known: Iterable[KnownAlignment]) -> float:
    r"""Of a corpus, from 0 (right) to 1.

    .. math:: \mathrm{AER} = 1 - \frac{|A \cap S| + |A \cap P|}{|A| + |S|}

    with A the links found, S the sure and P the possible ones, each summed over the corpus (Och &
    Ney 2003, Computational Linguistics 29(1), section 4.1). Positions may be of any whole-number
    type, those of NumPy and torch too: they are compared as numbers.

    Raises:
        TypeError: what is found or known are no links.
        ValueError: not as many found as known; sure links that are not possible; no links at all.

    >>> known = KnownAlignment(sure={(0, 0)}, possible={(0, 0), (1, 1), (1, 2)})
    >>> alignment_error_rate([{(0, 0), (1, 2)}], [known])
    0.0
    >>> alignment_error_rate([{(0, 0), (1, 0)}], [known])
    0.33333333333333337
    """
    total = LinkCounts(0, 0, 0, 0)
    found, known = _listed(found, "found"), _listed(known, "known")
    if len(found) != len(known):
        raise ValueError(
            f"alignment_error_rate: {len(found)} alignments found, {len(known)} known. There is "
            "one of each for every pair. Give them in the same order."
        )
    for place, (given, right) in enumerate(zip(found, known, strict=True)):
        links_found, right = _links(given, f"found[{place}]"), _known(right, f"known[{place}]")
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


def _listed(given: object, name: str) -> list[Any]:
    if not isinstance(given, Iterable) or isinstance(given, str | KnownAlignment):
        raise TypeError(
            f"alignment_error_rate: {name} is a {type(given).__name__}. It is a list, with an "
            f"alignment for each pair. Write [{name}] for a single one."
        )
    return list(given)


def _known(given: object, name: str) -> KnownAlignment:
    if not isinstance(given, tuple) or len(given) != 2:
        raise TypeError(
            f"alignment_error_rate: {name} is a {type(given).__name__}. It is what is right: the "
            "sure links and the possible ones. Write KnownAlignment(sure, possible)."
        )
    return KnownAlignment(*(_links(part, name) for part in given))


def _links(given: object, name: str) -> set[tuple[int, int]]:
    """As a set of pairs of Python's own numbers: a tensor equals no other in a set."""
    if not isinstance(given, Iterable) or isinstance(given, str):
        raise TypeError(
            f"alignment_error_rate: {name} holds a {type(given).__name__}. Links are a set of "
            "(target position, source position). Give such a set."
        )
    found = set()
    for link in given:
        try:
            target, source = link
            found.add((operator.index(target), operator.index(source)))
        except (TypeError, ValueError):
            raise TypeError(
                f"alignment_error_rate: {name} holds the link {link!r:.40}. A link is a pair of "
                "whole numbers, (target position, source position). Give a set of such pairs for "
                "each sentence."
            ) from None
    return found


def link_counts(found: Links, known: KnownAlignment) -> LinkCounts:
    """What one alignment adds to a corpus's counts."""
    return LinkCounts(
        len(found & known.sure), len(found & known.possible), len(found), len(known.sure)
    )


def error_rate(counts: Sequence[int | float]) -> float:
    """The alignment error rate of summed :class:`LinkCounts`."""
    in_sure, in_possible, found, sure = counts
    return 1.0 - (in_sure + in_possible) / (found + sure)
