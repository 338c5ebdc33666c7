"""Multi-head attention in NumPy, float64: projections, one head after the other, Concat, W_O."""

import numpy as np
import torch
from torch import Tensor

from regard import Mask
from regard.layers import MultiHeadAttention
from tests.core.cases import Case, oracle


def numbers(tensor: Tensor) -> np.ndarray:
    return tensor.detach().double().numpy()


def randomized(layer: MultiHeadAttention, seed: int = 0) -> MultiHeadAttention:
    """The same layer with random parameters, biases and scores' included."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in layer.parameters():
            noise = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
            parameter.copy_(noise * parameter.shape[-1] ** -0.5)
    return layer


def parameters(layer: MultiHeadAttention) -> list[tuple[np.ndarray, np.ndarray]]:
    """Weights, to be multiplied from the right, and biases, of W_Q, W_K, W_V and W_O."""
    widths = 4 * [layer.embed_dim]
    widths[3] = layer.output_projection.out_features
    inputs = layer.input_projections
    biases = (
        [torch.zeros(width) for width in widths]
        if inputs.bias is None
        else [*inputs.bias.chunk(3), layer.output_projection.bias]
    )
    weights = [*inputs.weights(), layer.output_projection.weight]
    return [(numbers(w).T, numbers(b)) for w, b in zip(weights, biases, strict=True)]


def by_hand(
    layer: MultiHeadAttention, inputs: list[Tensor], may_attend: Mask | None = None
) -> tuple[Tensor, Tensor]:
    """Output and the weights of each head, with the score of each head from `regard.reference`."""
    *of_inputs, (W_o, b_o) = parameters(layer)
    heads = [
        np.stack(np.split(numbers(x) @ W + b, layer.num_heads, axis=-1), axis=1)
        for x, (W, b) in zip(inputs, of_inputs, strict=True)
    ]
    context, weights = oracle(Case(*map(torch.from_numpy, heads), layer.score), may_attend)
    concat = np.concatenate(list(context.numpy().swapaxes(0, 1)), axis=-1)
    return torch.from_numpy(concat @ W_o + b_o), weights
