"""Plain data that checks itself: what a dataclass's field may hold stands in its annotation."""

import reprlib
from collections.abc import Callable
from dataclasses import fields
from types import NoneType
from typing import Annotated, Any, NamedTuple, get_args, get_origin, get_type_hints

_KINDS: dict[type, tuple[str, tuple[type, ...]]] = {
    bool: ("True or False", (bool,)),
    int: ("a whole number", (int,)),
    float: ("a number", (int, float)),
    str: ("a string", (str,)),
}


class Rule(NamedTuple):
    """Which values of its type a field may hold: in words after "Give a number", and as a test."""

    words: str
    holds: Callable[[Any], bool]


def between(least: int, most: int) -> Rule:
    """Both ends included.

    >>> between(1, 65_536).words
    'from 1 to 65,536'
    """
    return Rule(f"from {least:,} to {most:,}", lambda given: least <= given <= most)


def above_zero(most: int) -> Rule:
    """Up to ``most``, 0 left out."""
    return Rule(f"above 0, at most {most:,}", lambda given: 0 < given <= most)


SHARE = Rule("at least 0 and below 1", lambda given: 0 <= given < 1)


def check_fields(data: Any) -> None:
    """Check each field of a dataclass against its annotation.

    That is ``bool``, ``int``, ``float`` or ``str``, with rules as ``Annotated[int, rule]``, and
    ``| None`` where None may stand for a default.

    Raises:
        TypeError: a value of another type.
        ValueError: a value that breaks a rule.

    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Sizes:
    ...     width: Annotated[int, between(1, 64)] | None = None
    >>> check_fields(Sizes(8))
    >>> check_fields(Sizes(65))
    Traceback (most recent call last):
    ValueError: width=65. Give a whole number from 1 to 64.
    """
    hints = get_type_hints(type(data), include_extras=True)
    for field in fields(data):
        given, hint = getattr(data, field.name), hints[field.name]
        if get_origin(hint) is not Annotated and NoneType in get_args(hint):
            if given is None:
                continue
            hint = next(part for part in get_args(hint) if part is not NoneType)
        kind, *rules = get_args(hint) if get_origin(hint) is Annotated else (hint,)
        kind_words, types = _KINDS[kind]
        is_kind = isinstance(given, types) and (kind is bool or not isinstance(given, bool))
        if not is_kind or not all(rule.holds(given) for rule in rules):
            words = " ".join([kind_words, *(rule.words for rule in rules)])
            error = ValueError if is_kind else TypeError
            raise error(f"{field.name}={reprlib.repr(given)}. Give {words}.")
