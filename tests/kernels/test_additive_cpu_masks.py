"""Masks, dropout and recomputation in additive_cpu, in many regions and in pieces for two threads.

What a mask allows is its formula in `tests/core/maskings.py`, and not what the mask says of itself.
"""

from collections.abc import Iterator
from itertools import product

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from regard import Mask
from regard.core.dropout import draw_seed, keep_mask
from regard.kernels.additive_cpu import kernel, regions
from regard.kernels.additive_cpu.kernel import additive_attention
from tests.core.cases import Sizes
from tests.core.maskings import MASKINGS, Index, Masking
from tests.kernels.additive_by_hand import Inputs, Outputs, by_hand, gradients, make

SIZES = Sizes(batch=3, heads=2, query_len=21, key_len=37)


def _long(b: Index, q: Index) -> Index:
    """Lengths by query of 0 to all the keys, most of them in the second block."""
    return np.where((b + q) % 5 == 0, 0, (13 * b + 7 * q) % (SIZES.key_len + 1))


def _packed(k: Index) -> Index:
    """Ids of four sequences, one after the other."""
    return (k > 4).astype(int) + (k > 17) + (k > 30)


def _tensor(function: object, *sizes: int) -> Tensor:
    return torch.from_numpy(function(*np.ogrid[tuple(map(slice, sizes))]))  # type: ignore[operator]


def _cells(b: Index, h: Index, q: Index, k: Index) -> Index:
    return ((3 * b + 5 * h + 7 * q + 11 * k + q * k) % 7 < 4) & (q != 4)


_NEEDED = (SIZES.batch, SIZES.heads, SIZES.query_len, SIZES.key_len)
FURTHER: dict[str, Masking] = {
    "long lengths": Masking(
        lambda s: Mask.lengths([37, 0, 18]), lambda s, b, h, q, k: k < np.array([37, 0, 18])[b]
    ),
    "long lengths by query": Masking(
        lambda s: Mask.lengths(_tensor(_long, s.batch, s.query_len)),
        lambda s, b, h, q, k: k < _long(b, q),
    ),
    "a wide window": Masking(
        lambda s: Mask.window(9, 4, align="end"),
        lambda s, b, h, q, k: (
            (q + s.key_len - s.query_len - 9 <= k) & (k <= q + s.key_len - s.query_len + 4)
        ),
    ),
    "segments in order": Masking(
        lambda s: Mask.segments(_tensor(_packed, s.query_len), _tensor(_packed, s.key_len)),
        lambda s, b, h, q, k: _packed(q) == _packed(k),
    ),
    "segments whose ids others lack": Masking(
        lambda s: Mask.segments(
            _tensor(lambda q: 9 - 2 * (q % 5), s.query_len),
            _tensor(lambda k: 3 * k % 10, s.key_len),
        ),
        lambda s, b, h, q, k: 9 - 2 * (q % 5) == 3 * k % 10,
    ),
    "segments that share nothing": Masking(
        lambda s: Mask.segments([-1] * s.query_len, [2**40] * s.key_len),
        lambda s, b, h, q, k: False,
    ),
    "two packings at once": Masking(
        lambda s: (
            Mask.segments(_tensor(_packed, s.query_len), _tensor(_packed, s.key_len))
            & Mask.segments(
                _tensor(lambda b, q: (q + b) % 2, s.batch, s.query_len),
                _tensor(lambda k: k % 3, s.key_len),
            )
        ),
        lambda s, b, h, q, k: (_packed(q) == _packed(k)) & ((q + b) % 2 == k % 3),
    ),
    "lengths, segments and a window": Masking(
        lambda s: (
            Mask.lengths([30, 0, 37])
            & Mask.segments(_tensor(lambda q: q // 6, s.query_len), _tensor(_packed, s.key_len))
            & Mask.window(12, 20, align="start")
        ),
        lambda s, b, h, q, k: (
            (k < np.array([30, 0, 37])[b]) & (q // 6 == _packed(k)) & (q - 12 <= k) & (k <= q + 20)
        ),
    ),
    "lengths by query, causal and dense of heads": Masking(
        lambda s: (
            Mask.lengths(_tensor(_long, s.batch, s.query_len))
            & Mask.causal("end")
            & Mask.dense(_tensor(_cells, *_NEEDED))
        ),
        lambda s, b, h, q, k: (
            (k < _long(b, q)) & (k - s.key_len <= q - s.query_len) & _cells(b, h, q, k)
        ),
    ),
    "segments, causal and dense": Masking(
        lambda s: (
            Mask.segments(_tensor(_packed, s.query_len), _tensor(_packed, s.key_len))
            & Mask.causal("start")
            & Mask.dense(_tensor(_cells, *_NEEDED)[:, 0])
        ),
        lambda s, b, h, q, k: (_packed(q) == _packed(k)) & (k <= q) & _cells(b, 0, q, k),
    ),
}
ALL = MASKINGS | FURTHER

# numbers of weights in a region: those of some examples, and of some rows of one
MANY_EXAMPLES, ROWS = 2 * 21 * 37, 5 * 37 + 1


@pytest.fixture(params=[MANY_EXAMPLES, ROWS], ids=["examples", "rows"])
def _in_parts(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Regions of that many weights, each in pieces for two threads."""
    monkeypatch.setattr(regions, "SCRATCH", request.param)
    monkeypatch.setattr(regions, "WORTH_A_THREAD", 1)
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.usefixtures("_in_parts")
def test_a_mask_means_what_it_says(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether weights are kept, asked for or computed again, and with dropout too."""
    sizes = ALL[kind].fitting(SIZES)
    inputs = make(*sizes[:4], dim=5, value_dim=3, own_v=True)
    mask, allowed = ALL[kind].build(sizes), ALL[kind].allowed(sizes)
    for need_weights, kept, dropout_p in product((False, True), (0, 2**23), (0.0, 0.4)):
        monkeypatch.setattr(kernel, "KEPT", kept)
        torch.manual_seed(7)
        found = additive_attention(
            *inputs, may_attend=mask, dropout_p=dropout_p, need_weights=need_weights
        )
        right = by_hand(inputs, allowed, _dropout(sizes, dropout_p))
        assert_same(found, right, inputs)
    with torch.no_grad():
        alone = additive_attention(*inputs, may_attend=mask)
    assert_close(alone.context, by_hand(inputs, allowed).context, rtol=1e-12, atol=1e-12)


def _dropout(sizes: Sizes, dropout_p: float) -> Tensor | float:
    if not dropout_p:
        return 1.0
    torch.manual_seed(7)
    keep = keep_mask(draw_seed(), *sizes[:4], dropout_p)
    assert 0.5 < keep.double().mean() < 0.7
    return keep.double() / (1.0 - dropout_p)


def assert_same(found: Outputs, right: Outputs, inputs: Inputs) -> None:
    """Outputs, their gradients together, and those of each alone."""
    asked = [name for name in Outputs._fields if getattr(found, name) is not None]
    assert {"context", "lse"} <= set(asked)
    for name in asked:
        got, expected = getattr(found, name), getattr(right, name)
        assert_close(got, expected, rtol=1e-12, atol=1e-12, msg=lambda m, n=name: f"{n}: {m}")
    for of in (" ".join(asked), "context", "lse"):
        got, expected = (gradients(outputs, inputs, of=of) for outputs in (found, right))
        assert_close(got, expected, rtol=1e-11, atol=1e-12)


def test_blocks_past_every_length_are_not_read() -> None:
    """What lies past every length is not read: NaN there is not seen."""
    inputs = make(2, 1, 20, 200, dim=4)
    key = inputs.key.detach().clone()
    key[:, :, 128:] = torch.nan
    found = additive_attention(
        *inputs._replace(key=key, value=key[..., :3]), may_attend=Mask.lengths([128, 5])
    )
    right = by_hand(
        inputs._replace(value=inputs.key[..., :3]),
        Mask.lengths([128, 5]).dense_for(20, 200)[:, None],
    )
    assert_close(found.context, right.context, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("dropout_p", [0.0, 0.3])
def test_parts_and_threads_change_nothing(
    dropout_p: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One region in one thread; regions of eleven rows, and of one, in two."""
    inputs = make(1, 1, 70, 80, dim=8, dtype=torch.float32)
    found = []
    before = torch.get_num_threads()
    try:
        for scratch, worth, threads in ((2**21, 2**40, 1), (900, 1, 2), (1, 1, 2)):
            monkeypatch.setattr(regions, "SCRATCH", scratch)
            monkeypatch.setattr(regions, "WORTH_A_THREAD", worth)
            torch.set_num_threads(threads)
            torch.manual_seed(2)
            outputs = additive_attention(
                *inputs, may_attend=Mask.causal("end"), dropout_p=dropout_p, need_weights=True
            )
            found.append([*outputs, *gradients(outputs, inputs)])
    finally:
        torch.set_num_threads(before)
    # gradients of v are sums of 5,600 numbers of about 1
    assert_close(found[1], found[0], rtol=1e-5, atol=1e-5)
    assert_close(found[2], found[0], rtol=1e-5, atol=1e-5)
