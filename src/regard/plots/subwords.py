"""Weights of subwords as weights of words."""

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float64

from regard.plots._grid import as_array, as_labels, check_weights

# Where a piece with the mark stands in its word, as its tokenizer writes it.
_BEGINS = ("▁", "Ġ")  # SentencePiece; byte-level BPE, as of GPT-2
_CONTINUES = ("##",)  # WordPiece
_GOES_ON = ("@@",)  # subword-nmt: all pieces of a word but the last
MARKS = (*_BEGINS, *_CONTINUES, *_GOES_ON)

# <s> or [SEP] is no piece of a word; <0x0A>, a byte, is one.
_SPECIAL = re.compile(r"<(?!0x)[^<>\s]+>|\[[A-Z]+\]")


class Words(NamedTuple):
    """What `plots.alignment` takes: weights between words, and the words."""

    weights: Float64[np.ndarray, "*heads target_len source_len"]
    source: list[str]
    target: list[str]


def merge_subwords(
    weights: Any,
    source: Sequence[str],
    target: Sequence[str],
    *,
    source_mark: str | None = None,
    target_mark: str | None = None,
) -> Words:
    """Merge the pieces of each word: sum over the pieces looked at, average over those that look.

    So a word that was looked at has all the weight that its pieces had, and every row still sums
    to what its rows summed to on average: 1. (Clark et al. 2019, "What Does BERT Look At?",
    section 4.1, https://aclanthology.org/W19-4828/.)

    Special tokens such as ``<s>`` or ``[SEP]`` stay by themselves.

    Args:
        weights: (target_len, source_len), or with heads before.
        source: the piece of every key.
        target: the piece of every query.
        source_mark: how the pieces of the source are marked: ``"▁"`` or ``"Ġ"`` before a piece that
            begins a word, ``"##"`` before one that continues it, ``"@@"`` after one that goes on.
            None: the source has no pieces.
        target_mark: the same of the target.

    Raises:
        ValueError: no mark or an unknown one, or one that no piece has where they have another;
            labels that do not fit the weights, or weights outside 0..1.
        TypeError: weights are no numbers, or pieces no strings.

    >>> pieces = ["▁at", "ten", "tion", "▁is"]
    >>> merged = merge_subwords([[0.1, 0.2, 0.3, 0.4]], pieces, ["ist"], source_mark="▁")
    >>> merged.source, merged.weights.round(6).tolist()
    (['attention', 'is'], [[0.6, 0.4]])
    """
    caller = "plots.merge_subwords"
    array = as_array(weights, caller)
    source, target = as_labels(source, "source", caller), as_labels(target, "target", caller)
    if array.ndim < 2 or array.shape[-2:] != (len(target), len(source)):
        raise ValueError(
            f"{caller}: weights of shape {array.shape} with {len(source)} source pieces and "
            f"{len(target)} target pieces. The last two axes are (target_len, source_len). Pass a "
            "piece for every position."
        )
    check_weights(array, caller)
    if source_mark is None and target_mark is None:
        raise ValueError(
            f"{caller}: neither source_mark nor target_mark is given. One at least says how pieces "
            f"are marked. Pass one of {', '.join(MARKS)}."
        )
    source_words = _words(source, source_mark, "source_mark", caller)
    target_words = _words(target, target_mark, "target_mark", caller)
    looked_at = _belongs(source_words)
    looking = _belongs(target_words)
    means = looking / looking.sum(axis=1, keepdims=True)
    return Words(
        means @ array @ looked_at.T,
        [_text(pieces, source_mark) for pieces in source_words],
        [_text(pieces, target_mark) for pieces in target_words],
    )


def _words(pieces: Sequence[str], mark: str | None, name: str, caller: str) -> list[list[str]]:
    """Cut the pieces into words."""
    if mark is None:
        return [[piece] for piece in pieces]
    if mark not in MARKS:
        raise ValueError(
            f"{caller}: {name}={mark!r} is unknown. Pieces are marked as their tokenizer does it. "
            f"Pass one of {', '.join(MARKS)}."
        )
    _check_marked(pieces, mark, name, caller)
    words: list[list[str]] = []
    for place, piece in enumerate(pieces):
        before = pieces[place - 1] if place else ""
        if mark in _BEGINS:
            begins = piece.startswith(mark)
        elif mark in _CONTINUES:
            begins = not piece.startswith(mark)
        else:
            begins = not before.endswith(mark)
        if not words or begins or _SPECIAL.fullmatch(piece) or _SPECIAL.fullmatch(before):
            words.append([])
        words[-1].append(piece)
    return words


def _check_marked(pieces: Sequence[str], mark: str, name: str, caller: str) -> None:
    """Pieces of whole words alone may bear no mark; but then they bear no other either."""
    marked = {known: [piece for piece in pieces if _bears(piece, known)] for known in MARKS}
    others = [known for known, found in marked.items() if found]
    if others and mark not in others:
        raise ValueError(
            f"{caller}: {name}={mark!r}, but no piece has it, and {marked[others[0]][0]!r} has "
            f"{others[0]!r}. Words would be cut in the wrong places. Pass {name}={others[0]!r}."
        )


def _bears(piece: str, mark: str) -> bool:
    if piece == mark and mark in (*_CONTINUES, *_GOES_ON):  # a token of its own
        return False
    return piece.endswith(mark) if mark in _GOES_ON else piece.startswith(mark)


def _belongs(words: list[list[str]]) -> Float64[np.ndarray, "words pieces"]:
    """1 where a piece is one of a word's, else 0."""
    lengths = [len(pieces) for pieces in words]
    return np.repeat(np.eye(len(words)), lengths, axis=1)


def _text(pieces: list[str], mark: str | None) -> str:
    if mark is None or (len(pieces) == 1 and _SPECIAL.fullmatch(pieces[0])):
        return pieces[0]
    if mark in _GOES_ON:
        return "".join(piece.removesuffix(mark) for piece in pieces)
    return "".join(piece.removeprefix(mark) for piece in pieces)
