"""A mask given cell by cell."""

import torch
from jaxtyping import Bool, Shaped
from torch import Tensor

from regard.core.errors import dtype_text, shape_text
from regard.core.masks.mask import Mask

_AXES = {
    2: ("query", "key"),
    3: ("batch", "query", "key"),
    4: ("batch", "heads", "query", "key"),
}


class Dense(Mask):
    """A bool tensor, True where the query may attend; see :meth:`Mask.dense`."""

    def __init__(self, may_attend: Shaped[Tensor, "..."]) -> None:
        if not isinstance(may_attend, Tensor) or may_attend.dtype != torch.bool:
            raise TypeError(_not_bool(may_attend))
        if may_attend.dim() not in (2, 3, 4):
            raise ValueError(
                f"Mask.dense: shape {shape_text(may_attend.shape)}. It must be (query, key), "
                "(batch, query, key) or (batch, heads, query, key). For one row per example, "
                "(batch, key), write may_attend[:, None, :]."
            )
        self.may_attend = may_attend

    def __str__(self) -> str:
        return f"Mask.dense({shape_text(self.may_attend.shape)})"

    @property
    def kind(self) -> str:
        return "dense"

    @property
    def _rank(self) -> int:
        return self.may_attend.dim()

    def _lead_sizes(self) -> tuple[int, int]:
        shape = self.may_attend.shape
        return (shape[0] if len(shape) > 2 else 1), (shape[1] if len(shape) > 3 else 1)

    @property
    def _alike(self) -> bool:
        return self.may_attend.shape[-2] == 1

    @property
    def _is_fixed(self) -> bool:
        return False  # the tensor is the caller's

    def _own_lens(self) -> tuple[int | None, int | None]:
        query_len, key_len = self.may_attend.shape[-2:]
        return None if query_len == 1 else query_len, key_len

    def _check(self, batch: int, heads: int, query_len: int, key_len: int) -> None:
        shape = self.may_attend.shape
        if len(shape) == 2 and shape[0] == batch > 1 and shape[1] == key_len:
            raise ValueError(
                f"Mask.dense: shape {shape_text(shape)} could be (batch, key) or (query, key): "
                f"batch={batch}, query_len={query_len}, key_len={key_len}. Write "
                "may_attend[:, None, :] for one row per example, or may_attend[None] for one row "
                "per query."
            )
        names = _AXES[len(shape)]
        expected = {"batch": batch, "heads": heads, "query": query_len, "key": key_len}
        for name, size in zip(names, shape, strict=True):
            if size != expected[name] and (size != 1 or name == "key"):
                right = tuple(expected[name] for name in names)
                raise ValueError(
                    f"Mask.dense: shape {shape_text(shape)} is ({', '.join(names)}), but its "
                    f"{name} axis is {size} where {expected[name]} is needed. Give shape "
                    f"{shape_text(right)}; the batch, heads and query axes may be 1 and then "
                    "serve all."
                )

    def _grid(
        self, query_len: int, key_len: int, device: torch.device
    ) -> Bool[Tensor, "batch heads query key"]:
        grid = self.may_attend.to(device)
        if grid.dim() == 2:
            return grid[None, None]
        return grid[:, None] if grid.dim() == 3 else grid


def _not_bool(may_attend: object) -> str:
    if not isinstance(may_attend, Tensor):
        return (
            f"Mask.dense: got a {type(may_attend).__name__}, not a torch tensor. Pass a bool "
            "tensor whose True means 'may attend', for example torch.as_tensor(may_attend)."
        )
    given = (
        f"Mask.dense: got dtype {dtype_text(may_attend.dtype)} and shape "
        f"{shape_text(may_attend.shape)}. A mask must be bool, True meaning 'may attend', since "
        "numbers could mean either polarity. "
    )
    if may_attend.dtype.is_floating_point:
        return given + (
            "If 0 means may attend and -inf hidden, write Mask.dense(may_attend == 0); if 1 "
            "means may attend, write Mask.dense(may_attend == 1); to add numbers to the scores, "
            "pass bias=."
        )
    return given + (
        "If 1 means may attend, write Mask.dense(may_attend == 1); if 1 means hidden, write "
        "Mask.dense(may_attend == 0)."
    )
