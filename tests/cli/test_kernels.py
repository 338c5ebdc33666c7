"""`regard kernels`: which would run, and why the others would not."""

import json
import re
import sys

import pytest
import torch

from regard.kernels import KERNELS, Kernel, Request
from tests.cli.command import error_of, run, usage_error_of


def never(request: Request) -> list[str]:
    return ["it needs [bold]tensor cores[/bold]", "it is tired"]


@pytest.fixture
def refusing_kernel(monkeypatch):
    """A kernel that comes first and serves little."""
    kernel = Kernel(
        name="picky[1]",
        run=KERNELS[-1].run,
        tolerance={torch.float64: 1e-9},
        scores=frozenset({"Dot"}),
        masks=frozenset({"causal"}),
        further_refusals=never,
    )
    for name in ("regard.kernels", "regard.kernels.dispatch"):
        monkeypatch.setattr(sys.modules[name], "KERNELS", (kernel, *KERNELS))


def test_the_reference_is_there_with_its_reasons():
    ran = run("kernels")
    assert (ran.status, ran.err) == (0, "")
    assert "reference" in ran.out
    assert "refuses nothing here" in ran.out


def test_json_says_of_each_kernel_whether_it_runs_why_not_and_how_exact_it_is():
    kernels = json.loads(run("kernels", "--json").out)["kernels"]
    assert [kernel["kernel"] for kernel in kernels] == [kernel.name for kernel in KERNELS]
    assert [list(kernel) for kernel in kernels] == [["kernel", "runs", "refusals", "tolerance"]] * (
        len(KERNELS)
    )
    assert [kernel["refusals"] for kernel in kernels if kernel["runs"]] == [[]]
    assert kernels[-1]["kernel"] == "reference"
    assert kernels[-1]["tolerance"]["float64"] < 1e-9


def test_every_refusal_is_a_sentence_and_none_is_taken_for_markup(refusing_kernel):
    options = ("--mask", "lengths", "--score", "general")
    picky, *_ = json.loads(run("kernels", *options, "--json").out)["kernels"]
    assert picky["refusals"] == [
        "dtype float32 is not among float64",
        "score Bilinear is not among Dot",
        "mask lengths is not among None, causal",
        *never(None),
    ]
    told = run("kernels", *options).out
    assert "picky[1]" in told
    assert "[bold]tensor" in told


@pytest.mark.parametrize(
    ("options", "asked"),
    [
        (("--batch", 3, "--query-len", 4, "--dim", 5), {"query_shape": (3, 4, 5)}),
        (("--batch", 3, "--key-len", 6, "--dim", 5), {"key_shape": (3, 6, 5)}),
        (("--dtype", "float16"), {"dtype": torch.float16}),
        (("--device", "cuda:1"), {"device": "cuda"}),
        (("--mask", "lengths&causal"), {"mask": "lengths&causal"}),
        (("--score", "scaled_dot"), {"score": "ScaledDot"}),
        (("--score", "concat", "--dim", 5), {"attn_dim": 5}),
        (("--grad",), {"need_grad": True, "has_bias": False}),
        (("--bias", "--need-lse"), {"has_bias": True, "need_lse": True, "need_grad": False}),
        (("--prepared",), {"key_is_prepared": True, "need_lse": False}),
        (("--need-weights", "--dropout"), {"need_weights": True, "has_dropout": True}),
        ((), {"mask": None, "need_weights": False, "has_dropout": False, "score": "Additive"}),
    ],
    ids=str,
)
def test_the_options_are_those_of_the_request(monkeypatch, options, asked):
    import regard.kernels

    seen = []

    def choose(request):
        seen.append(request)
        return KERNELS[-1]

    monkeypatch.setattr(regard.kernels, "choose", choose)
    assert run("kernels", *options).status == 0
    assert {name: getattr(seen[0], name) for name in asked} == asked


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--score", "cosine"), r"score 'cosine' is unknown\. Choose one of: additive, concat"),
        (("--mask", "round"), r"--mask 'round' is unknown\. Choose one of: lengths, causal, dense"),
        (("--mask", ""), r"--mask '' is unknown"),
        (("--mask", "lengths&"), r"--mask 'lengths&' is unknown"),
        (("--mask", "lengths causal"), r"is unknown"),
        (("--mask", "lengths&round"), r"is unknown"),
        (("--mask", "(~lengths"), r"is unknown"),
        (("--dtype", "int8"), r"--dtype 'int8' is unknown\. Choose one of: float64"),
        (("--device", "abacus"), r"--device 'abacus' is unknown"),
    ],
    ids=str,
)
def test_what_is_unknown_is_refused_with_what_there_is(options, message):
    assert re.search(message, error_of(run("kernels", *options)))


@pytest.mark.parametrize("option", ["--batch", "--query-len", "--key-len", "--dim"])
def test_sizes_are_at_least_one(option):
    assert f"'{option}'" in usage_error_of(run("kernels", option, 0))
