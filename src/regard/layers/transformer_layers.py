"""One layer of a transformer, of its encoder and of its decoder."""

from typing import NamedTuple

from jaxtyping import Float
from torch import Tensor, nn

from regard.core.masks import Mask
from regard.layers.dropout import LockedDropout
from regard.layers.multi_head import MultiHeadAttention
from regard.layers.prepared_key_value import PreparedKeyValue

NORMS = ("pre", "post")


class AddAndNorm(nn.Module):
    r"""What stands around each part of a layer: ``norm(x + part(x))`` or ``x + part(norm(x))``.

    The former, ``"post"``, is Vaswani et al. (2017, arXiv:1706.03762, section 3.1). The latter,
    ``"pre"``, leaves a path from the output to the input that no normalization crosses, and trains
    without a long warm-up (Xiong et al. 2020, arXiv:2002.04745, section 3). The part's output is
    dropped out before it is added (Vaswani et al., section 5.4).

    >>> import torch
    >>> around, x = AddAndNorm(4, norm="pre", dropout=0.1), torch.randn(2, 3, 4)
    >>> x = around.after(x, torch.relu(around.before(x)))
    """

    def __init__(self, dim: int, *, norm: str, dropout: float) -> None:
        super().__init__()
        self.is_pre = norm == "pre"
        self.norm = nn.LayerNorm(dim)
        self.dropout = LockedDropout(dropout)

    def before(self, x: Float[Tensor, "batch position dim"]) -> Tensor:
        """What the part reads."""
        return self.norm(x) if self.is_pre else x

    def after(
        self, x: Float[Tensor, "batch position dim"], change: Float[Tensor, "batch position dim"]
    ) -> Tensor:
        """The input and what the part made of it, together."""
        together = x + self.dropout(change)
        return together if self.is_pre else self.norm(together)


class FeedForward(nn.Module):
    """``W_2 max(0, W_1 x + b_1) + b_2`` at each position.

    (Vaswani et al. 2017, arXiv:1706.03762, equation 2; dropped out inside, as in their code.)

    >>> import torch
    >>> FeedForward(4, 16, dropout=0.1)(torch.randn(2, 3, 4)).shape
    torch.Size([2, 3, 4])
    """

    def __init__(self, dim: int, ff_dim: int, *, dropout: float) -> None:
        super().__init__()
        self.widen = nn.Linear(dim, ff_dim)
        self.dropout = LockedDropout(dropout)
        self.narrow = nn.Linear(ff_dim, dim)

    def forward(
        self, x: Float[Tensor, "batch position dim"]
    ) -> Float[Tensor, "batch position dim"]:
        """Each position by itself."""
        return self.narrow(self.dropout(self.widen(x).relu()))


class TransformerEncoderLayer(nn.Module):
    """Self-attention, then a feed-forward network. (Vaswani et al. 2017, section 3.1.)

    ``norm`` is ``"pre"`` or ``"post"``, see :class:`AddAndNorm`; ``score`` is one by name.

    >>> import torch
    >>> layer, x = TransformerEncoderLayer(8, 2, ff_dim=16), torch.randn(3, 5, 8)
    >>> layer(x, Mask.lengths([5, 4, 2])).shape
    torch.Size([3, 5, 8])
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        *,
        ff_dim: int,
        norm: str = "pre",
        score: str = "scaled_dot",
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.self_attention = MultiHeadAttention(embed_dim, num_heads, score=score, dropout=dropout)
        self.around_self_attention = AddAndNorm(embed_dim, norm=norm, dropout=dropout)
        self.feed_forward = FeedForward(embed_dim, ff_dim, dropout=dropout)
        self.around_feed_forward = AddAndNorm(embed_dim, norm=norm, dropout=dropout)

    def forward(
        self, x: Float[Tensor, "batch position dim"], may_attend: Mask | None = None
    ) -> Float[Tensor, "batch position dim"]:
        """Each position after looking at those it may attend to."""
        query = self.around_self_attention.before(x)
        found = self.self_attention(query, query, query, may_attend=may_attend).output
        x = self.around_self_attention.after(x, found)
        widened = self.feed_forward(self.around_feed_forward.before(x))
        return self.around_feed_forward.after(x, widened)


class LayerOutput(NamedTuple):
    """What a decoder layer gives."""

    output: Float[Tensor, "batch target_len dim"]
    weights: Float[Tensor, "batch target_len source_len"] | None
    """Those of cross-attention, the mean of its heads; None unless asked for."""
    past: PreparedKeyValue
    """Keys and values of self-attention so far, the new positions included."""


class TransformerDecoderLayer(nn.Module):
    """Self-attention without looking ahead, attention to the source, then a feed-forward network.

    (Vaswani et al. 2017, section 3.1.) ``norm`` is ``"pre"`` or ``"post"``, see
    :class:`AddAndNorm`; ``score`` is one by name.

    One position or many, the first or later ones: what came before is a value that is passed, so
    that a target read step by step gives the same numbers as a whole.

    >>> import torch
    >>> layer, source = TransformerDecoderLayer(8, 2, ff_dim=16), torch.randn(3, 5, 8)
    >>> prepared, x = layer.cross_attention.prepare(source, source), torch.randn(3, 4, 8)
    >>> whole = layer(x, None, prepared).output
    >>> first = layer(x[:, :3], None, prepared)
    >>> last = layer(x[:, 3:], first.past, prepared)
    >>> torch.allclose(whole, torch.cat([first.output, last.output], dim=1), atol=1e-6)
    True
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        *,
        ff_dim: int,
        norm: str = "pre",
        score: str = "scaled_dot",
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.self_attention = MultiHeadAttention(embed_dim, num_heads, score=score, dropout=dropout)
        self.around_self_attention = AddAndNorm(embed_dim, norm=norm, dropout=dropout)
        self.cross_attention = MultiHeadAttention(
            embed_dim, num_heads, score=score, dropout=dropout
        )
        self.around_cross_attention = AddAndNorm(embed_dim, norm=norm, dropout=dropout)
        self.feed_forward = FeedForward(embed_dim, ff_dim, dropout=dropout)
        self.around_feed_forward = AddAndNorm(embed_dim, norm=norm, dropout=dropout)

    def forward(
        self,
        x: Float[Tensor, "batch target_len dim"],
        past: PreparedKeyValue | None,
        source: PreparedKeyValue,
        *,
        need_weights: bool = False,
    ) -> LayerOutput:
        """Read the next positions.

        Args:
            x: the new positions.
            past: what the layer returned for those before; None if there are none.
            source: ``layer.cross_attention.prepare(states, states, may_attend=...)``.
            need_weights: also return the weights on the source.
        """
        query = self.around_self_attention.before(x)
        new = self.self_attention.prepare(query, query)
        past = new if past is None else past.append(new)
        # a single position is the last, which sees all
        ahead = Mask.causal("end") if x.shape[1] > 1 else None
        found = self.self_attention(query, past, may_attend=ahead).output
        x = self.around_self_attention.after(x, found)

        query = self.around_cross_attention.before(x)
        found, weights = self.cross_attention(query, source, need_weights=need_weights)
        x = self.around_cross_attention.after(x, found)

        widened = self.feed_forward(self.around_feed_forward.before(x))
        return LayerOutput(self.around_feed_forward.after(x, widened), weights, past)
