"""Multi-head attention, with any score in its heads."""

from __future__ import annotations

from operator import attrgetter
from typing import NamedTuple

from jaxtyping import Float, Shaped
from torch import Tensor, nn

from regard.core.masks import Mask, as_mask
from regard.core.scores import PreparedKey, Score
from regard.core.sizes import check_sizes
from regard.kernels.dispatch import attend_checked
from regard.layers.dropout import Ramped, check_dropout
from regard.layers.input_projections import InputProjections
from regard.layers.junk import without_junk
from regard.layers.multi_head_borders import (
    check_heads,
    check_inputs_of_heads,
    check_keys_and_values,
    check_query_of_prepared,
    score_of_heads,
)
from regard.layers.prepared_key_value import PreparedKeyValue, check_for_any_query


class OutputAndWeights(NamedTuple):
    """What multi-head attention gives: ``output, weights = layer(query, key, value)``."""

    output: Float[Tensor, "batch query output_dim"]
    weights: Float[Tensor, "batch *heads query key"] | None
    """Those before dropout, averaged over the heads or of each; None unless asked for."""


class MultiHeadAttention(nn.Module, Ramped):
    r"""``Concat(head_1, ..., head_h) W_O``, ``head_i = attend(Q W_Q^i, K W_K^i, V W_V^i)``.

    (Vaswani et al. 2017, arXiv:1706.03762, section 3.2.2.) Self-attention is the same layer,
    ``layer(x, x, x)``. A query with nothing to attend to has weights 0 and heads 0, so its output
    is the bias of ``W_O``.

    Args:
        embed_dim: width of all heads together; each is ``embed_dim / num_heads`` wide.
        num_heads: how many.
        score: how a head compares: the name of a score, which gives each head its own parameters,
            or a :class:`Score` for widths ``embed_dim / num_heads``. One built with ``num_heads=``
            has parameters for each head, one built without serves all of them alike.
        query_dim, key_dim, value_dim: widths of the inputs; None for ``embed_dim``.
        output_dim: width of the output; None for ``embed_dim``.
        dropout: probability with which a weight is dropped while training.
        bias: add a bias to each projection.

    Raises:
        TypeError: ``score`` is neither a name nor a :class:`Score`.
        ValueError: sizes that do not fit; an unknown score.

    >>> import torch
    >>> layer = MultiHeadAttention(128, 8)
    >>> query, key = torch.randn(2, 5, 128), torch.randn(2, 10, 128)
    >>> output, weights = layer(query, key, key, need_weights=True)
    >>> output.shape, weights.shape
    (torch.Size([2, 5, 128]), torch.Size([2, 5, 10]))

    Keys and values projected once for many calls, as step-by-step decoding wants them:

    >>> prepared = layer.prepare(key, key)
    >>> layer(query[:, :1], prepared).output.shape
    torch.Size([2, 1, 128])
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        *,
        score: str | Score = "scaled_dot",
        query_dim: int | None = None,
        key_dim: int | None = None,
        value_dim: int | None = None,
        output_dim: int | None = None,
        dropout: float = 0.0,
        bias: bool = True,
    ) -> None:
        super().__init__()
        check_heads(embed_dim, num_heads)
        check_dropout(dropout, caller="MultiHeadAttention")
        self.embed_dim, self.num_heads, self.dropout = embed_dim, num_heads, dropout
        self.score = score_of_heads(score, embed_dim // num_heads, num_heads)
        self._widths = (
            embed_dim if query_dim is None else query_dim,
            embed_dim if key_dim is None else key_dim,
            embed_dim if value_dim is None else value_dim,
        )
        output_dim = embed_dim if output_dim is None else output_dim
        query_dim, key_dim, value_dim = self._widths
        check_sizes(
            "MultiHeadAttention",
            query_dim=query_dim,
            key_dim=key_dim,
            value_dim=value_dim,
            output_dim=output_dim,
        )
        self.input_projections = InputProjections(
            embed_dim, num_heads=num_heads, widths=self._widths, bias=bias
        )
        self.output_projection = nn.Linear(embed_dim, output_dim, bias=bias)
        nn.init.xavier_uniform_(self.output_projection.weight)
        if bias:
            nn.init.zeros_(self.output_projection.bias)

    @staticmethod
    def from_torch(layer: nn.MultiheadAttention) -> MultiHeadAttention:
        """The same layer, with a copy of torch's weights and of its dropout and training mode.

        Inputs are always ``(batch, position, dim)`` here, whatever ``batch_first`` was there, and
        weights are not returned unless asked for. Masks come in through ``Mask.from_torch``.
        Where torch gives NaN for a query with nothing to attend to, its weights and heads are 0
        here; the weights returned while training are those before dropout.

        Raises:
            TypeError: not an ``nn.MultiheadAttention``.
            ValueError: it was built with ``add_bias_kv`` or ``add_zero_attn``.

        >>> import torch
        >>> theirs = nn.MultiheadAttention(16, 4, batch_first=True)
        >>> ours, x = MultiHeadAttention.from_torch(theirs), torch.randn(2, 5, 16)
        >>> torch.allclose(ours(x, x, x).output, theirs(x, x, x)[0], atol=1e-6)
        True
        """
        if not isinstance(layer, nn.MultiheadAttention):
            raise TypeError(
                f"MultiHeadAttention.from_torch: got a {type(layer).__name__}. It copies a "
                "torch.nn.MultiheadAttention. Pass that layer itself; in a TransformerEncoderLayer "
                "it is .self_attn."
            )
        if layer.bias_k is not None or layer.add_zero_attn:
            option = "add_zero_attn" if layer.bias_k is None else "add_bias_kv"
            raise ValueError(
                f"MultiHeadAttention.from_torch: the layer was built with {option}=True. That "
                "gives every query one more key, which is no position of the sequence and which "
                f"no mask can hide; there is none here. Build it with {option}=False."
            )
        ours = MultiHeadAttention(
            layer.embed_dim,
            layer.num_heads,
            key_dim=layer.kdim,
            value_dim=layer.vdim,
            dropout=layer.dropout,
            bias=layer.in_proj_bias is not None,
        ).to(layer.out_proj.weight)
        for name, parameter in ours.named_parameters():
            theirs = attrgetter(_NAMES_IN_TORCH[name])(layer)
            parameter.data.copy_(theirs.data)
            parameter.requires_grad_(theirs.requires_grad)
        return ours.train(layer.training)

    def forward(
        self,
        query: Float[Tensor, "batch query query_dim"],
        key: Float[Tensor, "batch key key_dim"] | PreparedKeyValue,
        value: Float[Tensor, "batch key value_dim"] | None = None,
        *,
        may_attend: Mask | Shaped[Tensor, "..."] | None = None,
        need_weights: bool = False,
        average_attn_weights: bool = True,
    ) -> OutputAndWeights:
        """Attend in every head.

        Args:
            query: ``(batch, query, query_dim)``; one decoder step is one query.
            key: ``(batch, key, key_dim)``, or what :meth:`prepare` returned, with its values.
            value: ``(batch, key, value_dim)``; None beside what :meth:`prepare` returned.
            may_attend: a :class:`Mask`, or a bool tensor, True = may attend. One of three axes,
                ``(batch, query, key)``, serves all heads; ``(batch, heads, query, key)`` tells
                them apart. The mask that keys were prepared with holds besides.
            need_weights: also return the weights,
            average_attn_weights: averaged over the heads, ``(batch, query, key)``; or else of each
                head, ``(batch, heads, query, key)``.

        Returns:
            Output ``(batch, query, output_dim)`` and weights, or None.

        Raises:
            TypeError: dtypes that differ, or a mask that is not bool.
            ValueError: shapes that do not fit: no axis is stretched silently.
        """
        dtype = self.output_projection.weight.dtype
        mask = None if may_attend is None else as_mask(may_attend)
        if isinstance(key, PreparedKeyValue):
            check_query_of_prepared(
                query, key, value, layer=self, query_dim=self._widths[0], dtype=dtype
            )
            queries = self.input_projections.of_query(query)
            keys: Tensor | PreparedKey = key.key
            values = key.value.to(queries.dtype)  # autocast at one of the calls alone makes two
            if key.may_attend is not None:
                mask = key.may_attend if mask is None else key.may_attend & mask
        else:
            check_inputs_of_heads(query, key, value, widths=self._widths, dtype=dtype)
            assert value is not None
            if mask is not None:
                query, key, value = without_junk(query, key, value, mask, self.num_heads)
            queries, keys, values = self.input_projections(query, key, value)
        context, weights, _ = attend_checked(
            queries,
            keys,
            values,
            score=self.score,
            may_attend=mask,
            dropout_p=self.dropout * self.share if self.training else 0.0,
            need_weights=need_weights,
        )
        output = self.output_projection(context.transpose(1, 2).flatten(2))  # b q c
        if weights is not None and average_attn_weights:
            weights = weights.mean(dim=1)
        return OutputAndWeights(output, weights)

    def prepare(
        self,
        key: Float[Tensor, "batch key key_dim"],
        value: Float[Tensor, "batch key value_dim"],
        *,
        may_attend: Mask | Shaped[Tensor, "..."] | None = None,
    ) -> PreparedKeyValue:
        """Project keys and values once, for many calls ``layer(query, prepared)``.

        Args:
            key, value: as :meth:`forward` takes them.
            may_attend: what of them any query may see, lengths for example. It holds at every call.
                Positions hidden here may hold NaN; those that only a call hides must be finite.

        Raises:
            TypeError, ValueError: as :meth:`forward`; a mask that depends on the query.
        """
        dtype = self.output_projection.weight.dtype
        check_keys_and_values(key, value, widths=self._widths, dtype=dtype)
        mask = None if may_attend is None else as_mask(may_attend)
        if mask is not None:
            check_for_any_query(mask, key, self.num_heads)
            _, key, value = without_junk(key, key, value, mask, self.num_heads)
        keys, values = self.input_projections.of_key_and_value(key, value)
        return PreparedKeyValue(self, self.score.prepare(keys, mask), values, mask)

    def extra_repr(self) -> str:
        return f"embed_dim={self.embed_dim}, num_heads={self.num_heads}, dropout={self.dropout}"


_NAMES_IN_TORCH = {
    "input_projections.weight": "in_proj_weight",
    "input_projections.query_weight": "q_proj_weight",
    "input_projections.key_weight": "k_proj_weight",
    "input_projections.value_weight": "v_proj_weight",
    "input_projections.bias": "in_proj_bias",
    "output_projection.weight": "out_proj.weight",
    "output_projection.bias": "out_proj.bias",
}
