"""A score and its weighted average as a layer, with dropout on the weights while training."""

from typing import NamedTuple

from jaxtyping import Float, Shaped
from torch import Tensor, nn

from regard.core.masks import Mask
from regard.core.scores import Additive, PreparedKey, Score
from regard.kernels import attend
from regard.layers.dropout import check_dropout


class ContextAndWeights(NamedTuple):
    """What an attention layer found: ``context, weights = layer(query, key, value)``.

    A single decoder step has no query axis, neither in the query nor here.
    """

    context: Float[Tensor, "*lead value_dim"]
    weights: Float[Tensor, "*lead key"] | None
    """Those before dropout; they sum to 1, or to 0 for an empty row. None unless asked for."""


class Attention(nn.Module):
    r"""Any score as a layer: ``context_i = Σ_j softmax_j(score(q_i, k_j)) v_j``.

    (Bahdanau et al. 2015, arXiv:1409.0473, equations 5 and 6.) Nothing is kept on the module from
    one call to the next: weights are asked for, and keys projected once are a value that the
    caller passes, ``layer.score.prepare(key)``.

    Args:
        score: the score function, with its parameters; see :mod:`regard.scores`.
        dropout: probability with which a weight is dropped while training.

    Raises:
        TypeError: ``score`` is not a :class:`Score`.
        ValueError: ``dropout`` is not a probability below 1.

    >>> import torch
    >>> from regard import Mask, scores
    >>> layer = Attention(scores.Bilinear(query_dim=4, key_dim=6))
    >>> query, key = torch.randn(2, 3, 4), torch.randn(2, 5, 6)
    >>> context, weights = layer(query, key, key, may_attend=Mask.lengths([5, 3]),
    ...                          need_weights=True)
    >>> context.shape, weights.shape
    (torch.Size([2, 3, 6]), torch.Size([2, 3, 5]))

    One decoder step, whose query has no position axis, and keys projected once for all steps:

    >>> prepared = layer.score.prepare(key)
    >>> layer(query[:, 0], prepared, key).context.shape
    torch.Size([2, 6])
    """

    def __init__(self, score: Score, dropout: float = 0.0) -> None:
        super().__init__()
        if not isinstance(score, Score):
            raise TypeError(
                f"{type(self).__name__}: score is a {type(score).__name__}. It must be a Score, "
                "which holds its own parameters. Build one, scores.ScaledDot() for example, or by "
                "its name: scores.make_score('general', query_dim=..., key_dim=...)."
            )
        check_dropout(dropout, caller=type(self).__name__)
        self.score, self.dropout = score, dropout

    def forward(
        self,
        query: Float[Tensor, "*lead query_dim"],
        key: Float[Tensor, "*lead_of_keys key key_dim"] | PreparedKey,
        value: Float[Tensor, "*lead_of_keys key value_dim"],
        *,
        may_attend: Mask | Shaped[Tensor, "..."] | None = None,
        need_weights: bool = False,
    ) -> ContextAndWeights:
        """Attend.

        Args:
            query: ``(batch, query, query_dim)``, or for one decoder step ``(batch, query_dim)``,
                one query for each example.
            key: ``(batch, key, key_dim)``, or what ``layer.score.prepare(key)`` returned.
            value: ``(batch, key, value_dim)``.
            may_attend: a :class:`Mask`, or a bool tensor, True = may attend. In one decoder step
                the masks of ``(batch, query, key)`` have one query.
            need_weights: also return the weights.

        Returns:
            Context ``(batch, query, value_dim)`` and weights ``(batch, query, key)``; without the
            query axis for one decoder step.

        Raises:
            TypeError, ValueError: as :func:`regard.attend`.
        """
        is_one_step = (
            isinstance(query, Tensor)
            and isinstance(key, Tensor | PreparedKey)
            and query.dim() == len(key.shape) - 1
        )
        context, weights, _ = attend(
            query.unsqueeze(-2) if is_one_step else query,
            key,
            value,
            score=self.score,
            may_attend=may_attend,
            dropout_p=self.dropout if self.training else 0.0,
            need_weights=need_weights,
        )
        if is_one_step:
            context = context.squeeze(-2)
            weights = None if weights is None else weights.squeeze(-2)
        return ContextAndWeights(context, weights)

    def extra_repr(self) -> str:
        return f"dropout={self.dropout}"


class AdditiveAttention(Attention):
    r"""The additive score as a layer: ``score(q, k) = vᵀ tanh(W q + U k)``.

    (Bahdanau et al. 2015, arXiv:1409.0473, section 3.1 and appendix A.1.2.) It is
    ``Attention(scores.Additive(...))``.

    Args:
        query_dim, key_dim: widths of query and key; they may differ.
        attn_dim: width inside the score.
        dropout: probability with which a weight is dropped while training.

    >>> import torch
    >>> from regard import Mask
    >>> layer = AdditiveAttention(query_dim=20, key_dim=2, attn_dim=8, dropout=0.1).eval()
    >>> query, key, value = torch.randn(2, 1, 20), torch.ones(2, 10, 2), torch.randn(2, 10, 4)
    >>> _, weights = layer(query, key, value, may_attend=Mask.lengths([2, 4]), need_weights=True)
    >>> weights[1, 0, :6]  # equal keys: every position that may be attended to counts the same
    tensor([0.2500, 0.2500, 0.2500, 0.2500, 0.0000, 0.0000], ...)
    """

    def __init__(
        self, *, query_dim: int, key_dim: int, attn_dim: int, dropout: float = 0.0
    ) -> None:
        super().__init__(Additive(query_dim=query_dim, key_dim=key_dim, attn_dim=attn_dim), dropout)
