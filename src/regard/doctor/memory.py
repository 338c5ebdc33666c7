"""Says that memory ran out, where the system refuses at once what the code wants."""

import re

from regard.doctor.watch import Limits

_SAID = re.compile(
    r"(?P<said>[^.:]*\b[Uu]nable to allocate \S+ \w+|can't allocate memory[^.]*|out of memory[^.]*)"
)
_KIND = re.compile(r"\b(?:MemoryError|OutOfMemoryError|RuntimeError): |\bMemoryError\b")
_WHERE = re.compile(r"at line \d+ \(.*\)(?=: \w*Error\b)")


def ran_out(text: str) -> bool:
    """Whether an error, kind and message, is of memory."""
    kind = _KIND.search(text)
    return kind is not None and ("MemoryError" in kind[0] or _SAID.search(text) is not None)


def out_of_memory(question: str, limits: Limits) -> str:
    """The same of a question that quotes such an error, with its line and the limit."""
    where, found = _WHERE.search(question), _SAID.search(question)
    at = f" {where[0]}" if where is not None else ""
    said = f": {found['said'].strip()}" if found is not None else ""
    return (
        f"memory ran out{at}{said}. The code may use {limits.memory:g} GiB (memory), and the "
        "probe's tensors are tiny: look for one whose size is not made of theirs."
    )
