"""Multi-head self-attention beside ``nn.MultiheadAttention``: equal weights, rounds in turn.

Each row first checks that both give the same output, weights and gradients. Then every round runs
both, one after the other, so that the machine's moods fall on both alike; ratios are taken round by
round. In evaluation torch takes its own fast path for inference.
"""

from collections.abc import Callable, Iterable
from itertools import product
from statistics import median
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.testing import assert_close

from benchmarks.rounds import rounds_of
from regard import Mask
from regard.layers import MultiHeadAttention

NUM_HEADS = 8
SIZES = ((8, 32, 128), (32, 32, 128), (8, 128, 256), (32, 128, 512), (8, 512, 128), (8, 512, 512))


class Setting(NamedTuple):
    """What is asked of both."""

    mode: str  # "eval": forward without gradients; "train": forward; "step": and backward
    need_weights: bool
    masked: bool

    def __str__(self) -> str:
        return (
            f"{self.mode:5} {'weights' if self.need_weights else '-':7} "
            f"{'padded' if self.masked else '-':6}"
        )


SETTINGS = tuple(
    Setting(*choices)
    for choices in product(("eval", "train", "step"), (False, True), (False, True))
)


def contestants(
    batch: int, length: int, embed_dim: int, setting: Setting
) -> tuple[Callable[[], tuple[Tensor, ...]], Callable[[], tuple[Tensor, ...]]]:
    """torch's and ours, each a call that gives output, weights and gradients."""
    torch.manual_seed(0)
    theirs = nn.MultiheadAttention(embed_dim, NUM_HEADS, batch_first=True)
    theirs.train(setting.mode != "eval")
    ours = MultiHeadAttention.from_torch(theirs)
    x = torch.randn(batch, length, embed_dim, requires_grad=setting.mode == "step")
    lengths = torch.randint(length // 2, length + 1, (batch,)) if setting.masked else None
    hidden = None if lengths is None else torch.arange(length) >= lengths[:, None]
    may_attend = None if lengths is None else Mask.lengths(lengths)
    upstream = torch.randn(batch, length, embed_dim)

    def finish(layer: nn.Module, output: Tensor, weights: Tensor | None) -> tuple[Tensor, ...]:
        found = (output,) if weights is None else (output, weights)
        if setting.mode != "step":
            return found
        return *found, *torch.autograd.grad(output, [x, *layer.parameters()], upstream)

    def run_torchs() -> tuple[Tensor, ...]:
        with torch.set_grad_enabled(setting.mode != "eval"):
            found = theirs(x, x, x, key_padding_mask=hidden, need_weights=setting.need_weights)
            return finish(theirs, *found)

    def run_ours() -> tuple[Tensor, ...]:
        with torch.set_grad_enabled(setting.mode != "eval"):
            found = ours(x, x, x, may_attend=may_attend, need_weights=setting.need_weights)
            return finish(ours, *found)

    return run_torchs, run_ours


def compare(
    rounds: int,
    threads: Iterable[int] = (1, 2),
    sizes: Iterable[tuple[int, int, int]] = SIZES,
) -> None:
    """Print a table; a ratio below 1 means that ours takes less time."""
    before = torch.get_num_threads()
    print(f"\nMulti-head self-attention, {NUM_HEADS} heads, float32, {rounds} rounds")
    print("  threads batch len  embed  mode  asked   mask    torch       ours/torch")
    for num_threads, size, setting in product(threads, sizes, SETTINGS):
        torch.set_num_threads(num_threads)
        theirs, ours = contestants(*size, setting)
        for torchs, own in zip(theirs(), ours(), strict=True):
            assert_close(own, torchs, rtol=1e-3, atol=1e-4)
        took = rounds_of(theirs, ours, rounds)
        ratios = [own / torchs for torchs, own in took]
        print(
            f"  {num_threads:7} {size[0]:5} {size[1]:4} {size[2]:6}  {setting} "
            f"{1e3 * median(torchs for torchs, _ in took):8.2f} ms  x {median(ratios):.2f} "
            f"({min(ratios):.2f} to {max(ratios):.2f})",
            flush=True,
        )
    torch.set_num_threads(before)


if __name__ == "__main__":
    compare(rounds=9)
