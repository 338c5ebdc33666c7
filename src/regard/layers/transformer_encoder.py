"""The encoder of a transformer: token ids to one state per position."""

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.core.masks import Mask
from regard.layers.borders import is_padded
from regard.layers.dropout import LockedDropout
from regard.layers.embedding import WindowEmbedding, check_window
from regard.layers.positions import make_positions
from regard.layers.transformer_borders import check_transformer
from regard.layers.transformer_layers import TransformerEncoderLayer


class TransformerEncoded(NamedTuple):
    """A source as the decoder of a transformer sees it."""

    states: Float[Tensor, "batch source_len state_dim"]
    """One state per position, zero at padding."""
    may_attend: Mask | None
    """The real positions; None where every position of the batch is real."""


class TransformerEncoder(nn.Module):
    """Embeddings and positions, then layers of self-attention and feed-forward networks.

    (Vaswani et al. 2017, arXiv:1706.03762, section 3.1.) Embeddings begin with a mean square of 1,
    which the paper reaches by a factor of √embed_dim, so that there is none here. With ``"pre"``
    norm the last layer's output is normalized once more.

    Args:
        vocab_size: number of token ids.
        embed_dim: width of every position, in all layers.
        num_heads: of each self-attention.
        ff_dim: width inside the feed-forward networks.
        num_layers: how many.
        norm: ``"pre"`` or ``"post"``; see :class:`AddAndNorm`.
        positions: ``"sinusoidal"`` or ``"learned"``.
        max_len: the longest source that learned positions serve.
        score: how a head compares, by name; each has its own parameters.
        dropout: on embeddings, on what each part adds, inside the feed-forward networks, and on the
            weights of attention. But for weights it drops a channel at all positions of an example,
            as :class:`LockedDropout` does.
        window: embed each token together with its neighbours; see :class:`WindowEmbedding`.

    Raises:
        TypeError: a size that is no whole number, a dropout that is no number.
        ValueError: a number out of its range; an unknown norm, positions or score.

    >>> encoder = TransformerEncoder(vocab_size=10, embed_dim=8, num_heads=2, ff_dim=16)
    >>> encoded = encoder(torch.tensor([[5, 6, 7], [8, 9, 0]]), torch.tensor([3, 2]))
    >>> encoded.states.shape
    torch.Size([2, 3, 8])
    """

    def __init__(
        self,
        *,
        vocab_size: int,
        embed_dim: int,
        num_heads: int,
        ff_dim: int,
        num_layers: int = 1,
        norm: str = "pre",
        positions: str = "sinusoidal",
        max_len: int = 512,
        score: str = "scaled_dot",
        dropout: float = 0.0,
        window: int = 1,
    ) -> None:
        super().__init__()
        caller = type(self).__name__
        check_transformer(
            caller,
            vocab_size=vocab_size,
            embed_dim=embed_dim,
            num_heads=num_heads,
            ff_dim=ff_dim,
            num_layers=num_layers,
            norm=norm,
            dropout=dropout,
        )
        check_window(window, caller=caller)
        self.state_dim = embed_dim
        self.embedding = WindowEmbedding(vocab_size, embed_dim, window=window)
        self.positions = make_positions(positions, embed_dim, max_len=max_len, caller=caller)
        self.dropout = LockedDropout(dropout)
        self.layers = nn.ModuleList(
            TransformerEncoderLayer(
                embed_dim, num_heads, ff_dim=ff_dim, norm=norm, score=score, dropout=dropout
            )
            for _ in range(num_layers)
        )
        self.final_norm = nn.LayerNorm(embed_dim) if norm == "pre" else nn.Identity()

    def forward(
        self, tokens: Int[Tensor, "batch source_len"], lengths: Int[Tensor, " batch"]
    ) -> TransformerEncoded:
        """Encode padded sources.

        Raises:
            TypeError: not tensors of whole numbers.
            ValueError: shapes that do not fit; an id that is not the vocabulary's; a length of 0 or
                more than ``source_len``; a source longer than learned positions serve.
        """
        states = self.dropout(self.positions(self.embedding(tokens, lengths)))
        padded = is_padded(tokens, lengths, caller=type(self).__name__)
        may_attend = Mask.lengths(lengths) if padded else None
        for layer in self.layers:
            states = layer(states, may_attend)
        states = self.final_norm(states)
        if padded:
            beyond = torch.arange(tokens.shape[1], device=tokens.device) >= lengths[:, None]
            states = states.masked_fill(beyond.unsqueeze(-1), 0.0)
        return TransformerEncoded(states, may_attend)
