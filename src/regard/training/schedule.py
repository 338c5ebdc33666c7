"""The learning rate over a run."""

import math


def learning_rate(progress: float, *, peak: float, warmup: float) -> float:
    """Linear from 0 to ``peak`` over the first ``warmup`` of the run, then half a cosine to 0.

    ``progress`` is the share of the budget that is spent, 0 to 1, of time or of epochs alike.
    (Loshchilov & Hutter 2017, arXiv:1608.03983, equation 5, with one cycle.)

    >>> [round(learning_rate(p, peak=1.0, warmup=0.2), 3) for p in (0.0, 0.1, 0.2, 0.6, 1.0)]
    [0.0, 0.5, 1.0, 0.5, 0.0]
    """
    progress = min(max(progress, 0.0), 1.0)
    if progress < warmup:
        return peak * progress / warmup
    return peak * 0.5 * (1.0 + math.cos(math.pi * (progress - warmup) / (1.0 - warmup)))
