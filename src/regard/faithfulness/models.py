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
_HOW = {
    "seeds": "with another --seed",
    "uniform": "with --attention uniform",
    "frozen": "with --frozen-scores",
}
_LARGEST_SEED = 2**32 - 1
_UNIFORM_DIFFERS = ("attention", "attn_dim")


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


def check_numbers(*, seed: object, bound: object, margin: object) -> None:
    """A seed of both torch and NumPy, and shares.

    Raises:
        TypeError: not numbers.
        ValueError: numbers out of their range.
    """
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer):
        raise TypeError(
            f"explain: seed={seed!r}, {type(seed).__name__}. A seed is a whole number. Give one, "
            f"from 0 to {_LARGEST_SEED:,}."
        )
    if not 0 <= seed <= _LARGEST_SEED:
        raise ValueError(
            f"explain: seed={seed}. A seed is a whole number that is not negative. Give one from 0 "
            f"to {_LARGEST_SEED:,}."
        )
    for name, share in (("bound", bound), ("margin", margin)):
        if isinstance(share, bool) or not isinstance(share, int | float):
            raise TypeError(
                f"explain: {name}={share!r}, {type(share).__name__}. It is a share. Give a number "
                "above 0 and below 1."
            )
        if not 0 < share < 1:
            raise ValueError(
                f"explain: {name}={share}. It is a share. Give a number above 0 and below 1."
            )


def check_models(translator: object, **groups: object) -> None:
    """The same model over the same vocabularies, trained anew each time, as its group says.

    Raises:
        TypeError: not translators.
        ValueError: they cannot be compared.
    """
    _check_translator("translator", translator)
    assert isinstance(translator, Translator)
    known = {"translator": translator}
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
                    "Give one that was trained on the data of translator."
                )
            for earlier, model in known.items():
                if _same_parameters(model, other):
                    raise ValueError(
                        f"explain: {name} has the very parameters of {earlier}. A model compared "
                        "with itself tells nothing. Give one "
                        f"trained {_HOW[group]}."
                    )
            known[name] = other
            _check_group(group, name, translator, other)


def _check_group(group: str, name: str, translator: Translator, other: Translator) -> None:
    """What its group says of it, and nothing else, sets it apart from the translator."""
    if group == "uniform" and not _is_uniform(other):
        raise ValueError(
            f"explain: {name} has weights that differ from each other. Its attention must be "
            "uniform. Train it with 'regard train ... --attention uniform'."
        )
    if group == "frozen" and not other.frozen_scores:
        raise ValueError(
            f"explain: {name} was not trained with its scores frozen; at least, its config.json "
            "does not say so. What it reaches would be owed to trained attention. Train it with "
            "'regard train ... --frozen-scores'."
        )
    if group == "seeds" and other.frozen_scores != translator.frozen_scores:
        frozen, trained = (name, "translator") if other.frozen_scores else ("translator", name)
        raise ValueError(
            f"explain: {frozen} was trained with its scores frozen, {trained} was not. Other "
            "trainings differ in nothing but their seed. Give one that was trained like translator."
        )
    allowed = _UNIFORM_DIFFERS if group == "uniform" else ()
    fields = _fields(translator)
    apart = [
        f"{field}={given!r} where translator has {fields.get(field)!r}"
        for field, given in _fields(other).items()
        if given != fields.get(field) and field not in allowed
    ]
    if apart:
        raise ValueError(
            f"explain: {name} is another model: {', '.join(apart)}. It must be the same model, "
            f"trained anew. Train one like translator, but {_HOW[group]}."
        )


def _fields(translator: Translator) -> dict[str, object]:
    """Of its config, what makes a difference to what it computes."""
    fields = translator.network.config.to_json()
    if fields["encoder_layers"] == fields["decoder_layers"] == 1:
        del fields["residual"]  # is of layers above the first
    return fields


def _same_parameters(one: Translator, other: Translator) -> bool:
    first, second = one.network.state_dict(), other.network.state_dict()
    return first.keys() == second.keys() and all(
        torch.equal(part, second[name]) for name, part in first.items()
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
