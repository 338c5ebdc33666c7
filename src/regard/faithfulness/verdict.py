"""The verdict in words: what the weights may be taken as evidence for, claim by claim."""

import math
from collections.abc import Mapping, Sequence

from regard.faithfulness.intervals import FEWEST, Estimate
from regard.faithfulness.report import Claim, Section, interval_text

EVIDENCE, PARTLY, NOT = "evidence", "partly", "not evidence"
CANNOT, UNTESTED = "cannot decide", "not tested"


DIVERGENCE_MARGIN = 0.01
"""Jensen-Shannon divergence below which an adversary counts as no further away; ln 2 is all."""


def judge_precondition(section: Section | None, *, margin: float) -> Claim:
    """Whether the data can decide at all.

    ``evidence`` if the trained attention is more accurate than every baseline, by the interval. A
    baseline does as well if the interval says that it loses less than ``margin``; no significant
    difference alone does not say so.
    """
    name = "precondition"
    if section is None:
        return Claim(
            name,
            UNTESTED,
            "The precondition was not tested: nothing says that this task needs attention that "
            "has learned where to look. Train the same model with 'regard train ... --attention "
            "uniform' and 'regard train ... --frozen-scores', and give both with --uniform and "
            "--frozen.",
        )
    baselines = [label for label in section.estimates if label.startswith("trained − ")]
    found = {label: _beside(section.estimates[label], margin) for label in baselines}
    for outcome in (_BETTER, _AS_WELL, _TOO_FEW):
        for label in (label for label in baselines if found[label] == outcome):
            baseline, difference = label.removeprefix("trained − "), section.estimates[label]
            does, therefore = {
                _BETTER: (f"{baseline} attention does better", _NOT_FROM_ATTENTION),
                _AS_WELL: (
                    f"{baseline} attention does as well",
                    f"As well means: the interval lies below a margin of {margin:g}. "
                    + _NOT_FROM_ATTENTION,
                ),
                _TOO_FEW: (
                    "too few examples or trainings to tell whether "
                    f"{baseline} attention does as well",
                    _what_is_missing(difference, margin),
                ),
            }[outcome]
            return Claim(
                name,
                CANNOT,
                f"Cannot decide on this data ({does}): accuracy "
                f"{interval_text(section.estimates['trained'])} trained, "
                f"{interval_text(section.estimates[baseline])} {baseline}, difference "
                f"{interval_text(difference)}, of {difference.num_examples} examples. {therefore}",
            )
    gains = "; ".join(
        f"{label.removeprefix('trained − ')} attention loses "
        f"{interval_text(section.estimates[label])} of accuracy"
        for label in baselines
    )
    return Claim(name, EVIDENCE, f"This data can decide: {gains}.")


_BETTER, _AS_WELL, _TOO_FEW, _WORSE = "better", "as well", "too few", "worse"
_NOT_FROM_ATTENTION = (
    "What the weights of the trained model show is not what its accuracy comes from."
)


def _beside(difference: Estimate, margin: float) -> str:
    """What a baseline does beside the trained attention, given by how much it loses."""
    low, high = difference.interval.low, difference.interval.high
    if difference.num_examples < FEWEST:
        return _TOO_FEW  # their bootstrap has no width where they agree
    if high < 0:
        return _BETTER
    if max(high, 3 / difference.num_examples) < margin:  # 3/n: what n examples without one allow
        return _AS_WELL
    return _WORSE if low > 0 else _TOO_FEW


def _what_is_missing(difference: Estimate, margin: float) -> str:
    """About how many examples it takes: an interval's width falls with the root of their number."""
    half = (difference.over_examples.high - difference.over_examples.low) / 2
    needed = max(difference.num_examples * (half / margin) ** 2, 3 / margin)
    if needed <= difference.num_examples:
        return f"Give more trainings of each, to tell a difference of {margin:g}."
    digits = max(0, math.floor(math.log10(needed)) - 1)
    needed = math.ceil(needed / 10**digits) * 10**digits
    return (
        f"To tell a difference as small as {margin:g} takes about {needed:,} examples. Give more."
    )


def judge(sections: Sequence[Section], *, bound: float) -> tuple[Claim, ...]:
    """Every claim that the sections test.

    A claim has ``evidence`` if the weights do better than each baseline that knows nothing (random
    order, position), by the interval, and the gradient does not do better than they; it has
    it ``partly`` if they do better than chance but not all of that; else they are ``not evidence``.
    For the adversary the scale is another training's weights, and shuffled ones.
    """
    by_name = {section.name: section.estimates for section in sections}
    num_examples = by_name["permutation"]["all decisions"].num_examples
    claims = (
        _layer(by_name, bound),
        _exclusive(by_name),
        _inputs(by_name),
        _stable(by_name),
        Claim(
            "plausibility",
            UNTESTED,
            "Whether the weights look right to a person is another question, and was not tested.",
        ),
    )
    if num_examples >= FEWEST:
        return claims
    return tuple(
        claim
        if claim.grade == UNTESTED
        else Claim(
            claim.name,
            CANNOT,
            f"Cannot decide from {num_examples} example{'' if num_examples == 1 else 's'}: below "
            f"{FEWEST} no interval means anything. Give more.",
        )
        for claim in claims
    )


def headline(precondition: Claim, claims: Sequence[Claim]) -> str:
    """The verdict in one line."""
    if precondition.grade == CANNOT:
        return precondition.sentence.partition(":")[0] + "."
    parts: list[str] = []
    for grade, first, later in (
        (EVIDENCE, "weights are evidence for", ""),
        (PARTLY, "weights are partly evidence for", "partly for"),
        (NOT, "weights are not evidence for", "they are not evidence for"),
    ):
        names = [claim.name for claim in claims if claim.grade == grade]
        if names:
            parts.append(f"{later if parts else first} {' and '.join(names)}")
    said = "; ".join(parts) or "nothing could be decided"
    provisional = " (provisional: the precondition was not tested)"
    return (
        said[0].upper() + said[1:] + (provisional if precondition.grade == UNTESTED else "") + "."
    )


def _layer(by_name: Mapping[str, Mapping[str, Estimate]], bound: float) -> Claim:
    erasure, flips, permuted = by_name["erasure"], by_name["flips"], by_name["permutation"]
    only = flips["only the largest − only the random one"]
    changed = permuted["all decisions"]
    because = (
        f"to flip a decision takes {interval_text(erasure['weight'])} of the positions by weight, "
        f"{interval_text(erasure['random'])} at random, {interval_text(erasure['gradient'])} by "
        f"gradient; erasing the largest weight alone flips {interval_text(only)} more decisions "
        f"than another; shuffling moves the output by {interval_text(changed)}"
    )
    return _graded(
        "what the attention layer drew on",
        because,
        chance=(
            erasure["random − weight"].interval.low > 0
            and only.interval.low > 0
            and changed.interval.low > bound
        ),
        fails={
            "not shown to beat position alone": not erasure["position − weight"].interval.low > 0,
            "the gradient's order flips sooner": erasure["gradient − weight"].interval.high < 0
            or erasure["weight × gradient − weight"].interval.high < 0,
        },
    )


def _exclusive(by_name: Mapping[str, Mapping[str, Estimate]]) -> Claim:
    name = "being the only weights that would do"
    found = by_name["adversary"]
    reached = f"an adversary reaches a divergence of {interval_text(found['adversary'])}"
    excess = found.get("adversary − between trainings")
    if excess is None:
        return Claim(
            name,
            UNTESTED,
            f"Not tested: {reached} without changing the output, but only with other trainings "
            "beside it does that mean something. Train more seeds and give them with --seed-model.",
        )
    because = (
        f"{reached}, where another training's weights are at "
        f"{interval_text(found['between trainings'])} and shuffled ones at "
        f"{interval_text(found['shuffled'])}"
    )
    if excess.interval.high < DIVERGENCE_MARGIN:
        return Claim(name, EVIDENCE, f"Weights are evidence for {name} here: {because}.")
    if not excess.interval.low > 0:
        return Claim(
            name,
            CANNOT,
            "Cannot decide (too few examples or trainings to tell whether the adversary gets "
            f"further than another training): {because}, difference {interval_text(excess)}.",
        )
    if found["adversary − shuffled"].interval.high < 0:
        return Claim(
            name,
            PARTLY,
            f"Weights are evidence for {name} only in part: others would do, but not any; "
            f"{because}.",
        )
    return Claim(name, NOT, f"Weights are not evidence for {name}: {because}.")


def _inputs(by_name: Mapping[str, Mapping[str, Estimate]]) -> Claim:
    taus, needed, enough = (
        by_name[name] for name in ("correlation", "comprehensiveness", "sufficiency")
    )
    weight, ceiling = (
        next(e for label, e in taus.items() if label.startswith(f"{name} and leave-one-out"))
        for name in ("weight", "gradient")
    )
    tests = {"rank": taus, "need": needed, "enough": enough}
    ahead = {
        other: [
            estimates.get(f"weight − {other}") or estimates[f"weight better than {other}"]
            for estimates in tests.values()
        ]
        for other in ("random", "position", "gradient")
    }
    because = (
        f"τ with leave-one-out {interval_text(weight)}, where the gradient has "
        f"{interval_text(ceiling)}; removing the inputs of large weight costs "
        f"{interval_text(ahead['random'][1])} more than removing random ones, keeping only them "
        f"{interval_text(ahead['random'][2])} less"
    )
    return _graded(
        "which inputs the output depends on",
        because,
        chance=all(estimate.interval.low > 0 for estimate in ahead["random"]),
        fails={
            "not shown to beat position alone": not all(
                estimate.interval.low > 0 for estimate in ahead["position"]
            ),
            "the gradient tells it better": any(
                estimate.interval.high < 0 for estimate in ahead["gradient"]
            ),
        },
    )


def _stable(by_name: Mapping[str, Mapping[str, Estimate]]) -> Claim:
    name = "what another training would look at"
    found = by_name.get("seeds")
    if found is None:
        return Claim(
            name,
            UNTESTED,
            "Not tested: one training says nothing of others. Train more seeds and give them with "
            "--seed-model.",
        )
    between, chance = found["between trainings"], found["one of them shuffled"]
    because = (
        f"trainings diverge by {interval_text(between)}, with one of them shuffled by "
        f"{interval_text(chance)}; the largest weight is at the same position in "
        f"{interval_text(found['share with the same largest weight'])} of the decisions"
    )
    return _graded(
        name,
        because,
        chance=found["shuffled − between trainings"].interval.low > 0,
        fails={
            "the largest weight moves in half of the decisions or more": not (
                found["share with the same largest weight"].interval.low > 0.5
            )
        },
    )


def _graded(name: str, because: str, *, chance: bool, fails: Mapping[str, bool]) -> Claim:
    """Evidence if better than chance and nothing fails."""
    if not chance:
        return Claim(
            name,
            NOT,
            f"Weights are not evidence for {name}: not shown to beat chance; {because}.",
        )
    failed = [words for words, fail in fails.items() if fail]
    if failed:
        return Claim(
            name,
            PARTLY,
            f"Weights are evidence for {name} only in part: {' and '.join(failed)}; {because}.",
        )
    return Claim(name, EVIDENCE, f"Weights are evidence for {name} here: {because}.")
