"""Shapes of weights that are arguments: W_a (d_attn, d_s), U_a (d_attn, d_h), v_a (d_attn,)."""

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from regard.doctor.binding.binding import Slot
from regard.doctor.binding.roles import init_role
from regard.doctor.probe import Array, Sizes

Dims = tuple[str, ...]

_QUERY = r"[wu]_?(a|q|s|query|dec|decoder|state|dec_?\w*|1|d|t)|w|.*query.*|.*state.*|q_proj\w*"
_KEY = r"[u]_?(a)?|[wu]_?(h|k|key|enc|encoder|keys|2|e|mem|src|x)|.*key.*|.*enc.*|k_proj\w*"
_VALUE = r"[wu]_?(v|value|values)|.*value.*|v_proj\w*"
_OUT = r"[wu]_?(o|out|c|output)|.*out.*|o_proj\w*"


def candidates(
    slots: Sequence[Slot], stated: Mapping[str, Dims], words: Mapping[str, str]
) -> dict[str, list[Dims]]:
    """For each parameter the shapes that it may have, in names of sizes, the likeliest first."""
    matrices = [s.name for s in slots if not _is_vector(s.name)]
    vectors = [s.name for s in slots if _is_vector(s.name)]
    found: dict[str, list[Dims]] = {}
    for slot in slots:
        name = slot.name
        told = _told(stated.get(name, ()), words)
        if told:
            found[name] = [told]
        elif name in vectors:
            found[name] = [("attn_dim",), ("attn_dim", "1"), ("1", "attn_dim")]
        else:
            found[name] = _matrix(name, alone=len(matrices) == 1, vector=bool(vectors))
    return found


def _is_vector(name: str) -> bool:
    return re.fullmatch(
        r"(v|b|u|bias)(_?(a|att|attn|t|w|score|q|k|o|1|2|vec))?|bias_\w+|\w+_bias|v_\w+|score_vec\w*",
        name.lower(),
    ) is not None and not re.fullmatch(r"v_proj\w*|u_a|U(_\w+)?", name)


def _matrix(name: str, *, alone: bool, vector: bool) -> list[Dims]:
    lowered = name.lower()
    both = "query_dim+key_dim"
    if alone and vector:
        return [
            ("attn_dim", both),
            (both, "attn_dim"),
            ("attn_dim", "query_dim"),
            ("attn_dim", "key_dim"),
        ]
    if alone:
        return [("query_dim", "key_dim"), ("key_dim", "query_dim")]
    if re.fullmatch(_OUT, lowered):
        return [
            ("value_dim", "query_dim"),
            ("attn_dim", "query_dim"),
            ("query_dim", "attn_dim"),
            ("attn_dim", "attn_dim"),
        ]
    if re.fullmatch(_VALUE, lowered):
        return [("value_dim", "attn_dim"), ("attn_dim", "value_dim"), ("value_dim", "value_dim")]
    side = "key_dim" if re.fullmatch(_KEY, lowered) else "query_dim"
    other = "query_dim" if side == "key_dim" else "key_dim"
    sure = bool(re.fullmatch(_KEY, lowered)) or re.fullmatch(
        r"[wu]_?(a|q|s|query|dec|state)", lowered
    )
    plain: list[Dims] = [("attn_dim", side), (side, "attn_dim")]
    return plain if sure else [*plain, ("attn_dim", other), (other, "attn_dim")]


def _told(axes: Dims, words: Mapping[str, str]) -> Dims:
    """Stated words as names of sizes: an unknown width is the score's own."""
    named = []
    for word in axes:
        parts = [p.strip() for p in word.split("+")]
        if len(parts) == 2:
            known = [words.get(p, "") for p in parts]
            named.append("query_dim+key_dim" if all(known) else "")
        elif word in ("1",):
            named.append("1")
        else:
            own = init_role(word)
            plain = own if own in ("query_dim", "key_dim", "value_dim") else "attn_dim"
            named.append(words.get(word, plain))
    alike = len({*axes}) > len({*named})  # two words for one width: they tell nothing
    return tuple(named) if all(named) and not alike else ()


def combinations(found: Mapping[str, list[Dims]], most: int = 48) -> Iterator[dict[str, Dims]]:
    """Every choice of shapes, the likeliest together first."""
    names = list(found)
    ranks = itertools.product(*(range(len(found[n])) for n in names))
    for chosen in sorted(ranks, key=lambda r: (sum(r), max(r, default=0)))[:most]:
        yield {n: found[n][r] for n, r in zip(names, chosen, strict=True)}


def draw(dims: Mapping[str, Dims], sizes: Sizes, seed: int) -> dict[str, Array]:
    """Normal arrays of deviation .5, so that scores neither vanish nor saturate."""
    random = np.random.default_rng(seed)
    return {
        n: random.standard_normal([size(d, sizes) for d in axes]) * 0.5 for n, axes in dims.items()
    }


def size(name: str, sizes: Sizes) -> int:
    """A size's name as a number; query_dim+key_dim is their sum."""
    if name.isdigit():
        return int(name)
    return sum(int(getattr(sizes, part)) for part in name.split("+"))
