"""BLEU and chrF, as sacrebleu counts them."""

from collections.abc import Callable, Sequence
from itertools import zip_longest
from typing import Any, NamedTuple

import numpy as np

from regard.training.bootstrap import Counts


class CorpusScore(NamedTuple):
    """A score of a whole corpus, from 0 to 100, as counts of each sentence that add up."""

    signature: str
    """sacrebleu's: what was counted, and by which version."""
    counts: Counts
    """A row for each source."""
    of: Callable[[Counts], float]
    """The score of summed rows."""


def bleu(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> CorpusScore:
    """BLEU: n-grams of up to 4 words, of a hypothesis that are in a reference, and its length.

    (Papineni et al. 2002, as Post 2018, arXiv:1804.08771, makes it reproducible.)

    Args:
        hypotheses: Texts, one for each source.
        references: For each source the texts that are right, one or more.

    >>> score = bleu(["the cat sat on the mat"], [["the cat sat on a mat", "a cat sat down"]])
    >>> round(score.of(score.counts.sum(axis=0)), 1)
    53.7
    """
    from sacrebleu.metrics.bleu import BLEU

    return _counted(BLEU(), hypotheses, references)


def chrf(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> CorpusScore:
    """chrF: F2 of n-grams of up to 6 characters, white space left out, with the nearest reference.

    (Popović 2015, chrF: character n-gram F-score for automatic MT evaluation.)

    >>> score = chrf(["the cat"], [["the cat"]])
    >>> score.of(score.counts.sum(axis=0))
    100.0
    """
    from sacrebleu.metrics.chrf import CHRF

    return _counted(CHRF(), hypotheses, references)


def _counted(
    metric: Any, hypotheses: Sequence[str], references: Sequence[Sequence[str]]
) -> CorpusScore:
    # The public corpus_score adds these rows up, but of chrF does not even tell the sum.
    streams = list(zip_longest(*references))  # None where a source has fewer references
    counts = np.array(metric._extract_corpus_statistics(hypotheses, streams), dtype=np.float64)

    def score(total: Counts) -> float:
        return float(metric._compute_score_from_stats(total.tolist()).score)

    return CorpusScore(str(metric.get_signature()), counts, score)
