"""What the operations themselves show: results thrown away, axes cut across, fills too weak."""

from collections.abc import Iterator

import numpy as np

from regard.doctor.checks.asking import check, require
from regard.doctor.checks.masking import hidden_weight, mask_causes
from regard.doctor.examination import Examination
from regard.doctor.probe import Answer
from regard.doctor.symptoms import NotChecked, Note, Symptom
from regard.doctor.tracing.flow import Flow
from regard.doctor.tracing.locate import inverted_numbers, mask_events, mixes_axes, normalizers
from regard.doctor.tracing.trace import Event

_WRITES = ("masked_fill", "where", "setitem", "add", "mul")
_WEAK = -50.0  # exp(-50) is 2e-22: below it a fill hides whatever ordinary scores there are
_LEAK = 1e-7


def _traced(exam: Examination, *, masked: bool) -> Answer:
    answer = exam.ask(exam.inputs(lengths=masked), trace=True)
    require(answer.failure is None, "the code raised on plain input")
    require(bool(answer.trace.events), "the operations could not be followed")
    return answer


def _is_masked(exam: Examination) -> bool:
    return bool({"mask", "lengths"} & exam.takes)


def _masks_are_used(exam: Examination) -> Iterator[Symptom | NotChecked]:
    require(
        _is_masked(exam) or "causal" in exam.takes, "no argument is known to be a mask or lengths"
    )
    answer = _traced(exam, masked=_is_masked(exam))
    flow = Flow(answer.trace)
    found = normalizers(answer.trace)
    require(bool(found), "no softmax was seen")
    for event in inverted_numbers(answer.trace):
        said = f"~ of a mask of {event.inputs[0].value.dtype} is true at its 0 and at its 1"
        yield Symptom("masks-are-used", said, ("mask-polarity",), event)
        return
    used = {at for one in found for at in (one.index, *flow.back(one.index))}
    meeting = mask_events(answer.trace)
    index = {id(event): at for at, event in enumerate(answer.trace.events)}
    if any(index[id(event)] in used for event in meeting):
        return
    for event in meeting:
        if event.op in _WRITES and not _is_read(flow, event, index[id(event)]):
            said = f"the result of {event.op} is never used"
            yield Symptom("masks-are-used", said, ("mask-dropped",), event)
            return


def _is_read(flow: Flow, event: Event, at: int) -> bool:
    return any(flow.users(o, at) or o.identity in flow.returned for o in event.outputs)


def _axes_keep_their_meaning(exam: Examination) -> Iterator[Symptom | NotChecked]:
    answer = _traced(exam, masked=False)
    flow = Flow(answer.trace)
    found = normalizers(answer.trace)
    require(bool(found), "no softmax was seen")
    near = {at for one in found for at in (*flow.back(one.index), *flow.forward(one.index))}
    for one in found:  # a value meets the weights after the softmax
        for after in flow.forward(one.index, lambda at: flow.product(at) is not None):
            if flow.product(after) is not None:
                near |= set(flow.back(after))
    for at in sorted(near):
        event = answer.trace.events[at]
        if event.op in ("view", "reshape") and event.place is not None and mixes_axes(event):
            before, after_shape = event.inputs[0].shape, event.outputs[0].shape
            said = f"{event.op} of {before} to {after_shape} cuts across axes"
            heads = len(after_shape) != len(before)
            causes = ("head-split", "reshape-for-transpose", "batch-mixing")
            ordered = causes if heads else (causes[1], causes[2], causes[0])
            yield Symptom("axes-keep-their-meaning", said, ordered, event)


def _fill_hides(exam: Examination) -> Iterator[Symptom | NotChecked]:
    require(_is_masked(exam), "no argument is known to be a mask or lengths")
    inputs = exam.inputs(lengths=True)
    answer = _traced(exam, masked=True)
    require(answer.weights is not None, "the code gives no weights")
    require(inputs.may_attend is not None, "no mask could be given")
    assert answer.weights is not None
    assert inputs.may_attend is not None
    hidden = ~inputs.may_attend[:, None] & np.isfinite(answer.weights)
    leak = float(np.max(answer.weights * hidden, initial=0.0))
    if leak < _LEAK:
        most = hidden_weight(exam, inputs, 120.0)
        if most > _LEAK:
            yield Note(
                f"the number that hidden scores are filled with is finite: where real scores are "
                f"near -1e4, a hidden position gets weight {most:.3g} (-inf never gives any)"
            )
        return
    if "mask-value" not in mask_causes(exam, inputs)[:1]:
        return
    flow = Flow(answer.trace)
    for one in normalizers(answer.trace):
        for at in flow.back(one.index, lambda at: flow.product(at) is not None):
            event = answer.trace.events[at]
            fill = event.settings.get("fill", event.settings.get("scalar"))
            if event.op not in ("masked_fill", "where", "setitem") or event.place is None:
                continue
            if isinstance(fill, (int, float)) and not isinstance(fill, bool) and fill > _WEAK:
                said = f"scores that may not be seen are filled with {fill}; weight {leak:.2g} left"
                yield Symptom("fill-hides", said, ("mask-value",), event)
                return


CHECKS = (
    check("masks-are-used", "What a mask changes goes on into the softmax", _masks_are_used),
    check(
        "axes-keep-their-meaning",
        "No view or reshape cuts across axes (heads and transposes need a transpose)",
        _axes_keep_their_meaning,
    ),
    check("fill-hides", "The fill at hidden positions leaves them no weight", _fill_hides),
)
