"""What is compiled, run by `test_additive_cpu_operators.py` in a process of its own.

There no annotation is checked while testing: such checks cannot be compiled.
"""

import sys
from collections.abc import Callable, Iterator
from itertools import product

import torch
from torch import Tensor, nn
from torch.testing import assert_close

from regard import Mask, scores
from regard.kernels.additive_cpu import ADDITIVE_CPU

MASKS: dict[str, Callable[[Tensor, int], Mask | None]] = {
    "none": lambda lengths, key_len: None,
    "lengths": lambda lengths, key_len: Mask.lengths(lengths),
    "causal to the end": lambda lengths, key_len: Mask.causal("end"),
    "a window within lengths": lambda lengths, key_len: (
        Mask.lengths(lengths) & Mask.window(2, 1, align="start")
    ),
    "dense": lambda lengths, key_len: Mask.dense(torch.arange(key_len) < lengths[:, None, None]),
}
SIZES = ((2, 3, 5), (3, 4, 9), (2, 6, 17))  # batch, queries, keys


class Attend(nn.Module):
    def __init__(self, mask: str, need_weights: bool, dropout_p: float, num_heads: int | None):
        super().__init__()
        self.score = scores.Additive(query_dim=4, key_dim=6, attn_dim=5, num_heads=num_heads)
        self.mask, self.need_weights, self.dropout_p = mask, need_weights, dropout_p

    def forward(self, query: Tensor, key: Tensor, value: Tensor, lengths: Tensor) -> list[Tensor]:
        attended = ADDITIVE_CPU.run(
            query,
            key,
            value,
            score=self.score,
            may_attend=MASKS[self.mask](lengths, key.shape[-2]),
            dropout_p=self.dropout_p,
            need_weights=self.need_weights,
        )
        return [output for output in attended if output is not None]


def modules(*masks: str) -> Iterator[Attend]:
    for mask, need_weights in product(masks or MASKS, (False, True)):
        torch._dynamo.reset()
        yield Attend(mask, need_weights, 0.0, num_heads=2 if need_weights else None)


def inputs(heads: int | None, batch: int, query_len: int, key_len: int) -> list[Tensor]:
    torch.manual_seed(0)
    lead = (batch,) if heads is None else (batch, heads)
    shapes = (query_len, 4), (key_len, 6), (key_len, 3)
    tensors = [torch.randn(*lead, *shape, requires_grad=True) for shape in shapes]
    return [*tensors, torch.tensor([key_len, *[0] * (batch - 1)])]


def compiled(backend: str, modules: Iterator[Attend]) -> None:
    """The same outputs and gradients, in one graph, for sizes that change."""
    for module in modules:
        function = torch.compile(module, fullgraph=True, backend=backend, dynamic=True)
        for sizes in SIZES:
            found = []
            for call in (module, function):
                given = inputs(module.score.num_heads, *sizes)
                torch.manual_seed(5)
                outputs = call(*given)
                leaves = [*given[:3], *module.parameters()]
                loss = sum(output.sin().sum() for output in outputs)
                found.append([*outputs, *torch.autograd.grad(loss, leaves)])
            assert_close(found[1], found[0], rtol=1e-4, atol=1e-5)


def in_one_graph() -> None:
    compiled("aot_eager", modules())


def with_dropout() -> None:
    """The seed is drawn in the graph, in eager mode's order."""
    compiled("aot_eager", iter([Attend("lengths", False, 0.4, None)]))


def with_compiler() -> None:
    compiled("inductor", modules("a window within lengths"))


CASES = {case.__name__: case for case in (in_one_graph, with_dropout, with_compiler)}

if __name__ == "__main__":
    CASES[sys.argv[1]]()
