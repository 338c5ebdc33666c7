"""`explain`: the whole examination of a trained model, as one report."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain

import numpy as np
import torch

from regard.core.sizes import check_sizes
from regard.faithfulness import sections, verdict
from regard.faithfulness.adversary import BOUND
from regard.faithfulness.intervals import NUM_DRAWS, Bootstrap
from regard.faithfulness.leave_one_out import leave_one_out
from regard.faithfulness.measures import Effort, Peer, measure
from regard.faithfulness.models import Asked, check_models, check_numbers, choose_examples
from regard.faithfulness.precondition import all_right_answers
from regard.faithfulness.report import Report, Section
from regard.faithfulness.seq2seq import Seq2SeqDecisions
from regard.models import Translator
from regard.text import Pair

MARGIN = 0.01
_CHUNK = 64  # examples together: bounds the memory


def explain(
    translator: Translator,
    pairs: Sequence[Pair],
    *,
    seeds: Sequence[Translator] = (),
    uniform: Sequence[Translator] = (),
    frozen: Sequence[Translator] = (),
    targets: str = "predicted",
    max_examples: int = 200,
    seed: int = 1,
    bound: float = BOUND,
    margin: float = MARGIN,
    effort: Effort = Effort(),  # noqa: B008, frozen
    despite_precondition: bool = False,
    tell: Callable[[float, str], None] = lambda fraction, what: None,
) -> Report:
    """Test what the weights of an encoder-decoder may be taken as evidence for.

    First the precondition: where attention that is uniform, or that was never trained, is as
    accurate, nothing that the weights show can be what the accuracy comes from, and the report
    stops. Then each test of this package, on the decisions of some examples: every token of each
    target, its end included.

    Args:
        translator: the model whose weights are in question.
        pairs: a test set; the precondition takes all of it.
        seeds: the same model trained with other seeds.
        uniform: the same model trained with uniform attention, one or more seeds.
        frozen: the same model trained with its scores frozen as they were drawn.
        targets: ``"predicted"`` explains the translator's own greedy predictions, which are forced
            on the other seeds too; ``"reference"`` the targets of the pairs.
        max_examples: sources to take, drawn at random.
        seed: of every draw.
        bound: total variation distance up to which an output counts as the same.
        margin: accuracy that uniform or frozen attention may lose and still does as well; above 0.
            Where the interval neither lies below it nor above 0, the data is too little to tell.
        effort: how hard the tests try.
        despite_precondition: go on where the data cannot decide; the verdict remains.
        tell: hears the fraction done and what is being done.

    Raises:
        TypeError: not translators, not pairs.
        ValueError: a model without attention, or with other vocabularies; another model than the
            translator's, or the translator itself; a ``uniform`` or ``frozen`` that is not; no
            pairs with two source tokens or more; a number out of its range; a model that gives NaN.

    >>> from regard.models import Side
    >>> sides = Side.build("characters", ["abc"]), Side.build("characters", ["xyz"])
    >>> translator = Translator.fresh(*sides, hidden_dim=8)
    >>> little = Effort(num_permutations=2, restarts=1, steps=1, num_random_orders=1)
    >>> report = explain(translator, [Pair("ab", "xy")], targets="reference", effort=little)
    >>> report.claims[0].grade
    'not tested'
    """
    check_sizes("explain", max_examples=max_examples)
    check_numbers(seed=seed, bound=bound, margin=margin)
    check_models(translator, seeds=seeds, uniform=uniform, frozen=frozen)
    trained = [translator, *seeds]
    groups = {"trained": trained, "uniform": uniform, "frozen": frozen}
    required = None
    if uniform or frozen:
        answers = {
            name: all_right_answers(
                models, pairs, partial(tell, 0.0, f"accuracy, {name} attention")
            )
            for name, models in groups.items()
            if models
        }
        required = sections.precondition(answers, seed=seed, margin=margin)
    claim = verdict.judge_precondition(required, margin=margin)
    asked = choose_examples(translator, pairs, targets=targets, most=max_examples, seed=seed)
    settings = {
        "decisions": f"each token of the {targets} targets, the end included, teacher-forced",
        "examples": len(asked.examples),
        "examples left out, with one source token": asked.num_left_out,
        "trainings": f"{len(trained)}{_few(len(trained))}",
        "seed": seed,
        "bound": bound,
        "margin of accuracy within which a baseline does as well": margin,
        "permutations": effort.num_permutations,
        "adversary": f"{effort.restarts} starts of {effort.steps} steps of Adam",
        "random orders averaged": effort.num_random_orders,
        "intervals": f"95 %, percentiles of {NUM_DRAWS} bootstrap draws, rows clustered by example"
        + ("; the wider ones over trainings and examples" if len(trained) > 1 else ""),
    }
    before = () if required is None else (required,)
    if claim.grade == verdict.CANNOT and not despite_precondition:
        return Report(verdict.headline(claim, ()), (claim,), before, settings)
    tested = tuple(_tests(trained, asked, seed=seed, bound=bound, effort=effort, tell=tell))
    claims = verdict.judge(tested, bound=bound)
    return Report(verdict.headline(claim, claims), (claim, *claims), (*before, *tested), settings)


def _few(num_trainings: int) -> str:
    """What an interval over so few trainings is worth."""
    return " (few: intervals over them are too narrow)" if 1 < num_trainings < 5 else ""


def _tests(
    trained: Sequence[Translator],
    asked: Asked,
    *,
    seed: int,
    bound: float,
    effort: Effort,
    tell: Callable[[float, str], None],
) -> Iterator[Section]:
    starts = range(0, len(asked.examples), _CHUNK)
    found: list[dict[tuple[str, ...], list[np.ndarray]]] = [defaultdict(list) for _ in trained]
    examples: list[np.ndarray] = []
    for which, start in enumerate(starts):
        decisions = [
            Seq2SeqDecisions(
                model.network, asked.examples[start : start + _CHUNK], first_number=start, seed=seed
            )
            for model in trained
        ]
        examples.append(decisions[0].examples.numpy())
        peers = [
            Peer(each.weights, leave_one_out(each, each.interventions[0]))
            for each in (decisions if len(trained) > 1 else ())
        ]
        for place, each in enumerate(decisions):
            done = (which * len(trained) + place) / (len(starts) * len(trained))

            def tell_test(name: str, done: float = done, place: int = place) -> None:
                tell(done, f"model {place + 1} of {len(trained)}: {name}")

            measured = measure(
                each,
                peers=peers[:place] + peers[place + 1 :],
                bound=bound,
                effort=effort,
                generator=torch.Generator().manual_seed(seed + which),
                tell=tell_test,
            )
            for key, of_rows in measured.items():
                found[place][key].append(of_rows.double().numpy())
    rows = {
        key: np.stack([np.concatenate(of_model[key]) for of_model in found]) for key in found[0]
    }
    bootstrap = Bootstrap(np.concatenate(examples), seed=seed)
    main = Seq2SeqDecisions.interventions[0]
    yield from chain(
        sections.layer_sections(rows, bootstrap, bound=bound),
        sections.input_sections(rows, bootstrap, main=main),
    )
    if len(trained) > 1:
        yield sections.seeds(rows, bootstrap)
