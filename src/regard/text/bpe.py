"""Pieces of words, learned from data: open vocabularies with few tokens."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokenizers import Tokenizer

SPACE = "▁"
DEFAULT_NUM_PIECES = 4000
MOST_PIECES = 1_000_000
# No piece is a space, which is written ▁: so this names what no piece spells.
_UNSPELLED = " "


class BpeTokenizer:
    """Byte-pair encoding: words are cut into the pieces that training text is best spelled with.

    Frequent words are one piece, rare ones several, and a word never seen is spelled with pieces
    that were. A piece that begins a word begins with ``▁``. Nothing is normalized, and joining
    gives back exactly what was cut, but for a ``▁`` in the text itself, which comes back as a
    space. A character never seen is a token by itself, which the vocabulary does not know.

    Pieces are learned and applied by Hugging Face's tokenizers.

    Args:
        alphabet: the pieces of one character.
        merges: pairs of pieces that become one, in the order in which they were learned.

    Raises:
        ValueError: a merge of something that is no piece.

    Source: Sennrich, Haddow & Birch 2016, "Neural Machine Translation of Rare Words with Subword
    Units", section 3.2, arXiv:1508.07909.

    >>> bpe = BpeTokenizer.learn(["low lower lowest", "new newer newest"], num_pieces=20)
    >>> bpe.tokenize("lower"), bpe.tokenize("west")
    (['▁lo', 'wer'], ['▁', 'west'])
    >>> bpe.join(bpe.tokenize("a  slow newt"))
    'a  slow newt'
    """

    name = "bpe"

    def __init__(self, alphabet: Sequence[str], merges: Sequence[tuple[str, str]]) -> None:
        self.alphabet, self.merges = tuple(alphabet), tuple(merges)
        pieces = dict.fromkeys(self.alphabet)
        for left, right in self.merges:
            for piece in (left, right):
                if piece not in pieces:
                    raise ValueError(
                        f"BpeTokenizer: the merge of {left!r} and {right!r} comes before there is "
                        f"a piece {piece!r}. Merges join pieces of the alphabet or of merges "
                        "before them. Give alphabet and merges of one tokenizer, in their order."
                    )
            pieces[left + right] = None
        self.pieces = tuple(pieces)
        self._tokenizer = _tokenizer(self.pieces, self.merges)

    @classmethod
    def learn(cls, texts: Iterable[str], *, num_pieces: int = DEFAULT_NUM_PIECES) -> BpeTokenizer:
        """Learn pieces: join the most frequent pair of neighbours, again and again.

        Args:
            texts: what the pieces shall spell.
            num_pieces: how many pieces, characters among them; fewer where no pair is there twice.

        Raises:
            TypeError: texts that are one string, a number of pieces that is no whole number.
            ValueError: fewer pieces than the texts have characters, or more than a million.
        """
        from tokenizers.trainers import BpeTrainer

        if isinstance(texts, str):
            raise TypeError(
                f"BpeTokenizer.learn: texts={texts[:40]!r} is a string. Pieces are learned from "
                "many. Give a list of strings."
            )
        if isinstance(num_pieces, bool) or not isinstance(num_pieces, int):
            raise TypeError(
                f"num_pieces={num_pieces!r} is a {type(num_pieces).__name__}. It counts pieces. "
                "Give a whole number."
            )
        if num_pieces > MOST_PIECES:
            raise ValueError(
                f"num_pieces={num_pieces} is more than {MOST_PIECES:,}. No language needs so many. "
                f"Give fewer: {DEFAULT_NUM_PIECES:,} suit some ten thousand sentences."
            )
        texts = list(texts)
        characters = set(SPACE).union(*texts) - {" "}
        if num_pieces < len(characters):
            raise ValueError(
                f"num_pieces={num_pieces}, and the texts have {len(characters)} different "
                "characters. Each is a piece, so that every word can be spelled. Give more pieces, "
                "or cut this text into characters."
            )
        learning = _tokenizer((), ())
        learning.train_from_iterator(
            (" " + text for text in texts),
            BpeTrainer(
                vocab_size=num_pieces,
                min_frequency=2,
                initial_alphabet=sorted(characters),
                show_progress=False,
            ),
        )
        return cls(sorted(characters), _merges(learning))

    def to_json(self) -> dict[str, list[str]]:
        """Plain data that :meth:`from_json` reads again: a merge is written with a space inside."""
        return {"alphabet": list(self.alphabet), "merges": [" ".join(pair) for pair in self.merges]}

    @classmethod
    def from_json(cls, data: object) -> BpeTokenizer:
        """The tokenizer that :meth:`to_json` told of; other keys are of no concern.

        Raises:
            ValueError: anything else.
        """
        match data:
            case {"alphabet": [*alphabet], "merges": [*merges]}:
                if all(isinstance(text, str) for text in (*alphabet, *merges)):
                    pairs = [str(merge).partition(" ")[::2] for merge in merges]
                    return cls([str(piece) for piece in alphabet], pairs)
        raise ValueError(
            "bpe needs an alphabet, a list of strings, and merges, a list of strings such as 't h'."
        )

    def tokenize(self, text: str) -> list[str]:
        """Cut a string into pieces."""
        if not text:
            return []
        spelled = " " + text  # every word has a space before it, and is spelled the same
        cut = self._tokenizer.encode(spelled)
        return [
            spelled[slice(*place)] if piece == _UNSPELLED else piece
            for piece, place in zip(cut.tokens, cut.offsets, strict=True)
        ]

    def join(self, tokens: Iterable[str]) -> str:
        """Put pieces together to words."""
        return "".join(tokens).replace(SPACE, " ").removeprefix(" ")


def _tokenizer(pieces: Sequence[str], merges: Sequence[tuple[str, str]]) -> Tokenizer:
    from tokenizers import Tokenizer
    from tokenizers.models import BPE
    from tokenizers.pre_tokenizers import Metaspace

    ids = {piece: id for id, piece in enumerate((*pieces, _UNSPELLED))}
    tokenizer = Tokenizer(BPE(vocab=ids, merges=list(merges), unk_token=_UNSPELLED))
    tokenizer.pre_tokenizer = Metaspace(replacement=SPACE, prepend_scheme="never")
    return tokenizer


def _merges(tokenizer: Tokenizer) -> list[tuple[str, str]]:
    import json

    return [(left, right) for left, right in json.loads(tokenizer.to_str())["model"]["merges"]]
