"""The dot family by products and a softmax, where weights are asked for, or dropped."""

from typing import Any

from torch import Tensor

from regard.core.attend import Attended
from regard.core.autocast import without_autocast
from regard.core.dropout import draw_factors
from regard.core.masks import Mask
from regard.core.scores import PreparedKey, Score
from regard.kernels.dot_family import (
    DOT_FAMILY,
    TOLERANCE,
    as_given,
    common_refusals,
    products,
)
from regard.kernels.kernel import Kernel
from regard.kernels.softmax_attention import softmax_attention


def attend_torch_softmax(
    query: Tensor,
    key: Tensor | PreparedKey,
    value: Tensor,
    *,
    score: Score,
    may_attend: Mask | None = None,
    bias: Tensor | None = None,
    dropout_p: float = 0.0,
    need_weights: bool = False,
    **_: Any,
) -> Attended:
    """Arguments are those of :func:`regard.attend`; what is left out has its default."""
    with without_autocast(query.device):
        given = products(query, key, value, score, may_attend, bias, causal_in_a_word=False)
        shape = (*given.query.shape[:-1], given.key.shape[-2])
        factors = (
            draw_factors(shape, dropout_p, given.query.dtype, query.device) if dropout_p else None
        )
        context, weights = softmax_attention(
            given.query, given.key, given.value, given.added, factors, given.scale
        )
        return Attended(
            as_given(context, query), as_given(weights, query) if need_weights else None
        )


TORCH_SOFTMAX = Kernel(
    name="torch_softmax",
    run=attend_torch_softmax,
    tolerance=TOLERANCE,
    devices=frozenset({"cpu"}),
    scores=DOT_FAMILY,
    further_refusals=common_refusals,
)
