"""Which models may be compared, and on which examples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch

from regard.models import Translator
from regard.search import predict
from regard.text import Pair, references
from regard.text.batches import Example

TARGETS = ("predicted", "reference")


class Asked(NamedTuple):
    """The examples that are examined."""

    examples: list[Example]
    num_left_out: int
    """Sources of one token, which leave nothing to choose from."""


def choose_examples(
    translator: Translator, pairs: Sequence[Pair], *, targets: str, most: int, seed: int
) -> Asked:
    """Some distinct sources, drawn at random, by length; with the targets to be explained.

    Raises:
        ValueError: unknown ``targets``; no source with two tokens.
    """
    if targets not in TARGETS:
        raise ValueError(
            f"explain: targets={targets!r} is unknown. Choose one of: {', '.join(TARGETS)}."
        )
    by_source = references(pairs)
    tokenized = {source: translator.source.encode(source) for source in by_source}
    sources = [source for source, ids in tokenized.items() if len(ids) > 1]
    if not sources:
        raise ValueError(
            f"explain: none of the {len(by_source)} sources has two tokens. With one, its weight "
            "is 1 whatever the model learned. Give pairs with longer sources."
        )
    num_left_out = len(by_source) - len(sources)
    random = np.random.default_rng(seed)
    drawn = random.permutation(len(sources))[:most]
    chosen = sorted((sources[place] for place in drawn), key=lambda source: len(tokenized[source]))
    if targets == "predicted":
        of_target = [
            translator.target.vocabulary.encode(prediction.target_tokens)
            for prediction in predict(translator, chosen)
        ]
    else:
        of_target = [translator.target.encode(by_source[source][0]) for source in chosen]
    return Asked(
        [(tokenized[source], ids) for source, ids in zip(chosen, of_target, strict=True)],
        num_left_out,
    )


def check_models(translator: object, **groups: object) -> None:
    """Models with attention, over the same vocabularies, and uniform where they should be.

    Raises:
        TypeError: not translators.
        ValueError: they cannot be compared.
    """
    _check_translator("translator", translator)
    assert isinstance(translator, Translator)
    for group, others in groups.items():
        if isinstance(others, Translator) or not isinstance(others, Sequence):
            raise TypeError(
                f"explain: {group} is a {type(others).__name__}. It is a list of translators, one "
                f"for each training. Give {group}=[translator]."
            )
        for place, other in enumerate(others):
            name = f"{group}[{place}]"
            _check_translator(name, other)
            if (other.source, other.target) != (translator.source, translator.target):
                raise ValueError(
                    f"explain: {name} cuts strings into other tokens than translator, or numbers "
                    "them otherwise. All are trained on the same pairs with the same tokenizers. "
                    f"Train {name} on the data that translator was trained on."
                )
            if group == "uniform" and not _is_uniform(other):
                raise ValueError(
                    f"explain: {name} has weights that differ from each other. Its attention must "
                    "be uniform. Train it with 'regard train ... --attention uniform'."
                )


def _check_translator(name: str, given: object) -> None:
    if not isinstance(given, Translator):
        raise TypeError(
            f"explain: {name} is a {type(given).__name__}. It must be a Translator. "
            "Give Translator.from_pretrained(folder)."
        )
    if given.network.config.model != "rnn":
        raise ValueError(
            f"explain: {name} is a {given.network.config.model}, whose attention has many layers "
            "and heads. The tests are of one matrix of weights, a recurrent decoder's. Give a "
            "model trained with 'regard train ... --model rnn'."
        )
    if given.network.config.attention == "none":
        raise ValueError(
            f"explain: {name} was trained with attention 'none', so it has no weights to test. "
            "Give a model with attention."
        )


@torch.no_grad()
def _is_uniform(translator: Translator) -> bool:
    """By its weights on a source of every token it knows."""
    ids = torch.arange(len(translator.source.vocabulary))[None, :50]
    network = translator.network.eval()
    weights = network(ids, torch.tensor([ids.shape[1]]), ids[:, :1] * 0 + 2, need_weights=True)[1]
    return bool((weights - weights[..., :1]).abs().max() < 1e-6)
