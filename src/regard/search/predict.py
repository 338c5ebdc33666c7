"""From strings to strings: batches of sources through a translator, order kept."""

import reprlib
from collections.abc import Sequence
from itertools import chain, groupby
from typing import NamedTuple

import torch
from torch import Tensor

from regard.core.sizes import check_sizes
from regard.kernels import Workers
from regard.models import Translator
from regard.search.greedy import greedy
from regard.text import Vocabulary


class Prediction(NamedTuple):
    """What a translator makes of one source."""

    source: str
    target: str
    source_tokens: list[str]
    target_tokens: list[str]
    log_prob: float
    """Log-probability of the target, its end included; 0 for an empty source."""
    weights: Tensor | None
    """The alignment, (target tokens, source tokens); None if not asked for or without attention."""


def predict(
    translator: Translator,
    sources: Sequence[str],
    *,
    batch_size: int = 256,
    need_weights: bool = False,
    workers: Workers | None = None,
) -> list[Prediction]:
    """Greedy predictions, one per source, in the order given.

    A source without tokens gives an empty target. No target is longer than twice its source and
    10 tokens more.

    Args:
        translator: the model.
        sources: strings.
        batch_size: most sources decoded together; only those of one length are.
        need_weights: also return alignments.
        workers: decode batches on several cores at once.

    Raises:
        TypeError: not a translator, not a list of strings, or a batch size that is no whole number.
        ValueError: a batch size below 1.

    >>> from regard.models import Side, Translator
    >>> sides = Side.build("characters", ["abc"]), Side.build("characters", ["xyz"])
    >>> translator = Translator.fresh(*sides, hidden_dim=8)
    >>> [prediction.source for prediction in predict(translator, ["cab", "a"])]
    ['cab', 'a']
    """
    _check(translator, sources, batch_size)
    tokenized = [translator.source.tokenizer.tokenize(source) for source in sources]
    by_length = sorted(range(len(sources)), key=lambda index: len(tokenized[index]))
    batches = [
        indices[start : start + batch_size]
        for _, group in groupby(by_length, key=lambda index: len(tokenized[index]))
        for indices in [list(group)]
        for start in range(0, len(indices), batch_size)
    ]

    def decode(indices: list[int]) -> list[Prediction]:
        chosen = [sources[index] for index in indices]
        return _decode(translator, chosen, [tokenized[index] for index in indices], need_weights)

    found = (workers or Workers(1)).map(decode, batches)
    predictions = dict(zip(chain(*batches), chain(*found), strict=True))
    return [predictions[index] for index in range(len(sources))]


def _check(translator: object, sources: object, batch_size: object) -> None:
    if not isinstance(translator, Translator):
        raise TypeError(
            f"predict: translator is a {type(translator).__name__}. It must be a Translator. "
            "Write predict(Translator.from_pretrained(folder), sources) for a saved one."
        )
    if isinstance(sources, str | bytes) or not isinstance(sources, Sequence):
        what = (
            f"the string {sources[:40]!r}"
            if isinstance(sources, str)
            else f"a {type(sources).__name__}"
        )
        raise TypeError(
            f"predict: sources is {what}. It is a list of strings, one per prediction. "
            "Write [source] for a single one, list(sources) for what is no list yet."
        )
    for index, source in enumerate(sources):
        if not isinstance(source, str):
            raise TypeError(
                f"predict: sources[{index}] is {reprlib.repr(source)}, "
                f"{type(source).__name__}. Each source is a string. Decode bytes, and leave out "
                "what is missing."
            )
    check_sizes("predict", batch_size=batch_size)


@torch.inference_mode()
def _decode(
    translator: Translator, sources: list[str], tokenized: list[list[str]], need_weights: bool
) -> list[Prediction]:
    if not tokenized[0]:
        return [Prediction(source, "", [], [], 0.0, None) for source in sources]
    network = translator.network.eval()
    device = next(network.parameters()).device
    ids = torch.tensor([translator.source.vocabulary.encode(t) for t in tokenized], device=device)
    lengths = torch.full((len(sources),), ids.shape[1], device=device)
    found = greedy(
        lambda token, state: network.decoder.step(token, state, need_weights=need_weights),
        network.decoder.begin(network.encoder(ids, lengths)),
        max_lengths=2 * lengths + 10,
        begin=Vocabulary.BEGIN,
        end=Vocabulary.END,
        padding=Vocabulary.PADDING,
        never=(Vocabulary.PADDING, Vocabulary.BEGIN, Vocabulary.UNKNOWN),
    )
    predictions = []
    for row, (source, source_tokens) in enumerate(zip(sources, tokenized, strict=True)):
        length = int(found.lengths[row])
        target_tokens = translator.target.vocabulary.decode(found.tokens[row, :length].tolist())
        predictions.append(
            Prediction(
                source,
                translator.target.tokenizer.join(target_tokens),
                source_tokens,
                target_tokens,
                float(found.log_probs[row]),
                None if found.weights is None else found.weights[row, :length].clone(),
            )
        )
    return predictions
