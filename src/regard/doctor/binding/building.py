"""Ways to build the examined code, the likeliest first: instances at sizes that it can take."""

import copy
import inspect
import itertools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch

from regard.doctor.binding.binding import Slot
from regard.doctor.binding.construct import Construction, constructions, free_sizes, instance_sizes
from regard.doctor.binding.roles import init_role
from regard.doctor.binding.runner import failure_of, is_lazy, randomize
from regard.doctor.binding.subject import Subject
from regard.doctor.binding.trial import Attempt, attempt_call, draw_inputs
from regard.doctor.probe import Failure

SEED = 20150401


@dataclass(frozen=True)
class Refused:
    """A constructor that raised, and what it was given."""

    arguments: Mapping[str, Any]
    failure: Failure

    def __str__(self) -> str:
        given = ", ".join(f"{name}={value!r}" for name, value in self.arguments.items())
        told = f"with {given}" if given else "without arguments"
        failure = self.failure
        at = f" ({failure.file}:{failure.line}: {failure.code.strip()})" if failure.line else ""
        return f"{told}, its constructor raised {failure.said}{at}"


def built(
    subject: Subject,
    slots: tuple[Slot, ...],
    told: Mapping[str, tuple[str, ...]],
    step: bool,
    refused: list[Refused],
) -> Iterator[tuple[Construction, Any]]:
    """Each construction with its instance, parameters drawn; what constructors raised is kept."""
    options: Iterator[Construction]
    if subject.kind == "class":
        options = constructions(subject, step=step)
    elif subject.kind == "instance":
        options = instance_sizes(subject.target, has_value=any(s.role == "value" for s in slots))
    else:
        heads = _function_heads(subject, slots, told)
        options = free_sizes(heads, apart=_apart(slots, told))
    seen: set[Any] = set()
    for option in _with_fixed_lengths(subject, list(options)):
        key = (option.sizes, tuple(option.arguments.items()))
        if key in seen:
            continue
        seen.add(key)
        made = subject.target
        if subject.kind == "class":
            if option.slots:
                yield option, None
                continue
            try:
                made = subject.target(**option.arguments)
            except Exception as error:  # a constructor that refuses these sizes: others follow
                refused.append(Refused(option.arguments, failure_of(error, subject)))
                continue
        if isinstance(made, torch.nn.Module):
            made = made if subject.kind == "class" else _copied(made)
            made.eval()
            option = _embedded(option, made)
            if not is_lazy(made):
                randomize(made, SEED)
        yield option, made


def alike(subject: Subject, construction: Construction) -> tuple[Construction, Any] | None:
    """The code built with all sizes equal but the batch, which no code wants as large as another.

    None for an instance, whose widths are fixed.
    """
    if subject.kind == "instance":
        return None
    widths = ("query_dim", "key_dim", "value_dim", "attn_dim", "embed_dim")
    old, number = construction.sizes, 8
    lengths = dict.fromkeys(("query_len", "key_len", "vocab"), number)
    sizes = old.with_(**dict.fromkeys(widths, number), **lengths)
    taken = {getattr(old, width) for width in widths}
    given = {
        name: number if type(value) is int and value in taken else value
        for name, value in construction.arguments.items()
    }
    same = replace(construction, sizes=sizes, arguments=given)
    if subject.kind == "function" or construction.slots:
        return same, subject.target if subject.kind == "function" else None
    try:
        made = subject.target(**given)
    except Exception:  # it refuses equal sizes
        return None
    if isinstance(made, torch.nn.Module):
        made.eval()
    return same, made


def with_parameters_made(subject: Subject, attempt: Attempt) -> Attempt:
    """The attempt with parameters that came to be in a first call, drawn as all are."""
    made = copy.deepcopy(attempt.made)
    with torch.no_grad():
        attempt_call(subject, attempt, draw_inputs(attempt.binding), owner=made)
    randomize(made, SEED)
    return replace(attempt, made=made)


def _with_fixed_lengths(subject: Subject, options: list[Construction]) -> Iterator[Construction]:
    """The options; then, as a last resort, with the length that the code was written for."""
    yield from options
    function = (
        subject.target
        if subject.kind == "function"
        else getattr(
            subject.target if subject.kind == "class" else type(subject.target), subject.method
        )
    )
    known = getattr(inspect.unwrap(function), "__globals__", {})
    lengths = {v for n, v in known.items() if re.search("MAX|LEN", n) and type(v) is int}
    lengths |= {
        option.arguments[n]
        for option in options[:1]
        for n in option.arguments
        if init_role(n) == "max_len"
    }
    for length in sorted(n for n in lengths if 1 < n <= 64):
        for option in options[:4]:
            yield replace(option, sizes=option.sizes.with_(key_len=length))


def _embedded(option: Construction, module: torch.nn.Module) -> Construction:
    """The vocabulary that the module was built with, so that every token id is legal."""
    table = next((m for m in module.modules() if isinstance(m, torch.nn.Embedding)), None)
    if table is None:
        return option
    sizes = option.sizes.with_(vocab=table.num_embeddings, embed_dim=table.embedding_dim)
    return replace(option, sizes=sizes)


def _copied(module: torch.nn.Module) -> torch.nn.Module:
    return copy.deepcopy(module).float()


def _function_heads(
    subject: Subject, slots: tuple[Slot, ...], told: Mapping[str, tuple[str, ...]]
) -> int:
    words = [w for s in slots for w in told.get(s.name, ())]
    if (
        "kv_heads" in " ".join(words)
        or "repeat_interleave" in subject.code
        or "groups" in subject.code
    ):
        return 4
    return 2


def _apart(
    slots: tuple[Slot, ...], told: Mapping[str, tuple[str, ...]]
) -> frozenset[frozenset[str]]:
    """Widths that stated shapes name differently."""
    words = {
        s.role: told[s.name][-1]
        for s in slots
        if s.name in told and s.role in ("query", "key", "value")
    }
    return frozenset(
        frozenset((f"{a}_dim", f"{b}_dim"))
        for a, b in itertools.combinations(sorted(words), 2)
        if words[a] != words[b]
    )
