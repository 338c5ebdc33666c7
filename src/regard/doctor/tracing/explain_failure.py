"""Why a call raised: which array at which line has which shape, and what it should have."""

import re

from regard.doctor.findings import Place
from regard.doctor.probe import Answer, Sizes
from regard.doctor.tracing.batch_first import length_first_module
from regard.doctor.tracing.flow import Flow
from regard.doctor.tracing.source_names import site
from regard.doctor.tracing.symbols import both
from regard.doctor.tracing.wrong_shapes import Explanation, WrongShapes


def explain(
    answer: Answer, sizes: Sizes, source: tuple[str, ...], framework: str = "torch"
) -> Explanation:
    """What is wrong where the call raised. Needs the answer of a call asked with `trace=True`."""
    failure = answer.failure
    if failure is None:
        raise ValueError("explain: the call did not fail. Ask only about an answer with a failure.")
    event = answer.trace.events[-1] if answer.trace.events else None
    place = Place(failure.file, failure.line, failure.code) if failure.line else None
    if event is None or "error" not in event.settings:
        return _plainly(answer, place)
    other_layout = length_first_module(event, failure, source, sizes)
    if other_layout is not None:
        return other_layout
    squeezed = _squeezed(answer, source, sizes)
    if squeezed is not None:
        return squeezed
    joined = _joined(answer, source, sizes)
    if joined is not None:
        return joined
    where = site(event, answer.trace, source)
    case = WrongShapes(event, where, sizes, framework, failure.message)
    return case.explain(event.place or place)


def _plainly(answer: Answer, place: Place | None) -> Explanation:
    failure = answer.failure
    assert failure is not None
    return Explanation(
        tensor=_first_name(failure.code),
        rule="The call must run on every legal size.",
        seen=failure.first_line,
        fix="Mend the line that raises.",
        place=place,
    )


def _squeezed(answer: Answer, source: tuple[str, ...], sizes: Sizes) -> Explanation | None:
    """A `squeeze()` before the error that dropped more than one axis, or the batch."""
    flow, last = Flow(answer.trace), len(answer.trace.events) - 1
    for at in flow.back(last):
        event = answer.trace.events[at]
        if event.op != "squeeze" or event.settings.get("dim") is not None or not event.inputs:
            continue
        shape = event.inputs[0].shape
        ones = [axis for axis, size in enumerate(shape) if size == 1]
        if len(ones) < 2 and ones[:1] != [0]:
            continue
        axis = ones[-1] if ones[-1:] != [0] else 1
        kept = tuple(size for i, size in enumerate(shape) if i != axis)
        where = site(event, answer.trace, source)
        code = event.place.code if event.place is not None else ""
        word = "axis=" if "np." in code else ""
        fix = re.sub(r"squeeze\(\s*\)", f"squeeze({word}{axis})", code, count=1)
        fix = re.sub(r"np\.squeeze\(([^,()]+)\)", rf"np.squeeze(\1, axis={axis})", fix, count=1)
        failure = answer.failure
        assert failure is not None
        return Explanation(
            tensor=where.target if where is not None and where.target else "squeeze()",
            rule=f"squeeze() drops every axis of size 1 of {shape}: {both(kept, sizes)} is wanted.",
            seen=failure.first_line,
            fix=fix if fix != code else f"Name the axis: squeeze({axis}).",
            place=event.place,
            event=event,
            rewritten=fix != code,
        )
    return None


def _joined(answer: Answer, source: tuple[str, ...], sizes: Sizes) -> Explanation | None:
    """A product that does not fit since its operand was joined along another axis than the last."""
    flow, last = Flow(answer.trace), len(answer.trace.events) - 1
    failed = flow.events[last]
    if failed.op not in ("matmul", "bmm", "linear") or len(failed.inputs) < 2:
        return None
    given, matrix = failed.inputs[:2]
    maker = flow.maker(given, last)
    event = flow.events[maker] if maker is not None else None
    if event is None or event.op != "cat" or len(matrix.shape) < 2:
        return None
    width = matrix.shape[-1] if failed.op == "linear" else matrix.shape[-2]
    shapes = [operand.shape for operand in event.inputs]
    alike = len({shape[:-1] for shape in shapes}) == 1
    last_axis = event.settings.get("axis") == len(given.shape) - 1
    if last_axis or not alike or sum(shape[-1] for shape in shapes) != width:
        return None
    where = site(event, answer.trace, source)
    code = event.place.code if event.place is not None else ""
    fix = re.sub(r"\b(axis|dim)\s*=\s*-?\d+", r"\1=-1", code, count=1)
    fix = fix if fix != code else re.sub(r"([\])]),\s*-?\d+\)", r"\1, -1)", code, count=1)
    wanted = (*shapes[0][:-1], width)
    return Explanation(
        tensor=where.target if where is not None and where.target else "cat",
        rule=f"what is joined goes into a product {width} wide: {both(wanted, sizes)} is wanted.",
        seen=f"joined along axis {event.settings.get('axis')} it is {given.shape}",
        fix=fix if fix != code else "Join along the last axis.",
        place=event.place,
        event=event,
        rewritten=fix != code,
    )


def _first_name(code: str) -> str:
    found = re.match(r"\s*(?:return\s+)?([A-Za-z_][\w.]*)", code)
    return found.group(1) if found else ""
