"""The precondition: does this data need attention that has learned where to look?"""

from collections.abc import Callable, Sequence

import numpy as np
from jaxtyping import Float

from regard.models import Translator
from regard.search import predict
from regard.text import Pair, references
from regard.training.evaluate import tokens_to_compare


def right_answers(translator: Translator, pairs: Sequence[Pair]) -> Float[np.ndarray, " sources"]:
    """1 for each distinct source whose greedy prediction is one of its targets, else 0."""
    by_source = references(pairs)
    predictions = predict(translator, list(by_source))
    compared = tokens_to_compare(translator, predictions, by_source)
    return np.array([float(given in allowed) for given, allowed in zip(*compared, strict=True)])


def all_right_answers(
    translators: Sequence[Translator], pairs: Sequence[Pair], tell: Callable[[], None]
) -> Float[np.ndarray, "trainings sources"]:
    """The same for several trainings, which answer the same sources; ``tell`` hears of each."""
    answers = []
    for translator in translators:
        tell()
        answers.append(right_answers(translator, pairs))
    return np.stack(answers)
