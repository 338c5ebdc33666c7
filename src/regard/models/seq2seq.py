"""Encoder and decoder together: token ids to logits."""

from jaxtyping import Int
from torch import Tensor, nn

from regard.layers import Decoded, Decoder, RecurrentEncoder, TransformerEncoder
from regard.models.config import Seq2SeqConfig
from regard.models.recurrent import recurrent_decoder, recurrent_encoder
from regard.models.transformer import transformer_decoder, transformer_encoder
from regard.models.transformer_config import TransformerConfig


class Seq2Seq(nn.Module):
    """An encoder-decoder over token ids, recurrent or a transformer, composed as its config says.

    >>> import torch
    >>> sizes = {"source_vocab_size": 10, "target_vocab_size": 9}
    >>> source, lengths = torch.tensor([[5, 6, 7]]), torch.tensor([3])
    >>> for config in (Seq2SeqConfig(**sizes), TransformerConfig(**sizes)):
    ...     print(Seq2Seq(config)(source, lengths, torch.tensor([[2, 4]])).logits.shape)
    torch.Size([1, 2, 9])
    torch.Size([1, 2, 9])
    """

    encoder: RecurrentEncoder | TransformerEncoder
    decoder: Decoder

    def __init__(self, config: Seq2SeqConfig | TransformerConfig) -> None:
        super().__init__()
        self.config = config
        if isinstance(config, TransformerConfig):
            self.encoder, self.decoder = transformer_encoder(config), transformer_decoder(config)
        else:
            self.encoder, self.decoder = recurrent_encoder(config), recurrent_decoder(config)

    @property
    def max_len(self) -> int | None:
        """Most tokens of a source, and of a target with its begin token; None for no limit."""
        config = self.config
        if isinstance(config, TransformerConfig) and config.positions == "learned":
            return config.longest
        return None

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
