"""Test what attention weights may be taken as evidence for.

High weight is not evidence by itself. The tests here work on :class:`Decisions`, whatever the task;
:func:`explain` runs all of them on an encoder-decoder and gives a :class:`Report`.
"""

from regard.faithfulness.adversary import Adversarial, find_adversary
from regard.faithfulness.correlation import exceeds_chance, kendall
from regard.faithfulness.decisions import Decisions
from regard.faithfulness.distances import jensen_shannon, total_variation
from regard.faithfulness.eraser import Eraser, erase_inputs
from regard.faithfulness.erasure import Flips, erase, flip_one, share_until_flip
from regard.faithfulness.explain import explain
from regard.faithfulness.intervals import Bootstrap, Estimate, Interval
from regard.faithfulness.leave_one_out import leave_one_out
from regard.faithfulness.measures import Effort
from regard.faithfulness.permutation import Permuted, permute
from regard.faithfulness.report import Claim, Histogram, Report, Section
from regard.faithfulness.seeds import Agreement, compare_weights
from regard.faithfulness.seq2seq import Seq2SeqDecisions

__all__ = [
    "Adversarial",
    "Agreement",
    "Bootstrap",
    "Claim",
    "Decisions",
    "Effort",
    "Eraser",
    "Estimate",
    "Flips",
    "Histogram",
    "Interval",
    "Permuted",
    "Report",
    "Section",
    "Seq2SeqDecisions",
    "compare_weights",
    "erase",
    "erase_inputs",
    "exceeds_chance",
    "explain",
    "find_adversary",
    "flip_one",
    "jensen_shannon",
    "kendall",
    "leave_one_out",
    "permute",
    "share_until_flip",
    "total_variation",
]
