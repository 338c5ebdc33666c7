"""A mask stays a description: no (query, key) grid until one is asked for, no number read twice."""

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from regard import Mask
from regard.core.attend import drop_hidden

CPU = torch.device("cpu")
N = 1_000_000
"""A grid of N x N would not fit in memory."""
HALVES = torch.arange(N) // (N // 2)
EVEN = Mask.dense((torch.arange(N) % 2 == 0)[None, None])
BY_QUERY = Mask.lengths(torch.arange(N)[None])
LAST_TEN = Mask.lengths([N, 10])

UNSEEN: dict[str, tuple[Mask, int | None]] = {  # None: that there are none needs no tensor
    "lengths": (LAST_TEN, N - 10),
    "lengths by query": (BY_QUERY, 1),
    "causal": (Mask.causal(), None),
    "causal to the end": (Mask.causal("end"), None),
    "causal from the start": (Mask.causal("start"), None),
    "window": (Mask.window(1, 0), None),
    "segments": (Mask.segments(HALVES), None),
    "segments of others": (Mask.segments(HALVES, HALVES + 1), N // 2),
    "lengths and causal": (LAST_TEN & Mask.causal(), N - 10),
    "causal and window": (Mask.causal() & Mask.window(3, 3), 0),
    "lengths by query and causal": (BY_QUERY & Mask.causal("end"), 1),
    "padding and causal": (EVEN & Mask.causal(), N // 2),
    "segments and padding": (Mask.segments(HALVES) & EVEN, N // 2),
    "causal or segments": (Mask.causal() | Mask.segments(HALVES, HALVES + 1), None),
    "segments or causal": (Mask.segments(HALVES, HALVES + 1) | Mask.causal(), None),
    "either of two lengths": (Mask.lengths([5, 6]) | LAST_TEN, N - 10),
}


@pytest.mark.parametrize("name", UNSEEN)
def test_the_unseen_keys_are_known_without_a_grid(name: str) -> None:
    mask, right = UNSEEN[name]
    unseen = mask.unseen_keys((mask._lead_sizes()[0], N, N), CPU)
    assert right == (None if unseen is None else int(unseen.sum()))


SHARES: dict[str, tuple[Mask, int, int]] = {  # so many pairs visible, in so many examples
    "lengths": (LAST_TEN, (N + 10) * N, 2),
    "lengths by query": (BY_QUERY, N * (N - 1) // 2, 1),
    "causal": (Mask.causal(), N * (N + 1) // 2, 1),
    "window": (Mask.window(1, 0), 2 * N - 1, 1),
    "segments": (Mask.segments(HALVES), N * N // 2, 1),
    "segments of others": (Mask.segments(HALVES, HALVES + 1), N * N // 4, 1),
    "lengths and causal": (Mask.lengths([9]) & Mask.causal(), 9 * N - 36, 1),
    "causal and window": (Mask.causal() & Mask.window(3, 3), 4 * N - 6, 1),
}


@pytest.mark.parametrize("name", SHARES)
def test_the_visible_share_is_known_without_a_grid(name: str) -> None:
    mask, visible, batch = SHARES[name]
    assert mask.visible_share(N, N) == visible / (batch * N * N)


def test_a_query_that_sees_nothing_leaves_a_gap_among_the_unseen() -> None:
    mask = Mask.lengths([[5, 0, 5, 2, 5]]) & Mask.window(0, 0)
    unseen = mask.unseen_keys((1, 5, 5), CPU)
    assert unseen is not None
    assert unseen.tolist() == [[False, True, False, True, False]]


def test_a_band_leaves_unseen_what_lies_beyond_its_first_or_last_query() -> None:
    for mask, queries, right in (
        (Mask.causal("start"), 2, [0, 0, 1, 1]),
        (Mask.causal("end"), 2, None),
        (Mask.window(0, 1, align="start"), 2, [0, 0, 0, 1]),
        (Mask.window(0, 1, align="end"), 2, [1, 1, 0, 0]),
        (Mask.window(1, 0, align="end"), 2, [1, 0, 0, 0]),
        (Mask.window(2, 0, align="end"), 2, None),
        (Mask.window(0, 0, align="start"), 9, None),
        (Mask.window(0, 0, align="end"), 9, None),
    ):
        unseen = mask.unseen_keys((queries, 4), CPU)
        assert (None if unseen is None else unseen.int().tolist()) == right


def test_where_every_key_is_seen_nothing_is_copied() -> None:
    key, value = torch.randn(2, 4, 3), torch.randn(2, 4, 3)
    dropped = drop_hidden(key, value, Mask.causal("end"), 3)
    assert dropped[0] is key
    assert dropped[1] is value


class _Operations(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """The names of torch's operations, those that hand a number to Python among them."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.names: list[str] = []

    def __torch_dispatch__(self, op, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        self.names.append(op.name())
        return op(*args, **(kwargs or {}))


def test_lengths_are_read_once_however_often_they_are_used() -> None:
    mask = Mask.lengths([3, 2])
    mask.grid_for((2, 4, 3), CPU)
    with _Operations() as operations:
        mask.grid_for((2, 4, 3), CPU)
        mask.unseen_keys((2, 4, 3), CPU)
        mask.intervals((2, 4, 3), CPU)
    assert not [name for name in operations.names if "_local_scalar_dense" in name]
    with pytest.raises(ValueError, match=r"lengths\[0\] is 3, longer than the key axis, 2"):
        mask.grid_for((2, 4, 2), CPU)


def test_under_vmap_the_numbers_are_not_checked() -> None:
    scores = torch.zeros(2, 3, 4)

    def hidden(lengths: Tensor, ids: Tensor, ones: Tensor, added: Tensor) -> Tensor:
        mask = (
            Mask.lengths(lengths[None])
            & Mask.segments(ids, [0, 0, 1, 2])
            & Mask.from_attention_mask(ones[None])
            & Mask.from_torch(added)
        )
        assert repr(mask).startswith(
            "(((Mask.lengths(<(1,)>) & Mask.segments(<(3,)>, [0, 0, 1, 2])"
        )
        for part in (*mask.parts, mask):
            part.unseen_keys((1, 3, 4), CPU)
        return mask.hide(scores[:1])[0]

    ids = torch.tensor([[0, 1, 2], [0, 0, 0]])
    found = torch.vmap(hidden)(
        torch.tensor([4, 99]), ids, torch.full((2, 4), 1), torch.zeros(2, 3, 4)
    )
    assert torch.equal(found == 0, ids[:, :, None] == torch.tensor([0, 0, 1, 2]))


def test_under_vmap_unseen_keys_are_found_too() -> None:
    lengths = torch.tensor([[2, 1], [0, 3]])

    def unseen(lengths: Tensor, ids: Tensor) -> tuple[Tensor | None, ...]:
        by_query = Mask.lengths(lengths[None]) & Mask.window(0, 0, align="end")
        segments = Mask.segments(ids, [0, 1, 2])
        return tuple(mask.unseen_keys((1, 2, 3), CPU) for mask in (by_query, segments))

    by_query, segments = torch.vmap(unseen)(lengths, torch.tensor([[0, 0], [2, 1]]))
    assert by_query is not None
    assert by_query[:, 0].int().tolist() == [[1, 0, 1], [1, 1, 0]]
    assert segments is not None
    assert segments[:, 0].int().tolist() == [[0, 1, 1], [1, 0, 0]]
