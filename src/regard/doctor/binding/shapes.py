"""Shapes that docstrings and comments state: `keys: (batch, src_len, dim)`, `# s (B, H)`."""

# ruff: noqa: E501  (a pattern reads best on one line)

import re
from collections.abc import Sequence

_BATCH = r"b|bs|bsz|bz|n|batch|batch_?sizes?|samples?|examples?|minibatch|nb"
_QUERIES = r"t_?q|tq|l_?q|lq|n_?q|nq|q_?len\w*|query_?len\w*|tgt\w*|target\w*|t_?dec\w*|dec_?len|num_?quer\w*|no_?of_?quer\w*|queries|trg\w*|ty|l|q|m|i|new"
_KEYS = r"t_?k|tk|l_?k|lk|n_?k|nk|k_?len\w*|key_?len\w*|src\w*|source\w*|s|t_?enc\w*|enc_?len|num_?keys|keys|kv_?len|tx|k|mem_?len|memory_?len|j|num_kv"
_LENGTH = r"t|l|n|seq|seq_?len\w*|len|length|lengths|steps?|time|time_?steps?|tokens|positions?|max_?len\w*|num_?steps|seq_?\w|max_?time|words"
_HEADS = (
    r"h|nh|heads?|n_?heads?|num_?heads?|h_?q|h_?kv|n_?kv_?heads?|num_kv_heads|kv_?heads?|g|hq|hkv"
)
_ONE = r"1|num_?layers|n_?layers|layers|num_?directions|one"


def stated_shapes(docs: str, names: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """The axes that are written behind each name, as the words stand there."""
    found: dict[str, tuple[str, ...]] = {}
    for name in names:
        group = (
            rf"(?:\b\w+\b`?\*?\s*(?:,|/|and)\s*)*\b{re.escape(name)}\b(?:`?\s*(?:,|/|and)\s*`?\w+)*"
        )
        pattern = rf"(?<![\w.]){group}`?\s*[^\n(\[]{{0,60}}?[\(\[]([^\)\]\n]{{1,60}})[\)\]]"
        for match in re.finditer(pattern, docs):
            axes = _axes(match.group(1))
            between = match.group(0)[: match.start(1) - match.start(0)]
            others = [
                n for n in names if n != name and re.search(rf"\b{n}\b", _after(between, name))
            ]
            if _speaks_of_another(_after(between, name)):
                continue
            joined = re.fullmatch(r"[\s`,/\w]*(?:and)?[\s`,/\w:=]*", _after(between, name))
            if axes and (not others or (joined and ":" in between)):
                found.setdefault(name, axes)
                break
        crossed = re.search(rf"(?<![\w.]){re.escape(name)}`?\s*[:=]?\s*(\w+(?: [x×] \w+)+)", docs)
        if crossed and name not in found:
            found[name] = _axes(crossed.group(1))
        if name not in found:
            listed = shapes_in_order(_entry(docs, name))
            found |= {name: listed[0]} if listed else {}
    return found


def _speaks_of_another(gap: str) -> bool:
    """Whether what stands between a name and a shape is a formula, or names another thing.

    `W h_j, with s of (n,)` tells of s; `k^T / sqrt(d)` of nothing.
    """
    symbol = r"(?<![\w`'-])(?!(?i:a|x)\b)[A-Za-z](?:_\w{1,3})?(?![\w'-])"
    called = re.search(r"\w[\(\[]$", gap) and not re.search(
        r"(?i:tensor|array|shape|size)[\(\[]$", gap
    )
    return bool(re.search(r"[\^+*=/]\s*\w|sqrt", gap) or re.search(symbol, gap) or called)


def without_shapes(docs: str) -> str:
    """The words without `(batch, 1, len)` and `[B, M]`, whose 1 says nothing of a mask."""
    return re.sub(
        r"[\(\[]([^\(\)\[\]\n]*,[^\(\)\[\]\n]*)[\)\]]",
        lambda found: "" if _axes(found.group(1)) else found.group(0),
        docs,
    )


def _entry(docs: str, name: str) -> str:
    """What a docstring says behind `:param name:`, over several lines."""
    at = re.search(rf":param (?:\w+ )?{re.escape(name)}:", docs)
    return re.split(r":param|:return|\n\n", docs[at.end() :])[0] if at else ""


def shapes_in_order(docs: str) -> list[tuple[str, ...]]:
    """Every shape that is written, for docstrings that name none."""
    found = (_axes(m) for m in re.findall(r"[\(\[]([^\(\)\[\]\n]{1,60})[\)\]]", docs))
    return [axes for axes in found if axes]


def _after(text: str, name: str) -> str:
    return re.split(rf"\b{re.escape(name)}\b", text, maxsplit=1)[-1]


def _axes(inside: str) -> tuple[str, ...]:
    parts = [p.strip().strip("`'\"*") for p in re.split(r",|\s[x×]\s", inside)]
    parts = [p for p in parts if p]
    if "," in inside and re.search(r"\s[x×]\s", inside):
        return ()  # a pair of shapes
    plain = all(re.fullmatch(r"[\w ./*+-]{1,30}", p) for p in parts)
    words = sum(len(p.split()) > 4 for p in parts)
    years = any(
        re.fullmatch(r"(19|20)\d\d|et al\.?.*|e\.g.*|i\.e.*|optional|default.*", p) for p in parts
    )
    known = any(
        letter(p, "T") != "D" or re.search(r"dim|hid|size|d_|feat", p.lower()) for p in parts
    )
    short = all(len(p) <= 2 for p in parts)
    return tuple(parts) if plain and not words and not years and (known or short) else ()


def letter(word: str, own: str = "T") -> str:
    """One axis word as a letter: B, T (its own length), Q, K, H, 1, or D for a width."""
    w = word.lower().replace(" ", "_").strip("_")
    for name, pattern in (
        ("1", _ONE),
        ("B", _BATCH),
        ("Q", _QUERIES),
        ("K", _KEYS),
        ("T", _LENGTH),
        ("H", _HEADS),
    ):
        if re.fullmatch(pattern, w):
            return own if name in "QKT" and own == "T" else name
    if re.fullmatch(r"[a-z_]*(len|length|steps)\w*|\w+\s*\+\s*\w+", w) and "dim" not in w:
        return own
    return "D"


def sequence_axes(words: tuple[str, ...]) -> str:
    """A sequence's axes from its words: ("batch", "src_len", "dim") is BTD.

    The last is always the channels; single letters are settled by the place where they stand.
    """
    if not words:
        return ""
    front = [letter(w) for w in words[:-1]]
    if len(words) == 1:
        return "D"
    if len(front) == 1:  # (B, D) or (T, D)
        word = words[0].lower().replace(" ", "_")
        return (
            "B" if re.fullmatch(_BATCH, word) and word != "n" else "1" if front == ["1"] else "T"
        ) + "D"
    if len(front) == 3:  # (B, H, T, D) unless the words say otherwise
        if set(front) != {"B", "H", "T"}:
            front = ["B", "H", "T"]
        return "".join(front) + "D"
    if len(front) == 2:
        if front[0] == "1" or front[1] == "1":
            other = front[1] if front[0] == "1" else front[0]
            other = "T" if other == "T" else "B"
            return ("1" + other if front[0] == "1" else other + "1") + "D"
        if front == ["B", "B"]:
            front = ["B", "T"] if words[0].lower().startswith("b") else ["T", "B"]
        if "B" not in front:
            front = ["B", "T"]
        rest = [f for f in front if f != "B"]
        front = [f if f == "B" else "T" for f in front] if rest else ["B", "T"]
        return "".join(front) + "D"
    return ""


def mask_axes(words: tuple[str, ...]) -> str:
    """A mask's axes: ("B", "1", "src_len") is B1K, ("batch", "T") is BK."""
    n = len(words)
    if not 1 <= n <= 4:
        return ""
    first = letter(words[0], own="")
    if n == 1:
        return "K"
    if n == 2:
        return (
            "BK"
            if first == "B" and words[0].lower() != "n"
            else "KB"
            if letter(words[1], "") == "B"
            else "QK"
        )
    middle = [
        "1" if w.strip() == "1" else m
        for w, m in zip(words[1:-1], "Q" if n == 3 else "HQ", strict=False)
    ]
    lead = "1" if first == "1" else "B"
    return lead + "".join(middle) + "K"
