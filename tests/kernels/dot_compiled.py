"""What is compiled and exported, run by `test_torch_sdpa_compile.py` in a process of its own.

There no annotation is checked while testing: such checks cannot be compiled.
"""

import sys
from collections.abc import Callable, Iterator
from itertools import product

import torch
from torch import Tensor, nn
from torch.export import Dim, export
from torch.testing import assert_close

from regard import Mask, attend, scores

MASKS: dict[str, Callable[[Tensor], Mask | None]] = {
    "none": lambda lengths: None,
    "lengths": Mask.lengths,
    "causal from the start": lambda lengths: Mask.causal("start"),
    "causal to the end": lambda lengths: Mask.causal("end"),
    "padded and causal": lambda lengths: Mask.lengths(lengths) & Mask.causal("end"),
}
SIZES = ((2, 3, 5), (3, 4, 9), (2, 6, 4))  # batch, queries, keys


class Attend(nn.Module):
    def __init__(self, score: scores.Score, mask: str, need_weights: bool) -> None:
        super().__init__()
        self.score, self.mask, self.need_weights = score, mask, need_weights

    def forward(self, query: Tensor, key: Tensor, value: Tensor, lengths: Tensor) -> list[Tensor]:
        attended = attend(
            query,
            key,
            value,
            score=self.score,
            may_attend=MASKS[self.mask](lengths),
            need_weights=self.need_weights,
        )
        return [output for output in attended if output is not None]


def modules(*masks: str) -> Iterator[Attend]:
    for mask, need_weights in product(masks or MASKS, (False, True)):
        torch._dynamo.reset()
        yield Attend(scores.Bilinear(query_dim=4, key_dim=4), mask, need_weights)
    torch._dynamo.reset()
    yield Attend(scores.ScaledDot(), "padded and causal", False)


def inputs(batch: int, query_len: int, key_len: int) -> list[Tensor]:
    torch.manual_seed(0)
    shapes = ((query_len, 4), (key_len, 4), (key_len, 6 if query_len == 4 else 4))
    tensors = [torch.randn(batch, *shape, requires_grad=True) for shape in shapes]
    return [*tensors, torch.tensor([key_len, *[0] * (batch - 1)])]


def compiled(backend: str, modules: Iterator[Attend]) -> None:
    """The same outputs and gradients, in one graph, for sizes that change."""
    for module in modules:
        function = torch.compile(module, fullgraph=True, backend=backend, dynamic=True)
        for sizes in SIZES:
            found = []
            for call in (module, function):
                given = inputs(*sizes)
                outputs = call(*given)
                leaves = [*given[:3], *module.parameters()]
                loss = sum(output.sin().sum() for output in outputs)
                found.append([*outputs, *torch.autograd.grad(loss, leaves)])
            assert_close(found[1], found[0], rtol=1e-4, atol=1e-5)


def in_one_graph() -> None:
    compiled("aot_eager", modules())


def with_compiler() -> None:
    compiled("inductor", modules("padded and causal"))


def exported() -> None:
    batch, queries, keys = Dim("batch"), Dim("queries"), Dim("keys")
    dynamic = ({0: batch, 1: queries}, {0: batch, 1: keys}, {0: batch, 1: keys}, {0: batch})
    for module in modules():
        for strict in (False, True):
            program = export(module, tuple(inputs(2, 3, 5)), dynamic_shapes=dynamic, strict=strict)
            for sizes in ((3, 2, 9), (2, 6, 4)):
                given = inputs(*sizes)
                assert_close(program.module()(*given), module(*given))


CASES = {case.__name__: case for case in (in_one_graph, with_compiler, exported)}

if __name__ == "__main__":
    CASES[sys.argv[1]]()
