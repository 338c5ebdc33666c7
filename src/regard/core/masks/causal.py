"""No looking ahead."""

from regard.core.masks.band import Band
from regard.core.masks.mask import Align


class Causal(Band):
    """All keys before the query's own place, none after; see :meth:`Mask.causal`."""

    def __init__(self, align: Align | None = None) -> None:
        super().__init__(None, 0, align)

    def __str__(self) -> str:
        return f"Mask.causal({self.align!r})" if self.align else "Mask.causal()"

    @property
    def kind(self) -> str:
        return "causal"

    def _aligned(self, align: Align) -> Band:
        return Causal(align)
