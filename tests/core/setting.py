"""What `attend` is given in a cell of the matrix, and what it should answer.

The numbers come from `regard.reference` (`Setting.answer`); the derivatives from the formulas of
`tests/core/definition.py`, differentiated by autograd in float64 and anchored to those numbers.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor
from torch.testing import assert_close

from regard import Mask
from regard.core import dropout
from regard.core.attend import Attended
from tests.core.cases import Case, Sizes, gradients, make_case, oracle
from tests.core.maskings import MASKINGS
from tests.core.matrix import DTYPES, Cell

Attend = Callable[..., Attended]

# Different on every axis. More queries than keys: causal to the end leaves rows empty.
SIZES = Sizes(
    batch=3, heads=2, query_len=6, key_len=5, query_dim=7, key_dim=8, value_dim=4, attn_dim=9
)
DROPOUT_P = 0.3

# The inputs are rounded first and are the same for both sides. Half precision is computed in
# float32 and rounded once, by at most 2**-8 and 2**-11 of the number. The others differ by the
# order of a few sums, and by exp of scores around 10, which multiplies their error by that.
TOLERANCE = {
    torch.float64: 1e-12,
    torch.float32: 2e-5,
    torch.bfloat16: 4e-3,
    torch.float16: 5e-4,
}


@dataclass(frozen=True, eq=False)
class Setting:
    """A cell of the matrix, at some sizes, with random numbers."""

    cell: Cell
    sizes: Sizes
    case: Case
    bias: Tensor | None
    may_attend: Mask | None
    allowed: Tensor
    """What the mask should allow, from a formula of its own: bool, of the scores' shape."""
    dropout_p: float
    seed: int

    # ---- what is asked ------------------------------------------------------------------
    @property
    def dtype(self) -> torch.dtype:
        return DTYPES[self.cell.dtype]

    @property
    def differentiates(self) -> bool:
        return self.cell.mode != "eval"

    @property
    def grid(self) -> Tensor:
        """The same with four axes: a tensor that `attend` takes."""
        return four_axes(self.allowed)

    @property
    def empty(self) -> Tensor:
        """Rows with nothing to attend to."""
        return ~self.allowed.any(dim=-1)

    @property
    def unseen(self) -> Tensor:
        """Keys that no query of their example (and head) may see."""
        return ~self.allowed.any(dim=-2)

    @property
    def leaves(self) -> list[Tensor]:
        return self.case.leaves + ([] if self.bias is None else [self.bias])

    def with_(self, **changes: Any) -> "Setting":
        return replace(self, **changes)

    def resized(self, **changes: int) -> "Setting":
        return make_setting(self.cell, self.sizes._replace(**changes), self.seed)

    def without_dropout(self) -> "Setting":
        return self.with_(dropout_p=0.0)

    def ask(self, attend: Attend, **options: Any) -> Attended:
        """Call ``attend`` as the cell says, except where the options say otherwise."""
        case = self.case
        seed_torch(self.seed)
        case.score.train(self.differentiates)
        with torch.set_grad_enabled(self.differentiates):
            query, key, value = case[:3]
            if self.cell.layout == "strided":
                query, key, value = query.mT.contiguous().mT, _every_other(key), _outside_in(value)
            prepared = case.score.prepare(key) if self.cell.key == "prepared" else key
            asked = {
                "score": case.score,
                "may_attend": self.may_attend,
                "bias": self.bias,
                "dropout_p": self.dropout_p,
                "need_weights": self.cell.observed == "weights",
                "need_lse": self.cell.observed == "weights",
            }
            return attend(query, prepared, value, **(asked | options))

    def derivatives(self, attended: Attended, *, create_graph: bool = False) -> tuple[Tensor, ...]:
        """By every leaf, of the outputs times fixed numbers; none in evaluation."""
        if not self.differentiates:
            return ()
        return tuple(gradients(self.loss(attended), self.leaves, create_graph=create_graph))

    def loss(self, attended: Attended) -> Tensor:
        """Fixed numbers times each output; an lse of -inf is left out."""
        outputs = [attended.context, attended.weights, attended.lse]
        numbers = torch.Generator().manual_seed(self.seed)
        total = attended.context.new_zeros((), dtype=torch.float64)
        for output in outputs:
            if output is not None:
                output = output.masked_fill(output == -torch.inf, 0.0)
                times = torch.randint(-2, 3, output.shape, generator=numbers)  # exact in any dtype
                total = total + (output * times).double().sum()
        return total

    # ---- what is right -------------------------------------------------------------------
    @property
    def keep(self) -> Tensor:
        """What multiplies the weights: the keep-mask of dropout, scaled up; ones without it."""
        if not self.dropout_p:
            return torch.ones(self.allowed.shape, dtype=torch.float64)
        batch, heads, queries, keys = (
            self.sizes.batch,
            self.sizes.heads or 1,
            *self.allowed.shape[-2:],
        )
        seed_torch(self.seed)
        seed = dropout.draw_seed()
        kept = dropout.keep_mask(seed, batch, heads, queries, keys, self.dropout_p)
        return kept.view(self.allowed.shape).double() / (1.0 - self.dropout_p)

    def answer(self) -> tuple[Tensor, Tensor]:
        """Context and weights from `regard.reference`, an example, a head and a query at a time."""
        _, weights = oracle(self.case, Mask.dense(self.grid))
        if self.bias is not None:  # e^(s + b) = e^s e^b
            weights = weights * self.bias.detach().double().exp()
            total = weights.sum(dim=-1, keepdim=True)
            weights = weights / total.masked_fill(total == 0.0, 1.0)
        value = self.case.value.detach().double().masked_fill(self.unseen.unsqueeze(-1), 0.0)
        return (weights * self.keep) @ value, weights


def make_setting(cell: Cell, sizes: Sizes = SIZES, seed: int = 0) -> Setting:
    """Inputs for a cell, with sizes as near to these as its mask and score allow."""
    masking = MASKINGS[cell.mask]
    sizes = masking.fitting(sizes._replace(heads=None if cell.heads == "no_heads" else sizes.heads))
    dtype = DTYPES[cell.dtype]
    own_heads = cell.heads == "own_heads"
    case = make_case(cell.score, sizes, dtype=dtype, own_heads=own_heads, seed=seed)
    allowed = masking.allowed(sizes)
    bias = None
    if cell.bias == "biased":
        generator = torch.Generator().manual_seed(seed + 1)
        bias = torch.randn(allowed.shape, generator=generator, dtype=torch.float64)
        bias = bias.to(torch.promote_types(dtype, torch.float32)).requires_grad_()
    return Setting(
        cell,
        sizes,
        case,
        bias,
        masking.build(sizes),
        allowed,
        DROPOUT_P if cell.mode == "dropout" else 0.0,
        seed,
    )


def near(actual: Tensor | None, expected: Tensor | None, dtype: torch.dtype) -> None:
    """Equal to rounding in this dtype, relative to the largest number of the tensor, or to 1."""
    assert actual is not None
    assert expected is not None
    assert actual.shape == expected.shape
    # two answers in half precision may be the two next to what both were before rounding
    roundings = 2 if actual.dtype == expected.dtype and actual.dtype.itemsize == 2 else 1
    actual, expected = actual.detach().double(), expected.detach().double()
    off = (actual - expected).masked_fill(actual == expected, 0.0).abs()  # not inf - inf
    scale = (
        expected.masked_fill(expected.isinf(), 0.0).abs().max().clamp(min=1.0)
        if off.numel()
        else 1.0
    )
    allowed = roundings * TOLERANCE[dtype] * scale
    assert (off <= allowed).all(), f"off by {off.max()}: {actual} for {expected}"


def seed_torch(seed: int) -> None:
    """`torch.manual_seed` for the CPU alone, which is a hundred times faster."""
    torch.default_generator.manual_seed(seed)


def exactly(actual: object, expected: object) -> None:
    assert_close(actual, expected, rtol=0.0, atol=0.0)


def squared(tensors: Iterable[Tensor]) -> Tensor:
    """The sum of their squares."""
    return torch.stack([(tensor.double() ** 2).sum() for tensor in tensors]).sum()


def _every_other(tensor: Tensor) -> Tensor:
    """The same numbers, two apart in memory."""
    return torch.stack([tensor, tensor], dim=-1)[..., 0]


def _outside_in(tensor: Tensor) -> Tensor:
    """The same numbers, with the positions outermost in memory."""
    return tensor.transpose(0, -2).contiguous().transpose(0, -2)


def four_axes(allowed: Tensor) -> Tensor:
    return allowed.unsqueeze(1) if allowed.dim() == 3 else allowed
