"""Self-attention over a sentence, one stage after the other, each with its shape.

First one query and two keys with numbers small enough to follow by hand. Then a whole sentence
through eight heads of width 64, as in a layer of the first transformer (Vaswani et al. 2017,
arXiv:1706.03762, section 3.2): tokens, embeddings and positions, projections, heads, their
concatenation, W_O. Every stage is a tensor that you can look at; the last is compared with the
layer's own answer. Weights are as they were drawn, nothing is trained: the maps show where the
layer looks before it has learned anything.
"""

import argparse
import math
from pathlib import Path

import torch
from torch import Tensor, nn

from regard import plots
from regard.layers import MultiHeadAttention, SinusoidalPositions
from regard.text import Vocabulary, tokenizer

WIDTH, NUM_HEADS = 512, 8


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sentence", nargs="?", default="the cat sat because it was tired")
    parser.add_argument("--to", type=Path, default=Path("self_attention.png"), help="the drawing")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(arguments)
    if not given.sentence.split():
        parser.error("the sentence has no words. Give at least one.")
    torch.manual_seed(given.seed)

    by_hand()
    tokens, weights = by_tensors(given.sentence)
    plots.save(plots.heads(weights, tokens, tokens), given.to)
    print(f"\nThe {NUM_HEADS} maps: {given.to}")


def by_hand() -> None:
    """Two keys of width 64, whose scores are whole numbers."""
    scores = torch.tensor([112.0, 96.0])
    scaled = scores / math.sqrt(64)
    weights = scaled.softmax(dim=0)
    print("One query, two keys of width 64:")
    print(f"  scores q·k            {_row(scores)}")
    print(f"  divided by √64 = 8    {_row(scaled)}")
    print(f"  softmax               {_row(weights)}")
    print(f"  without the division  {_row(scores.softmax(dim=0))}   all on one key, no gradient\n")


@torch.no_grad()
def by_tensors(sentence: str) -> tuple[list[str], Tensor]:
    """The tokens, and the weights of each head, ``(heads, query, key)``."""
    tokens = tokenizer("whitespace").tokenize(sentence)
    vocabulary = Vocabulary.build([tokens])
    embedding = nn.Embedding(len(vocabulary), WIDTH)
    positions = SinusoidalPositions(WIDTH)
    layer = MultiHeadAttention(WIDTH, NUM_HEADS)

    ids = torch.tensor([vocabulary.encode(tokens)])
    show("token ids", ids, f"{tokens}")
    embedded = embedding(ids)
    show("embeddings", embedded, "a row of the table for each token")
    x = positions(embedded)
    show("+ positions", x, "so that order is seen")

    query, key, value = layer.input_projections(x, x, x)
    show("queries Q W_Q", query, f"{NUM_HEADS} heads, each {WIDTH // NUM_HEADS} wide")
    show("keys K W_K", key, "")
    show("values V W_V", value, "")
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    show("scores", scores, "each query with each key, divided by √64")
    weights = scores.softmax(dim=-1)
    show("weights", weights, "a row for each query, which sums to 1")
    context = weights @ value
    show("context", context, "the average of the values, in every head")
    concat = context.transpose(1, 2).flatten(2)
    show("concatenation", concat, "the heads side by side")
    output = layer.output_projection(concat)
    show("output, W_O", output, "the heads mixed: as wide as what came in")

    answer = layer(x, x, x, need_weights=True, average_attn_weights=False)
    torch.testing.assert_close(output, answer.output)
    torch.testing.assert_close(weights, answer.weights)
    print("\nlayer(x, x, x) gives the same output and the same weights.")
    return tokens, weights[0]


def show(stage: str, tensor: Tensor, words: str) -> None:
    print(f"{stage:<16} {tuple(tensor.shape)!s:<18} {words}".rstrip())


def _row(numbers: Tensor) -> str:
    return "  ".join(f"{number:8.2f}" for number in numbers.tolist())


if __name__ == "__main__":
    main()
