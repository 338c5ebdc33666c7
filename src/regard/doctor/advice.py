"""The fix of a fault for which no line was rewritten: what to do, in the code's own words."""

import ast

from regard.doctor.examination import Examination
from regard.doctor.explains import ADVICE, RULES
from regard.doctor.findings import Place

_STATES = {
    "bahdanau": "Score with the state that the step is given, before its cell; then feed the cell "
    "the input and the context.",
    "luong": "Run the cell first, and score with the state that it gives.",
}
_TIMING = {
    "bahdanau": "Bahdanau scores with s(t-1), before the step, and feeds the context into it",
    "luong": "Luong scores with s(t), after the step",
}


def rule(exam: Examination, fault: str) -> str:
    """What holds."""
    if fault == "decoder-timing":
        return _TIMING.get(exam.convention, RULES[fault])
    return RULES.get(fault, "")


def advice(exam: Examination, fault: str, place: Place | None) -> str:
    """One line."""
    made = None
    if fault == "decoder-timing":
        made = _STATES.get(exam.convention)
    elif fault == "stale-cache" and place is not None:
        made = _each_time(exam.source, place.line)
    return made or ADVICE.get(fault, "")


def _each_time(source: tuple[str, ...], line: int) -> str | None:
    """Of what is kept under `if self.kept is None ...:`, to make it whatever is kept."""
    try:
        tree = ast.parse("\n".join(source))
    except SyntaxError:
        return None
    for node in ast.walk(tree):
        if not isinstance(node, ast.If) or node.orelse or len(node.body) != 1:
            continue
        (kept,) = node.body
        if not isinstance(kept, ast.Assign) or not kept.lineno <= line <= (kept.end_lineno or 0):
            continue
        name = ast.unparse(kept.targets[0])
        condition = ast.unparse(node.test)
        if name.partition("[")[0] in condition:
            return (
                f'Leave out "if {condition}:" (line {node.lineno}), so that every call makes '
                f"{name} from its own input."
            )
    return None
