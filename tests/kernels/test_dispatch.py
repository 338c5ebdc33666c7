"""How a kernel is chosen: by metadata, the first that does not refuse, with its reasons."""

import dataclasses

import pytest
import torch
from torch.testing import assert_close

from regard import Attended, Mask, attend, scores
from regard.kernels import KERNELS, Kernel, Request, choose, dispatch
from regard.kernels.reference import REFERENCE

REQUEST = Request(
    query_shape=(2, 3, 4),
    key_shape=(2, 5, 4),
    value_shape=(2, 5, 6),
    dtype=torch.float32,
    device="cpu",
    score="Dot",
    mask="lengths",
)


def answers_seven(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, **_: object
) -> Attended:
    return Attended(torch.full((*query.shape[:-1], value.shape[-1]), 7.0))


def no_dropout(request: Request) -> list[str]:
    return ["dropout is not implemented"] if request.has_dropout else []


TOY = Kernel(
    name="toy",
    run=answers_seven,
    tolerance={torch.float32: 1e-6, torch.float64: 1e-12},
    devices=frozenset({"cpu"}),
    scores=frozenset({"Dot", "ScaledDot"}),
    masks=frozenset({"lengths"}),
    further_refusals=no_dropout,
)


@pytest.fixture
def with_toy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatch, "KERNELS", (TOY, REFERENCE))


REFUSED = {
    "dtype": (dict(dtype=torch.float16), "dtype float16 is not among float32, float64"),
    "device": (dict(device="cuda"), "device cuda is not among cpu"),
    "score": (dict(score="Additive"), "score Additive is not among Dot, ScaledDot"),
    "mask": (dict(mask="lengths&causal"), "mask lengths&causal is not among None, lengths"),
    "its own reason": (dict(has_dropout=True), "dropout is not implemented"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_a_kernel_refuses_in_a_sentence(what: str) -> None:
    changes, sentence = REFUSED[what]
    request = REQUEST._replace(**changes)
    assert TOY.refusals(request) == [sentence]


def test_a_kernel_gives_all_its_reasons() -> None:
    changes = {name: value for what, _ in REFUSED.values() for name, value in what.items()}
    assert len(TOY.refusals(REQUEST._replace(**changes))) == len(REFUSED)


def test_a_kernel_accepts_what_is_among_its_capabilities() -> None:
    assert TOY.refusals(REQUEST) == []
    assert TOY.refusals(REQUEST._replace(mask=None)) == []


@pytest.mark.parametrize("what", REFUSED)
def test_the_reference_refuses_nothing(what: str) -> None:
    assert REFERENCE.refusals(REQUEST._replace(**REFUSED[what][0])) == []


def test_the_reference_is_the_last_kernel() -> None:
    assert KERNELS[-1] is REFERENCE
    assert len({kernel.name for kernel in KERNELS}) == len(KERNELS)


def test_the_first_kernel_that_does_not_refuse_is_chosen(with_toy: None) -> None:
    assert choose(REQUEST) is TOY
    for changes, _ in REFUSED.values():
        assert choose(REQUEST._replace(**changes)) is REFERENCE


def test_attend_runs_the_chosen_kernel(with_toy: None) -> None:
    query, key = torch.ones(2, 3, 4), torch.ones(2, 5, 4)
    assert (attend(query, key, key, may_attend=Mask.lengths([5, 3])).context == 7.0).all()
    for refused in (
        dict(score=scores.Bilinear(query_dim=4, key_dim=4)),
        dict(may_attend=Mask.causal("end")),
        dict(dropout_p=1e-9),
    ):
        assert_close(attend(query, key, key, **refused).context, torch.ones(2, 3, 4))


def test_a_request_describes_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Request] = []

    def remember(request: Request) -> list[str]:
        seen.append(request)
        return ["only looks"]

    looker = dataclasses.replace(TOY, scores=None, masks=None, further_refusals=remember)
    monkeypatch.setattr(dispatch, "KERNELS", (looker, REFERENCE))
    score = scores.Additive(query_dim=4, key_dim=6, attn_dim=8)
    query, key, value = torch.ones(2, 3, 4), torch.ones(2, 5, 6), torch.ones(2, 5, 7)
    with torch.no_grad():
        attend(
            query,
            score.prepare(key),
            value,
            score=score,
            may_attend=Mask.lengths([5, 3]) & Mask.causal("end"),
            bias=torch.zeros(2, 3, 5),
            dropout_p=0.5,
            need_lse=True,
        )
    (request,) = seen
    assert request.score == "Additive"
    assert request.mask == "lengths&causal"
    assert request.query_shape == (2, 3, 4)
    assert request.value_shape == (2, 5, 7)
    assert request.has_bias
    assert request.has_dropout
    assert request.key_is_prepared
    assert request.need_lse
    assert not request.need_weights
    assert not request.need_grad


def test_a_request_can_be_compared_and_remembered() -> None:
    assert hash(REQUEST) == hash(REQUEST._replace())
    assert REQUEST._replace(need_grad=True) != REQUEST
