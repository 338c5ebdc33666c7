"""First and second derivatives against finite differences, and torch.func's transforms."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.autograd import gradcheck, gradgradcheck
from torch.func import functional_call, grad, hessian, jvp, vmap
from torch.testing import assert_close

from regard import Mask, attend
from tests.core.cases import SCORES, Case, Sizes, make_case
from tests.core.maskings import MASKINGS

# torch loads its forward-mode rules through its own deprecated torch.jit.script
pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated")

SMALL = Sizes(2, None, 2, 3, 2, 3, 2, 3)
WITH_AN_EMPTY_ROW = Mask.lengths([[3, 0], [1, 2]])
every_score = pytest.mark.parametrize("name", SCORES)


def of_everything(
    case: Case, may_attend: Mask | None, *, context_alone: bool = False
) -> tuple[Callable[..., Tensor], list[Tensor]]:
    """Attend as a function of query, key, value, bias and the score's parameters."""
    names = [name for name, _ in case.score.named_parameters()]

    class Attend(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.score = case.score

        def forward(self, query: Tensor, key: Tensor, value: Tensor, bias: Tensor) -> Tensor:
            context, weights, lse = attend(
                query,
                key,
                value,
                score=self.score,
                bias=bias,
                may_attend=may_attend,
                need_weights=not context_alone,
                need_lse=not context_alone,
            )
            if weights is None or lse is None:
                return context
            live = lse.detach() > -torch.inf
            return torch.cat([context.flatten(), weights.flatten(), lse[live]])

    module = Attend()

    def function(query: Tensor, key: Tensor, value: Tensor, bias: Tensor, *own: Tensor) -> Tensor:
        state = {f"score.{name}": parameter for name, parameter in zip(names, own, strict=True)}
        return functional_call(module, state, (query, key, value, bias))

    bias = torch.randn(*case.query.shape[:-1], case.key.shape[-2], dtype=torch.float64)
    own = [p.detach().clone().requires_grad_() for p in case.score.parameters()]
    return function, [*case[:3], bias.requires_grad_(), *own]


@every_score
@pytest.mark.parametrize("may_attend", [None, WITH_AN_EMPTY_ROW], ids=["unmasked", "masked"])
def test_gradients_are_right(name: str, may_attend: Mask | None) -> None:
    function, inputs = of_everything(make_case(name, SMALL), may_attend)
    assert gradcheck(function, inputs, fast_mode=True)


@every_score
def test_gradients_of_gradients_are_right(name: str) -> None:
    function, inputs = of_everything(make_case(name, SMALL), WITH_AN_EMPTY_ROW)
    assert gradgradcheck(function, inputs, fast_mode=True)


@pytest.mark.parametrize("mask", MASKINGS)
def test_gradients_under_every_mask_are_right_and_so_are_theirs(mask: str) -> None:
    name = list(SCORES)[list(MASKINGS).index(mask) % len(SCORES)]
    sizes = MASKINGS[mask].fitting(SMALL._replace(heads=2, query_len=3))
    case = make_case(name, sizes, own_heads=True)
    function, inputs = of_everything(case, MASKINGS[mask].build(sizes), context_alone=True)
    assert gradcheck(function, inputs, fast_mode=True)
    assert gradgradcheck(function, inputs, fast_mode=True)


@every_score
def test_gradients_with_heads_of_their_own_are_right(name: str) -> None:
    case = make_case(name, SMALL._replace(heads=2), own_heads=True)
    function, inputs = of_everything(case, Mask.causal("end"))
    assert gradcheck(function, inputs, fast_mode=True)


@pytest.mark.parametrize("name", [name for name in SCORES if name != "uniform"])
def test_a_gradient_penalty_can_be_trained_on(name: str) -> None:
    case = make_case(name, SMALL)
    context = attend(*case[:3], score=case.score, may_attend=WITH_AN_EMPTY_ROW).context
    (of_query,) = torch.autograd.grad(context.sum(), case.query, create_graph=True)
    (of_query**2).sum().backward()  # type: ignore[no-untyped-call]
    assert case.key.grad is not None
    assert case.key.grad.isfinite().all()
    assert (case.key.grad != 0).any()


@every_score
def test_forward_mode_gives_what_reverse_mode_gives(name: str) -> None:
    case = make_case(name, SMALL)
    query, key, value = (t.detach() for t in case[:3])
    direction = torch.ones_like(query)

    def context(query: Tensor) -> Tensor:
        return attend(
            query, key, value, score=case.score, may_attend=WITH_AN_EMPTY_ROW
        ).context.sum()

    _, forward = jvp(context, (query,), (direction,))  # type: ignore[misc]
    assert_close(forward, (grad(context)(query) * direction).sum())


@every_score
def test_per_example_gradients_are_those_of_each_example_alone(name: str) -> None:
    case = make_case(name, SMALL)
    query, key, value = (t.detach() for t in case[:3])
    lengths = torch.tensor([2, 3])

    def loss(query: Tensor, key: Tensor, value: Tensor, length: Tensor) -> Tensor:
        may_attend = Mask.lengths(length[None])
        return (
            attend(query, key, value, score=case.score, may_attend=may_attend).context.sin().sum()
        )

    together = vmap(grad(loss))(query, key, value, lengths)
    for row in range(2):
        assert_close(together[row], grad(loss)(query[row], key[row], value[row], lengths[row]))


def test_a_hessian_is_finite_beside_an_empty_row() -> None:
    case = make_case("additive", SMALL)
    query, key, value = (t.detach() for t in case[:3])

    def context(query: Tensor) -> Tensor:
        return attend(
            query, key, value, score=case.score, may_attend=WITH_AN_EMPTY_ROW
        ).context.sum()

    found = hessian(context)(query)
    assert found.isfinite().all()
    assert_close(found, found.permute(3, 4, 5, 0, 1, 2))
