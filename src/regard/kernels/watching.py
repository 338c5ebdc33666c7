"""Where whoever records or edits attention stands: behind its checks, before its kernels."""

from contextvars import ContextVar
from typing import Protocol

import torch
from torch import Tensor

from regard.core.attend import Attended
from regard.core.masks import Mask
from regard.core.scores import PreparedKey, Score


class Watcher(Protocol):
    """What sees every attention of this thread while it is set, and answers in a kernel's place."""

    def attend(
        self,
        query: Tensor,
        key: Tensor | PreparedKey,
        value: Tensor,
        *,
        score: Score,
        may_attend: Mask | None,
        bias: Tensor | None,
        normalize: str,
        dropout_p: float,
        need_weights: bool,
        need_lse: bool,
    ) -> Attended:
        """Attention, seen."""


WATCHER: ContextVar[Watcher | None] = ContextVar("regard.watcher", default=None)
"""A context variable, so that threads and tasks do not see each other's."""


def watcher() -> Watcher | None:
    """Whoever watches here; nobody does in compiled code, which looks at no variable."""
    return None if torch.compiler.is_compiling() else WATCHER.get()
