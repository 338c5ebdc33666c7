"""Training and evaluation: they differ by dropout alone, and dropout acts on the weights."""

from collections.abc import Iterator

import numpy as np

from regard.doctor.binding.without_dropout import WithoutDropout
from regard.doctor.checks.asking import (
    ask,
    called,
    check,
    differ,
    differs,
    gap,
    parts,
    percent,
    require,
)
from regard.doctor.examination import Examination
from regard.doctor.symptoms import NotChecked, Note, Symptom
from regard.doctor.tracing.flow import Flow
from regard.doctor.tracing.locate import normalizers, score_products

NO_TRAINING = "the code does not tell training from evaluation"


def _before_dropout(exam: Examination) -> Iterator[Symptom | NotChecked]:
    require("train" in exam.takes, "the code does not tell training from evaluation")
    inputs = exam.inputs()
    evaluated = exam.ask(inputs).weights
    if evaluated is None:
        require(False, "no weights are returned")
        return
    for _ in range(4):  # little dropout on few weights may drop nothing once
        weights = ask(exam, inputs, train=True).weights
        if weights is None or not differs(evaluated, weights):
            continue
        sums = weights.sum(-1)
        if np.allclose(sums, 1.0, atol=1e-3):
            if _drops_what_is_compared(exam):
                return  # other queries or keys have other weights
            said = f"in training the weights differ by {percent(gap(evaluated, weights))}"
            causes = ("dropout", "returned-weights")
            yield Symptom("weights-before-dropout", f"{said}, and still sum to 1", causes)
        elif "MultiheadAttention" in called(exam):
            yield Note("in training torch's own module returns the weights after dropout")
        else:
            said = f"in training the weights sum to {sums.min():.3g} … {sums.max():.3g}"
            yield Symptom("weights-before-dropout", said, ("returned-weights", "dropout"))
        return


def _drops_what_is_compared(exam: Examination) -> bool:
    """Whether training drops parts of the queries or keys: of embeddings, say."""
    trace = exam.ask(exam.inputs(), train=True, trace=True).trace
    flow = Flow(trace)
    before = {at for one in score_products(trace) for at in flow.back(one.index)}
    return any(trace.events[at].op == "dropout" for at in before)


def _dropout_alone(exam: Examination) -> Iterator[Symptom | NotChecked]:
    require("train" in exam.takes, NO_TRAINING)
    require(exam.framework == "torch", "dropout written in NumPy cannot be turned off from outside")
    other = called(exam) & {"BatchNorm1d", "BatchNorm2d", "batch_norm", "gumbel_softmax"}
    require(not other, f"{', '.join(other)} acts in training besides")
    inputs = exam.inputs(lengths=bool({"mask", "lengths"} & exam.takes))
    evaluated = exam.ask(inputs)
    with WithoutDropout():
        trained, again = ask(exam, inputs, train=True), ask(exam, inputs, train=True)
    own = any(differs(one, other) for _, one, other in parts(trained, again))
    require(not own, "the code draws random numbers of its own in training")
    for name, one, two in parts(evaluated, trained):
        if differs(one, two):
            said = f"in training the {differ(name)} by {percent(gap(one, two))}, dropout left out"
            yield Symptom("dropout-alone", said, ("dropout", "mask-dropped", "scale"))
            return


def _on_scores(exam: Examination) -> Iterator[Symptom | NotChecked]:
    require("train" in exam.takes, NO_TRAINING)
    answer = exam.ask(exam.inputs(), train=True, trace=True)
    require(bool(answer.trace.events), "the operations could not be followed")
    flow = Flow(answer.trace)
    softmaxes = normalizers(answer.trace)
    require(bool(softmaxes), "no softmax was seen")
    scored = {at for one in score_products(answer.trace) for at in flow.forward(one.index)}
    for one in softmaxes:
        for at in flow.back(one.index, lambda at: flow.product(at) is not None):
            event = answer.trace.events[at]
            if event.op == "dropout" and at in scored and event.place is not None:
                said = "dropout sets scores to 0 before the softmax: a score of 0 is no weight of 0"
                yield Symptom("dropout-on-weights", said, ("dropout",), event)
                return


CHECKS = (
    check(
        "weights-before-dropout", "the weights returned are those before dropout", _before_dropout
    ),
    check("dropout-alone", "training differs from evaluation by dropout alone", _dropout_alone),
    check("dropout-on-weights", "dropout acts on weights, not on scores", _on_scores),
)
