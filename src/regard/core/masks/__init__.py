"""Which positions a query may attend to. One polarity: True means *may attend*.

Users build a ``Mask``. The classes beside it are for kernels, which look for them in
``mask.parts``.
"""

from regard.core.masks.band import Band
from regard.core.masks.causal import Causal
from regard.core.masks.dense import Dense
from regard.core.masks.intervals import Intervals
from regard.core.masks.lengths import Lengths
from regard.core.masks.mask import Mask, as_mask
from regard.core.masks.segments import Segments
from regard.core.masks.window import Window

__all__ = [
    "Band",
    "Causal",
    "Dense",
    "Intervals",
    "Lengths",
    "Mask",
    "Segments",
    "Window",
    "as_mask",
]
