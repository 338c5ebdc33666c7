import torch


class Attention:
    """Dot-product attention with the arguments of Keras: no scale unless it is given."""

    def __init__(self, scale=1.0):
        self.scale = scale

    def call(self, query, value, key=None, value_mask=None):
        # value_mask (batch, Tv): False at padding
        key = value if key is None else key
        scores = self.scale * torch.matmul(query, key.transpose(1, 2))
        if value_mask is not None:
            scores = scores - 1e9 * (~value_mask[:, None, :]).to(scores.dtype)
        weights = torch.softmax(scores, dim=-1)
        return torch.matmul(weights, value), weights

    __call__ = call
