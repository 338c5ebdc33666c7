"""What ``DATA`` on the command line means: a built-in name, or a file of pairs."""

from pathlib import Path
from typing import NamedTuple

from regard.text import (
    DATASETS,
    TOKENIZERS,
    Pair,
    guess_tokenizer,
    load_dataset,
    read_pairs,
    split_by_source,
)
from regard.text.bpe import SPACE
from regard.text.synthetic import TASKS


class Data(NamedTuple):
    """Pairs to train on, to choose by, and (perhaps none) to test on; and how to cut them.

    ``notes`` is what a person should know of how they came about.
    """

    train: list[Pair]
    dev: list[Pair]
    test: list[Pair]
    source_tokens: str
    target_tokens: str
    notes: tuple[str, ...] = ()


def load(
    data: str,
    *,
    dev: Path | None,
    test: Path | None,
    length: int | None,
    num_pairs: int | None,
    source_tokens: str | None,
    target_tokens: str | None,
    skip_bad_lines: bool,
) -> Data:
    """Read what was asked for.

    Raises:
        ValueError: neither a file nor a built-in name, or options that do not go together.
    """
    for option, tokens in (("--source-tokens", source_tokens), ("--target-tokens", target_tokens)):
        if tokens is not None and tokens not in TOKENIZERS:
            raise ValueError(
                f"{option} {tokens!r} is unknown. Choose one of: {', '.join(TOKENIZERS)}."
            )
    if data == "":
        raise ValueError(
            "DATA '' is an empty path. Give a file with one 'source TAB target' a line, or one of: "
            f"{', '.join(DATASETS)}."
        )
    if data in DATASETS and not Path(data).exists():
        if dev is not None or test is not None:
            raise ValueError(
                f"--dev and --test with the built-in data set {data!r}, which has its own. "
                "Leave them out, or give a file of pairs as DATA."
            )
        if data not in TASKS:
            _refuse_task_options(length=length, num_pairs=num_pairs)
        built_in = load_dataset(data, length=length, num_pairs=num_pairs)
        return Data(
            built_in.train,
            built_in.dev,
            built_in.test,
            source_tokens or built_in.source_tokenizer,
            target_tokens or built_in.target_tokenizer,
        )
    if not Path(data).exists():
        raise ValueError(
            f"DATA {data!r} is neither a file nor a built-in data set. Give a file with one "
            f"'source TAB target' a line, or one of: {', '.join(DATASETS)}."
        )
    _refuse_task_options(length=length, num_pairs=num_pairs)
    notes: list[str] = []
    train = read(Path(data), skip_bad_lines, notes)
    if dev is None:
        train, dev_pairs = _hold_out(Path(data), train, notes)
    else:
        dev_pairs = read(dev, skip_bad_lines, notes)
    return Data(
        train,
        dev_pairs,
        [] if test is None else read(test, skip_bad_lines, notes),
        source_tokens or guess_tokenizer(pair.source for pair in train),
        target_tokens or guess_tokenizer(pair.target for pair in train),
        tuple(notes),
    )


def read(path: Path, skip_bad_lines: bool, notes: list[str]) -> list[Pair]:
    """The pairs of a file; skipped lines are counted in a note."""
    pairs = read_pairs(path, skip_bad_lines=skip_bad_lines)
    if pairs.num_skipped:
        notes.append(f"{path}: {pairs.num_skipped} bad lines skipped")
    return pairs.pairs


def with_note_of_marks(data: Data) -> Data:
    """The same, with a note if a text that is cut into pieces holds their mark itself."""
    sides = zip(
        zip(*data.train, strict=True), (data.source_tokens, data.target_tokens), strict=True
    )
    marked = sum(SPACE in text for texts, tokens in sides if tokens == "bpe" for text in texts)
    if not marked:
        return data
    note = f"{marked} texts hold {SPACE}, which bpe takes for a space, and gives back as one"
    return data._replace(notes=(*data.notes, note))


def _refuse_task_options(**options: int | None) -> None:
    for name, given in options.items():
        if given is not None:
            raise ValueError(
                f"--{name.replace('_', '-')} {given} is for the synthetic data sets "
                f"{', '.join(TASKS)}. Leave it out."
            )


def _hold_out(path: Path, pairs: list[Pair], notes: list[str]) -> tuple[list[Pair], list[Pair]]:
    fraction = min(0.2, max(0.05, 100 / len(pairs)))
    kept, held_out, _ = split_by_source(pairs, dev_fraction=fraction, test_fraction=0.0)
    if not kept or not held_out:
        raise ValueError(
            f"{path}: too few pairs, {len(pairs)} with {len({pair.source for pair in pairs})} "
            "different sources, to hold some out for choosing the best model. Give more, or a file "
            "of others with --dev."
        )
    notes.append(f"{path}: {len(held_out)} of {len(pairs)} pairs held out for --dev")
    return kept, held_out
