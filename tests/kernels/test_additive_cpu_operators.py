"""additive_cpu as operators of torch: derivatives, what torch checks, prepared keys, compile."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from regard import Mask, attend, scores
from regard.core.attend import attend_reference
from regard.kernels.additive_cpu import ADDITIVE_CPU, kernel, operators
from regard.kernels.additive_cpu.kernel import additive_attention
from regard.kernels.additive_cpu.visible import visible
from tests.kernels.additive_by_hand import Inputs, make

MASKS: dict[str, Mask | None] = {
    "none": None,
    "lengths": Mask.lengths([[5, 0, 2], [1, 3, 4]]),
    "segments within a window": Mask.segments([0, 1, 1], [1, 1, 0, 1, 0])
    & Mask.window(3, 2, align="end"),
    "dense of heads": Mask.dense(
        torch.tensor([[1, 0, 1, 1, 0], [0] * 5, [1] * 5]).bool().expand(2, 2, 3, 5)
    ),
}
ONE_QUICK = ["lengths", *(pytest.param(k, marks=pytest.mark.slow) for k in MASKS if k != "lengths")]


def small() -> Inputs:
    return make(2, 2, 3, 5, dim=3, value_dim=2, own_v=True)


@pytest.mark.parametrize("kind", ONE_QUICK)
@pytest.mark.parametrize("dropout_p", [0.0, pytest.param(0.4, marks=pytest.mark.slow)])
def test_finite_differences_agree(kind: str, dropout_p: float) -> None:
    """Of outputs to gradients, and of gradients to their own."""

    def outputs(*inputs: Tensor) -> tuple[Tensor, ...]:
        torch.manual_seed(4)
        found = additive_attention(
            *inputs, may_attend=MASKS[kind], dropout_p=dropout_p, need_weights=True
        )
        assert found.weights is not None
        assert found.lse is not None
        return found.context, found.weights, found.lse.masked_fill(found.lse == -torch.inf, 0.0)

    inputs = tuple(small())
    assert torch.autograd.gradcheck(outputs, inputs)
    assert torch.autograd.gradgradcheck(outputs, inputs)


def test_derivatives_agree_when_weights_are_computed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "KEPT", 0)

    def context(*inputs: Tensor) -> Tensor:
        torch.manual_seed(4)
        return additive_attention(*inputs, may_attend=MASKS["lengths"], dropout_p=0.4).context

    assert torch.autograd.gradcheck(context, tuple(small()))
    assert torch.autograd.gradgradcheck(context, tuple(small()))


@pytest.mark.parametrize("shared", ["query, key and value", "key and value"])
def test_a_tensor_that_is_given_twice_gets_both_gradients(shared: str) -> None:
    inputs = make(2, 1, 5, 5, dim=4, value_dim=4)
    key = inputs.query if shared == "query, key and value" else inputs.key

    def context(query: Tensor, key: Tensor, v: Tensor) -> Tensor:
        if shared == "query, key and value":
            query = key
        return additive_attention(query, key, key, v, may_attend=Mask.causal()).context

    assert torch.autograd.gradcheck(context, (inputs.query.detach(), key, inputs.v))
    assert torch.autograd.gradgradcheck(context, (inputs.query.detach(), key, inputs.v))


def test_only_what_needs_a_gradient_gets_one() -> None:
    for name in Inputs._fields:
        inputs = small()
        leaf = getattr(inputs, name)
        alone = Inputs(*(tensor.detach() for tensor in inputs))._replace(**{name: leaf})
        (found,) = torch.autograd.grad(additive_attention(*alone).context.sin().sum(), leaf)
        all_of = torch.autograd.grad(additive_attention(*inputs).context.sin().sum(), list(inputs))
        assert_close(found, all_of[Inputs._fields.index(name)])


@pytest.mark.parametrize("kind", ONE_QUICK)
@pytest.mark.parametrize("keep_weights", [False, True])
def test_torch_accepts_the_operators(kind: str, keep_weights: bool) -> None:
    query, key, value, v = small()
    blocks = operators.additive_blocks(key.detach(), 3)
    seen = visible(MASKS[kind], (2, 2, 3, 5))
    seed = torch.tensor(3)
    given = query, key, v, value, blocks, *seen, seed, 0.25
    torch.library.opcheck(operators.additive_blocks, (key.detach(), 3))
    torch.library.opcheck(operators.additive_attend, (*given, keep_weights))

    outputs = operators.additive_attend(*given, keep_weights)
    context, weights, lse = (tensor.detach() for tensor in outputs)
    plain = [given.detach() if isinstance(given, Tensor) else given for given in given]
    grads = torch.ones_like(context), torch.ones_like(weights), torch.ones_like(lse)
    torch.library.opcheck(operators.additive_attend_backward, (*plain, weights, *grads))
    nothing = query.new_zeros(0).detach()
    torch.library.opcheck(
        operators.additive_attend_backward, (*plain, weights, grads[0], nothing, nothing)
    )


def counted(monkeypatch: pytest.MonkeyPatch) -> list[Tensor]:
    """The keys of which exponentials are made from now on."""
    made: list[Tensor] = []
    make_blocks = operators.additive_blocks

    def counting(key: Tensor, query_len: int) -> Tensor:
        made.append(key)
        return make_blocks(key, query_len)

    monkeypatch.setattr(operators, "additive_blocks", counting)
    return made


def prepare(num_keys: int = 2) -> tuple[scores.Additive, Tensor, list[Tensor], Tensor]:
    score = scores.Additive(query_dim=4, key_dim=6, attn_dim=5).double()
    keys = [torch.randn(2, 9, 6, dtype=torch.float64) for _ in range(num_keys)]
    value = torch.randn(2, 9, 3, dtype=torch.float64)
    return score, torch.randn(2, 1, 4, dtype=torch.float64), keys, value


def run(*args: Any, **options: Any) -> Tensor:
    return ADDITIVE_CPU.run(*args, **options).context


def test_exponentials_of_prepared_keys_are_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    score, query, (key, other), value = prepare()
    mask = Mask.lengths([9, 4])
    made = counted(monkeypatch)
    prepared, another = (score.prepare(tensor, may_attend=mask) for tensor in (key, other))
    for step in range(3):
        for tensor, ready in ((key, prepared), (other, another)):
            found = run(query + step, ready, value, score=score, may_attend=mask)
            right = attend_reference(query + step, tensor, value, score=score, may_attend=mask)
            assert_close(found, right.context, rtol=1e-12, atol=1e-12)
    assert len(made) == 2  # one of each
    run(query, key, value, score=score)
    run(query, key, value, score=score)
    assert len(made) == 4  # keys that nobody prepared are new ones at each call


def test_other_rows_and_other_masks_of_prepared_keys_are_their_own() -> None:
    score, query, (key,), value = prepare(1)
    prepared = score.prepare(key)
    run(query, prepared, value, score=score)
    rows = torch.tensor([1, 1])
    chosen = run(query, prepared.index_select(rows), value[rows], score=score)
    right = attend_reference(query, key[rows], value[rows], score=score).context
    assert_close(chosen, right, rtol=1e-12, atol=1e-12)
    junk = key.clone()
    junk[0, 7:] = torch.nan
    prepared, lengths = score.prepare(junk), Mask.lengths([7, 9])
    assert run(query, prepared, value, score=score)[0].isnan().all()
    masked = run(query, prepared, value, score=score, may_attend=lengths)
    right = attend_reference(query, key, value, score=score, may_attend=lengths).context
    assert_close(masked, right, rtol=1e-12, atol=1e-12)


def test_prepared_keys_get_the_gradients_of_every_step() -> None:
    score, query, (key,), value = prepare(1)
    found = []
    for run_ in (ADDITIVE_CPU.run, attend_reference):
        leaf = key.clone().requires_grad_()
        prepared = score.prepare(leaf)
        total = sum(run_(query * s, prepared, value, score=score).context.sin() for s in (1, 2, 3))
        found.append(torch.autograd.grad(total.sum(), [leaf, *score.parameters()]))
    assert_close(found[0], found[1], rtol=1e-12, atol=1e-12)


def test_keys_first_used_without_gradients_serve_with_them() -> None:
    score, query, (key,), value = prepare(1)
    prepared = score.prepare(key)
    with torch.inference_mode():
        run(query, prepared, value, score=score)
    grads = torch.autograd.grad(run(query, prepared, value, score=score).sum(), score.query_weight)
    right = attend_reference(query, key, value, score=score).context.sum()
    assert_close(grads, torch.autograd.grad(right, score.query_weight), rtol=1e-12, atol=1e-12)


def test_keys_changed_in_place_are_prepared_anew() -> None:
    score, query, (key,), value = prepare(1)
    with torch.no_grad():
        prepared = score.prepare(key)
        run(query, prepared, value, score=score)
        prepared.projected.mul_(-3.0)
        found = run(query, prepared, value, score=score)
        assert_close(found, attend_reference(query, prepared, value, score=score).context)


def test_masks_that_change_from_step_to_step_are_each_read() -> None:
    score, query, (key,), value = prepare(1)
    grid = torch.ones(1, 9, dtype=torch.bool)
    dense = Mask.dense(grid)
    prepared = score.prepare(key)
    for mask in (None, Mask.lengths([2, 9]), Mask.lengths([9, 3]), dense, dense, None):
        grid[:, 4:] ^= mask is dense  # in place: seen by the mask, or not, but by everybody alike
        found = run(query, prepared, value, score=score, may_attend=mask)
        right = attend_reference(query, prepared, value, score=score, may_attend=mask).context
        assert_close(found, right, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("dropout_p", [0.0, 0.4])
def test_a_step_never_reads_what_is_hidden(dropout_p: float) -> None:
    """Not of prepared keys, nor of values, nor in either derivative."""
    score, query, (key,), value = prepare(1)
    lengths = Mask.lengths([4, 9])
    found = []
    for junk in (0.0, torch.nan):
        hidden_value = value.clone()
        hidden_value[0, 4:] = junk
        projected = score.prepare(key).projected.detach().clone()
        projected[0, 4:] = junk
        prepared = replace(score.prepare(key), projected=projected.requires_grad_())
        leaves = [query.clone().requires_grad_(), hidden_value.requires_grad_(), projected]
        leaves += [score.query_weight, score.v]
        torch.manual_seed(2)
        attended = ADDITIVE_CPU.run(
            leaves[0], prepared, hidden_value, score=score, may_attend=lengths,
            dropout_p=dropout_p, need_weights=True, need_lse=True,
        )  # fmt: skip
        grads = torch.autograd.grad(attended.context.sin().sum(), leaves, create_graph=True)
        second = torch.autograd.grad(sum(grad.square().sum() for grad in grads), leaves)
        found.append((*attended, *grads, *second))
    assert not any(tensor.isnan().any() for tensor in found[1])
    assert_close(found[1], found[0], rtol=1e-12, atol=1e-12)


def test_attend_chooses_it_where_it_pays() -> None:
    score, _, (key,), value = prepare(1)
    for query_len, right in ((400, run), (4, attend_reference)):
        query = torch.randn(2, query_len, 4, dtype=torch.float64)
        assert query_len < 10 or 2 * query_len * 9 * 5 >= 2**15
        with torch.no_grad():
            found = attend(query, key, value, score=score).context
            expected = right(query, key, value, score=score)
        assert_close(found, getattr(expected, "context", expected), rtol=0.0, atol=0.0)
