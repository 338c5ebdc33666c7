"""A module of torch that was made without `batch_first=True`, and is given the batch first."""

import ast
import re

from regard.doctor.findings import Place
from regard.doctor.probe import Failure, Sizes
from regard.doctor.tracing.symbols import both
from regard.doctor.tracing.trace import Event
from regard.doctor.tracing.wrong_shapes import Explanation

_MADE = re.compile(r"MultiheadAttention|Transformer(?:(?:En|De)coderLayer)?")


def length_first_module(
    event: Event, failure: Failure, source: tuple[str, ...], sizes: Sizes
) -> Explanation | None:
    """What to say where torch's multi-head attention raised on input of the other layout."""
    if event.op != "multi_head_attention_forward" or not event.inputs or event.place is None:
        return None
    shape = event.inputs[0].shape  # as torch's function takes it: length first
    if len(shape) != 3 or shape[0] != sizes.batch or shape[1] == sizes.batch:
        return None
    calls = _made_without(source, event.place.line)
    call = calls[0] if len(calls) == 1 else None
    fix = "Make nn.MultiheadAttention with batch_first=True."
    place, tensor = event.place, "nn.MultiheadAttention"
    if call is not None:
        line = source[call.lineno - 1]
        place = Place(event.place.file, call.lineno, line)
        tensor = _target(line) or tensor
        fix = _with_batch_first(call, line)
    return Explanation(
        tensor=tensor,
        rule=f"without batch_first=True it takes (T, batch, d), and it is given "
        f"{both(shape, sizes)}. (Where all of the code is length-first, say so: "
        "--layout length-first.)",
        seen=failure.first_line,
        fix=fix,
        place=place,
        event=event,
        rewritten=call is not None,
    )


def _made_without(source: tuple[str, ...], line: int) -> list[ast.Call]:
    """Calls that make such a module, in the class that the line belongs to if there is one."""
    try:
        tree: ast.AST = ast.parse("\n".join(source))
    except SyntaxError:
        return []
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and node.lineno <= line <= (node.end_lineno or 0):
            tree = node
            break
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    names = [getattr(c.func, "attr", getattr(c.func, "id", "")) for c in calls]
    return [
        call
        for call, name in zip(calls, names, strict=True)
        if _MADE.fullmatch(name) and not any(k.arg in ("batch_first", None) for k in call.keywords)
    ]


def _with_batch_first(call: ast.Call, line: str) -> str:
    """The line with the argument put in; of a call over several lines, as it is in one."""
    if call.end_lineno != call.lineno or call.end_col_offset is None:
        given = ast.keyword("batch_first", ast.Constant(True))
        whole = ast.Call(call.func, call.args, [*call.keywords, given])
        return f"{line[: call.col_offset].strip()} {ast.unparse(whole)}".strip()
    end = len(line.encode()[: call.end_col_offset].decode()) - 1
    before = line[:end].rstrip().rstrip(",")
    comma = "" if before.endswith("(") else ", "
    return f"{before}{comma}batch_first=True{line[end:]}".strip()


def _target(line: str) -> str:
    found = re.match(r"\s*([A-Za-z_][\w.]*)\s*(?::[^=]+)?=[^=]", line)
    return found.group(1) if found else ""
