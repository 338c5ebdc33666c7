"""Attention does not know positions: permuting keys, queries or examples permutes the answer."""

import re
from collections.abc import Iterator

import numpy as np

from regard.doctor.checks.asking import (
    ask,
    check,
    differs,
    fresh,
    gap,
    is_self_attention,
    parts,
    percent,
    pick_keys,
    pick_queries,
    require,
)
from regard.doctor.checks.weighing import normalized_axis
from regard.doctor.examination import Examination
from regard.doctor.probe import Answer, Array, Inputs
from regard.doctor.symptoms import NotChecked, Symptom
from regard.doctor.tracing.blame import Wrong, blame, feels_others, not_permuted
from regard.doctor.tracing.trace import Event

# Codes that add positions to what is compared say so; then a permutation does change the answer.
POSITIONS = re.compile(
    r"rotary|\brope\b|relative|posit|location|\bpos_|_pos\b|wpe\b|sinusoid", re.I
)


def _keys_permute(exam: Examination) -> Iterator[Symptom | NotChecked]:
    inputs = exam.inputs()
    _require_no_positions(exam, inputs)
    order = np.random.default_rng(3).permutation(inputs.keys.shape[1])
    self_attention = is_self_attention(exam, inputs)
    before, after = ask(exam, inputs), ask(exam, pick_keys(inputs, order.tolist()))
    right = _reordered(before, order if self_attention else None, order)
    if _has_bias(exam, inputs):
        if _moved_beyond_bias(exam, inputs, before, after, order):
            seen = "permuting keys with values changes the weights beyond their position bias"
            yield Symptom("keys-permute", seen, ("reshape-for-transpose", "head-split"))
        return
    for name, one, other in parts(right, after):
        if differs(one, other):
            said = f"permuting keys with values changes the {name} by {percent(gap(one, other))}"
            causes = [*_shuffled(exam), "broadcast", "score-formula"]
            if name == "context" and exam.num_heads == 1:
                causes = ["context-source", *causes]
            elif before.weights is not None and normalized_axis(before.weights) is not None:
                causes = ["softmax-axis", *causes]
            permuted = pick_keys(inputs, order.tolist())
            wrong = not_permuted(inputs.keys.shape[1], order)
            event = _blamed(exam, inputs, permuted, wrong)
            yield Symptom("keys-permute", said, tuple(causes), event)
            return


def _queries_permute(exam: Examination) -> Iterator[Symptom | NotChecked]:
    inputs = exam.inputs()
    require(not is_self_attention(exam, inputs), "queries are the keys: see keys-permute")
    require(inputs.query.shape[1] > 1, "the code takes one query")
    _require_no_positions(exam, inputs)
    require(not _has_bias(exam, inputs), "the weights depend on positions by design")
    order = np.random.default_rng(4).permutation(inputs.query.shape[1])
    before, after = ask(exam, inputs), ask(exam, pick_queries(inputs, order.tolist()))
    for name, one, other in parts(_reordered(before, order, None), after):
        if differs(one, other):
            said = f"permuting the queries changes the {name} by {percent(gap(one, other))}"
            causes = (*_shuffled(exam), "broadcast", "softmax-axis")
            permuted = pick_queries(inputs, order.tolist())
            wrong = not_permuted(inputs.query.shape[1], order)
            event = _blamed(exam, inputs, permuted, wrong)
            yield Symptom("queries-permute", said, causes, event)
            return


def _blamed(exam: Examination, one: Inputs, other: Inputs, wrong: Wrong) -> Event | None:
    """The operation at which the rule breaks between two inputs."""
    return blame(exam.ask(one, trace=True).trace, exam.ask(other, trace=True).trace, wrong)


def _shuffled(exam: Examination) -> tuple[str, str]:
    """The faults that shuffle positions, the likelier first."""
    faults = ("reshape-for-transpose", "head-split")
    return faults if exam.num_heads == 1 else faults[::-1]


def _samples_independent(exam: Examination) -> Iterator[Symptom | NotChecked]:
    inputs = exam.inputs(lengths=bool({"mask", "lengths"} & exam.takes))
    batch = len(inputs.query)
    require(batch > 1, "the code takes one example")
    before = ask(exam, inputs)
    for changed in range(batch):
        after = ask(exam, _with_another_sample(inputs, changed))
        others = [i for i in range(batch) if i != changed]
        for name, one, other in parts(before, after):
            if differs(one[others], other[others]):
                moved = [i for i in others if differs(one[i], other[i])]
                said = (
                    f"changing example {changed} of the batch changes the {name} of example "
                    f"{', '.join(map(str, moved))} by {percent(gap(one[others], other[others]))}"
                )
                normalized = before.weights is not None and normalized_axis(before.weights) == 0
                first = ("softmax-axis",) if normalized else ()
                asked = _with_another_sample(inputs, changed)
                event = _blamed(exam, inputs, asked, feels_others(batch, changed))
                causes: tuple[str, ...] = ("batch-mixing", "mask-axis", "head-split", "broadcast")
                if event is not None and _drops_batch(event, batch):
                    causes = ("broadcast", "batch-mixing", "mask-axis")
                yield Symptom("samples-independent", said, (*first, *causes), event)
                return


def _drops_batch(event: Event, batch: int) -> bool:
    """Whether one row is made of the batch, which can only be stretched over all afterwards."""
    lost = all(batch not in operand.shape for operand in event.outputs)
    one_row = event.op in ("mean", "sum", "max", "getitem", "select")
    return lost and one_row and any(batch in operand.shape for operand in event.inputs)


def _with_another_sample(inputs: Inputs, index: int) -> Inputs:
    """Other numbers for one example of the batch."""

    def of(array: Array | None, seed: int) -> Array | None:
        if array is None:
            return None
        array = array.copy()
        array[index] = fresh(array[index], seed)
        return array

    query = of(inputs.query, 5)
    assert query is not None
    return inputs.with_(query=query, key=of(inputs.key, 6), value=of(inputs.value, 7))


def _require_no_positions(exam: Examination, inputs: Inputs) -> None:
    require(not inputs.causal, "a causal mask knows positions")
    word = POSITIONS.search("\n".join(exam.source))
    if word is not None:
        require(False, f"the code speaks of positions ({word.group()!r})")


def _has_bias(exam: Examination, inputs: Inputs) -> bool:
    """Whether equal keys get unequal weights: a position bias, or a window."""
    weights = ask(exam, _zeroed(inputs)).weights
    return weights is not None and differs(weights, weights.mean(-1, keepdims=True) + 0 * weights)


def _zeroed(inputs: Inputs) -> Inputs:
    key = None if inputs.key is None else 0 * inputs.key
    return inputs.with_(query=0 * inputs.query, key=key)


def _moved_beyond_bias(
    exam: Examination, inputs: Inputs, before: Answer, after: Answer, order: np.ndarray
) -> bool:
    """Whether log weights less those of zero input are not permuted, but for a constant a row."""
    bias = ask(exam, _zeroed(inputs)).weights
    if bias is None or before.weights is None or after.weights is None:
        return False
    with np.errstate(divide="ignore", invalid="ignore"):
        first, second = (np.log(a.weights) - np.log(bias) for a in (before, after) if a is not None)  # type: ignore[arg-type]
        first = first[..., order]
        moved = second - (first[:, :, order] if is_self_attention(exam, inputs) else first)
    seen = np.isfinite(moved)
    low = np.where(seen, moved, np.inf).min(-1)
    high = np.where(seen, moved, -np.inf).max(-1)
    return bool((high - low).max() > 0.01)


def _reordered(answer: Answer, queries: np.ndarray | None, keys: np.ndarray | None) -> Answer:
    weights, context = answer.weights, answer.context
    if keys is not None and weights is not None:
        weights = weights[..., keys]
    if queries is not None:
        weights = None if weights is None else weights[:, :, queries]
        context = None if context is None else context[:, queries]
    return Answer(context=context, weights=weights)


CHECKS = (
    check("keys-permute", "permuting keys with values changes nothing", _keys_permute),
    check("queries-permute", "permuting queries permutes the results", _queries_permute),
    check("samples-independent", "an example does not feel its neighbours", _samples_independent),
)
