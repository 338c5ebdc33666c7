"""What is compiled and exported, run by `test_multi_head_compile.py` in a process of its own.

There no annotation is checked while testing: such checks cannot be compiled.
"""

import sys
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.export import Dim, export
from torch.testing import assert_close

from regard import Mask
from regard.layers import Attention, MultiHeadAttention
from regard.scores import NAMES, make_score
from tests.layers.multi_head_by_hand import randomized


class Padded(nn.Module):
    """A layer under lengths, which are a tensor."""

    def __init__(self, layer: nn.Module, *, need_weights: bool = True) -> None:
        super().__init__()
        self.layer, self.need_weights = layer, need_weights

    def forward(self, query: Tensor, key: Tensor, lengths: Tensor) -> tuple[Tensor, ...]:
        found = self.layer(
            query, key, key, may_attend=Mask.lengths(lengths), need_weights=self.need_weights
        )
        return tuple(part for part in found if part is not None)


class Grown(nn.Module):
    """Causal self-attention over keys prepared in two parts, the first of them padded."""

    def __init__(self, layer: MultiHeadAttention) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: Tensor, lengths: Tensor) -> tuple[Tensor, ...]:
        first, last = x[:, :3], x[:, 3:]
        seen = self.layer.prepare(first, first, may_attend=Mask.lengths(lengths))
        seen = seen.append(self.layer.prepare(last, last))
        found = self.layer(x, seen, may_attend=Mask.causal("end"), need_weights=True)
        return found.output, found.weights


class ToItself(nn.Module):
    """Causal self-attention."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x, x, x, may_attend=Mask.causal()).output


def inputs(batch: int = 2, query_len: int = 3, key_len: int = 5) -> tuple[Tensor, Tensor, Tensor]:
    torch.manual_seed(0)
    lengths = torch.tensor([key_len, *[0] * (batch - 1)])
    return (
        torch.randn(batch, query_len, 8, requires_grad=True),
        torch.randn(batch, key_len, 8, requires_grad=True),
        lengths,
    )


def layers() -> list[Padded]:
    made = [
        *(randomized(MultiHeadAttention(8, 2, score=name)) for name in NAMES),
        Attention(make_score("general", query_dim=8, key_dim=8)),
    ]
    return [Padded(layer, need_weights=wanted) for layer in made for wanted in (True, False)]


def same_forward_and_backward() -> None:
    for module in layers():
        torch._dynamo.reset()
        compiled = torch.compile(module, fullgraph=True, backend="aot_eager")
        found = []
        for function in (module, compiled):
            query, key, lengths = inputs()
            outputs = function(query, key, lengths)
            loss = sum(part.sin().sum() for part in outputs)
            leaves = [query, key, *module.parameters()]
            found.append((*outputs, *torch.autograd.grad(loss, leaves)))
        assert_close(found[1], found[0], rtol=1e-4, atol=1e-5)


def prepared_keys_and_values() -> None:
    for name in NAMES:
        torch._dynamo.reset()
        module = Grown(randomized(MultiHeadAttention(8, 2, score=name)))
        compiled = torch.compile(module, fullgraph=True, backend="aot_eager")
        found = []
        for function in (module, compiled):
            x, _, _ = inputs(query_len=5)
            outputs = function(x, torch.tensor([3, 1]))
            loss = sum(part.sin().sum() for part in outputs)
            found.append((*outputs, *torch.autograd.grad(loss, [x, *module.parameters()])))
        assert_close(found[1], found[0], rtol=1e-4, atol=1e-5)


def any_length_without_a_graph_break() -> None:
    module = ToItself(randomized(MultiHeadAttention(8, 2)))
    compiled = torch.compile(module, fullgraph=True, dynamic=True, backend="aot_eager")
    for length in (8, 5, 2):
        x = torch.randn(3, length, 8)
        assert_close(compiled(x), module(x), rtol=1e-4, atol=1e-5)


def exported_for_any_size() -> None:
    batch, queries, keys = Dim("batch"), Dim("queries"), Dim("keys")
    dynamic = ({0: batch, 1: queries}, {0: batch, 1: keys}, {0: batch})
    for module in layers():
        program = export(module, inputs(), dynamic_shapes=dynamic).module()
        given = inputs(3, 2, 9)
        assert_close(program(*given), module(*given), rtol=1e-4, atol=1e-5)


CASES: dict[str, Callable[[], None]] = {
    case.__name__: case
    for case in (
        same_forward_and_backward,
        prepared_keys_and_values,
        any_length_without_a_graph_break,
        exported_for_any_size,
    )
}

if __name__ == "__main__":
    CASES[sys.argv[1]]()
