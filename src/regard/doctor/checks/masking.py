"""Hidden means absent: no weight, no influence, and padding changes nothing."""

import re
from collections.abc import Iterator

import numpy as np

from regard.doctor.checks.asking import (
    TOLERANCE,
    Rows,
    Unanswered,
    all_visible,
    allowed,
    ask,
    check,
    differ,
    differs,
    fresh,
    gap,
    is_self_attention,
    masked_inputs,
    one_length,
    parts,
    percent,
    pick_keys,
    pick_queries,
    pick_samples,
    require,
    some,
    weights_of,
    with_lengths,
)
from regard.doctor.examination import Examination
from regard.doctor.probe import Answer, Array, Inputs
from regard.doctor.symptoms import NotChecked, Symptom

NO_WEIGHT = 1e-6
NAME = "hidden-get-no-weight"


def _no_weight(exam: Examination) -> Iterator[Symptom | NotChecked]:
    inputs = masked_inputs(exam)
    weights, seen = weights_of(exam, inputs), allowed(inputs)
    free = weights_of(exam, all_visible(inputs))
    if weights.shape[0] != seen.shape[0] or weights.shape[-2:] != seen.shape[1:]:
        raise Unanswered(f"weights {weights.shape} are no (batch, heads, query, key)")
    hidden = np.broadcast_to(~seen[:, None], weights.shape)
    live = np.broadcast_to(some(seen, -1)[:, None, :, None], weights.shape)
    require(bool(np.isfinite(weights[live[..., 0]]).all()), "the weights hold NaN")
    most = float(weights[hidden & live].max(initial=0.0))
    if most > NO_WEIGHT:
        said, causes = _leak(exam, inputs, weights, free, most)
        if most > 1e-2 and _context_is_right(exam, inputs):
            causes = ("returned-weights", *causes)
        yield Symptom(NAME, said, causes)
        return
    expected = _renormalized(free, seen)
    exact = weights.shape[1] > 1 or exam.num_heads == 1  # an average of heads does not renormalize
    if exact and (free > 0).all() and differs(weights, expected, 1e-3):
        # Other faults of the sums have their own check: here, what is visible is hidden as well.
        sums_are_one = np.allclose(weights.sum(-1)[live[..., 0]], 1.0, atol=1e-3)
        if sums_are_one and not _scores_feel_the_mask(exam):
            seen_less = "a position that may be attended to gets too little weight"
            yield Symptom(NAME, seen_less, ("mask-axis", "causal-alignment", "mask-polarity"))
        return
    yield from _too_weak(exam, inputs)


# Scores that depend on earlier weights, which a mask shapes, say so.
_OF_WEIGHTS = re.compile(
    r"location|coverage|prev(ious)?_(attn|attention|weights|alignments?)", re.I
)


def _scores_feel_the_mask(exam: Examination) -> bool:
    """Whether they are to: then what hides changes scores, and padding still changes nothing."""
    if not _OF_WEIGHTS.search("\n".join(exam.source)):
        return False
    return not any(isinstance(found, Symptom) for found in _padding(exam))


def _too_weak(exam: Examination, inputs: Inputs) -> Iterator[Symptom]:
    """The same where real scores are as low as -100, which training reaches."""
    most = hidden_weight(exam, inputs, 12.0)
    if most > NO_WEIGHT:
        said = f"where scores are near -100, a hidden position gets weight {most:.3g}"
        yield Symptom(NAME, said, ("mask-value",))


def hidden_weight(exam: Examination, inputs: Inputs, factor: float) -> float:
    """The most that a hidden position gets where queries and keys are so many times larger.

    Real scores are then low, about -factor²: maybe below the number that hidden ones are filled
    with. 0 where that cannot be asked.
    """
    if exam.score not in ("dot", "scaled_dot", "general") or inputs.lengths is None:
        return 0.0
    batch, key_len = len(inputs.query), inputs.keys.shape[1]
    short = [key_len, *(1 + i % 2 for i in range(batch - 1))]
    large = with_lengths(scaled(inputs, factor), short)
    weights, seen = ask(exam, large).weights, allowed(large)
    if weights is None:
        return 0.0
    hidden = np.broadcast_to(~seen[:, None], weights.shape)
    return float(np.nan_to_num(weights[hidden]).max(initial=0.0))


def _leak(
    exam: Examination, inputs: Inputs, weights: Array, free: Array, most: float
) -> tuple[str, tuple[str, ...]]:
    """How hidden positions come to a weight: what is seen, and the likely causes."""
    seen = allowed(inputs)
    said = f"a hidden position gets weight {most:.3g}"
    if not differs(weights, free):
        said = f"the weights are those without a mask; {said}"
    elif _mass(weights, seen) < 1e-3:
        said = f"only hidden positions are attended to; {said}"
    return said, mask_causes(exam, inputs)


def mask_causes(exam: Examination, inputs: Inputs) -> tuple[str, ...]:
    """The mask's faults, the likelier first, by what the mask does to the numbers."""
    masked, free = ask(exam, inputs), ask(exam, all_visible(inputs))
    if masked.weights is None or free.weights is None:
        return _causes_by_context(exam, inputs, masked, free)
    weights, seen = masked.weights, allowed(inputs)
    if weights.shape[0] != seen.shape[0] or weights.shape[-2:] != seen.shape[1:]:
        return ("mask-axis", "mask-dropped")
    if not np.allclose(free.weights.sum(-1), 1.0, atol=1e-2) and np.isfinite(free.weights).all():
        return ("softmax-axis", "mask-value", "mask-axis")
    unmasked = bool((free.weights < NO_WEIGHT).all((1, 2)).any())  # a visible key that nobody sees
    if unmasked and np.isfinite(free.weights).all():
        return ("mask-axis", "mask-polarity", "mask-dropped")
    if not differs(weights, free.weights):
        return ("mask-dropped", "mask-axis", "mask-value")
    if _mass(weights, seen) < 1e-3:
        return ("mask-polarity", "mask-value")
    sums = weights.sum(-1)[np.broadcast_to(some(seen, -1)[:, None], weights.shape[:-1])]
    if sums.min() < 1 - 1e-3:
        return ("mask-after-softmax", "mask-value")
    if not differs(weights, _renormalized(free.weights, ~seen), 1e-3):
        return ("mask-polarity",)
    for shift in range(1, len(seen)):
        if not differs(weights, _renormalized(free.weights, np.roll(seen, shift, 0)), 1e-3):
            return ("mask-axis", "batch-mixing")
    if _crosses(exam, inputs, masked):
        return ("mask-axis", "batch-mixing", "broadcast")
    if not differs(_renormalized(weights, seen), _renormalized(free.weights, seen), 1e-3):
        return ("mask-value", "mask-axis")  # the visible scores are right
    return ("mask-axis", "mask-polarity", "mask-value", "mask-dropped")


def _mass(weights: Array, seen: Rows) -> float:
    """The most that visible positions get, in rows of which something is hidden."""
    partly = np.broadcast_to(some(~seen, -1)[:, None], weights.shape[:-1])
    mass = np.where(seen[:, None], weights, 0.0).sum(-1)[partly]
    return float(np.nan_to_num(mass).max(initial=0.0))


def _causes_by_context(
    exam: Examination, inputs: Inputs, masked: Answer, free: Answer
) -> tuple[str, ...]:
    """The same where only the context is at hand."""
    if not any(differs(one, two) for _, one, two in parts(masked, free)):
        return ("mask-dropped", "mask-axis", "mask-value")
    visible = some(allowed(inputs), 1) & some(~allowed(inputs), (1, 2))[:, None]
    moved = ask(exam, _filled(inputs, visible, 1.0))
    partly = some(~allowed(inputs), (1, 2))
    if inputs.key is not None and not any(
        differs(one[partly], two[partly]) for _, one, two in parts(masked, moved)
    ):
        return ("mask-polarity", "mask-value")
    if _crosses(exam, inputs, masked):
        return ("mask-axis", "batch-mixing", "broadcast")
    if inputs.value is not None and masked.context is not None:
        ones = ask(exam, inputs.with_(value=np.ones_like(inputs.value))).context
        full = ask(exam, all_visible(inputs).with_(value=np.ones_like(inputs.value))).context
        if ones is not None and full is not None and differs(ones, full, 1e-3):
            return ("mask-after-softmax", "mask-value")  # equal values, another average
    return ("mask-value", "mask-polarity", "mask-axis", "mask-dropped")


def _crosses(exam: Examination, inputs: Inputs, before: Answer) -> bool:
    """Whether the mask of one example acts on another."""
    if inputs.lengths is None or len(inputs.lengths) < 2:
        return False
    for index, length in enumerate(inputs.lengths):
        lengths = list(inputs.lengths)
        lengths[index] = length - 1 if length > 1 else length + 1
        after = ask(exam, with_lengths(inputs, lengths))
        others = [i for i in range(len(lengths)) if i != index]
        if any(differs(one[others], two[others]) for _, one, two in parts(before, after)):
            return True
    return False


def _context_is_right(exam: Examination, inputs: Inputs) -> bool:
    """Whether the context, unlike the weights, does not feel what is hidden."""
    hidden = np.asarray(~allowed(inputs).any(1))
    before, after = (
        _real(ask(exam, asked), exam, inputs, hidden).context
        for asked in (inputs, _filled(inputs, hidden, 1.0))
    )
    return before is not None and after is not None and not differs(before, after)


def _renormalized(free: Array, seen: Rows) -> Array:
    """The weights that a mask leaves of those without: hidden ones out, the rest to sum 1."""
    kept = np.where(seen[:, None], free, 0.0)
    total = kept.sum(-1, keepdims=True)
    return kept / np.where(total == 0.0, 1.0, total)


def scaled(inputs: Inputs, factor: float) -> Inputs:
    """Queries and keys times a factor."""
    key = None if inputs.key is None else factor * inputs.key
    return inputs.with_(query=factor * inputs.query, key=key)


def _do_not_matter(exam: Examination) -> Iterator[Symptom | NotChecked]:
    inputs = masked_inputs(exam)
    hidden = np.asarray(~allowed(inputs).any(1))  # from every query of the example
    require(bool(hidden.any()), "no position is hidden from every query")
    before = ask(exam, inputs)
    for size, tolerance in ((1.0, TOLERANCE), (1e4, 1e4 * NO_WEIGHT)):
        after = ask(exam, _filled(inputs, hidden, size))
        seen = list(parts(*(_real(a, exam, inputs, hidden) for a in (before, after))))
        moved = [name for name, one, other in seen if differs(one, other, tolerance)]
        for name, one, other in seen:
            if name in moved:
                filled = "other numbers" if size == 1.0 else f"numbers of {size:g}"
                said = (
                    f"{filled} in hidden positions change the {name} by {percent(gap(one, other))}"
                )
                causes: tuple[str, ...] = ("mask-value", "mask-after-softmax", "mask-axis")
                if size == 1.0:
                    causes = mask_causes(exam, inputs)
                if moved == ["weights"] and len(seen) > 1:
                    causes = ("returned-weights", *causes)
                yield Symptom("hidden-do-not-matter", said, causes)
                return


def _filled(inputs: Inputs, hidden: Rows, size: float) -> Inputs:
    """Other numbers in the hidden positions: large, but finite (0 · NaN would blame right code)."""

    def of(array: Array | None, seed: int) -> Array | None:
        return (
            None if array is None else np.where(hidden[..., None], size * fresh(array, seed), array)
        )

    if inputs.key is None:
        query = of(inputs.query, 8)
        assert query is not None
        return inputs.with_(query=query, value=of(inputs.value, 9))
    return inputs.with_(key=of(inputs.key, 8), value=of(inputs.value, 9))


def _real(answer: Answer, exam: Examination, inputs: Inputs, hidden: Rows) -> Answer:
    """The rows that count: with a visible key and, in self-attention, not hidden themselves."""
    rows = some(allowed(inputs), -1)
    if is_self_attention(exam, inputs):
        rows = rows & ~hidden
    context, weights = answer.context, answer.weights
    return Answer(
        context=None if context is None else np.where(rows[..., None], context, 0.0),
        weights=None if weights is None else np.where(rows[:, None, :, None], weights, 0.0),
    )


def _padding(exam: Examination) -> Iterator[Symptom | NotChecked]:
    inputs = masked_inputs(exam)
    if inputs.lengths is None:
        raise Unanswered("the mask is one for all examples, so none is shorter")
    padded = ask(exam, inputs)
    for sample, length in enumerate(inputs.lengths):
        if not 0 < length < inputs.keys.shape[1]:
            continue
        rows = range(length if one_length(exam, inputs) else inputs.query.shape[1])
        alone = pick_keys(pick_samples(inputs, [sample]), range(length))
        right = ask(exam, all_visible(alone if inputs.key is None else pick_queries(alone, rows)))
        for name, one, other in parts(_cut(padded, sample, rows, length), right):
            if differs(one, other):
                said = (
                    f"of an example of {length} keys the {differ(name)} by "
                    f"{percent(gap(one, other))} when it is padded to {inputs.keys.shape[1]}"
                )
                causes = mask_causes(exam, inputs)
                if name == "weights" and _contexts_agree(_cut(padded, sample, rows, length), right):
                    causes = ("returned-weights", *causes)
                yield Symptom("padding-changes-nothing", said, causes)
                return


def _contexts_agree(one: Answer, other: Answer) -> bool:
    contexts = one.context, other.context
    return all(c is not None for c in contexts) and not differs(*contexts)  # type: ignore[arg-type]


def _cut(answer: Answer, sample: int, rows: range, length: int) -> Answer:
    context, weights, index = answer.context, answer.weights, list(rows)
    return Answer(
        context=None if context is None else context[sample : sample + 1, index],
        weights=None if weights is None else weights[sample : sample + 1, :, index, :length],
    )


CHECKS = (
    check(NAME, "hidden positions get weight 0, the others what is left", _no_weight),
    check("hidden-do-not-matter", "what hidden positions hold changes nothing", _do_not_matter),
    check("padding-changes-nothing", "padding a batch changes no real result", _padding),
)
