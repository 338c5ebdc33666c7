"""The recurrent encoder: token ids to one state per position."""

from typing import NamedTuple

from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.core.masks import Mask
from regard.layers.borders import check_recurrent, check_switches, is_padded
from regard.layers.dropout import LockedDropout
from regard.layers.embedding import WindowEmbedding, check_window
from regard.layers.recurrence import Recurrence


class Encoded(NamedTuple):
    """A source as a decoder sees it."""

    states: Float[Tensor, "batch source_len state_dim"]
    """One state per position, zero at padding. Twice the hidden size when bidirectional."""
    final: Float[Tensor, "num_layers batch state_dim"]
    """Each layer's last forward state and, beside it, its last backward state (at position 0)."""
    may_attend: Mask | None
    """The real positions; None where every position of the batch is real."""


class RecurrentEncoder(nn.Module):
    r"""Embedding, then GRU or LSTM layers: ``h_j = [→h_j ; ←h_j]``.

    (Bahdanau et al. 2015, arXiv:1409.0473, section 3.2.)

    Args:
        vocab_size: number of token ids.
        embed_dim: width of an embedding.
        hidden_dim: width of one direction's state.
        num_layers, cell, bidirectional: of the recurrent layers.
        dropout: on embeddings and between layers. Never on the states: a channel dropped there is
            dropped from every key and every value, and models with attention learn slower for it.
        window: embed each token together with its neighbours; see :class:`WindowEmbedding`.
        residual: each layer but the first adds what it reads to what it gives.

    Raises:
        TypeError: a size that is no whole number, a dropout that is no number, a switch that is
            neither True nor False.
        ValueError: a number out of its range; an unknown cell.

    >>> import torch
    >>> encoder = RecurrentEncoder(vocab_size=10, embed_dim=4, hidden_dim=3)
    >>> encoded = encoder(torch.tensor([[5, 6, 7], [8, 9, 0]]), torch.tensor([3, 2]))
    >>> encoded.states.shape, encoded.final.shape
    (torch.Size([2, 3, 6]), torch.Size([1, 2, 6]))
    """

    def __init__(
        self,
        *,
        vocab_size: int,
        embed_dim: int,
        hidden_dim: int,
        num_layers: int = 1,
        cell: str = "gru",
        bidirectional: bool = True,
        dropout: float = 0.0,
        window: int = 1,
        residual: bool = False,
    ) -> None:
        super().__init__()
        caller = type(self).__name__
        check_recurrent(
            caller,
            vocab_size=vocab_size,
            embed_dim=embed_dim,
            hidden_dim=hidden_dim,
            num_layers=num_layers,
            cell=cell,
            dropout=dropout,
        )
        check_switches(caller, bidirectional=bidirectional, residual=residual)
        check_window(window, caller=caller)
        self.embedding = WindowEmbedding(vocab_size, embed_dim, window=window)
        self.dropout = LockedDropout(dropout)
        self.recurrence = Recurrence(
            cell=cell,
            input_dim=embed_dim,
            hidden_dim=hidden_dim,
            num_layers=num_layers,
            bidirectional=bidirectional,
            dropout=dropout,
            residual=residual,
        )
        self.num_layers = num_layers
        self.state_dim = self.recurrence.output_dim

    def forward(
        self, tokens: Int[Tensor, "batch source_len"], lengths: Int[Tensor, " batch"]
    ) -> Encoded:
        """Encode padded sources.

        Raises:
            TypeError: not tensors of whole numbers.
            ValueError: shapes that do not fit; an id that is not the vocabulary's; a length of 0 or
                more than ``source_len``. The sample is named.
        """
        embedded = self.dropout(self.embedding(tokens, lengths))  # which looks at both
        padded = is_padded(tokens, lengths, caller=type(self).__name__)
        states, final = self.recurrence(embedded, lengths=lengths if padded else None)
        return Encoded(states, final[0], Mask.lengths(lengths) if padded else None)
