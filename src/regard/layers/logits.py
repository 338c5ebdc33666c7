"""From a decoder's last layer to a logit for each token."""

from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional


class TiedLogits(nn.Module):
    """``logits = E P x / √d + b`` with the E (vocab, d) that the decoder reads tokens by.

    (Press & Wolf 2017, arXiv:1608.05859, section 3; Vaswani et al. 2017, arXiv:1706.03762,
    section 3.4, where the embeddings are √d times the rows of the output.) A vocabulary's numbers
    are there once, and what is learned of a token as an output serves it as an input. P, which
    brings x to the width of E, is there only where they differ.

    >>> import torch
    >>> embedding = nn.Embedding(9, 4)
    >>> logits = TiedLogits(5, embedding)
    >>> logits(torch.randn(2, 3, 5)).shape
    torch.Size([2, 3, 9])
    >>> [name for name, _ in logits.named_parameters()]
    ['bias', 'project.weight']
    """

    def __init__(self, input_dim: int, embedding: nn.Embedding) -> None:
        super().__init__()
        vocab_size, embed_dim = embedding.num_embeddings, embedding.embedding_dim
        self.bias = nn.Parameter(embedding.weight.new_zeros(vocab_size))
        self.project = (
            nn.Identity() if input_dim == embed_dim else nn.Linear(input_dim, embed_dim, bias=False)
        )
        # in a tuple it is no part of this module: its weights are saved with the decoder's, once
        self._embedding = (embedding,)

    def forward(self, x: Float[Tensor, "*batch input_dim"]) -> Float[Tensor, "*batch vocab"]:
        """A logit for each token of the vocabulary."""
        table = self._embedding[0].weight
        projected = self.project(x) * table.shape[1] ** -0.5
        return functional.linear(projected, table, self.bias)


def make_logits(input_dim: int, embedding: nn.Embedding, *, tied: bool) -> nn.Module:
    """Tied to the embedding, or with weights of its own."""
    if tied:
        return TiedLogits(input_dim, embedding)
    return nn.Linear(input_dim, embedding.num_embeddings)
