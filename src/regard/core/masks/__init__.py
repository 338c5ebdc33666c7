"""Which positions a query may attend to. One polarity: True means *may attend*."""

from regard.core.masks.mask import Mask, as_mask

__all__ = ["Mask", "as_mask"]
