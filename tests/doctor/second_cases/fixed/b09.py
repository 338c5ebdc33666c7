import torch
from torch import nn
from torch.nn import functional as F


def get_mask_from_lengths(lengths, max_len):
    ids = torch.arange(max_len, device=lengths.device)
    return ids[None, :] >= lengths[:, None]


class MemoryAttention(nn.Module):
    """Content based attention of a decoder over an encoder memory.

    PARAMS
    ------
    query_dim:  size of the decoder state
    memory_dim: size of the encoder outputs, and of the context
    attn_dim:   size of the space in which both are compared
    """

    def __init__(self, query_dim, memory_dim, attn_dim):
        super().__init__()
        self.query_layer = nn.Linear(query_dim, attn_dim, bias=False)
        self.memory_layer = nn.Linear(memory_dim, attn_dim, bias=False)
        self.v = nn.Linear(attn_dim, 1, bias=False)
        self.score_mask_value = -1e9

    def forward(self, query, memory, memory_lengths=None):
        """
        query: decoder state (B, query_dim)
        memory: encoder outputs (B, T_in, memory_dim)
        memory_lengths: (B,)
        """
        query = self.query_layer(query.unsqueeze(1))
        keys = self.memory_layer(memory)
        energies = self.v(torch.tanh(query + keys)).squeeze(-1)

        if memory_lengths is not None:
            pad = get_mask_from_lengths(memory_lengths, memory.size(1))
            energies = energies.masked_fill(pad, self.score_mask_value)

        weights = F.softmax(energies, dim=1)
        context = torch.bmm(weights.unsqueeze(1), memory).squeeze(1)
        return context, weights
