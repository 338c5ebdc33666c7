"""What the tiled path allocates at most, measured in a process of its own (see `test_tiled.py`)."""

import resource
import sys

import torch

from regard import Mask, attend, scores

LENGTH, DIM = 3072, 64  # the reference's largest tensor has 2.25 GiB


def peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def run(length: int, backward: bool) -> None:
    score = Hooked(query_dim=DIM, key_dim=DIM, attn_dim=DIM)
    query, key = (torch.randn(1, length, DIM, requires_grad=backward) for _ in range(2))
    context = attend(query, key, key, score=score, may_attend=Mask.lengths([length - 1])).context
    if backward:
        context.sum().backward()


class Hooked(scores.Additive):
    """A subclass is nobody's special case."""


if __name__ == "__main__":
    backward = sys.argv[1] == "backward"
    with torch.set_grad_enabled(backward):
        run(32, backward)  # by the reference, whose largest tensor is small here
        before = peak_mib()
        run(LENGTH, backward)
    extra = peak_mib() - before
    print(f"{extra:.0f} MiB")
    assert extra < 128.0, f"{extra:.0f} MiB"
