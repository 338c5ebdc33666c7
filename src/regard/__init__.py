"""Attention that can be built, run, used and trusted.

The idea, in four lines (`regard.core.attend`):

    scores  = score(query, key)              # how well does each key answer the query
    scores  = may_attend.hide(scores)        # positions that may not be seen
    weights = normalize(scores)              # over the key axis, sums to 1
    context = weights @ value                # weighted average

Importing `regard` loads nothing else: each name below is loaded when it is first touched, so that
what needs no PyTorch runs without it.
"""

from typing import TYPE_CHECKING

import lazy_loader as _lazy_loader

__version__ = "0.1.0"

__all__ = [
    "Attended",
    "Mask",
    "Trace",
    "__version__",
    "attend",
    "diagnose",
    "doctor",
    "faithfulness",
    "intervene",
    "layers",
    "masked_softmax",
    "models",
    "plots",
    "record",
    "recording",
    "reference",
    "scores",
    "search",
    "text",
    "training",
]

if TYPE_CHECKING:
    from regard import (
        doctor,
        faithfulness,
        layers,
        models,
        plots,
        recording,
        reference,
        scores,
        search,
        text,
        training,
    )
    from regard.core.attend import Attended
    from regard.core.masks import Mask
    from regard.core.normalizers import masked_softmax
    from regard.doctor.diagnose import diagnose
    from regard.kernels.dispatch import attend
    from regard.recording import Trace, intervene, record
else:
    __getattr__, _, _ = _lazy_loader.attach(
        __name__,
        submodules={
            "doctor",
            "faithfulness",
            "layers",
            "models",
            "plots",
            "recording",
            "reference",
            "scores",
            "search",
            "text",
            "training",
        },
        submod_attrs={
            "core.attend": ["Attended"],
            "core.masks": ["Mask"],
            "core.normalizers": ["masked_softmax"],
            "doctor.diagnose": ["diagnose"],
            "kernels.dispatch": ["attend"],
            "recording": ["Trace", "intervene", "record"],
        },
    )


def __dir__() -> list[str]:
    return list(__all__)
