"""Where a fault usually lies, when a check saw its effect and not its line."""

import ast
import re
from dataclasses import replace

from regard.doctor.comparison.anatomy import dissect
from regard.doctor.comparison.fixes import Spot, spot, statement
from regard.doctor.comparison.spots import find_spot
from regard.doctor.comparison.variants import Variant
from regard.doctor.examination import Examination
from regard.doctor.findings import Place
from regard.doctor.probe import Answer, Array
from regard.doctor.tracing.flow import CONTRACTIONS, Flow
from regard.doctor.tracing.locate import find, in_place, normalizers, score_products, squeezes
from regard.doctor.tracing.trace import Event, Trace

_STAGES = {
    "softmax-axis": "normalize",
    "overflow": "normalize",
    "empty-row": "normalize",
    "mask-polarity": "hide",
    "mask-dropped": "hide",
    "mask-after-softmax": "hide",
    "mask-axis": "hide",
    "mask-value": "hide",
    "causal-alignment": "hide",
    "scale": "scale",
    "score-formula": "score",
    "query-ignored": "score",
    "key-ignored": "score",
    "decoder-timing": "score",
    "broadcast": "score",
    "head-split": "split",
    "reshape-for-transpose": "split",
    "batch-mixing": "split",
    "context-source": "weigh",
    "returned-weights": "weigh",
}
_WORDS = {
    "dropout": r"dropout",
    "returned-weights": r"return|weights\s*=",
    "stale-cache": r"if\s+.*\bis\s+None|not\s+hasattr|cache|self\.\w+\s*=",
    "in-place": r"_\(|\[.*\]\s*=[^=]|[-+*/]=",
    "gradient": r"detach|no_grad|\.data\b|item\(\)|numpy\(\)",
    "uninitialized": r"\bempty\(|torch\.Tensor\(|FloatTensor\(|empty_like",
    "squeeze": r"squeeze\(\s*\)|squeeze\(",
    "size-coupling": r"max_len|MAX_LEN|Linear\(|zeros\(",
}


def usual_spot(exam: Examination, fault: str, event: Event | None) -> Spot:
    """The line of the event where there is one, else the stage's line, else a telling word's."""
    if event is not None and event.place is not None:
        found = spot(event, exam.source)
        if found.place is not None and not found.place.file:
            found = Spot(event, Place(exam.file, found.place.line, found.place.code), found.tensor)
        return found
    answer = exam.ask(exam.inputs(lengths=bool(exam.takes & {"mask", "lengths"})), trace=True)
    if fault == "squeeze" and squeezes(answer.trace):
        return spot(squeezes(answer.trace)[0], exam.source)
    if fault == "in-place" and in_place(answer.trace):
        return spot(in_place(answer.trace)[0], exam.source)
    if fault == "stale-cache":
        kept = _kept(exam)
        if kept is not None:
            return kept
    if fault in _WORDS:
        found_line = _line(exam, _WORDS[fault])
        if found_line is not None:
            return found_line
    found_event = _event(exam, fault, answer)
    if found_event is not None:
        return spot(found_event, exam.source)
    if fault in _STAGES and answer.failure is None:
        anatomy = dissect(exam, exam.inputs(), answer) if answer.trace.events else None
        if anatomy is not None:
            stage = Variant(fault, "", "", _STAGES[fault], lambda s: s, "use-mask")
            return find_spot(exam, answer, anatomy, stage)
    return Spot(None, None, fault)


def _event(exam: Examination, fault: str, answer: Answer) -> Event | None:
    """The operation by the way of the numbers, where the stage alone says too little."""
    trace = answer.trace
    if fault in ("query-ignored", "key-ignored"):
        return _one_sided(trace, {"query-ignored": "key", "key-ignored": "query"}[fault])
    if fault == "context-source" and answer.context is not None:
        return _made(trace, answer.context)
    if fault == "returned-weights" and answer.weights is not None:
        return _made(trace, answer.weights)
    if fault == "mask-axis":
        others = {"query", "key", "value", *exam.parameters()}
        built = [e for e in trace.events if _builds_mask(e, others)]
        return _outward(built[0]) if built else None
    if fault == "mask-dropped":
        calls = [e for e in trace.events if e.op.endswith("attention_forward") and e.place]
        return calls[-1] if calls else None
    return None


def _one_sided(trace: Trace, role: str) -> Event | None:
    """Where two arrays of one side meet in the place of a query and a key; else the scores."""
    flow, found = Flow(trace), normalizers(trace)
    if not found:
        return None
    before = sorted(flow.back(found[-1].index))
    for at in before:
        event = trace.events[at]
        sides = [o for o in event.inputs if o.origins & {"query", "key", "value"}]
        alike = all(role in o.origins for o in sides)
        if len(sides) > 1 and alike and event.op in _MEETINGS and event.place is not None:
            return event
    scores = [p.event for p in score_products(trace) if p.event.place is not None]
    return scores[-1] if scores else found[-1].event


_MEETINGS = (*CONTRACTIONS, "add", "cat")


def _made(trace: Trace, array: Array) -> Event | None:
    """The operation that gave this array, or its first example, or that one's first query."""
    for part in (array, array[:1], array[:1, ..., :1, :]):
        made = [e for e, _ in find(trace, part) if e.place is not None and e.op != "input"]
        if made:
            return made[0]
    return None


def _builds_mask(event: Event, others: set[str]) -> bool:
    """Whether an operation works on the mask, or lengths, and nothing else."""
    origins = frozenset[str]().union(*(o.origins for o in event.inputs))
    return (
        event.place is not None and event.op != "input" and bool(origins) and not origins & others
    )


def _outward(event: Event) -> Event:
    """The same at the line that called the helper in which it happens."""
    outer = event.settings.get("called_from") or ()
    return replace(event, place=outer[-1]) if outer else event


def _kept(exam: Examination) -> Spot | None:
    """Where a call writes what a later one reads: `self.x = ...` or `cache[...] = ...`."""
    try:
        tree = ast.parse("\n".join(exam.source))
    except SyntaxError:
        return None
    functions = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)]
    for function in functions:
        if function.name == "__init__":
            continue
        writes = [n for n in ast.walk(function) if isinstance(n, ast.Assign)]
        for write in writes:
            target = write.targets[0]
            target = target.value if isinstance(target, ast.Subscript) else target
            of_self = isinstance(target, ast.Attribute)
            name = ast.unparse(target)
            test = any(
                re.search(rf"\b{re.escape(name)}\b", ast.unparse(n.test))
                for n in ast.walk(function)
                if isinstance(n, ast.If)
            )
            if test and (of_self or "cache" in name.lower()):
                code = statement(exam.source, write.lineno)
                return Spot(None, Place(exam.file, write.lineno, code), name)
    return None


def _line(exam: Examination, pattern: str) -> Spot | None:
    """The line with a telling word, of the examined code's own part of the file if possible."""
    for number, line in enumerate(exam.source, 1):
        if re.search(pattern, line) and not line.lstrip().startswith(
            ("#", "def ", "import", "from")
        ):
            code = statement(exam.source, number)
            name = re.match(r"\s*([A-Za-z_][\w.]*)", code)
            return Spot(None, Place(exam.file, number, code), name.group(1) if name else "")
    return None
