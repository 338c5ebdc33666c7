"""A translator's error rates on pairs, decoded greedily."""

from collections.abc import Iterable, Sequence

from regard.kernels import Workers
from regard.models import Translator
from regard.search import predict
from regard.text import Pair, references
from regard.training.metrics import ErrorRates, error_rates


def evaluate(
    translator: Translator,
    pairs: Iterable[Pair],
    *,
    max_sources: int | None = None,
    workers: Workers | None = None,
) -> ErrorRates:
    """Decode each distinct source once and compare with the nearest of its targets.

    ``max_sources`` takes so many sources, evenly spread over the pairs' order.
    """
    by_source = references(pairs)
    sources = _spread(list(by_source), max_sources)
    tokenize = translator.target.tokenizer.tokenize
    predictions = predict(translator, sources, workers=workers)
    return error_rates(
        [prediction.target_tokens for prediction in predictions],
        [[tokenize(target) for target in by_source[source]] for source in sources],
    )


def _spread(sources: Sequence[str], most: int | None) -> Sequence[str]:
    if most is None or len(sources) <= most:
        return sources
    return [sources[index * len(sources) // most] for index in range(most)]
