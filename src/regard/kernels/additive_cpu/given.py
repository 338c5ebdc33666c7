"""The arguments that the operator and its backward share, each named once."""

from typing import Any, NamedTuple

import torch
from torch import Tensor

from regard.kernels.additive_cpu.visible import Visible


class Given(NamedTuple):
    """What attention is computed from.

    ``query``, ``key`` and ``value`` are ``(batch, heads, position, dim)``, float32 or float64.
    """

    query: Tensor
    key: Tensor
    v: Tensor
    """(heads or 1, attn_dim)."""
    value: Tensor
    blocks: Tensor
    """``additive_blocks(key, query_len)``."""
    first: Tensor
    """See :class:`Visible` for this one and the next four."""
    last: Tensor
    query_ids: Tensor
    key_ids: Tensor
    grid: Tensor
    seed: Tensor
    """Of the dropout, which is none if ``dropout_p`` is 0."""
    dropout_p: float

    @property
    def seen(self) -> Visible:
        """What each query may see."""
        return Visible(self.first, self.last, self.query_ids, self.key_ids, self.grid)

    @property
    def scores_shape(self) -> tuple[int, ...]:
        """(batch, heads, query, key)."""
        return (*self.query.shape[:-1], self.key.shape[-2])

    @property
    def work(self) -> int:
        """Number of (query, key, channel)s."""
        return self.query.numel() * self.key.shape[-2]

    @property
    def is_of_one_query(self) -> bool:
        """Whether there is one a head, with blocks made for it."""
        return self.blocks.shape[-1] == 1

    def arrays(self) -> "Arrays":
        """What the loops read."""
        v = self.v.detach()
        missing = self.blocks.shape[-2] - v.shape[1]
        return Arrays(
            examples(self.query).numpy(),
            examples(self.key).numpy(),
            self.blocks.contiguous().numpy(),
            (torch.nn.functional.pad(v, (0, missing)) if missing else v).contiguous().numpy(),
            tuple(part.contiguous().numpy() for part in self.seen),
        )


SCHEMA = ", ".join(
    f"{'float' if name == 'dropout_p' else 'Tensor'} {name}" for name in Given._fields
)
"""Of these arguments, as torch writes it."""


class Arrays(NamedTuple):
    """What the loops read, with batch and heads in one axis."""

    query: Any
    key: Any
    blocks: Any
    v: Any
    seen: tuple[Any, ...]


def examples(tensor: Tensor) -> Tensor:
    """With batch and heads in one axis, for the loops."""
    return tensor.detach().contiguous().flatten(0, 1)


def as_given(tensor: Tensor, like: Tensor) -> Tensor:
    """With batch and heads apart again."""
    return tensor.view(*like.shape[:2], *tensor.shape[1:])
