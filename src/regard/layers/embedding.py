"""Embeddings of a token and its neighbours."""

from numbers import Integral

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from regard.core.sizes import check_sizes
from regard.layers.borders import check_source

_WIDEST = 99


class WindowEmbedding(nn.Module):
    r"""``x_j = Σ_o E_o[token(j+o)]`` over the offsets o of a window: one table per offset.

    The same as a convolution over one-hot tokens, but lookups cost no multiplications. Spelling
    is read in its surroundings ("c" before "h"), and a recurrent layer that sees them at once
    learns from fewer examples. With ``window=1`` it is a plain embedding.

    Positions before the first and after the last token hold a token of their own, "outside", and
    padding is outside too, so it changes nothing.

    Args:
        vocab_size: number of token ids.
        embed_dim: width of the result.
        window: number of offsets, odd, the token itself in the middle.

    Raises:
        TypeError: a size or a window that is no whole number.
        ValueError: a size out of its range, or a window without a middle.

    >>> embedding = WindowEmbedding(10, 4, window=3)
    >>> embedding(torch.tensor([[5, 6, 7]]), torch.tensor([3])).shape
    torch.Size([1, 3, 4])
    """

    def __init__(self, vocab_size: int, embed_dim: int, *, window: int = 1) -> None:
        super().__init__()
        check_sizes("WindowEmbedding", vocab_size=vocab_size, embed_dim=embed_dim)
        check_window(window, caller="WindowEmbedding")
        self.outside = vocab_size
        tables = [nn.Embedding(vocab_size + 1, embed_dim) for _ in range(window)]
        for table in tables:
            nn.init.normal_(table.weight, std=window**-0.5)
        self.tables = nn.ModuleList(tables)

    def forward(
        self, tokens: Int[Tensor, "batch source_len"], lengths: Int[Tensor, " batch"]
    ) -> Float[Tensor, "batch source_len embed_dim"]:
        """Embed padded sequences.

        Raises:
            TypeError: not tensors of whole numbers.
            ValueError: shapes that do not fit, or an id that is not the vocabulary's.
        """
        check_source(tokens, lengths, vocab_size=self.outside)
        source_len, reach = tokens.shape[1], len(self.tables) // 2
        beyond = torch.arange(source_len, device=tokens.device) >= lengths[:, None]
        around = functional.pad(
            tokens.masked_fill(beyond, self.outside), (reach, reach), value=self.outside
        )
        embedded = self.tables[0](around[:, :source_len])
        for offset, table in enumerate(self.tables[1:], start=1):
            embedded = embedded + table(around[:, offset : offset + source_len])
        return embedded


def check_window(window: object, *, caller: str) -> None:
    """Refuse a window without a middle.

    Raises:
        TypeError: no whole number.
        ValueError: even, below 1, or wider than any model's.
    """
    is_whole = isinstance(window, Integral) and not isinstance(window, bool)
    if not is_whole or not 1 <= window <= _WIDEST or window % 2 == 0:  # type: ignore[operator]
        error = ValueError if is_whole else TypeError
        raise error(
            f"{caller}: window={window!r}. The token is in the middle, so give an odd whole number "
            f"up to {_WIDEST}: 1 for the token alone, 5 for two neighbours on each side."
        )
