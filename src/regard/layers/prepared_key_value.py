"""Keys and values projected once for multi-head attention, as a value that the caller passes."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from regard.core.errors import dtype_text
from regard.core.masks import Mask
from regard.core.scores import PreparedKey

_CALLER = "MultiHeadAttention"


@dataclass(frozen=True, eq=False)
class PreparedKeyValue:
    """What ``layer.prepare(key, value)`` returns: ``layer(query, prepared)`` for many queries.

    Being a value and not a cache on the module, it cannot go stale: other keys are another value.
    :meth:`append` grows it by a decoder's next position, :meth:`index_select` takes examples, as a
    beam search does. It holds the layer that made it, so that no other layer can be asked to read
    it.

    >>> from regard.layers import MultiHeadAttention
    >>> layer, x = MultiHeadAttention(8, 2), torch.randn(3, 5, 8)
    >>> prepared = layer.prepare(x[:, :4], x[:, :4]).append(layer.prepare(x[:, 4:], x[:, 4:]))
    >>> torch.allclose(layer(x, prepared).output, layer(x, x, x).output, atol=1e-6)
    True
    >>> prepared.index_select(torch.tensor([2, 0])).num_examples
    2
    """

    layer: nn.Module
    key: PreparedKey
    """Of each head, as its score compares them, ``(batch, heads, key, compared_dim)``."""
    value: Float[Tensor, "batch heads key head_dim"]
    may_attend: Mask | None = None
    """What no query at all may see is hidden by it, at every call."""

    @property
    def num_examples(self) -> int:
        """Size of the batch."""
        return self.value.shape[0]

    @property
    def key_len(self) -> int:
        """Positions so far."""
        return self.value.shape[2]

    def append(self, more: PreparedKeyValue) -> PreparedKeyValue:
        """These positions and then those of ``more``, which the same layer prepared.

        Raises:
            TypeError: ``more`` is something else, or has another dtype.
            ValueError: another layer prepared it, or for another batch.
        """
        self._check_more(more)
        masks = self.may_attend, more.may_attend
        return PreparedKeyValue(
            self.layer,
            replace(
                self.key,
                projected=torch.cat([self.key.projected, more.key.projected], dim=2),
                may_attend=None,
            ),
            torch.cat([self.value, more.value], dim=2),
            None
            if masks == (None, None)
            else Mask.dense(torch.cat([self._visible(), more._visible()], dim=-1)),
        )

    def index_select(self, rows: Int[Tensor, " rows"]) -> PreparedKeyValue:
        """Those of some examples, in this order, perhaps more than once."""
        return PreparedKeyValue(
            self.layer,
            self.key.index_select(rows),
            self.value.index_select(0, rows),
            None if self.may_attend is None else Mask.dense(self._visible().index_select(0, rows)),
        )

    def _visible(self) -> Bool[Tensor, "batch heads 1 key"]:
        batch, heads, key_len, _ = self.value.shape
        shape, device = (batch, heads, 1, key_len), self.value.device
        if self.may_attend is None:
            return torch.ones(shape, dtype=torch.bool, device=device)
        return self.may_attend.grid_for(shape, device).expand(shape)

    def _check_more(self, more: object) -> None:
        if not isinstance(more, PreparedKeyValue):
            raise TypeError(
                f"append: more is a {type(more).__name__}. It must be prepared by the same layer. "
                "Write prepared.append(layer.prepare(key, value))."
            )
        if more.layer is not self.layer:
            raise ValueError(
                "append: more was prepared by another layer. Each layer projects keys and values "
                "with its own weights. Write prepared.append(layer.prepare(key, value)) with the "
                "layer that prepared the others."
            )
        if more.num_examples != self.num_examples:
            raise ValueError(
                f"append: more has a batch of {more.num_examples}, but there are "
                f"{self.num_examples} examples so far. Each gets its own next positions. Prepare "
                f"keys of shape ({self.num_examples}, key, dim)."
            )
        if more.value.dtype != self.value.dtype:
            raise TypeError(
                f"append: more is {dtype_text(more.value.dtype)}, what there is so far "
                f"{dtype_text(self.value.dtype)}. They must have one dtype. Prepare both inside "
                "torch.autocast, or both outside."
            )


def check_for_any_query(
    may_attend: Mask,
    key: Float[Tensor, "batch key key_dim"],
    num_heads: int,
) -> None:
    """A mask for keys prepared before their queries are known says the same for each.

    Raises:
        ValueError: it does not, or does not fit the keys.
    """
    batch, key_len, _ = key.shape
    fault = ""
    try:
        # were there two queries
        grid = may_attend.grid_for((batch, num_heads, 2, key_len), key.device)
    except ValueError as error:
        fault = f" ({error})"
    else:
        if grid.shape[2] == 1:
            return
    raise ValueError(
        f"{_CALLER}.prepare: may_attend is {may_attend}, key {tuple(key.shape)}{fault}. A mask "
        "given with the keys must hold for any query, as lengths of these keys do. Give one that "
        "depends on the query when it is known: layer(query, prepared, may_attend=...)."
    )
