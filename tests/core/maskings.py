"""Every kind of mask the contracts are tried with: how it is built, and what it should allow.

What it allows is written out as a formula over index arrays of batch, head, query and key, and so
does not come from the mask itself. A new kind of mask is one more line of `MASKINGS`.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch

from regard import Mask
from tests.core.cases import Sizes

Index = Any  # an int, or an array of them


class Masking(NamedTuple):
    """Where its rows and columns can be empty, they are for some of the sizes in use here."""

    build: Callable[[Sizes], Mask | None]
    allows: Callable[[Sizes, Index, Index, Index, Index], Any]
    fitting: Callable[[Sizes], Sizes] = lambda s: s
    """Sizes it can be used with, as near as possible to those given."""
    of_heads: bool = False
    """It differs between heads, and so needs a heads axis."""

    def allowed(self, s: Sizes) -> torch.Tensor:
        """The formula as a bool tensor of the shape of the scores."""
        shape = (s.batch, s.heads or 1, s.query_len, s.key_len)
        grid = np.broadcast_to(self.allows(s, *np.ogrid[tuple(map(slice, shape))]), shape)
        tensor = torch.from_numpy(grid.copy())
        return tensor.squeeze(1) if s.heads is None else tensor


def _length(s: Sizes, b: Index) -> Any:
    return np.minimum(np.array([3, 0, 5, 1])[b % 4], s.key_len)


def _length_by_query(s: Sizes, b: Index, q: Index) -> Any:
    return np.minimum(_length(s, b), (2 * b + q) % 4)


def _lengths(s: Sizes) -> list[int]:
    return _length(s, np.arange(s.batch)).tolist()


def _lengths_by_query(s: Sizes) -> torch.Tensor:
    batch, queries = np.ogrid[: s.batch, : s.query_len]
    return torch.from_numpy(_length_by_query(s, batch, queries))


def _table(b: Index, h: Index, q: Index, k: Index) -> Any:
    """No pattern that a formula would hit by chance; some rows are empty, some columns too."""
    return ((7 * b + 5 * h + 3 * q + 11 * k + q * k) % 5 < 3) & (b + q != 2) & (k != b + 1)


def _tabulated(s: Sizes, **axes: int) -> torch.Tensor:
    """`_table` over the axes named, 0 on the others: (batch, heads, query, key)."""
    return torch.from_numpy(_table(*np.ogrid[tuple(slice(axes.get(a, 1)) for a in "bhqk")]))


def _between(least: int, number: Index, most: int) -> Any:
    return (least <= number) & (number <= most)


def _query_id(b: Index, q: Index) -> Any:
    """Of a segment; some have no key."""
    return q // 2 + 2 * (b % 2)


def _key_id(b: Index, k: Index) -> Any:
    """Of a segment; some have no query."""
    return (k + b) % 4


def _ids(of: Callable[[Index, Index], Any], batch: int, length: int) -> torch.Tensor:
    return torch.from_numpy(of(*np.ogrid[:batch, :length]))


def _more_queries_than_examples(s: Sizes) -> Sizes:
    """A (query, key) mask with as many queries as examples is refused: it could be either."""
    return s._replace(query_len=s.batch + 1) if s.query_len == s.batch else s


def _as_many_queries_as_keys(s: Sizes) -> Sizes:
    fewer = min(s.query_len, s.key_len)
    return s._replace(query_len=fewer, key_len=fewer)


MASKINGS: dict[str, Masking] = {
    "unmasked": Masking(lambda s: None, lambda s, b, h, q, k: True),
    "lengths": Masking(
        lambda s: Mask.lengths(_lengths(s)), lambda s, b, h, q, k: k < _length(s, b)
    ),
    "lengths_by_query": Masking(
        lambda s: Mask.lengths(_lengths_by_query(s)),
        lambda s, b, h, q, k: k < _length_by_query(s, b, q),
    ),
    "causal": Masking(
        lambda s: Mask.causal(),
        lambda s, b, h, q, k: k <= q,
        fitting=_as_many_queries_as_keys,
    ),
    "causal_start": Masking(lambda s: Mask.causal("start"), lambda s, b, h, q, k: k <= q),
    "causal_end": Masking(
        lambda s: Mask.causal("end"), lambda s, b, h, q, k: k - s.key_len <= q - s.query_len
    ),
    "dense_query_key": Masking(
        lambda s: Mask.dense(_tabulated(s, q=s.query_len, k=s.key_len)[0, 0]),
        lambda s, b, h, q, k: _table(0, 0, q, k),
        fitting=_more_queries_than_examples,
    ),
    "dense_batch_key": Masking(
        lambda s: Mask.dense(_tabulated(s, b=s.batch, k=s.key_len)),
        lambda s, b, h, q, k: _table(b, 0, 0, k),
    ),
    "dense_batch_query_key": Masking(
        lambda s: Mask.dense(_tabulated(s, b=s.batch, q=s.query_len, k=s.key_len)[:, 0]),
        lambda s, b, h, q, k: _table(b, 0, q, k),
    ),
    "dense_heads": Masking(
        lambda s: Mask.dense(_tabulated(s, b=s.batch, h=s.heads or 1, q=s.query_len, k=s.key_len)),
        lambda s, b, h, q, k: _table(b, h, q, k),
        of_heads=True,
    ),
    "lengths_and_causal": Masking(
        lambda s: Mask.lengths(_lengths(s)) & Mask.causal("end"),
        lambda s, b, h, q, k: (k < _length(s, b)) & (k - s.key_len <= q - s.query_len),
    ),
    "lengths_or_dense": Masking(
        lambda s: Mask.lengths(_lengths(s)) | _tabulated(s, b=s.batch, k=s.key_len),
        lambda s, b, h, q, k: (k < _length(s, b)) | _table(b, 0, 0, k),
    ),
    "not_lengths": Masking(
        lambda s: ~Mask.lengths(_lengths(s)), lambda s, b, h, q, k: k >= _length(s, b)
    ),
    "window": Masking(
        lambda s: Mask.window(1, 0, align="end"),
        lambda s, b, h, q, k: _between(-1, k - s.key_len - (q - s.query_len), 0),
    ),
    "window_start": Masking(
        lambda s: Mask.window(1, 2, align="start"), lambda s, b, h, q, k: _between(-1, k - q, 2)
    ),
    "segments": Masking(
        lambda s: Mask.segments(
            _ids(_query_id, s.batch, s.query_len), _ids(_key_id, s.batch, s.key_len)
        ),
        lambda s, b, h, q, k: _query_id(b, q) == _key_id(b, k),
    ),
    "segments_and_window": Masking(
        lambda s: (
            Mask.segments(_ids(_query_id, 1, s.query_len)[0], _ids(_key_id, 1, s.key_len)[0])
            & Mask.window(3, 0, align="start")
        ),
        lambda s, b, h, q, k: (_query_id(0, q) == _key_id(0, k)) & _between(-3, k - q, 0),
    ),
    "from_attention_mask": Masking(
        lambda s: Mask.from_attention_mask(_tabulated(s, b=s.batch, k=s.key_len)[:, 0, 0].long()),
        lambda s, b, h, q, k: _table(b, 0, 0, k),
    ),
    "from_torch": Masking(
        lambda s: Mask.from_torch(
            attn_mask=~_tabulated(s, q=s.query_len, k=s.key_len)[0, 0],
            key_padding_mask=torch.zeros(s.batch, s.key_len).masked_fill(
                ~_tabulated(s, b=s.batch, k=s.key_len)[:, 0, 0], -torch.inf
            ),
        ),
        lambda s, b, h, q, k: _table(0, 0, q, k) & _table(b, 0, 0, k),
    ),
    "from_torch_heads": Masking(
        lambda s: Mask.from_torch(
            ~_tabulated(s, b=s.batch, h=s.heads or 1, q=s.query_len, k=s.key_len).flatten(0, 1),
            num_heads=s.heads,
        ),
        lambda s, b, h, q, k: _table(b, h, q, k),
        of_heads=True,
    ),
}
