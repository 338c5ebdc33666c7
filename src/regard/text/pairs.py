"""Pairs files: one `source TAB target` a line, UTF-8."""

import codecs
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

# A NUL this early means a binary file or UTF-16, as git judges it too.
_NUM_BYTES_JUDGED = 8000


class Pair(NamedTuple):
    """A source and one target that is right for it.

    >>> Pair("abby", "AE B IY").target
    'AE B IY'
    """

    source: str
    target: str


class PairsFileError(ValueError):
    """A pairs file that cannot be read; the text names the file, the line and the fix."""


@dataclass(frozen=True, slots=True)
class Pairs:
    """What a pairs file holds, in its order, and how many bad lines were left out.

    >>> [pair.source for pair in Pairs([Pair("one", "eins"), Pair("two", "zwei")])]
    ['one', 'two']
    """

    pairs: list[Pair]
    num_skipped: int = 0

    def __iter__(self) -> Iterator[Pair]:
        return iter(self.pairs)

    def __len__(self) -> int:
        return len(self.pairs)


def read_pairs(path: str | os.PathLike[str], *, skip_bad_lines: bool = False) -> Pairs:
    """Read a pairs file: `source TAB target` on each line, in UTF-8.

    Several lines with one source give several targets that are all right. Blank lines are
    ignored; a byte order mark and Windows line ends are accepted. Text is taken as it stands:
    nothing is stripped or normalized.

    Args:
        path: The file.
        skip_bad_lines: Leave bad lines out and count them, where otherwise the first is an error.

    Raises:
        PairsFileError: The file cannot be read, holds no pair, or has a bad line.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "lexicon.tsv")
    ...     _ = path.write_text("read\\tR IY D\\nread\\tR EH D\\n", encoding="utf-8")
    ...     references(read_pairs(path))
    {'read': ['R IY D', 'R EH D']}
    """
    pairs: list[Pair] = []
    num_skipped = 0
    # Lines end at newlines only: str.splitlines would also cut at characters such as U+2028.
    for number, line in enumerate(_read_text_bytes(path).split(b"\n"), start=1):
        try:
            pair = _parse(line.removesuffix(b"\r"))
        except _BadLine as bad:
            if not skip_bad_lines:
                raise PairsFileError(
                    f"{path}, line {number}: {_excerpt(line)}. {bad} Or leave bad lines out: "
                    "skip_bad_lines=True."
                ) from None
            num_skipped += 1
        else:
            if pair is not None:
                pairs.append(pair)
    if not pairs:
        skipped = f", only {num_skipped} bad lines" if num_skipped else ""
        raise PairsFileError(
            f"{path}: no pair in this file{skipped}. A pairs file needs at least one line "
            "`source TAB target`. Check that this is the file you mean."
        )
    return Pairs(pairs, num_skipped)


def references(pairs: Iterable[Pair]) -> dict[str, list[str]]:
    """Give for each source every target that is right for it, in order and without repeats.

    >>> references([Pair("a", "AH"), Pair("a", "EY"), Pair("a", "AH")])
    {'a': ['AH', 'EY']}
    """
    targets: dict[str, dict[str, None]] = {}
    for source, target in pairs:
        targets.setdefault(source, {})[target] = None
    return {source: list(of_source) for source, of_source in targets.items()}


class _BadLine(Exception):
    """The rule that a line breaks, and the fix."""


def _parse(line: bytes) -> Pair | None:
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _BadLine(
            f"Byte {error.start + 1} of the line is not valid UTF-8. Save the file as UTF-8."
        ) from None
    match text.split("\t"):
        case [blank] if not blank.strip():
            return None
        case [_]:
            raise _BadLine(
                "A line is `source TAB target`, and this one has no tab. "
                "Put one tab between source and target."
            )
        case [source, target] if source.strip() and target.strip():
            return Pair(source, target)
        case [source, _]:
            empty = "target" if source.strip() else "source"
            raise _BadLine(
                f"A line is `source TAB target`, and here the {empty} is empty. "
                f"Fill in the {empty} or remove the line."
            )
        case columns:
            raise _BadLine(
                f"A line is `source TAB target`, and this one has {len(columns) - 1} tabs. "
                "Keep two columns; several targets of one source go on lines of their own."
            )


def _read_text_bytes(path: str | os.PathLike[str]) -> bytes:
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise PairsFileError(
            f"{path}: {error.strerror}. A pairs file is a text file with `source TAB target` on "
            "each line. Check the path."
        ) from None
    if b"\0" in content[:_NUM_BYTES_JUDGED]:
        raise PairsFileError(
            f"{path}: not a text file in UTF-8, for it holds NUL bytes, as binary and compressed "
            "files and UTF-16 do. Unpack it, or save it as UTF-8."
        )
    return content.removeprefix(codecs.BOM_UTF8)


def _excerpt(line: bytes) -> str:
    text = line.decode("utf-8", errors="replace").rstrip("\r")
    return repr(text if len(text) <= 60 else text[:57] + "...")
