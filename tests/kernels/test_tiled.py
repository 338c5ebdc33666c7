"""The tiled path against the float64 definition, with tiles that do not divide the lengths."""

from dataclasses import replace
from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from regard import Mask, attend, scores
from regard.core.attend import Attended, attend_reference
from regard.core.dropout import keep_mask
from regard.kernels import Request, choose
from regard.kernels.tiled import TILED, attend_tiled
from regard.kernels.tiles import TileSize, tile_size
from tests.core.cases import Sizes, make_case
from tests.core.checks import CHECKS
from tests.core.everywhere import only
from tests.core.matrix import Cell, covering
from tests.core.setting import make_setting
from tests.own_process import run_in_own_process

SMALL = TileSize(batch=2, query_len=2, key_len=3)
tiled = partial(attend_tiled, size=SMALL)
SIZES = Sizes(batch=3, heads=2, query_len=5, key_len=7, query_dim=4, key_dim=6, attn_dim=3)
IN_SMALL_TILES = replace(TILED, run=tiled, does_not_pay=lambda request: [])


class Distance(scores.Score):
    """A user's own: minus the weighted distance of projected positions; two parameters shared."""

    def __init__(self, query_dim: int, key_dim: int, dim: int) -> None:
        super().__init__()
        self.query_dim, self.key_dim = query_dim, key_dim
        self.of_query = nn.Linear(query_dim, dim)
        self.of_key = nn.Linear(key_dim, dim, bias=False)
        self.weight = nn.Parameter(torch.rand(dim) + 0.5)
        self.again = self.weight

    def project_query(self, query: Tensor) -> Tensor:
        return self.of_query(query)

    def project_key(self, key: Tensor) -> Tensor:
        return self.of_key(key)

    def compare(self, query: Tensor, key: Tensor) -> Tensor:
        apart = (query.unsqueeze(-2) - key.unsqueeze(-3)) * self.weight
        return -(apart.square() * self.again.sigmoid()).sum(-1)


def random(*shape: int) -> Tensor:
    return torch.randn(shape, dtype=torch.float64, requires_grad=True)


MASKS: dict[str, Mask | None] = {
    "none": None,
    "lengths": Mask.lengths([7, 0, 4]),
    "lengths per query": Mask.lengths([[7, 0, 1, 2, 3], [0] * 5, [4, 4, 0, 7, 1]]),
    "causal to the end": Mask.causal("end"),
    "a window within lengths": Mask.window(1, 1, align="start") & Mask.lengths([2, 7, 5]),
    "segments": Mask.segments([0, 0, 1, 2, 2], [0, 2, 2, 0, 1, 3, 3]),
    "segments within lengths": Mask.segments([[0, 0, 1, 2, 2]] * 3, [0, 2, 2, 0, 1, 3, 3])
    & Mask.lengths([5, 7, 1]),
    "neither": ~Mask.causal("start") & Mask.dense(torch.rand(3, 1, 5, 7) < 0.6),
}


def outputs_and_derivatives(attend_: Any, leaves: list[Tensor], *args: Any, **options: Any) -> Any:
    torch.manual_seed(3)
    attended = attend_(*args, need_weights=True, need_lse=True, **options)
    context, weights, lse = attended
    seen = lse.masked_fill(lse == -torch.inf, 0.0)
    loss = context.sin().sum() + weights.cos().sum() + seen.square().sum()
    first = torch.autograd.grad(loss, leaves, create_graph=True)
    plain = torch.autograd.grad(context.sin().sum(), leaves, retain_graph=True, allow_unused=True)
    second = torch.autograd.grad(sum(f.square().sum() for f in first), leaves)
    return context, weights, lse, *plain, *first, *second


@pytest.mark.parametrize("kind", MASKS)
@pytest.mark.parametrize("dropout_p", [0.0, 0.4])
@pytest.mark.parametrize("heads", [None, 2])
def test_a_score_of_ones_own_is_answered_and_differentiated(
    kind: str, dropout_p: float, heads: int | None
) -> None:
    lead = (3,) if heads is None else (3, heads)
    score = Distance(4, 6, 3).double()
    query, key, value = random(*lead, 5, 4), random(*lead, 7, 6), random(*lead, 7, 2)
    bias = random(3, *lead[1:], 1, 7)
    options = dict(score=score, may_attend=MASKS[kind], bias=bias, dropout_p=dropout_p)
    leaves = [query, key, value, bias, *score.parameters()]
    found, right = (
        outputs_and_derivatives(run, leaves, query, key, value, **options)
        for run in (tiled, attend_reference)
    )
    assert_close(found, right, rtol=1e-11, atol=1e-11)


def test_prepared_keys_and_their_score_get_gradients() -> None:
    case = make_case("additive normalized", SIZES)
    found = []
    for run in (tiled, attend_reference):
        prepared = case.score.prepare(case.key)
        context = run(case.query, prepared, case.value, score=case.score).context
        found.append((context, *torch.autograd.grad(context.sin().sum(), case.leaves)))
    assert_close(found[0], found[1], rtol=1e-12, atol=1e-12)


# In the whole matrix one tile holds all, since its sizes are small; here there are many.
CELLS = [cell for cell in covering(2) if cell.score in ("additive normalized", "concat", "dot")]


@pytest.mark.parametrize("cell", CELLS[::7], ids=str)
def test_the_contracts_hold_across_tiles(cell: Cell) -> None:
    setting = make_setting(cell)
    with only(IN_SMALL_TILES):
        for check in CHECKS.values():
            if check.says_nothing(setting) is None:
                check.run(attend, setting)


def test_finite_differences_agree() -> None:
    score = Distance(2, 2, 2).double()
    tensors = random(2, 3, 2), random(2, 4, 2), random(2, 4, 1)

    def context(*qkv: Tensor) -> Tensor:
        return tiled(*qkv, score=score, may_attend=Mask.lengths([[4, 0, 2], [1, 3, 4]])).context

    assert torch.autograd.gradcheck(context, tensors)
    assert torch.autograd.gradgradcheck(context, tensors)


@pytest.mark.parametrize("dtype", TILED.tolerance)
def test_it_is_as_exact_as_it_says(dtype: torch.dtype) -> None:
    case = make_case("additive", SIZES._replace(query_len=40, key_len=70), dtype=dtype)
    exact = make_case("additive", SIZES._replace(query_len=40, key_len=70), dtype=dtype)
    wide = [tensor.detach().double() for tensor in exact[:3]]
    right = attend_reference(*wide, score=exact.score.double()).context
    found = attend_tiled(*case[:3], score=case.score, size=TileSize(1, 7, 9)).context
    assert found.dtype == dtype
    off = (found.double() - right).abs().max() / right.abs().max()
    assert off <= TILED.tolerance[dtype]


def test_part_of_a_keep_mask_is_that_of_the_whole() -> None:
    seed = torch.tensor(7)
    whole = keep_mask(seed, 3, 4, 5, 6, 0.5)
    part = keep_mask(seed, 2, 3, 2, 4, 0.5, first=(1, 1, 3, 2))
    assert torch.equal(part, whole[1:, 1:, 3:, 2:])


def test_tiles_of_hidden_keys_are_never_compared() -> None:
    class Counting(scores.Dot):
        compared = 0

        def compare(self, query: Tensor, key: Tensor) -> Tensor:
            self.__class__.compared += query.shape[0] * query.shape[-2] * key.shape[-2]
            return super().compare(query, key)

    query, key = random(4, 64, 2), random(4, 64, 2)
    size = TileSize(1, 8, 8)
    for may_attend, most in (
        (Mask.lengths([8, 16, 0, 8]), 64 * 32),
        (Mask.causal(), 4 * 64 * (32 + 4)),
        (Mask.causal() & Mask.window(7, 0), 4 * 64 * 16),
        (Mask.lengths([8, 16, 0, 8]) & Mask.dense(torch.ones(64, 64).bool()), 64 * 32),
    ):
        Counting.compared = 0
        attend_tiled(query, key, key, score=Counting(), may_attend=may_attend, size=size)
        assert 0 < Counting.compared <= most


def test_a_score_that_is_called_in_its_own_way_is_called_so() -> None:
    class Doubled(scores.Dot):
        def forward(self, query: Tensor, key: Tensor) -> Tensor:
            return 2 * super().forward(query, key)

    query, key = random(1, 2, 3), random(1, 4, 3)
    right = attend_reference(query, key, key, score=Doubled()).context
    assert_close(tiled(query, key, key, score=Doubled()).context, right)
    hooked = scores.Dot()
    hooked.register_forward_hook(lambda module, inputs, output: 2 * output)
    assert_close(tiled(query, key, key, score=hooked).context, right)


def test_a_backward_uses_the_parameters_of_its_forward() -> None:
    """Those that ``functional_call`` put in, though the score has its own again."""
    case = make_case("additive", SIZES)
    layer = nn.ModuleDict({"score": case.score})
    others = {
        f"score.{n}": (p * 2).detach().requires_grad_() for n, p in case.score.named_parameters()
    }
    found = []
    for run in (tiled, attend_reference):
        layer.forward = lambda run=run: run(*case[:3], score=layer["score"]).context
        context = torch.func.functional_call(layer, others, ())
        found.append(torch.autograd.grad(context.sin().sum(), [case.query, *others.values()]))
    assert_close(found[0], found[1], rtol=1e-12, atol=1e-12)


LARGE = Request((8, 512, 128), (8, 512, 128), (8, 512, 128), torch.float32, "cpu", "Additive", None)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        (dict(query_shape=(8, 1, 128)), "width is 524,288, and it pays from 16,777,216"),
        (dict(score="Dot"), "width is 2,097,152, and it pays"),
        (dict(is_transformed=True), "torch.func and forward mode cannot transform it"),
        (dict(normalize="other"), "it normalizes by softmax, not by other"),
        (dict(device="meta"), "it reads the mask's numbers"),
    ],
)
def test_it_says_why_it_does_not_serve(changes: dict[str, Any], why: str) -> None:
    (sentence,) = TILED.refusals(LARGE._replace(**changes))
    assert why in sentence


def test_it_serves_a_large_call_of_any_score() -> None:
    for score in ("Additive", "Concat", "somebodys.Score"):
        assert TILED.refusals(LARGE._replace(score=score)) == []
    assert choose(LARGE._replace(score="somebodys.Score")) is TILED


def test_tiles_are_bounded_whatever_the_sizes() -> None:
    for batch, heads, query_len, key_len, width in (
        (64, 1, 1, 12, 256), (1, 1, 4096, 4096, 64), (32, 16, 1, 9000, 512), (0, 2, 0, 0, 1),
    ):  # fmt: skip
        size = tile_size((batch, heads, query_len, key_len), width)
        assert min(size) >= 1
        pairs = size.batch * size.query_len * size.key_len
        assert pairs <= max(1024, 2**19 // (heads * width))


@pytest.mark.slow
@pytest.mark.parametrize("case", ["forward", "backward"])
def test_memory_stays_small(case: str) -> None:
    run_in_own_process("kernels.tiled_memory", case)


def test_attend_chooses_it_and_gives_what_the_reference_gives() -> None:
    score = scores.Additive(query_dim=8, key_dim=8, attn_dim=8)
    query, key = torch.randn(1, 1500, 8), torch.randn(1, 1500, 8)
    with torch.no_grad():
        attended: Attended = TILED.run(query, key, key, score=score, may_attend=Mask.causal())
        right = attend_reference(query, key, key, score=score, may_attend=Mask.causal())
    assert_close(attended.context, right.context, rtol=1e-5, atol=1e-5)
