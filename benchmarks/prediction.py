"""Words per second of prediction: many at once, and one at a time."""

import time
from statistics import median

from regard.kernels import Workers
from regard.models import Translator
from regard.search import predict


def compare(model: str, words: list[str], rounds: int) -> None:
    """Print a table."""
    translator = Translator.from_pretrained(model)
    batch, single = [], []
    with Workers() as workers:
        predict(translator, words[:100], workers=workers)
        for _ in range(rounds):
            start = time.perf_counter()
            predict(translator, words, workers=workers)
            batch.append(len(words) / (time.perf_counter() - start))
            start = time.perf_counter()
            for word in words[:200]:
                predict(translator, [word])
            single.append(200 / (time.perf_counter() - start))
    print(f"\nPrediction with {model}, {len(words):,} words, {rounds} rounds")
    for name, values in (("many at once", batch), ("one at a time", single)):
        spread = f"({min(values):,.0f} to {max(values):,.0f})"
        print(f"  {name:14} {median(values):8,.0f} words/s {spread}")
