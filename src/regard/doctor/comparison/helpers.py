"""Lines in helpers: what the caller's mask is called there, and an axis that the caller gives."""

import ast
import re

from regard.doctor.comparison.fixes import Spot, statement
from regard.doctor.examination import Examination
from regard.doctor.probe import Answer
from regard.doctor.tracing.source_names import site


def mask_names(exam: Examination, answer: Answer, found: Spot) -> tuple[str, ...]:
    """What the mask is called in the line of a spot: as the argument, or as a helper's own."""
    where = site(found.event, answer.trace, exam.source) if found.event is not None else None
    if found.event is None or where is None:
        return (exam.mask_role,)
    roles = {"mask", "lengths", "may_attend", exam.mask_role}
    called = [
        re.match(r"[A-Za-z_]\w*", name)
        for name, operand in zip(where.names, found.event.inputs, strict=False)
        if operand.origins and operand.origins <= roles
    ]
    aliases = [name.group(0) for name in called if name and name.group(0) not in ("torch", "np")]
    return tuple(dict.fromkeys((exam.mask_role, *aliases)))


def axis_given(source: tuple[str, ...], line: int, call: str, axis: int) -> str | None:
    """A call of a helper, with another axis for the `dim` or `axis` that its line takes from it."""
    named = re.search(r"\b(?:dim|axis)\s*=\s*([A-Za-z_]\w*)", statement(source, line))
    try:
        within = ast.walk(ast.parse("\n".join(source)))
        inside = [n for n in within if isinstance(n, ast.FunctionDef) and _holds(n, line)]
        calls = [n for n in ast.walk(ast.parse(call)) if isinstance(n, ast.Call)]
    except SyntaxError:
        return None
    if named is None or not inside:
        return None
    helper = max(inside, key=lambda function: function.lineno)
    taken = [a.arg for a in helper.args.args if a.arg not in ("self", "cls")]
    for node in calls:
        if getattr(node.func, "attr", getattr(node.func, "id", "")) != helper.name:
            continue
        given = dict(zip(taken, node.args, strict=False))
        given |= {k.arg: k.value for k in node.keywords if k.arg}
        value = given.get(named[1])
        if value is None or value.end_col_offset is None:
            return None
        written = call.encode()
        before, after = written[: value.col_offset], written[value.end_col_offset :]
        return (before + str(axis).encode() + after).decode()
    return None


def _holds(node: ast.FunctionDef, line: int) -> bool:
    return node.lineno <= line <= (node.end_lineno or 0)
