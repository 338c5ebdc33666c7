"""See the weights: arrays in, a figure or a terminal grid out.

Nothing here knows about models. matplotlib (the extra `plots`) is imported when a figure is drawn,
and pyplot never, so that no display is needed and no global state changes.
"""

from typing import TYPE_CHECKING

import lazy_loader as _lazy_loader

__all__ = ["alignment", "alignments", "save", "terminal_alignment"]

if TYPE_CHECKING:
    from regard.plots.alignment import alignment, alignments, save
    from regard.plots.terminal import terminal_alignment
else:
    __getattr__, _, _ = _lazy_loader.attach(
        __name__,
        submod_attrs={
            "alignment": ["alignment", "alignments", "save"],
            "terminal": ["terminal_alignment"],
        },
    )


def __dir__() -> list[str]:
    return list(__all__)
