"""A mask as kernels add it to scores, made once for a mask that is asked again and again."""

from __future__ import annotations

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from regard.core.transforms import is_transformed

_MOST_CELLS = 2**16
"""How much may be kept: a quarter of a megabyte. Making more costs little beside using it."""


class Hiding(NamedTuple):
    """What to add to scores, and which keys no query sees. Both have the scores' leading axes."""

    added: Float[Tensor, "*lead query key"]
    """0 where the query may attend, -inf where it may not."""
    unseen: Bool[Tensor, "*lead key"] | None
    """As :meth:`Mask.unseen_keys` gives it."""

    def may_be_kept(self) -> bool:
        """Whether it is small, and as good in another call, on another thread, as in this one."""
        return self.added.numel() <= _MOST_CELLS and not (
            torch.compiler.is_compiling()
            or is_transformed()
            or torch.is_inference_mode_enabled()  # its tensors can never be differentiated through
            or torch._C._len_torch_dispatch_stack()  # export's tensors hold no numbers
        )
