"""The dot family's attention in float64, written out; and inputs to compare a kernel on."""

from typing import NamedTuple

import torch
from torch import Tensor

from regard import Attended, Mask, scores
from regard.core.scores import Score
from regard.kernels import Kernel


class Sizes(NamedTuple):
    batch: int
    heads: int | None
    query_len: int
    key_len: int
    dim: int
    value_dim: int


class Inputs(NamedTuple):
    query: Tensor
    key: Tensor
    value: Tensor
    bias: Tensor | None
    score: Score

    @property
    def leaves(self) -> list[Tensor]:
        tensors = [self.query, self.key, self.value, *self.score.parameters()]
        return tensors if self.bias is None else [*tensors, self.bias]


SCORES = {
    "dot": lambda dim: scores.Dot(),
    "scaled_dot": lambda dim: scores.ScaledDot(),
    "scaled_dot, negative": lambda dim: scores.ScaledDot(scale=-0.4),
    "general": lambda dim: scores.Bilinear(query_dim=dim + 1, key_dim=dim),
}


def make(
    name: str,
    sizes: Sizes,
    dtype: torch.dtype = torch.float64,
    *,
    biased: bool = False,
    contiguous: bool = True,
) -> Inputs:
    generator = torch.Generator().manual_seed(0)
    lead = (sizes.batch,) if sizes.heads is None else (sizes.batch, sizes.heads)

    def randn(*shape: int) -> Tensor:
        tensor = torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype)
        if not contiguous:  # the same numbers, its last two axes the other way round in memory
            tensor = tensor.mT.contiguous().mT
        return tensor.requires_grad_()

    score = SCORES[name](sizes.dim).to(dtype)
    with torch.no_grad():
        for parameter in score.parameters():
            parameter.copy_(randn(*parameter.shape) * 0.5)
    return Inputs(
        randn(*lead, sizes.query_len, sizes.dim + (name == "general")),
        randn(*lead, sizes.key_len, sizes.dim),
        randn(*lead, sizes.key_len, sizes.value_dim),
        randn(*lead, sizes.query_len, sizes.key_len) if biased else None,
        score,
    )


def by_hand(inputs: Inputs, may_attend: Mask | None = None) -> tuple[Tensor, Tensor]:
    """Context and weights in float64: exponentials, hidden ones struck out, over their sum."""
    query, key, value = (tensor.double() for tensor in inputs[:3])
    match inputs.score:
        case scores.ScaledDot(scale=scale):
            query = query * (key.shape[-1] ** -0.5 if scale is None else scale)
        case scores.Bilinear(weight=weight):
            query = query @ weight.double()
    products = torch.einsum("...qd,...kd->...qk", query, key)
    if inputs.bias is not None:
        products = products + inputs.bias.double()
    if products.shape[-1]:
        products = products - products.detach().amax(-1, keepdim=True)
    exponentials = products.exp()
    if may_attend is not None:
        allowed = may_attend.dense_for(*products.shape[-2:])
        if products.dim() == 4 and allowed.dim() == 3:
            allowed = allowed.unsqueeze(1)
        exponentials = exponentials * allowed
    total = exponentials.sum(-1, keepdim=True)
    weights = exponentials / total.masked_fill(total == 0.0, 1.0)
    return weights @ value, weights


def run(kernel: Kernel, inputs: Inputs, may_attend: Mask | None = None) -> Attended:
    """The kernel itself, with weights where it has them."""
    return kernel.run(
        inputs.query,
        inputs.key,
        inputs.value,
        score=inputs.score,
        may_attend=may_attend,
        bias=inputs.bias,
        need_weights=kernel.name == "torch_softmax",
    )


def relative_error(actual: Tensor, expected: Tensor) -> float:
    """The largest error beside the largest number, or beside 1 where all are smaller."""
    if not actual.numel():
        return 0.0
    error = (actual.double() - expected.double()).abs().max().item()
    return error / max(expected.double().abs().max().item(), 1.0)
