"""Encoder and decoder together: token ids to logits."""

from typing import Any

from jaxtyping import Int
from torch import Tensor, nn

from regard.core.scores import make_score
from regard.layers import (
    BahdanauDecoder,
    Decoded,
    Decoder,
    FixedContextDecoder,
    LuongDecoder,
    RecurrentEncoder,
)
from regard.models.config import Seq2SeqConfig


class Seq2Seq(nn.Module):
    """A recurrent encoder-decoder over token ids, composed as its config says.

    >>> import torch
    >>> config = Seq2SeqConfig(source_vocab_size=10, target_vocab_size=9, hidden_dim=8)
    >>> source, lengths = torch.tensor([[5, 6, 7]]), torch.tensor([3])
    >>> Seq2Seq(config)(source, lengths, torch.tensor([[2, 4]])).logits.shape
    torch.Size([1, 2, 9])
    """

    def __init__(self, config: Seq2SeqConfig) -> None:
        super().__init__()
        self.config = config
        self.encoder = RecurrentEncoder(
            vocab_size=config.source_vocab_size,
            embed_dim=config.embed_dim,
            hidden_dim=config.direction_dim,
            num_layers=config.encoder_layers,
            cell=config.cell,
            bidirectional=config.bidirectional,
            dropout=config.dropout,
            window=config.window,
        )
        self.decoder = _decoder(config)

    def forward(
        self,
        source: Int[Tensor, "batch source_len"],
        source_lengths: Int[Tensor, " batch"],
        target_in: Int[Tensor, "batch target_len"],
        *,
        need_weights: bool = False,
    ) -> Decoded:
        """Logits, and weights if asked for, under teacher forcing."""
        return self.decoder(
            self.encoder(source, source_lengths), target_in, need_weights=need_weights
        )

    def num_parameters(self) -> int:
        """Number of trainable numbers."""
        return sum(parameter.numel() for parameter in self.parameters())


def _decoder(config: Seq2SeqConfig) -> Decoder:
    sizes: dict[str, Any] = {
        "vocab_size": config.target_vocab_size,
        "embed_dim": config.embed_dim,
        "hidden_dim": config.hidden_dim,
        "state_dim": config.state_dim,
        "num_layers": config.decoder_layers,
        "cell": config.cell,
        "dropout": config.dropout,
    }
    if config.attention == "none":
        return FixedContextDecoder(**sizes)
    score = make_score(
        config.attention,
        query_dim=config.hidden_dim,
        key_dim=config.state_dim,
        attn_dim=config.score_dim,
    )
    sizes |= {"score": score, "source_summary": config.source_summary}
    if config.decoder == "luong":
        return LuongDecoder(**sizes, input_feeding=config.input_feeding)
    return BahdanauDecoder(**sizes)
