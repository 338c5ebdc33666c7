"""What predictions come to, over all sources and by how long they are, with intervals."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from regard.training.bootstrap import LEVEL, RESAMPLES, SEED, Counts, Estimate, bootstrap
from regard.training.metrics import Edits, ErrorRates, Tokens, nearest_edits, total
from regard.training.translation import CorpusScore, bleu, chrf

MOST_PARTS = 4


class Part(NamedTuple):
    """Measured on the sources of some lengths."""

    shortest: int
    """Source, in tokens."""
    longest: int
    counts: ErrorRates
    wer: Estimate
    ter: Estimate
    bleu: Estimate | None
    chrf: Estimate | None

    @property
    def num_words(self) -> int:
        """The sources, which a word error rate calls words."""
        return self.counts.num_words


class Report(NamedTuple):
    """Measured on all sources, and on parts of about as many each, from short to long."""

    all: Part
    by_length: list[Part]
    signatures: dict[str, str]
    """By which BLEU and chrF can be had again, where they were asked for."""
    seconds: float
    """That decoding took."""
    level: float = LEVEL
    resamples: int = RESAMPLES
    seed: int = SEED


def report(
    source_lens: Sequence[int],
    hypotheses: Sequence[Tokens],
    references: Sequence[Sequence[Tokens]],
    texts: Sequence[str] | None,
    reference_texts: Sequence[Sequence[str]],
    seconds: float,
) -> Report:
    """Measure predictions, an item for each source.

    The parts are cut at the quartiles of the source lengths; sources of one length stay together,
    so there may be fewer than four.

    Args:
        source_lens: Tokens of each source.
        hypotheses, references: Tokens, for the error rates.
        texts, reference_texts: The same as strings, for BLEU and chrF; no texts, none of these.
        seconds: That decoding took.
    """
    edits = nearest_edits(hypotheses, references)
    scores: dict[str, CorpusScore] = {}
    if texts is not None:
        scores = {"bleu": bleu(texts, reference_texts), "chrf": chrf(texts, reference_texts)}
    parts = [_part(source_lens, edits, scores, items) for items in quarters(source_lens)]
    everything = _part(source_lens, edits, scores, list(range(len(edits))))
    signatures = {name: score.signature for name, score in scores.items()}
    return Report(everything, parts, signatures, seconds)


def quarters(source_lens: Sequence[int]) -> list[list[int]]:
    """Places of the sources in up to four parts by length, each length in one part.

    A length belongs to the quarter in which the middle of its sources lies.

    >>> quarters([1, 2, 2, 3, 9, 9, 9, 5])
    [[0], [1, 2, 3], [7], [4, 5, 6]]
    """
    lengths = np.asarray(source_lens)
    values, first, counts = np.unique(np.sort(lengths), return_index=True, return_counts=True)
    parts = (MOST_PARTS * (2 * first + counts)) // (2 * len(lengths))
    part_of = dict(zip(values.tolist(), parts.tolist(), strict=True))
    places: dict[int, list[int]] = {part: [] for part in sorted(set(part_of.values()))}
    for place, length in enumerate(source_lens):
        places[part_of[length]].append(place)
    return list(places.values())


def _part(
    source_lens: Sequence[int],
    edits: Sequence[Edits],
    scores: dict[str, CorpusScore],
    items: list[int],
) -> Part:
    chosen = [edits[item] for item in items]
    counts = np.array([[1, each.token_errors > 0, *each] for each in chosen], dtype=np.float64)
    estimates = {name: bootstrap(score.counts[items], score.of) for name, score in scores.items()}
    return Part(
        min(source_lens[item] for item in items),
        max(source_lens[item] for item in items),
        total(chosen),
        bootstrap(counts, _wer),
        bootstrap(counts, _ter),
        estimates.get("bleu"),
        estimates.get("chrf"),
    )


def _wer(counts: Counts) -> float:
    words, word_errors, _, _ = counts
    return float(word_errors / words)


def _ter(counts: Counts) -> float:
    _, _, token_errors, num_tokens = counts
    return float(token_errors / num_tokens)
