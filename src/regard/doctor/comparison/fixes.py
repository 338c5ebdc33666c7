"""The line at fault, its variable, and a replacement for the line."""

import ast
import re
from dataclasses import dataclass

from regard.doctor.findings import Place
from regard.doctor.tracing.trace import Event

_AXIS = re.compile(r"\b(dim|axis)\s*=\s*(-?\d+|\([^)]*\))")
_ASSIGNED = re.compile(r"^\s*([A-Za-z_][\w.]*(?:\[[^\]]*\])?)\s*(?::[^=]+)?[-+*/]?=(?!=)")


@dataclass(frozen=True)
class Spot:
    """Where a fault lies: its event, the line shown for it, and the variable of that line."""

    event: Event | None
    place: Place | None
    tensor: str


def statement(source: tuple[str, ...], line: int) -> str:
    """The whole statement that covers a line, on one line."""
    first, last = statement_lines(source, line)
    return re.sub(r"\s+", " ", " ".join(part.strip() for part in source[first - 1 : last]))


def statement_lines(source: tuple[str, ...], line: int) -> tuple[int, int]:
    """The first and last line of the statement that covers a line; the line of a block itself."""
    try:
        tree = ast.parse("\n".join(source))
    except SyntaxError:
        return line, line
    covering = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or node.lineno)
    ]
    best = max(covering, key=lambda node: node.lineno, default=None)
    if best is None or hasattr(best, "body"):
        return line, line
    return best.lineno, best.end_lineno or best.lineno


def spot(event: Event | None, source: tuple[str, ...], *, outward: bool = False) -> Spot:
    """The line of an event. `outward`: of its caller, where a helper's own line says nothing."""
    if event is None or event.place is None:
        return Spot(event, None, event.op if event is not None else "")
    place = event.place
    if outward:
        callers = event.settings.get("called_from") or ()
        for caller in callers:
            place = caller
            break
    code = statement(source, place.line) or place.code
    found = _ASSIGNED.match(code)
    tensor = found.group(1) if found else _called(code, event.op)
    return Spot(event, Place(place.file, place.line, code.strip()), tensor)


def _called(code: str, op: str) -> str:
    """The operation, by the name that the line calls it where it calls a module (self.mha)."""
    called = re.search(r"\bself(?:\.\w+)+(?=\()", code)
    return called.group(0) if called and op not in code else op


def axis_is_literal(code: str) -> bool:
    """Whether the line itself says over which axis it goes."""
    return bool(_AXIS.search(code)) or not re.search(r"\b(dim|axis)\s*=\s*[A-Za-z_]", code)


def softmax_over(code: str, axis: int, torch: bool) -> str | None:
    """The line with its softmax over another axis."""
    word = "dim" if torch else "axis"
    if _AXIS.search(code):
        return _AXIS.sub(lambda m: f"{m.group(1)}={axis}", code)
    call = re.search(r"softmax\(", code)
    if call is None:
        return None
    end = closing(code, call.end() - 1)
    if end is None:
        return None
    inside = code[call.end() : end]
    positional = re.match(r"^(.*),\s*-?\d+\s*$", inside)
    body = positional.group(1) if positional else inside
    return f"{code[: call.end()]}{body}, {word}={axis}{code[end:]}"


def closing(code: str, start: int) -> int | None:
    """Where the bracket that opens at `start` closes."""
    depth = 0
    for index in range(start, len(code)):
        depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(code[index], 0)
        if depth == 0:
            return index
    return None


def unwrapped(code: str, function: str) -> str | None:
    """The line without one call: `tanh(x)` becomes `x`."""
    call = re.search(rf"(?:\b(?:torch|np|numpy|F|nn\.functional)\.)?\b{function}\(", code)
    if call is None:
        return None
    end = closing(code, call.end() - 1)
    return None if end is None else code[: call.start()] + code[call.end() : end] + code[end + 1 :]


def inverted(code: str, names: tuple[str, ...], torch: bool) -> str | None:
    """The line with its mask inverted."""
    for old, new in (
        (r"\b(key_padding_mask|attn_mask)=(\w+)(?=[,)])", r"\1=~\2"),
        (r"~\s*([A-Za-z_][\w.]*)", r"\1"),
        (r"\.(?:logical_not|bitwise_not|invert)\(\)", ""),
        (r"(?:torch\.|np\.)?(?:logical_not|bitwise_not|invert)\(([^()]*)\)", r"\1"),
        (r"==\s*0\b", "!= 0"),
        (r"==\s*False\b", "== True"),
        (r"(?<![<>=!])==\s*1\b", "== 0"),
        (r"!=\s*0\b", "== 0"),
        (r"\(?1(?:\.0)?\s*-\s*([A-Za-z_][\w.]*)\)?", r"\1"),
    ):
        changed, count = re.subn(old, new, code, count=1)
        if count:
            return changed
    for name in names:
        if name and re.search(rf"\b{re.escape(name)}\b(?!\s*=[^=])", code):
            return re.sub(rf"\b{re.escape(name)}\b", f"~{name}", code, count=1)
    where = re.search(r"(?:np|torch)\.where\(([^,]+),\s*(.+),\s*(.+)\)$", code)
    if where:
        start = code[: where.start()]
        module = "torch" if torch else "np"
        return f"{start}{module}.where({where[1]}, {where[3]}, {where[2]})"
    return None


def filled(code: str, torch: bool) -> str | None:
    """The line with -inf as what hidden scores are filled with."""
    infinity = 'float("-inf")' if torch else "-np.inf"
    changed, count = re.subn(
        r"(?<=[,\s])[-+]?\d+(?:\.\d*)?(?:e[-+]?\d+)?\s*\)", f"{infinity})", code
    )
    return changed if count == 1 else None
