"""Who is asked, and how: one process for each script, with the python of its own environment."""

import json
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Literal, NamedTuple

from benchmarks.contracts.questions import QUESTIONS, Question, verdict
from benchmarks.contracts.verdict import Answer, Verdict

ROOT = Path(__file__).parents[2]
TIMEOUT = 300  # seconds
Home = Literal["ours", "peers", "joeynmt"]  # ours has torch


class Contestant(NamedTuple):
    """``script`` in benchmarks/peers calls it ``key``; ``score`` is the formula it computes."""

    name: str
    script: str
    key: str
    score: str
    home: Home


CONTESTANTS = (
    Contestant("torch scaled_dot_product_attention", "torch", "sdpa", "scaled_dot", "ours"),
    Contestant("torch nn.MultiheadAttention", "torch", "multi_head", "scaled_dot", "ours"),
    Contestant("Keras Attention", "keras", "attention", "dot", "peers"),
    Contestant("Keras AdditiveAttention", "keras", "additive", "additive", "peers"),
    Contestant("Keras MultiHeadAttention", "keras", "multi_head", "scaled_dot", "peers"),
    Contestant("x-transformers Attention", "x_transformers", "plain", "scaled_dot", "peers"),
    Contestant(
        "x-transformers Attention, flash=True", "x_transformers", "flash", "scaled_dot", "peers"
    ),
    Contestant("JoeyNMT BahdanauAttention", "joeynmt", "bahdanau", "additive", "joeynmt"),
    Contestant("JoeyNMT LuongAttention", "joeynmt", "luong", "dot", "joeynmt"),
    Contestant("OpenNMT-py GlobalAttention, mlp", "opennmt", "mlp", "additive", "peers"),
    Contestant("regard.attend, ScaledDot", "regard", "scaled_dot", "scaled_dot", "ours"),
    Contestant("regard.attend, Additive", "regard", "additive", "additive", "ours"),
    Contestant("regard.layers.MultiHeadAttention", "regard", "multi_head", "scaled_dot", "ours"),
)


class Answered(NamedTuple):
    """One contestant's answers and verdicts, in the order of the questions."""

    contestant: Contestant
    versions: dict[str, str]
    verdicts: list[Verdict]


class NoAnswer(Exception):
    """A script could not run in its environment."""


def ask(contestants: Iterable[Contestant], python: Path) -> list[Answered]:
    """Put every question to contestants of one script, in a process of their own.

    Raises:
        NoAnswer: the script failed, for instance because the library is not installed; or a
            contestant gave a wrong answer to the first question, which checks the asking.
    """
    contestants = list(contestants)
    script = f"benchmarks.peers.{contestants[0].script}_attention"
    asked = {
        c.key: [asdict(case) for question in QUESTIONS for case in question.cases(c.score)]
        for c in contestants
    }
    try:
        done = subprocess.run(
            [python, "-m", script],
            input=json.dumps(asked),
            capture_output=True,
            text=True,
            cwd=ROOT,
            timeout=TIMEOUT,
        )
    except subprocess.TimeoutExpired:
        raise NoAnswer(f"no answer after {TIMEOUT} seconds") from None
    if done.returncode:
        last = (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
        raise NoAnswer(last)
    told = json.loads(done.stdout)
    answered = [
        Answered(c, told["versions"], _verdicts(told["answers"][c.key], c.score))
        for c in contestants
    ]
    for one in answered:  # or its refusals could be those of a badly put question
        if one.verdicts[0].kind != "right":
            raise NoAnswer(f"{one.contestant.name}, {QUESTIONS[0].name}: {one.verdicts[0].words}")
    return answered


def _verdicts(answers: list[Answer], score: str) -> list[Verdict]:
    rest = iter(answers)
    return [verdict(question, _take(rest, question, score), score) for question in QUESTIONS]


def _take(answers: Iterable[Answer], question: Question, score: str) -> list[Answer]:
    """As many answers as the question had cases."""
    return [answer for _, answer in zip(question.cases(score), answers, strict=False)]


def pythons(peers: Path, joeynmt: Path) -> dict[Home, Path]:
    """The interpreter that has each contestant's library."""
    return {"ours": Path(sys.executable), "peers": peers, "joeynmt": joeynmt}
