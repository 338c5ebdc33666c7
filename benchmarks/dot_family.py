"""``attend`` with dot-product scores beside torch's own functions called by hand, rounds in turn.

By hand is the least a user can write: ``scaled_dot_product_attention``, with a bool grid where
lengths differ, made before or in the call; and where weights are wanted, two products around a
softmax. Each row first checks that both give the same. Then every round runs both, one after the
other, so that the machine's moods fall on both alike; ratios are taken round by round. Small calls
are told by the microseconds that ours adds.
"""

import math
from collections.abc import Callable, Iterable
from itertools import product
from statistics import median

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention
from torch.testing import assert_close

from benchmarks.rounds import rounds_of
from regard import Mask, attend

HEADS, DIM = 8, 64
LARGE = ((4, 256, 256), (16, 256, 256), (4, 512, 512), (4, 1024, 1024))  # batch, queries, keys
SMALL = ((16, 1, 30), (16, 16, 16))
KINDS = ("unmasked", "causal", "lengths", "lengths, made in the call", "lengths, with weights")

Call = Callable[[], tuple[Tensor, ...]]


def contestants(
    batch: int, query_len: int, key_len: int, kind: str, step: bool
) -> tuple[Call, Call]:
    """By hand and ours, each a call that gives the context and, in a step, the gradients."""
    torch.manual_seed(0)
    shapes = ((query_len, DIM), (key_len, DIM), (key_len, DIM))
    query, key, value = (torch.randn(batch, HEADS, *s, requires_grad=step) for s in shapes)
    lengths = torch.randint(key_len // 2, key_len + 1, (batch,))
    upstream = torch.randn(batch, HEADS, query_len, DIM)

    def grid_of(lengths: Tensor) -> Tensor:
        return (torch.arange(key_len) < lengths[:, None])[:, None, None]

    grid, may_attend = grid_of(lengths), Mask.lengths(lengths)
    added = torch.where(grid, 0.0, -math.inf)

    def by_hand_with_weights() -> Tensor:
        scores = torch.matmul(query / math.sqrt(DIM), key.mT) + added
        return torch.softmax(scores, dim=-1) @ value

    by_hand, ours = {
        "unmasked": (
            lambda: scaled_dot_product_attention(query, key, value),
            lambda: attend(query, key, value),
        ),
        "causal": (
            lambda: scaled_dot_product_attention(query, key, value, is_causal=True),
            lambda: attend(query, key, value, may_attend=Mask.causal("start")),
        ),
        "lengths": (
            lambda: scaled_dot_product_attention(query, key, value, grid),
            lambda: attend(query, key, value, may_attend=may_attend),
        ),
        "lengths, made in the call": (
            lambda: scaled_dot_product_attention(query, key, value, grid_of(lengths)),
            lambda: attend(query, key, value, may_attend=Mask.lengths(lengths)),
        ),
        "lengths, with weights": (
            by_hand_with_weights,
            lambda: attend(query, key, value, may_attend=may_attend, need_weights=True),
        ),
    }[kind]

    def finish(context: Tensor) -> tuple[Tensor, ...]:
        if not step:
            return (context,)
        return context, *torch.autograd.grad(context, (query, key, value), upstream)

    return lambda: finish(by_hand()), lambda: finish(ours().context)


def compare(
    rounds: int,
    threads: Iterable[int] = (1, 2),
    sizes: Iterable[tuple[int, int, int]] = LARGE + SMALL,
) -> None:
    """Print a table; a ratio below 1 means that ours takes less time."""
    before = torch.get_num_threads()
    print(f"\nDot-product attention, {HEADS} heads of {DIM}, float32, {rounds} rounds")
    print("  threads batch queries keys                                  by hand     ours/by hand")
    for num_threads, size, step, kind in product(threads, sizes, (False, True), KINDS):
        torch.set_num_threads(num_threads)
        with torch.set_grad_enabled(step):
            by_hand, ours = contestants(*size, kind, step)
            for own, right in zip(ours(), by_hand(), strict=True):
                assert_close(own, right, rtol=1e-4, atol=1e-4)
            took = rounds_of(by_hand, ours, rounds)
        ratios = [own / theirs for theirs, own in took]
        line = (
            f"  {num_threads:7} {size[0]:5} {size[1]:7} {size[2]:4}"
            f"  {'step' if step else 'forward':7} {kind:26}"
            f" {1e3 * median(theirs for theirs, _ in took):8.2f} ms"
            f"  x {median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"
        )
        if size in SMALL:
            line += f"  {1e6 * median(own - theirs for theirs, own in took):+.0f} us"
        print(line, flush=True)
    torch.set_num_threads(before)


if __name__ == "__main__":
    compare(rounds=9)
