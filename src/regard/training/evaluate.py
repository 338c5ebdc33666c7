"""A translator's predictions on pairs, measured."""

import time
from collections.abc import Iterable, Sequence
from typing import Any

from regard.kernels import Workers
from regard.models import Translator
from regard.search import Prediction, predict
from regard.text import Pair, references
from regard.training.metrics import ErrorRates, error_rates
from regard.training.report import Report, report


def evaluate(
    translator: Translator,
    pairs: Iterable[Pair],
    *,
    max_sources: int | None = None,
    workers: Workers | None = None,
) -> ErrorRates:
    """Decode each distinct source once, greedily, and compare with the nearest of its targets.

    ``max_sources`` takes so many sources, evenly spread over the pairs' order.
    """
    by_source = references(pairs)
    by_source = {source: by_source[source] for source in _spread(list(by_source), max_sources)}
    predictions = predict(translator, list(by_source), workers=workers)
    return error_rates(*tokens_to_compare(translator, predictions, by_source))


def evaluate_by_length(
    translator: Translator,
    pairs: Iterable[Pair],
    *,
    with_bleu: bool | None = None,
    **search: Any,
) -> Report:
    """Error rates, and BLEU and chrF where they mean something, by length and with intervals.

    Args:
        translator: the model.
        pairs: each distinct source is decoded once; its targets are all right.
        with_bleu: also BLEU and chrF. None for where source and target are cut into words:
            BLEU counts runs of up to four words.
        search: of :func:`regard.search.predict`, as ``beam=5``.

    >>> from regard.models import Side
    >>> sides = Side.build("characters", ["abc"]), Side.build("characters", ["xyz"])
    >>> translator = Translator.fresh(*sides, hidden_dim=8)
    >>> pairs = [Pair("a", "x"), Pair("abc", "xyz"), Pair("abc", "xy")]
    >>> measured = evaluate_by_length(translator, pairs, beam=2)
    >>> [(part.shortest, part.longest, part.num_words) for part in measured.by_length]
    [(1, 1, 1), (3, 3, 1)]
    """
    if with_bleu is None:
        names = {side.tokenizer.name for side in (translator.source, translator.target)}
        with_bleu = "characters" not in names
    by_source = references(pairs)
    start = time.perf_counter()
    predictions = predict(translator, list(by_source), **search)
    seconds = time.perf_counter() - start
    hypotheses, allowed = tokens_to_compare(translator, predictions, by_source)
    return report(
        [len(prediction.source_tokens) for prediction in predictions],
        hypotheses,
        allowed,
        [prediction.target for prediction in predictions] if with_bleu else None,
        list(by_source.values()),
        seconds,
    )


def tokens_to_compare(
    translator: Translator, predictions: Sequence[Prediction], by_source: dict[str, list[str]]
) -> tuple[list[list[str]], list[list[list[str]]]]:
    """The tokens of each prediction, and of each target that is right for its source.

    A prediction whose text is one of the targets has that target's tokens, whatever it was spelled
    with: pieces can spell a text in several ways.
    """
    tokenize = translator.target.tokenizer.tokenize
    hypotheses = [
        tokenize(p.target) if p.target in by_source[p.source] else p.target_tokens
        for p in predictions
    ]
    return hypotheses, [[tokenize(target) for target in by_source[p.source]] for p in predictions]


def _spread(sources: Sequence[str], most: int | None) -> Sequence[str]:
    if most is None or len(sources) <= most:
        return sources
    return [sources[index * len(sources) // most] for index in range(most)]
