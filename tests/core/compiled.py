"""What is compiled and exported, run by `test_compile.py` in a process of its own.

There no annotation is checked while testing: such checks cannot be compiled.
"""

import sys
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.export import Dim, export
from torch.testing import assert_close

from regard import Mask, attend, masked_softmax, scores

BACKEND = "aot_eager"  # everything but the C++ compiler; `with_compiler` sets it to inductor


class Attend(nn.Module):
    """Attention under lengths and a causal mask, with all it can return or its context alone."""

    def __init__(
        self, score: scores.Score, dropout_p: float = 0.0, context_alone: bool = False
    ) -> None:
        super().__init__()
        self.score, self.dropout_p, self.context_alone = score, dropout_p, context_alone

    def forward(
        self, query: Tensor, key: Tensor, value: Tensor, lengths: Tensor
    ) -> tuple[Tensor, ...]:
        may_attend = Mask.lengths(lengths) & Mask.causal("end")
        attended = attend(
            query,
            key,
            value,
            score=self.score,
            may_attend=may_attend,
            dropout_p=self.dropout_p,
            need_weights=not self.context_alone,
            need_lse=not self.context_alone,
        )
        return tuple(output for output in attended if output is not None)


def inputs(batch: int = 2, query_len: int = 3, key_len: int = 5) -> list[Tensor]:
    torch.manual_seed(0)
    lead = ((query_len, 4), (key_len, 4), (key_len, 6))
    tensors = [torch.randn(batch, *shape, requires_grad=True) for shape in lead]
    return [*tensors, torch.tensor([key_len, *[0] * (batch - 1)])]


def made(name: str) -> scores.Score:
    return scores.make_score(name, query_dim=4, key_dim=4, attn_dim=7)


def same_forward_and_backward() -> None:
    for name in ("additive", "general", "scaled_dot"):
        module = Attend(made(name))
        torch._dynamo.reset()
        compiled = torch.compile(module, fullgraph=True, backend=BACKEND)
        found = []
        for function in (module, compiled):
            *qkv, lengths = inputs()
            context, weights, lse = function(*qkv, lengths)
            leaves = [*qkv, *module.parameters()]
            loss = context.sin().sum() + weights.cos().sum() + lse[0].sum()
            found.append((context, weights, lse, *torch.autograd.grad(loss, leaves)))
        assert_close(found[1], found[0], rtol=1e-4, atol=1e-5)


def any_length_without_a_graph_break() -> None:
    for name in scores.NAMES:
        torch._dynamo.reset()
        module = Attend(made(name), context_alone=True)
        compiled = torch.compile(module, fullgraph=True, dynamic=True, backend=BACKEND)
        for sizes in ((2, 3, 8), (3, 2, 5), (2, 4, 1)):
            *qkv, lengths = inputs(*sizes)
            leaves, found = [*qkv, *module.parameters()], []
            for function in (module, compiled):
                (context,) = function(*qkv, lengths)
                found.append((context, *torch.autograd.grad(context.sin().sum(), leaves)))
            assert_close(found[1], found[0], rtol=1e-4, atol=1e-5)


def dropout() -> None:
    module = Attend(made("dot"), dropout_p=0.5)
    compiled = torch.compile(module, fullgraph=True, backend=BACKEND)
    given = inputs()
    first, second = compiled(*given)[0], compiled(*given)[0]
    assert not torch.equal(first, second)


def a_masked_softmax() -> None:
    compiled = torch.compile(masked_softmax, fullgraph=True, backend=BACKEND)
    x, lengths = torch.randn(2, 3, 4), torch.tensor([4, 0])
    assert_close(compiled(x, lengths), masked_softmax(x, lengths))


def lengths_checked_in_the_graph() -> None:
    compiled = torch.compile(Attend(made("dot")), fullgraph=True, backend=BACKEND)
    *qkv, _ = inputs()
    compiled(*qkv, torch.tensor([5, 0]))
    for wrong, text in ((6, "longer than the key axis"), (-1, "negative")):
        try:
            compiled(*qkv, torch.tensor([5, wrong]))
        except RuntimeError as error:
            assert text in str(error)  # noqa: PT017
        else:
            raise AssertionError(f"a length of {wrong} went through")


def exported_for_any_size() -> None:
    batch, queries, keys = Dim("batch"), Dim("queries"), Dim("keys")
    dynamic = ({0: batch, 1: queries}, {0: batch, 1: keys}, {0: batch, 1: keys}, {0: batch})
    for name in scores.NAMES:
        for context_alone in (False, True):
            module = Attend(made(name), context_alone=context_alone)
            for strict in (False, True) if name == "additive" else (False,):
                graph = export(module, tuple(inputs()), dynamic_shapes=dynamic, strict=strict)
                program = graph.module()
                for sizes in ((3, 2, 9), (2, 5, 3)):
                    given = inputs(*sizes)
                    assert_close(program(*given), module(*given))


def with_compiler() -> None:
    global BACKEND
    BACKEND = "inductor"
    same_forward_and_backward()


CASES: dict[str, Callable[[], None]] = {
    case.__name__: case
    for case in (
        same_forward_and_backward,
        any_length_without_a_graph_break,
        dropout,
        a_masked_softmax,
        lengths_checked_in_the_graph,
        exported_for_any_size,
        with_compiler,
    )
}

if __name__ == "__main__":
    CASES[sys.argv[1]]()
