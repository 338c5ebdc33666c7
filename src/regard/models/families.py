"""The families of models by name, in Python, on the command line and in a model's folder."""

from dataclasses import fields
from typing import Any

from regard.models.config import Seq2SeqConfig
from regard.models.model_config import check_choice
from regard.models.transformer_config import TransformerConfig

MODELS: dict[str, type[Seq2SeqConfig] | type[TransformerConfig]] = {
    config.model: config for config in (Seq2SeqConfig, TransformerConfig)
}

_BEFORE = {"model": "rnn", "residual": False, "tied_embeddings": False}
"""What a config without a family was of, before there was the choice."""


def make_config(model: str, **choices: object) -> Seq2SeqConfig | TransformerConfig:
    """The config of a family; ``choices`` are its fields.

    Raises:
        TypeError: a value of another type than its field's.
        ValueError: an unknown family, a choice that is no field of it, or a wrong value.

    >>> sizes = {"source_vocab_size": 10, "target_vocab_size": 9}
    >>> make_config("rnn", **sizes, num_heads=4)
    Traceback (most recent call last):
    ValueError: num_heads=4 with model='rnn'. It is for model='transformer'. Leave ...
    """
    check_choice("model", model, tuple(MODELS))
    known = {name: {field.name for field in fields(config)} for name, config in MODELS.items()}
    for name, given in choices.items():
        if name in known[model]:
            continue
        others = [other for other in MODELS if name in known[other]]
        if not others:
            raise ValueError(
                f"{name}={given!r} is no choice of model={model!r}. It has: "
                f"{', '.join(sorted(known[model]))}. Choose among these."
            )
        raise ValueError(
            f"{name}={given!r} with model={model!r}. It is for model={others[0]!r}. "
            f"Leave it out, or choose model={others[0]!r}."
        )
    return MODELS[model](**choices)  # type: ignore[arg-type]


def config_from_json(data: object) -> Seq2SeqConfig | TransformerConfig:
    """The config that was written; one without a family is from before there was more than one.

    Raises:
        ValueError: it is not a dict, or has a field that is missing, unknown or wrong.
    """
    if not isinstance(data, dict):
        raise ValueError(f"a model's config must be a JSON object, not {type(data).__name__}.")
    given: dict[str, Any] = data if "model" in data else _BEFORE | data
    model = given["model"]
    check_choice("model", model, tuple(MODELS))
    given = {name: value for name, value in given.items() if name != "model"}
    known = {field.name for field in fields(MODELS[model])}
    if unknown := sorted(set(given) - known):
        raise ValueError(
            f"the config has unknown fields: {', '.join(unknown)}. "
            f"Known are: {', '.join(sorted(known))}."
        )
    if missing := sorted(known - set(given)):  # a default might not be what it was trained with
        raise ValueError(f"the config has no {' and no '.join(missing)}. Add what is missing.")
    try:
        return MODELS[model](**given)
    except (TypeError, ValueError) as error:
        in_json = str(error).replace("Give True or False", "Give true or false")
        raise ValueError(f"the config cannot be used: {in_json}") from None
