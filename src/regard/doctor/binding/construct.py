"""Builds a class from its constructor's argument names, and reads the widths of an instance."""

import inspect
import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from regard.doctor.binding.binding import Slot
from regard.doctor.binding.roles import init_role, is_parameter
from regard.doctor.binding.subject import Subject
from regard.doctor.probe import Sizes

Pair = frozenset[str]


@dataclass(frozen=True)
class Construction:
    """One way to build the code: constructor arguments and the sizes that follow."""

    sizes: Sizes
    arguments: dict[str, Any] = field(default_factory=dict)
    equal: frozenset[Pair] = frozenset()
    unexpected: frozenset[Pair] = frozenset()
    heads: int = 1
    kv_heads: int = 0
    slots: tuple[Slot, ...] = ()  # arrays that the constructor takes
    guessed: bool = False  # a width's name says nothing


class UnknownArgument(ValueError):
    """A constructor's argument that no name explains."""


def base_sizes(heads: int) -> Sizes:
    """Sizes that differ on every axis, with widths that the heads divide."""
    plain = Sizes()
    if heads == 1:
        return plain.with_(num_heads=1)
    widths = ("query_dim", "key_dim", "value_dim", "attn_dim", "embed_dim")
    return plain.with_(num_heads=heads, **{w: getattr(plain, w) * heads for w in widths})


_DIMS = ("query_dim", "key_dim", "value_dim", "attn_dim")
_EQUALITIES: tuple[tuple[str, ...], ...] = (
    (),
    ("query_dim=key_dim",),
    ("value_dim=key_dim",),
    ("query_dim=key_dim", "value_dim=key_dim"),
    ("attn_dim=query_dim",),
    ("attn_dim=key_dim",),
    ("query_dim=key_dim", "attn_dim=key_dim"),
    ("query_dim=key_dim", "value_dim=key_dim", "attn_dim=key_dim"),
)


def free_sizes(heads: int, *, apart: frozenset[Pair] = frozenset()) -> Iterator[Construction]:
    """Sizes for code without fixed widths, the fewest equalities first, query = key length last."""
    for same_length in (False, True):
        for equalities in _EQUALITIES:
            sizes, pairs = base_sizes(heads), set[Pair]()
            for text in equalities:
                left, right = text.split("=")
                sizes = sizes.with_(**{left: getattr(sizes, right)})
                pairs.add(frozenset((left, right)))
            if same_length:
                sizes = sizes.with_(query_len=sizes.key_len)
                pairs.add(frozenset(("query_len", "key_len")))
            equal = _closed(pairs, sizes)
            yield Construction(sizes, equal=equal, unexpected=equal & apart, heads=heads)


def _closed(pairs: set[Pair], sizes: Sizes) -> frozenset[Pair]:
    names = {name for pair in pairs for name in pair if name.endswith("_dim")}
    more = {
        frozenset(two)
        for two in itertools.combinations(sorted(names), 2)
        if getattr(sizes, two[0]) == getattr(sizes, two[1])
    }
    return frozenset(pairs | more)


def constructions(subject: Subject, *, step: bool) -> Iterator[Construction]:
    """Ways to fill the constructor, the one that its names say first.

    Raises:
        UnknownArgument: a required argument is named like nothing known.
    """
    roles: dict[str, str] = {}
    slots: list[Slot] = []
    for name, parameter in subject.init.items():
        role = init_role(name)
        required = parameter.default is parameter.empty
        if role in ("max_len", "window", "layers", "dropout", "vocab") and not required:
            role = role if role in ("vocab", "dropout") else ""
        if is_parameter(name) and required and name not in ("d", "h", "H", "D", "b"):
            slots.append(Slot(name, "parameter", required=True, in_init=True))
            continue
        if not required and isinstance(parameter.default, bool | str):
            role = ""
        if not required and name in ("scale", "causal", "bias"):
            role = ""
        if not role and required:
            if parameter.annotation in (bool, "bool"):
                continue
            if not _may_be_width(parameter):
                raise UnknownArgument(name)
            role = "unknown"
        if role and (
            required or parameter.default is None or isinstance(parameter.default, int | float)
        ):
            roles[name] = role
    if not step:  # embed_dim is a width where no embedding is taken
        roles = {n: "width" if r == "embed_dim" else r for n, r in roles.items()}
    unknown = [n for n, role in roles.items() if role == "unknown"]
    if not unknown:
        yield from _filled(subject, roles, tuple(slots))
        return
    guesses: list[Construction] = []
    meanings = list(_meanings(unknown, set(roles.values()), step=step))
    for chosen in meanings:
        guesses += _filled(subject, roles | chosen, tuple(slots))
    if len(meanings) > 1:  # what runs with widths apart says most
        guesses.sort(key=lambda option: len(option.equal))
    yield from (replace(g, unexpected=frozenset(), guessed=True) for g in guesses)


def _may_be_width(parameter: inspect.Parameter) -> bool:
    """Whether an argument that nothing explains can be a number of channels."""
    return parameter.annotation in (parameter.empty, int, "int")


def _meanings(unknown: list[str], known: set[str], *, step: bool) -> Iterator[dict[str, str]]:
    """What unexplained arguments may be: each a side's width, in their order, or one width all."""
    if step and "vocab" not in known:  # a step takes words: their number is the first to be given
        yield {unknown[0]: "vocab"} | dict.fromkeys(unknown[1:], "width")
    sides = [side for side in _DIMS if side not in known]
    if len(unknown) > 1 and "width" not in known:
        for chosen in itertools.islice(itertools.permutations(sides, len(unknown)), 12):
            yield dict(zip(unknown, chosen, strict=True))
    yield dict.fromkeys(unknown, "width")


def _filled(
    subject: Subject, roles: dict[str, str], slots: tuple[Slot, ...]
) -> Iterator[Construction]:
    have = set(roles.values())
    required = {n for n, p in subject.init.items() if p.default is p.empty}
    heads = 2 if "num_heads" in have else 1
    kv_heads = 0
    if "kv_heads" in have:
        heads, kv_heads = 4, 2
    dims = have & {"width", "query_dim", "key_dim", "value_dim", "head_dim"}
    apart = frozenset(
        frozenset(two) for two in itertools.combinations(sorted(have & set(_DIMS)), 2)
    )
    options = list(free_sizes(heads, apart=apart))
    if dims:
        options = [c for base in options for c in _widths(base, have, apart)]
    for option in options:
        values: dict[str, Any] = {}
        for name, role in roles.items():
            default = subject.init[name].default
            value = _value(role, option, have)
            if role == "head_dim" and re.search("v", name) and name not in ("head_dim_v",):
                value = option.sizes.value_dim // option.heads if "width" not in have else value
            if (
                default is None
                and role in ("kv_heads", "attn_dim", "head_dim")
                and role != "attn_dim"
            ):
                continue
            if name not in required and role in ("head_dim",):
                continue
            values[name] = value
        missing = [n for n in required if n not in values and n not in {s.name for s in slots}]
        values |= {n: False for n in missing}
        yield Construction(
            option.sizes, values, option.equal, option.unexpected, heads, kv_heads, slots
        )


def _widths(base: Construction, have: set[str], apart: frozenset[Pair]) -> Iterator[Construction]:
    """What the one width stands for: every side that has no width of its own."""
    sizes, equal = base.sizes, set(base.equal)
    if "width" not in have and "head_dim" in have:
        if "query_dim" not in have and "key_dim" not in have:
            width = sizes.query_dim
            sizes = sizes.with_(key_dim=width)
            equal.add(frozenset(("query_dim", "key_dim")))
        yield Construction(
            sizes, equal=frozenset(equal), unexpected=frozenset(equal) & apart, heads=base.heads
        )
        return
    width = sizes.query_dim
    open_sides = [side for side in ("query_dim", "key_dim", "value_dim") if side not in have]
    if "width" not in have:
        if "value_dim" not in have:
            for value in (sizes.key_dim, sizes.value_dim):
                same = {frozenset(("value_dim", "key_dim"))} if value == sizes.key_dim else set()
                yield Construction(
                    sizes.with_(value_dim=value),
                    equal=frozenset(equal | same),
                    unexpected=frozenset(equal) & apart,
                    heads=base.heads,
                )
            return
        yield base
        return
    if not {"query_dim", "key_dim"} - have:  # the width is that of the score
        value = sizes.key_dim
        for taken in (value, sizes.value_dim):
            yield Construction(
                sizes.with_(value_dim=taken),
                equal=frozenset(equal),
                unexpected=frozenset(equal) & apart,
                heads=base.heads,
            )
        return
    for double in (1, 2):
        chosen = sizes
        if "query_dim" not in have:
            chosen = chosen.with_(query_dim=width)
        if "key_dim" not in have:
            chosen = chosen.with_(key_dim=width * double)
        if "value_dim" not in have:
            chosen = chosen.with_(value_dim=chosen.key_dim)
        pairs = {
            frozenset(two)
            for two in itertools.combinations(open_sides, 2)
            if getattr(chosen, two[0]) == getattr(chosen, two[1])
        }
        if "value_dim" not in have:
            pairs.add(frozenset(("value_dim", "key_dim")))
        yield Construction(
            chosen,
            equal=frozenset(equal | pairs),
            unexpected=frozenset(equal) & apart,
            heads=base.heads,
        )


def _value(role: str, option: Construction, have: set[str]) -> Any:
    sizes = option.sizes
    if role == "width":
        if not {"query_dim", "key_dim"} - have and "attn_dim" not in have:
            return sizes.attn_dim
        return (
            sizes.query_dim
            if "query_dim" not in have
            else sizes.attn_dim
            if "attn_dim" not in have
            else sizes.key_dim
        )
    if role == "head_dim":
        return sizes.query_dim // option.heads
    plain = {
        "num_heads": option.heads,
        "kv_heads": 2,
        "dropout": 0.2,
        "max_len": 40,
        "window": 3,
        "layers": 1,
        "vocab": sizes.vocab,
    }
    return plain[role] if role in plain else getattr(sizes, role)


def instance_sizes(module: Any, *, has_value: bool) -> Iterator[Construction]:
    """Widths that an instance was built with, from its parameters: the likeliest first."""
    numbers = dict.fromkeys(_numbers(module))
    heads, kv_heads = _heads(module)
    widths = [n for n in numbers if n > 1][:7]
    if not widths:
        yield from free_sizes(heads)
        return
    base = base_sizes(1).with_(num_heads=heads)
    embedding = next((m for m in _modules(module) if isinstance(m, torch.nn.Embedding)), None)
    if embedding is not None:
        base = base.with_(vocab=embedding.num_embeddings, embed_dim=embedding.embedding_dim)
    pairs = [(q, k) for q in widths for k in widths]
    pairs.sort(key=lambda two: two[0] != two[1])
    for same_length in (False, True):
        for query, key in pairs:
            for value in dict.fromkeys([key, *(widths if has_value else [])]):
                sizes = base.with_(query_dim=query, key_dim=key, value_dim=value)
                found = {
                    frozenset(two)
                    for two in itertools.combinations(("query_dim", "key_dim", "value_dim"), 2)
                    if getattr(sizes, two[0]) == getattr(sizes, two[1])
                }
                if same_length:
                    sizes = sizes.with_(query_len=sizes.key_len)
                    found.add(frozenset(("query_len", "key_len")))
                yield Construction(sizes, equal=frozenset(found), heads=heads, kv_heads=kv_heads)


def _modules(module: Any) -> list[Any]:
    return list(module.modules()) if isinstance(module, torch.nn.Module) else [module]


def _numbers(module: Any) -> Iterator[int]:
    for part in _modules(module):
        for name, value in vars(part).items():
            if (
                isinstance(value, int)
                and not isinstance(value, bool)
                and re.search("dim|size|features|model|hidden|width|embed", name)
            ):
                yield value
    if isinstance(module, torch.nn.Module):
        for parameter in module.parameters():
            if parameter.ndim:
                yield parameter.shape[-1]
        for parameter in module.parameters():
            if parameter.ndim > 1:
                yield parameter.shape[0]
                yield parameter.shape[-1] // 2
    else:
        for value in vars(module).values():
            if hasattr(value, "shape"):
                yield from (int(n) for n in value.shape)


def _heads(module: Any) -> tuple[int, int]:
    heads, kv_heads = 1, 0
    for part in reversed(_modules(module)):
        for name, value in vars(part).items():
            if isinstance(value, int) and not isinstance(value, bool):
                role = init_role(name.lstrip("_"))
                heads = (
                    value
                    if (role == "num_heads" and name not in ("h",)) or (name == "h" and value < 17)
                    else heads
                )
                kv_heads = value if role == "kv_heads" else kv_heads
    return heads, kv_heads if kv_heads != heads else 0
