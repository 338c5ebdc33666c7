"""From strings to strings: batches of sources through a translator, order kept."""

import reprlib
from collections.abc import Sequence
from itertools import chain, groupby
from typing import NamedTuple

from torch import Tensor

from regard.core.sizes import check_sizes
from regard.kernels import Workers
from regard.models import Translator
from regard.search.decode import Hypothesis, Search, decode
from regard.search.served import check_sources, check_target_lengths


class Prediction(NamedTuple):
    """What a translator makes of one source."""

    source: str
    source_tokens: list[str]
    hypotheses: list[Hypothesis]
    """The best first: as many as were asked for, or fewer where there are no more."""

    @property
    def target(self) -> str:
        """Of the best hypothesis; so are the tokens, the log-probability and the weights."""
        return self.hypotheses[0].target

    @property
    def target_tokens(self) -> list[str]:
        """The target as tokens."""
        return self.hypotheses[0].target_tokens

    @property
    def log_prob(self) -> float:
        """Log-probability of the target, its end included; 0 for an empty source."""
        return self.hypotheses[0].log_prob

    @property
    def weights(self) -> Tensor | None:
        """The alignment, (target tokens, source tokens); None if not asked for or no attention."""
        return self.hypotheses[0].weights


def predict(
    translator: Translator,
    sources: Sequence[str],
    *,
    beam: int = 1,
    n_best: int = 1,
    length_penalty: float = 0.0,
    min_length: int = 0,
    max_length: int | None = None,
    prefix: str | Sequence[str] = "",
    batch_size: int = 256,
    need_weights: bool = False,
    workers: Workers | None = None,
) -> list[Prediction]:
    """The target of each source, in the order given, by greedy or beam search.

    A source without tokens gives an empty target, whatever the limits.

    Args:
        translator: the model.
        sources: strings.
        beam: hypotheses of a source that live on at each step; 1 is greedy search, which takes the
            likeliest token.
        n_best: hypotheses to return of each source, at most ``beam``.
        length_penalty: α of :func:`regard.search.beam`: 0 orders hypotheses by probability, more
            favors longer ones. Needs a beam.
        min_length: fewest tokens of a target.
        max_length: most tokens of a target, its end included. None for twice its source's and 10
            more, or what ``min_length`` and the prefix ask for, as far as learned positions go.
        prefix: what every target begins with; or a list of such strings, one per source.
        batch_size: most sources decoded together; only those of one length are.
        need_weights: also return alignments.
        workers: decode batches on several cores at once.

    Raises:
        TypeError: not a translator, not a list of strings, or a number of another type.
        ValueError: a number out of its range, choices that exclude each other, or a prefix that is
            too long, has tokens the model does not know, or is missing for a source; a source or a
            length beyond what the model's learned positions serve.

    >>> from regard.models import Side, Translator
    >>> sides = Side.build("characters", ["abc"]), Side.build("characters", ["xyz"])
    >>> translator = Translator.fresh(*sides, hidden_dim=8)
    >>> [prediction.source for prediction in predict(translator, ["cab", "a"])]
    ['cab', 'a']
    >>> (prediction,) = predict(translator, ["cab"], beam=3, n_best=3, prefix="xy")
    >>> [hypothesis.target[:2] for hypothesis in prediction.hypotheses]
    ['xy', 'xy', 'xy']
    """
    _check(translator, sources, batch_size)
    search = Search(
        beam=beam,
        n_best=n_best,
        length_penalty=length_penalty,
        min_length=min_length,
        max_length=max_length,
    )
    prefixes = _prefixes(translator, prefix, len(sources), max_length)
    check_target_lengths(
        translator,
        min_length=min_length,
        max_length=max_length,
        prefixes=[prefix] if isinstance(prefix, str) else prefix,
    )
    check_sources(translator, sources)
    tokenized = [translator.source.tokenizer.tokenize(source) for source in sources]
    by_length = sorted(range(len(sources)), key=lambda index: len(tokenized[index]))
    batches = [
        indices[start : start + batch_size]
        for _, group in groupby(by_length, key=lambda index: len(tokenized[index]))
        for indices in [list(group)]
        for start in range(0, len(indices), batch_size)
    ]

    def decode_batch(indices: list[int]) -> list[list[Hypothesis]]:
        chosen = [tokenized[index] for index in indices]
        if not chosen[0]:
            return [[Hypothesis("", [], 0.0, 0.0, None)] for _ in indices]
        begun = [prefixes[index] for index in indices]
        return decode(translator, chosen, begun, search, need_weights=need_weights)

    found = (workers or Workers(1)).map(decode_batch, batches)
    hypotheses = dict(zip(chain(*batches), chain(*found), strict=True))
    return [
        Prediction(source, tokenized[index], hypotheses[index])
        for index, source in enumerate(sources)
    ]


def _prefixes(
    translator: Translator, prefix: object, num_sources: int, max_length: int | None
) -> list[list[str]]:
    """The tokens that each target begins with."""
    given = [prefix] if isinstance(prefix, str) else prefix
    if not isinstance(given, Sequence) or not all(isinstance(each, str) for each in given):
        raise TypeError(
            f"predict: prefix={reprlib.repr(prefix)}. It is a string that every target begins "
            "with, or a list of strings, one per source. Give '' for none."
        )
    if not isinstance(prefix, str) and len(given) != num_sources:
        raise ValueError(
            f"predict: {len(given)} prefixes for {num_sources} sources. Each source has its own. "
            "Give as many, '' where there is none, or one string for all."
        )
    tokens = [translator.target.tokenizer.tokenize(text) for text in given]
    for text, some in zip(given, tokens, strict=True):
        unknown = [token for token in some if token not in translator.target.vocabulary]
        if unknown:
            raise ValueError(
                f"predict: prefix={text!r} has the token {unknown[0]!r}, which no target of this "
                "model's had. It cannot go on from there. Give tokens it was trained on."
            )
        if max_length is not None and len(some) > max_length:
            raise ValueError(
                f"predict: prefix={text!r} has {len(some)} tokens with max_length={max_length}. "
                "The prefix is a part of the target. Raise max_length, or shorten the prefix."
            )
    return tokens * num_sources if isinstance(prefix, str) else tokens


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
