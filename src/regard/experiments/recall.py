"""A task that attention alone can solve: find the pair with the name asked for, say its symbol."""

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.core.scores import make_score
from regard.layers import Attention


class Questions(NamedTuple):
    """A batch: pairs of a name and a symbol, a name that is asked for, and the right symbol."""

    asked: Int[Tensor, " batch"]
    names: Int[Tensor, "batch key_len"]
    symbols: Int[Tensor, "batch key_len"]
    answer: Int[Tensor, " batch"]


def questions(
    num_questions: int, *, key_len: int, num_symbols: int, generator: torch.Generator
) -> Questions:
    """Draw some. The names of one question differ; its symbols may repeat.

    >>> drawn = questions(3, key_len=4, num_symbols=9, generator=torch.Generator().manual_seed(1))
    >>> bool(((drawn.names == drawn.asked[:, None]).sum(-1) == 1).all())
    True
    """
    shuffled = torch.rand(num_questions, num_symbols, generator=generator).argsort(dim=-1)
    names = shuffled[:, :key_len]
    symbols = torch.randint(num_symbols, (num_questions, key_len), generator=generator)
    place = torch.randint(key_len, (num_questions, 1), generator=generator)
    return Questions(
        names.gather(-1, place).squeeze(-1), names, symbols, symbols.gather(-1, place).squeeze(-1)
    )


class Answered(NamedTuple):
    """Logits of the answer, and the weights that led to it."""

    logits: Float[Tensor, "batch num_symbols"]
    weights: Float[Tensor, "batch key_len"]


class Recall(nn.Module):
    """One attention between embeddings: ``logits = W_o Σ_j softmax_j(score(W_q a, W_k n_j)) s_j``.

    a is the name asked for, n_j and s_j the name and the symbol of pair j. The two projections are
    drawn apart, so what belongs together has to be learned. Their output has variance about 1 in
    each component, as where √d is argued for (Vaswani et al. 2017, arXiv:1706.03762, footnote 4).

    Args:
        score: name of a score.
        key_dim: width that is compared, of query and key; the additive score's inner width, too.
        embed_dim: width of embeddings.
        num_symbols: as many names as symbols.

    >>> network = Recall("dot", key_dim=8, embed_dim=4, num_symbols=9)
    >>> drawn = questions(3, key_len=5, num_symbols=9, generator=torch.Generator())
    >>> network(drawn).weights.shape
    torch.Size([3, 5])
    """

    def __init__(self, score: str, *, key_dim: int, embed_dim: int, num_symbols: int) -> None:
        super().__init__()
        self.names = nn.Embedding(num_symbols, embed_dim)
        self.symbols = nn.Embedding(num_symbols, embed_dim)
        self.to_query = nn.Linear(embed_dim, key_dim, bias=False)
        self.to_key = nn.Linear(embed_dim, key_dim, bias=False)
        for projection in (self.to_query, self.to_key):
            nn.init.normal_(projection.weight, std=embed_dim**-0.5)
        self.attention = Attention(make_score(score, query_dim=key_dim, key_dim=key_dim))
        self.to_logits = nn.Linear(embed_dim, num_symbols)

    def forward(self, drawn: Questions) -> Answered:
        """Answer a batch."""
        context, weights = self.attention(
            self.to_query(self.names(drawn.asked)),
            self.to_key(self.names(drawn.names)),
            self.symbols(drawn.symbols),
            need_weights=True,
        )
        assert weights is not None
        return Answered(self.to_logits(context), weights)
