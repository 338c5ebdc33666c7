"""From numbers a row to the sections of the report."""

from collections.abc import Iterable, Mapping
from itertools import pairwise

import numpy as np

from regard.faithfulness.intervals import Bootstrap, Estimate
from regard.faithfulness.report import Histogram, Section

Rows = Mapping[tuple[str, ...], np.ndarray]
"""(test, what of it, ...) to (trainings, rows)."""

LN_2 = float(np.log(2.0))
_WEIGHT_BINS = (0.0, 0.25, 0.5, 0.75, 1.0)


def precondition(groups: Mapping[str, np.ndarray], *, seed: int, margin: float) -> Section:
    """The accuracy of trained, uniform and frozen attention, each (trainings, sources)."""
    trained = groups["trained"]
    bootstrap = Bootstrap(np.arange(trained.shape[1]), seed=seed)
    estimates = {name: bootstrap.estimate(answers) for name, answers in groups.items()}
    for name, answers in groups.items():
        if name != "trained":
            estimates[f"trained − {name}"] = bootstrap.difference(trained, answers)
    return Section(
        "precondition",
        "Does the task need attention that has learned where to look?",
        "Free greedy decoding of every distinct source; the share whose prediction equals one of "
        "its targets. Uniform and frozen random attention are trained anew, each like the model. "
        "Differences are paired by source. A baseline does as well if the interval of the "
        f"difference lies below a margin of {margin:g}.",
        "accuracy",
        estimates,
    )


def layer_sections(rows: Rows, bootstrap: Bootstrap, *, bound: float) -> Iterable[Section]:
    """The tests that change weights and nothing else."""
    largest = rows["permutation", "largest weight"]
    changes = rows["permutation", "median change"]
    permuted = {"all decisions": bootstrap.estimate(changes)}
    for low, high in pairwise(_WEIGHT_BINS):
        inside = (largest > low) & (largest <= high + (1e-6 if high == 1.0 else 0.0))
        if inside.any():
            name = f"largest weight {low:g} to {high:g}"
            permuted[name] = bootstrap.estimate(np.where(inside, changes, np.nan))
    permuted["uniform weights instead"] = bootstrap.estimate(rows["permutation", "uniform change"])
    yield Section(
        "permutation",
        "Do the same weights at other positions change the output?",
        "The weights of one step are shuffled over the real positions; states before the step and "
        "values are held. Median of total variation distance over the shuffles. It is 0 by "
        "construction where weights are uniform.",
        "total variation distance of the output",
        permuted,
    )
    yield _adversary(rows, bootstrap, bound)
    erased = _named(rows, "erasure", bootstrap)
    by_weight = rows["erasure", "weight"]
    for other in ("random", "position", "gradient", "weight × gradient"):
        erased[f"{other} − weight"] = bootstrap.estimate(rows["erasure", other] - by_weight)
    yield Section(
        "erasure",
        "How much of the attention must be erased until the decision flips?",
        "Weights are set to 0 in the given order, the others renormalized to sum 1; states before "
        "the step and values are held. Smallest share of the real positions; 1 where the decision "
        "stands until one is left.",
        "share of positions erased",
        erased,
    )
    flips = _named(rows, "flip", bootstrap)
    only = rows["flip", "only the largest"] - rows["flip", "only the random one"]
    flips["only the largest − only the random one"] = bootstrap.estimate(only)
    yield Section(
        "flips",
        "Does the decision hang on the largest weight more than on another?",
        "One weight is set to 0, the others renormalized: the largest, or another at random. The "
        "share of decisions that flip; and how much more the output diverges without the largest.",
        "share of decisions",
        flips,
    )


def _adversary(rows: Rows, bootstrap: Bootstrap, bound: float) -> Section:
    found = rows["adversary", "divergence"]
    estimates = {"adversary": bootstrap.estimate(found)}
    marks = {"ln 2": LN_2}
    band = rows.get(("seeds", "divergence"))
    if band is not None:
        shuffled = rows["seeds", "chance"]
        estimates["between trainings"] = bootstrap.estimate(_pairs(band))
        estimates["shuffled"] = bootstrap.estimate(shuffled)
        estimates["adversary − between trainings"] = bootstrap.estimate(found - band)
        estimates["adversary − shuffled"] = bootstrap.estimate(found - shuffled)
        marks["between trainings"] = estimates["between trainings"].value
        marks["shuffled"] = estimates["shuffled"].value
    edges = np.linspace(0.0, LN_2, 15)
    counts, _ = np.histogram(found.clip(0.0, LN_2), bins=edges)
    return Section(
        "adversary",
        "Would very different weights give the same output?",
        f"The largest Jensen-Shannon divergence from the model's own weights (0 to ln 2 = 0.693) "
        f"with a total variation distance of the output up to {bound:g}, the same bound while "
        "searching and while judging. Each decision by itself; states before the step are held. To "
        "compare: another training's weights, and those shuffled.",
        "Jensen-Shannon divergence of the weights",
        estimates,
        Histogram(
            "decisions by the adversary's divergence",
            tuple(map(float, edges)),
            tuple(map(int, counts)),
            marks,
        ),
    )


def input_sections(rows: Rows, bootstrap: Bootstrap, *, main: str) -> Iterable[Section]:
    """The tests that change inputs."""
    taus: dict[str, Estimate] = {}
    for test, name, how in (key for key in rows if len(key) == 3):
        if test == "correlation":
            taus[f"{name} and leave-one-out, {how}"] = bootstrap.estimate(rows[test, name, how])
    for other in ("random", "position", "gradient"):
        ahead = rows["correlation", "weight", main] - rows["correlation", other, main]
        taus[f"weight − {other}"] = bootstrap.estimate(ahead)
    taus["weight and gradient"] = bootstrap.estimate(rows["agreement", "weight", "gradient"])
    for name in ("weight", "gradient", "random"):
        significant = rows["significant", name, main]
        taus[f"share beyond its null, {name}"] = bootstrap.estimate(significant)
    yield Section(
        "correlation",
        "Do weights rank inputs as their removal does?",
        "Kendall's τ-b of each decision over its real positions, against leave-one-out: one input "
        "is removed, the rest encoded and decoded again up to the same decision, total variation "
        "distance of the output. The gradient's row is the agreement to expect of two good "
        "measures. Null: 5 % of each decision's own permutations. Gradient times input, with the "
        "weights held.",
        "Kendall's τ-b",
        taus,
    )
    for test, better, question in (
        ("comprehensiveness", 1, "Are the inputs of large weight needed?"),
        ("sufficiency", -1, "Are the inputs of large weight enough?"),
    ):
        losses = {
            f"{key[1]}, {key[2]}": bootstrap.estimate(numbers)
            for key, numbers in rows.items()
            if key[0] == test
        }
        for other in ("random", "position", "gradient"):
            ahead = better * (rows[test, "weight", main] - rows[test, other, main])
            losses[f"weight better than {other}"] = bootstrap.estimate(ahead)
        what = (
            "without them (higher is better)"
            if better == 1
            else "with them alone (lower is better)"
        )
        yield Section(
            test,
            question,
            f"Loss of the decided token's probability {what}, mean over the top 1, 5, 10, 20 and "
            "50 % of inputs in the given order; the rest is encoded and decoded again. Inputs are "
            "deleted, or replaced as each line says.",
            "loss of probability",
            losses,
        )


def seeds(rows: Rows, bootstrap: Bootstrap) -> Section:
    """Trainings beside each other."""
    divergence, chance = _pairs(rows["seeds", "divergence"]), rows["seeds", "chance"]
    return Section(
        "seeds",
        "Would another training look at the same positions?",
        "Weights of every two trainings for the same sources and the same forced targets.",
        "Jensen-Shannon divergence of the weights, and a share",
        {
            "between trainings": bootstrap.estimate(divergence),
            "one of them shuffled": bootstrap.estimate(chance),
            "shuffled − between trainings": bootstrap.estimate(
                chance - rows["seeds", "divergence"]
            ),
            "share with the same largest weight": bootstrap.estimate(
                _pairs(rows["seeds", "same_top"])
            ),
        },
    )


def _pairs(of_trainings: np.ndarray) -> np.ndarray:
    """What is the same for both of two trainings is one number, with no interval over trainings."""
    return of_trainings[:1] if len(of_trainings) == 2 else of_trainings


def _named(rows: Rows, test: str, bootstrap: Bootstrap) -> dict[str, Estimate]:
    return {key[1]: bootstrap.estimate(part) for key, part in rows.items() if key[0] == test}
