"""The dot family through torch's ``scaled_dot_product_attention``, with the contracts around it.

torch scores, hides and averages. Added is what it leaves to its callers: positions that nobody
sees are zeroed, half precision is computed in float32, and gradients of gradients exist.
"""

from typing import Any

from torch import Tensor

from regard.core.attend import Attended
from regard.core.autocast import without_autocast
from regard.core.masks import Mask
from regard.core.scores import PreparedKey, Score
from regard.kernels.dot_family import (
    DOT_FAMILY,
    TOLERANCE,
    as_given,
    common_refusals,
    products,
)
from regard.kernels.fused_attention import fused_attention
from regard.kernels.kernel import Kernel
from regard.kernels.request import Request


def attend_torch_sdpa(
    query: Tensor,
    key: Tensor | PreparedKey,
    value: Tensor,
    *,
    score: Score,
    may_attend: Mask | None = None,
    bias: Tensor | None = None,
    **_: Any,
) -> Attended:
    """Arguments are those of :func:`regard.attend`; what is left out has its default."""
    with without_autocast(query.device):
        given = products(query, key, value, score, may_attend, bias, causal_in_a_word=True)
        return Attended(as_given(fused_attention(*given), query))


def _refusals(request: Request) -> list[str]:
    asked = ["weights are asked for, and it keeps none"] if request.need_weights else []
    if request.has_dropout:
        asked.append("dropout is asked for, and it has none")
    return asked + common_refusals(request)


TORCH_SDPA = Kernel(
    name="torch_sdpa",
    run=attend_torch_sdpa,
    tolerance=TOLERANCE,
    devices=frozenset({"cpu"}),
    scores=DOT_FAMILY,
    further_refusals=_refusals,
)
