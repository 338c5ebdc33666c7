"""See the weights: arrays and traces in; a figure, a terminal grid or a page for the browser out.

Nothing here knows about models. matplotlib (the extra `plots`) is imported when a figure is drawn,
and pyplot never, so that no display is needed and no global state changes.
"""

from typing import TYPE_CHECKING

import lazy_loader as _lazy_loader

__all__ = [
    "accuracy_by_length",
    "alignment",
    "alignments",
    "heads",
    "merge_subwords",
    "page",
    "save",
    "terminal_alignment",
]

if TYPE_CHECKING:
    from regard.plots.alignment import alignment, alignments, save
    from regard.plots.heads import heads
    from regard.plots.lengths import accuracy_by_length
    from regard.plots.page import page
    from regard.plots.subwords import merge_subwords
    from regard.plots.terminal import terminal_alignment
else:
    __getattr__, _, _ = _lazy_loader.attach(
        __name__,
        submod_attrs={
            "alignment": ["alignment", "alignments", "save"],
            "heads": ["heads"],
            "lengths": ["accuracy_by_length"],
            "page": ["page"],
            "subwords": ["merge_subwords"],
            "terminal": ["terminal_alignment"],
        },
    )


def __dir__() -> list[str]:
    return list(__all__)
