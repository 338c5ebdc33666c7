"""Gradients reach what moves the result, and are finite, beside an empty row too."""

import ast
from collections.abc import Iterator
from typing import TypeGuard

import numpy as np

from regard.doctor.checks.asking import ask, check, differs, fresh, parts, require, stated
from regard.doctor.checks.empty_rows import EXCLUDED, emptied
from regard.doctor.examination import Examination
from regard.doctor.findings import Place
from regard.doctor.probe import Answer, Array
from regard.doctor.symptoms import NotChecked, Symptom
from regard.doctor.tracing.trace import Event


def _finite(exam: Examination) -> Iterator[Symptom | NotChecked]:
    require("gradients" in exam.takes, "the code has no gradients")
    plain = ask(exam, exam.inputs(), gradients=True).gradients
    wrong = _not_finite(plain)
    if wrong:
        said = f"the gradient of {', '.join(wrong)} is not finite"
        yield Symptom("gradients-finite", said, ("gradient", "overflow", "uninitialized"))
        return
    if not {"mask", "lengths"} & exam.takes:
        return
    if EXCLUDED.search(stated(exam)):
        return
    inputs, _ = emptied(exam)
    answer = exam.ask(inputs)
    if answer.failure is not None or _holds_nan(answer):
        return  # the result itself is at fault: empty-row says so
    wrong = _not_finite(ask(exam, inputs, gradients=True).gradients)
    if wrong:
        said = f"beside an empty row the gradient of {', '.join(wrong)} is not finite"
        yield Symptom("gradients-finite", said, ("empty-row", "gradient"))


def _holds_nan(answer: Answer) -> bool:
    return any(not np.isfinite(part).all() for _, part, _ in parts(answer, answer))


def _not_finite(gradients: dict[str, Array]) -> list[str]:
    return [name for name, array in gradients.items() if not np.isfinite(array).all()]


def _reach(exam: Examination) -> Iterator[Symptom | NotChecked]:
    require("gradients" in exam.takes, "the code has no gradients")
    inputs = exam.inputs()
    answer = ask(exam, inputs, gradients=True)
    gradients, parameters = answer.gradients, exam.parameters()
    require(answer.context is not None or answer.weights is not None, "nothing is returned")
    missing: list[str] = [
        role
        for role in ("query", "key", "value")
        if (role not in gradients or not gradients[role].any()) and _role_moves(exam, role)
    ]
    if any(name in gradients for name in parameters):
        still = [n for n in parameters if n not in gradients or not gradients[n].any()]
        missing += [name for name in still if _parameter_moves(exam, name)]
    if missing:
        said = f"{', '.join(missing)} moves the result and gets no gradient"
        yield Symptom("gradients-reach", said, ("gradient",))


def unused_parameters(exam: Examination) -> list[str]:
    """Matrices that the code holds and that no result depends on."""
    found = exam.parameters()
    return [name for name in found if found[name].ndim > 1 and not _parameter_moves(exam, name)]


def _role_moves(exam: Examination, role: str) -> bool:
    inputs = exam.inputs()
    array = getattr(inputs, role)
    return array is not None and _moved(
        exam.ask(inputs), exam.ask(inputs.with_(**{role: fresh(array, 16)}))
    )


def _parameter_moves(exam: Examination, name: str) -> bool:
    array = exam.parameters()[name]
    if not np.issubdtype(array.dtype, np.floating):
        return False
    other = exam.with_parameters({name: array + fresh(array, 17)})
    return _moved(exam.ask(exam.inputs()), other.ask(exam.inputs()))


def _moved(before: Answer, after: Answer) -> bool:
    """Whether the part of the result of which gradients are taken is another."""
    compared = {name: differs(one, two, 1e-3) for name, one, two in parts(before, after)}
    return compared.get("context", compared.get("weights", False))


def _parameters_filled(exam: Examination) -> Iterator[Symptom | NotChecked]:
    names = exam.uninitialized
    if names:
        verb = "is" if len(names) == 1 else "are"
        said = f"{', '.join(names)} {verb} made over uninitialized memory and never filled"
        event = Event("empty", (), (), place=_made_at(exam, names[0]))
        yield Symptom("parameters-finite", said, ("uninitialized",), event)


def _made_at(exam: Examination, parameter: str) -> Place | None:
    """The line that gives the module this parameter: `self.v = ...` for `scorer.v`."""
    try:
        tree = ast.parse("\n".join(exam.source))
    except SyntaxError:
        return None
    written = {n.attr: n.lineno for n in reversed(list(ast.walk(tree))) if _is_written(n)}
    for name in reversed(parameter.split(".")):  # of a list of parameters: the list
        if name in written:
            return Place(exam.file, written[name], exam.source[written[name] - 1])
    return None


def _is_written(node: ast.AST) -> TypeGuard[ast.Attribute]:
    return isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)


CHECKS = (
    check("gradients-finite", "gradients are finite, beside an empty row too", _finite),
    check("gradients-reach", "whatever moves the result gets a gradient", _reach),
    check(
        "parameters-finite", "parameters start from numbers, not from memory", _parameters_filled
    ),
)
