"""Whether learned positions serve the data, told before a run begins."""

from collections.abc import Sequence
from operator import itemgetter

from regard.models import Translator
from regard.text import Pair


def check_lengths(translator: Translator, **parts: Sequence[Pair]) -> None:
    """That the model has a position for every token of every pair.

    Args:
        translator: the model.
        parts: pairs, by what an error calls them.

    Raises:
        ValueError: pairs are longer; it names the longest.
    """
    max_len = translator.network.max_len
    if max_len is None:
        return
    lengths = (
        (num_tokens, part, name, text)
        for part, pairs in parts.items()
        for pair in pairs
        for num_tokens, name, text in (
            (len(translator.source.tokenizer.tokenize(pair.source)), "source", pair.source),
            # the decoder reads the begin token first
            (len(translator.target.tokenizer.tokenize(pair.target)) + 1, "target", pair.target),
        )
    )
    needed, part, name, text = max(lengths, key=itemgetter(0), default=(0, "", "", ""))
    if needed <= max_len:
        return
    begin = " and the begin token" if name == "target" else ""
    num_tokens = needed - 1 if name == "target" else needed
    raise ValueError(
        f"train: the longest {name} of the {part} pairs, {text[:40]!r}, has {num_tokens} tokens, "
        f"with max_len={max_len}. Each token{begin} needs a learned position. Give "
        f"max_len={needed}, leave longer pairs out, or choose positions='sinusoidal'."
    )
