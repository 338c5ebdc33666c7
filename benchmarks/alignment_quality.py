"""How good the alignments are, where the right ones are known.

    python -m benchmarks.alignment_quality --lexicon lexicon.db --test test.tsv MODEL_DIR...
    python -m benchmarks.alignment_quality --task reverse MODEL_DIR...

The first is for models of pronunciation, beside the grapheme-phoneme alignments of PyPI's
gruut-lang-en (table g2p_alignments of its lexicon.db; made by a machine, so silver and not gold).
A word counts if its pronunciation there, in ARPABET without stress, is one of the test's. A chunk
of one letter and one phoneme is a sure link; in any other chunk, every pair is a possible one. The
target is given, and each phoneme linked to the letter it weighs most.
"""

import argparse
import sqlite3
from pathlib import Path

import numpy as np

from regard.experiments.known_alignment import known_alignment
from regard.models import Translator
from regard.text import load_dataset
from regard.training.alignment_error import (
    KnownAlignment,
    diagonal,
    error_rate,
    link_counts,
    links,
)
from regard.training.bootstrap import Estimate, bootstrap

_TABLE = """
b=B d=D f=F ɡ=G h=HH k=K l=L m=M n=N ŋ=NG p=P ɹ=R s=S ʃ=SH t=T θ=TH v=V w=W j=Y z=Z ʒ=ZH ð=DH
tʃ=CH dʒ=JH ɑ=AA æ=AE ʌ=AH ə=AH ɔ=AO aʊ=AW aɪ=AY ɛ=EH ɚ=ER ɝ=ER eɪ=EY ɪ=IH i=IY oʊ=OW ɔɪ=OY
ʊ=UH u=UW
"""
ARPABET = dict(pair.split("=") for pair in _TABLE.split())
SILENT = "_"


def silver_alignment(chunks: str) -> tuple[str, list[str], KnownAlignment]:
    """``"t|h}θ r}ɹ"``: the word, its phonemes, and which belongs to which."""
    word, phonemes, sure, possible = "", [], set(), set()
    for chunk in chunks.split():
        letters, sounds = (part.split("|") for part in chunk.split("}"))
        sounds = [sound for sound in sounds if sound != SILENT]
        pairs = {
            (len(phonemes) + p, len(word) + s)
            for p in range(len(sounds))
            for s in range(len(letters))
        }
        possible |= pairs
        if len(pairs) == 1:
            sure |= pairs
        word += "".join(letters)
        phonemes += [ARPABET[sound.lstrip("ˈˌ").replace("͡", "")] for sound in sounds]
    return word, phonemes, KnownAlignment(sure, possible)


def silver(lexicon: Path, test: Path) -> list[tuple[str, str, KnownAlignment]]:
    right = {tuple(line.split("\t")) for line in test.read_text("utf-8").splitlines()}
    words = {word for word, _ in right}
    found = []
    with sqlite3.connect(lexicon) as database:
        for word, chunks in database.execute("SELECT word, alignment FROM g2p_alignments"):
            if word in words and "}" in chunks:
                spelled, phonemes, known = silver_alignment(chunks)
                if spelled == word and (word, " ".join(phonemes)) in right:
                    found.append((word, " ".join(phonemes), known))
    return found


def exact(task: str) -> list[tuple[str, str, KnownAlignment]]:
    pairs = load_dataset(task, length=10, num_pairs=2000).test[:500]
    return [(*pair, known_alignment(task, pair.source.split())) for pair in pairs]


def rate_and_interval(found: list, known: list[KnownAlignment]) -> Estimate:
    """The alignment error rate, with the interval over pairs."""
    counts = [link_counts(one, right) for one, right in zip(found, known, strict=True)]
    return bootstrap(np.array(counts, dtype=float), error_rate)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="+", type=Path)
    parser.add_argument("--lexicon", type=Path)
    parser.add_argument("--test", type=Path)
    parser.add_argument("--task", choices=["copy", "reverse"])
    parser.add_argument("--max-pairs", type=int, default=2000)
    asked = parser.parse_args()
    pairs = exact(asked.task) if asked.task else silver(asked.lexicon, asked.test)
    pairs = pairs[: asked.max_pairs]
    known = [right for _, _, right in pairs]
    print(f"{len(pairs)} pairs with known alignments")

    def say(name: str, found: list) -> None:
        rate = rate_and_interval(found, known)
        print(f"{name:40} AER {rate.value:6.1%}  [{rate.low:.1%}, {rate.high:.1%}]")

    translator = Translator.from_pretrained(asked.models[0])
    cut = [(translator.source.tokenizer.tokenize(s), translator.target.tokenizer.tokenize(t))
           for s, t, _ in pairs]  # fmt: skip
    say("diagonal", [diagonal(len(target), len(source)) for source, target in cut])
    for folder in asked.models:
        translator = Translator.from_pretrained(folder)
        say(str(folder), [links(translator.align(source, target)) for source, target, _ in pairs])


if __name__ == "__main__":
    main()
