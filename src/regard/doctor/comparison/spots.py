"""Which event of the trace belongs to which stage: where a fault of that stage lies."""

import re

from regard.doctor.comparison.anatomy import Anatomy
from regard.doctor.comparison.fixes import Spot, axis_is_literal, spot, statement
from regard.doctor.comparison.operand_spots import operand_event
from regard.doctor.comparison.variants import Variant
from regard.doctor.examination import Examination
from regard.doctor.findings import Place
from regard.doctor.probe import Answer
from regard.doctor.tracing.dependence import PRODUCTS, data_roles
from regard.doctor.tracing.locate import (
    find,
    inverted_numbers,
    mask_events,
    normalizers,
    reshaped_wrongly,
    scalings,
)
from regard.doctor.tracing.trace import Event

_SQUASHING = ("tanh", "relu", "sigmoid", "gelu", "elu", "leaky_relu", "maximum", "clamp")
_TRIANGLES = ("tril", "triu", "le", "lt", "ge", "gt")


def find_spot(exam: Examination, answer: Answer, anatomy: Anatomy, variant: Variant) -> Spot:
    """The line at which the code does what the variant does."""
    events = answer.trace.events
    first, last = anatomy.normalizers[0], anatomy.normalizers[-1]
    if variant.stage == "normalize":
        found = spot(events[last], exam.source)
        if found.place is not None and not axis_is_literal(found.place.code):
            return spot(events[last], exam.source, outward=True)
        return found
    wanted: Event | None = None
    if variant.fix == "return" and answer.weights is not None:
        made = [e for e, _ in find(answer.trace, answer.weights) if e.op != "input" and e.place]
        wanted = made[0] if made else _context(answer, anatomy)
    elif variant.stage == "weigh":
        wanted = _context(answer, anatomy)
    elif variant.stage == "scale":
        scaled = [e for e, _ in scalings(answer.trace)]
        wanted = scaled[-1] if scaled else _scores(exam, answer, anatomy)
    elif variant.stage == "share":
        wanted = operand_event(exam, answer, anatomy, variant)
    elif variant.stage in ("split", "merge"):
        mixed = [e for e in reshaped_wrongly(answer.trace)]
        after = [e for e in mixed if events.index(e) > last]
        before = [e for e in mixed if events.index(e) < first]
        wanted = next(iter(after if variant.stage == "merge" else before or after), None)
        wanted = wanted or _viewed(events, first if variant.stage == "split" else len(events))
    elif variant.stage == "hide":
        triangle = _written_triangle(exam, answer) if variant.fault == "causal-alignment" else None
        if triangle is not None:
            return triangle
        numbers = inverted_numbers(answer.trace) if variant.fix == "as-bool" else []
        wanted = numbers[0] if numbers else _mask(exam, answer, anatomy, variant)
    elif variant.fix in ("transpose", "transpose-batch"):
        mixed = reshaped_wrongly(answer.trace)
        wanted = mixed[0] if mixed else _viewed(events, first)
    else:
        wanted = _squash(answer, anatomy, variant) or operand_event(exam, answer, anatomy, variant)
        wanted = wanted or _scores(exam, answer, anatomy)
    if wanted is None or wanted.place is None:
        return _definition(exam, wanted)
    return spot(wanted, exam.source)


def _viewed(events: tuple[Event, ...], end: int) -> Event | None:
    found = [e for e in events[:end] if e.op in ("view", "reshape") and e.place is not None]
    return found[-1] if found else None


def _context(answer: Answer, anatomy: Anatomy) -> Event | None:
    if answer.context is not None:
        made = [e for e, _ in find(answer.trace, answer.context) if e.op != "input" and e.place]
        if made and "output" not in anatomy.projections:
            return made[0]
    if not anatomy.averages:
        return None
    average = answer.trace.events[anatomy.averages[-1]]
    if average.op == "mul":
        products = {operand.identity for operand in average.outputs}
        for event in answer.trace.events[anatomy.averages[-1] + 1 :]:
            if event.op in ("sum", "mean") and any(o.identity in products for o in event.inputs):
                return event
    return average


def _scores(exam: Examination, answer: Answer, anatomy: Anatomy) -> Event | None:
    """The last operation before the softmax at which query and key meet, or v is applied."""
    names = frozenset(exam.parameters())
    end = anatomy.normalizers[0]
    softmax = next((n for n in normalizers(answer.trace) if n.index == end), None)
    wanted: Event | None = None
    if softmax is not None:
        made = [
            index
            for index, event in enumerate(answer.trace.events[:end])
            if any(o.identity == softmax.scores.identity for o in event.outputs)
        ]
        end = made[-1] + 1 if made else end
    for event in answer.trace.events[:end]:
        if event.op in PRODUCTS | {"add", "sum"} and event.place is not None:
            roles = data_roles(event, names)
            known = bool(roles & {"query", "key", "value", "state", "token"})
            joins = anatomy.is_self or len(roles) > 1 or event.op == "sum"
            biased = softmax is not None and event.op == "add" and wanted is not None
            if known and joins and not biased:
                wanted = event
    return wanted


def _squash(answer: Answer, anatomy: Anatomy, variant: Variant) -> Event | None:
    if "tanh" not in variant.fix and variant.fix not in ("no-relu",):
        return None
    found = [
        e
        for e in answer.trace.events[: anatomy.normalizers[0]]
        if e.op in _SQUASHING and e.place is not None
    ]
    return found[-1] if found else None


def _mask(exam: Examination, answer: Answer, anatomy: Anatomy, variant: Variant) -> Event | None:
    events = answer.trace.events
    if variant.fault == "causal-alignment":
        made = [e for e in events if e.op in ("tril", "triu") and e.place is not None]
        made = made or [e for e in events if e.op in _TRIANGLES and e.place is not None]
        made = made or [e for e in events if e.settings.get("is_causal") and e.place is not None]
        if made:
            return made[-1]
    roles = {"mask", "lengths", exam.mask_role}
    if variant.fix in ("interleave", "repeat"):
        repeats = ("repeat", "repeat_interleave")
        made = [e for e in events if e.op in repeats and any(o.origins & roles for o in e.inputs)]
        if made:
            return made[-1]
    found = mask_events(answer.trace, exam.mask_role or "mask")
    after = [e for e in found if events.index(e) > anatomy.normalizers[0]]
    before = [e for e in found if events.index(e) <= anatomy.normalizers[-1]]
    if variant.fault == "mask-after-softmax" and after:
        return after[0]
    chosen = before or after
    if chosen:
        return chosen[-1]
    touched = [
        e for e in events if e.place is not None and any(o.origins & roles for o in e.inputs)
    ]
    return touched[-1] if touched else None


def _written_triangle(exam: Examination, answer: Answer) -> Spot | None:
    """The one line that makes a triangle, where it ran before this call (a buffer)."""
    if any(e.op in ("tril", "triu") and e.place for e in answer.trace.events):
        return None
    lines = [n for n, line in enumerate(exam.source, 1) if re.search(r"\btri[lu]\(", line)]
    if len(lines) != 1:
        return None
    code = statement(exam.source, lines[0])
    name = re.search(r"register_buffer\(\s*[\"'](\w+)", code) or re.match(r"([\w.]+)\s*=", code)
    return Spot(None, Place(exam.file, lines[0], code), name.group(1) if name else "tril")


def _definition(exam: Examination, event: Event | None) -> Spot:
    """Where the code never does what it should: the line that defines it."""
    for number, line in enumerate(exam.source, 1):
        if line.lstrip().startswith("def ") and exam.name.split(".")[-1] in line:
            code = statement(exam.source, number)
            return Spot(event, Place(exam.file, number, code), exam.mask_role or exam.name)
    return Spot(event, None, exam.mask_role or exam.name)
