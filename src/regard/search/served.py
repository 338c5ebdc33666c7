"""What a model with learned positions cannot read or emit, told before anything is decoded."""

from collections.abc import Iterable

from regard.models import Translator


def check_sources(translator: Translator, sources: Iterable[str]) -> None:
    """That the model has a position for every token of every source.

    Raises:
        ValueError: a source is longer.
    """
    max_len = translator.network.max_len
    if max_len is None:
        return
    for source in sources:
        num_tokens = len(translator.source.tokenizer.tokenize(source))
        if num_tokens > max_len:
            raise ValueError(
                f"predict: the source {source[:40]!r} has {num_tokens} tokens, but this model's "
                f"learned positions serve {max_len}. Nothing was learned of a position beyond. "
                "Leave such sources out, or train a model with a longer max_len or with sinusoidal "
                "positions."
            )


def check_target_lengths(
    translator: Translator, *, min_length: int, max_length: int | None, prefixes: Iterable[str]
) -> None:
    """That the model has a position for every token that these ask for.

    Raises:
        ValueError: one of them asks for more.
    """
    max_len = translator.network.max_len
    if max_len is None:
        return
    rule = (
        f"but this model's learned positions serve targets of {max_len} tokens. Nothing was "
        "learned of a position beyond."
    )
    for name, asked in (("min_length", min_length), ("max_length", max_length)):
        if asked is not None and asked > max_len:
            raise ValueError(f"predict: {name}={asked}, {rule} Give {name}={max_len} or less.")
    for prefix in prefixes:
        num_tokens = len(translator.target.tokenizer.tokenize(prefix))
        if num_tokens > max_len:
            raise ValueError(
                f"predict: prefix={prefix[:40]!r} has {num_tokens} tokens, {rule} Shorten the "
                "prefix."
            )
