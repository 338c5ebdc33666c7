"""Keys projected once, as a value: what step-by-step decoding passes instead of the keys."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import torch
from jaxtyping import Float
from torch import Tensor

from regard.core.masks import Mask

if TYPE_CHECKING:
    from regard.core.scores.score import Score


@dataclass(frozen=True, eq=False)
class PreparedKey:
    """The value of ``score.prepare(key)``: keys as the score compares them.

    Being a value and not a cache on the module, it cannot go stale: other keys are another value.
    It holds the score that made it, so that no other score can be asked to read it.
    """

    score: Score
    projected: Float[Tensor, "*lead key compared_dim"]
    key_dim: int
    """Width of the keys that were prepared."""
    dtype: torch.dtype
    """Dtype of the keys that were prepared; half precision is projected, and held, in float32."""
    may_attend: Mask | None = None
    """The mask they were prepared with: what it hides from every query is zeros already."""
    kept: dict[str, tuple[Any, ...]] = field(default_factory=dict, init=False, repr=False)
    """What a kernel made of them, or of a mask, at a call, for the next ones, and of which."""

    @property
    def device(self) -> torch.device:
        """Where they are."""
        return self.projected.device

    @property
    def shape(self) -> torch.Size:
        """Shape of the projected keys."""
        return self.projected.shape

    def index_select(self, rows: Tensor) -> PreparedKey:
        """The keys of some of the examples, in this order."""
        return replace(self, projected=self.projected.index_select(0, rows), may_attend=None)

    def is_zero_where_hidden_by(self, may_attend: Mask) -> bool:
        """Whether zeros need not be filled in again."""
        return self.may_attend is may_attend
