"""Masks compiled and exported, run by `test_masks_compile.py` in a process of its own.

There no annotation is checked while testing: such checks cannot be compiled.
"""

import sys
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.export import Dim, export
from torch.testing import assert_close

from regard import Mask, attend

BACKEND = "aot_eager"


class Numbers(NamedTuple):
    """What the masks are made of, for a batch, so many queries and so many keys."""

    lengths: Tensor
    query_ids: Tensor
    key_ids: Tensor
    ones_and_zeros: Tensor
    attn_mask: Tensor


def numbers(batch: int = 2, query_len: int = 3, key_len: int = 5) -> Numbers:
    torch.manual_seed(batch + query_len + key_len)
    return Numbers(
        torch.randint(key_len + 1, (batch, query_len)),
        torch.randint(2, (batch, query_len)),
        torch.randint(3, (batch, key_len)),
        torch.randint(2, (batch, key_len)),
        torch.zeros(query_len, key_len).masked_fill(
            torch.rand(query_len, key_len) < 0.3, -torch.inf
        ),
    )


MASKS: dict[str, Callable[[Numbers], Mask]] = {
    "lengths": lambda n: Mask.lengths(n.lengths[:, 0]),
    "lengths_by_query": lambda n: Mask.lengths(n.lengths),
    "causal_start": lambda n: Mask.causal("start"),
    "causal_end": lambda n: Mask.causal("end"),
    "window": lambda n: Mask.window(1, 0, align="end"),
    "segments": lambda n: Mask.segments(n.query_ids, n.key_ids),
    "attention_mask": lambda n: Mask.from_attention_mask(n.ones_and_zeros),
    "from_torch": lambda n: Mask.from_torch(n.attn_mask, n.ones_and_zeros == 0),
    "lengths_by_query_and_window": lambda n: (
        Mask.lengths(n.lengths) & Mask.window(0, 1, align="start")
    ),
    "segments_and_causal": lambda n: Mask.segments(n.query_ids, n.key_ids) & Mask.causal("end"),
    "not_lengths_or_window": lambda n: (
        Mask.lengths(n.lengths).__invert__() | Mask.window(0, 0, align="start")  # see `Mask`
    ),
}


class Masked(nn.Module):
    """All that a kernel asks of a mask, and attention under it."""

    def __init__(self, make: Callable[[Numbers], Mask]) -> None:
        super().__init__()
        self.make = make

    def forward(
        self, query: Tensor, key: Tensor, value: Tensor, given: Numbers
    ) -> tuple[Tensor, ...]:
        mask = self.make(given)
        shape = (*query.shape[:-1], key.shape[-2])
        unseen = mask.unseen_keys(shape, query.device)
        intervals = mask.intervals(shape, query.device)
        context = attend(query, key, value, may_attend=mask).context
        seen = torch.zeros(()) if unseen is None else unseen * 1.0
        stop = torch.zeros(()) if intervals is None else intervals.stop - intervals.start
        return context, mask.hide(query @ key.mT), seen.expand(key.shape[:-1]), stop * 1.0


def tensors(batch: int = 2, query_len: int = 3, key_len: int = 5) -> list[Tensor]:
    torch.manual_seed(0)
    return [torch.randn(batch, size, 4) for size in (query_len, key_len, key_len)]


def same_in_one_graph() -> None:
    for make in MASKS.values():
        torch._dynamo.reset()
        module = Masked(make)
        compiled = torch.compile(module, fullgraph=True, backend=BACKEND)
        assert_close(compiled(*tensors(), numbers()), module(*tensors(), numbers()))


def any_length_in_one_graph() -> None:
    for name in ("window", "segments_and_causal", "lengths_by_query_and_window"):
        torch._dynamo.reset()
        module = Masked(MASKS[name])
        compiled = torch.compile(module, fullgraph=True, dynamic=True, backend=BACKEND)
        for sizes in ((2, 3, 5), (3, 2, 9), (2, 8, 4)):
            given = (*tensors(*sizes), numbers(*sizes))
            assert_close(compiled(*given), module(*given))


def made_before_it_is_compiled() -> None:
    for make in MASKS.values():
        torch._dynamo.reset()
        masks = [make(numbers()), make(numbers(3, 4, 6))]
        compiled = torch.compile(
            lambda scores, mask: mask.hide(scores), fullgraph=True, backend=BACKEND
        )
        for mask, shape in zip(masks, ((2, 3, 5), (3, 4, 6)), strict=True):
            assert_close(compiled(torch.zeros(shape), mask), mask.hide(torch.zeros(shape)))


def numbers_checked_in_the_graph() -> None:
    good = numbers()
    wrong = {
        "neither 0 nor 1": ("attention_mask", good._replace(ones_and_zeros=torch.full((2, 5), 2))),
        "neither 0 nor -inf": ("from_torch", good._replace(attn_mask=torch.full((3, 5), 0.5))),
        "longer than the key axis": ("lengths", good._replace(lengths=torch.full((2, 3), 6))),
        "negative": ("lengths", good._replace(lengths=torch.full((2, 3), -1))),
    }
    for text, (name, given) in wrong.items():
        torch._dynamo.reset()
        compiled = torch.compile(Masked(MASKS[name]), fullgraph=True, backend=BACKEND)
        compiled(*tensors(), good)
        try:
            compiled(*tensors(), given)
        except RuntimeError as error:
            assert text in str(error)  # noqa: PT017
        else:
            raise AssertionError(f"{name}: {given} went through")


def exported_for_any_size() -> None:
    batch, queries, keys = Dim("batch"), Dim("queries"), Dim("keys")
    of_queries, of_keys = {0: batch, 1: queries}, {0: batch, 1: keys}
    of_numbers = Numbers(of_queries, of_queries, of_keys, of_keys, {0: queries, 1: keys})  # type: ignore[arg-type]
    dynamic = (of_queries, of_keys, of_keys, of_numbers)
    for make in MASKS.values():
        module = Masked(make)
        exported = export(module, (*tensors(), numbers()), dynamic_shapes=dynamic).module()
        given = (*tensors(3, 2, 9), numbers(3, 2, 9))
        assert_close(exported(*given), module(*given))


CASES: dict[str, Callable[[], None]] = {
    case.__name__: case
    for case in (
        same_in_one_graph,
        any_length_in_one_graph,
        made_before_it_is_compiled,
        numbers_checked_in_the_graph,
        exported_for_any_size,
    )
}

if __name__ == "__main__":
    CASES[sys.argv[1]]()
