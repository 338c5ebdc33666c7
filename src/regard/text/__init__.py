"""Text in and out: pairs files, tokenizers, vocabularies, batches, built-in data sets.

Only `batches` needs PyTorch, and it is loaded when one of its names is first touched: an exported
model reads and writes text without.
"""

from typing import TYPE_CHECKING

import lazy_loader as _lazy_loader

__all__ = [
    "DATASETS",
    "TOKENIZERS",
    "Batch",
    "BatchLoader",
    "BpeTokenizer",
    "CharacterTokenizer",
    "Dataset",
    "Pair",
    "Pairs",
    "PairsFileError",
    "Tokenizer",
    "Vocabulary",
    "WhitespaceTokenizer",
    "collate",
    "guess_tokenizer",
    "load_dataset",
    "make_batches",
    "read_pairs",
    "references",
    "split_by_source",
    "tokenizer",
]

if TYPE_CHECKING:
    from regard.text.batches import Batch, BatchLoader, collate, make_batches
    from regard.text.bpe import BpeTokenizer
    from regard.text.datasets import DATASETS, Dataset, load_dataset
    from regard.text.pairs import Pair, Pairs, PairsFileError, read_pairs, references
    from regard.text.splits import split_by_source
    from regard.text.tokenizers import (
        TOKENIZERS,
        CharacterTokenizer,
        Tokenizer,
        WhitespaceTokenizer,
        guess_tokenizer,
        tokenizer,
    )
    from regard.text.vocabulary import Vocabulary
else:
    __getattr__, _, _ = _lazy_loader.attach(
        __name__,
        submod_attrs={
            "batches": ["Batch", "BatchLoader", "collate", "make_batches"],
            "bpe": ["BpeTokenizer"],
            "datasets": ["DATASETS", "Dataset", "load_dataset"],
            "pairs": ["Pair", "Pairs", "PairsFileError", "read_pairs", "references"],
            "splits": ["split_by_source"],
            "tokenizers": [
                "TOKENIZERS",
                "CharacterTokenizer",
                "Tokenizer",
                "WhitespaceTokenizer",
                "guess_tokenizer",
                "tokenizer",
            ],
            "vocabulary": ["Vocabulary"],
        },
    )


def __dir__() -> list[str]:
    return list(__all__)
