import torch
from torch import nn


class ConcatScore(nn.Module):
    def __init__(self, query_size, key_size, hidden):
        super().__init__()
        self.layer = nn.Sequential(
            nn.Linear(query_size + key_size, hidden, bias=False),
            nn.Tanh(),
            nn.Linear(hidden, 1, bias=False),
        )

    def forward(self, queries, keys):
        nq, nk = queries.size(1), keys.size(1)
        pairs = torch.cat(
            [
                queries.unsqueeze(2).expand(-1, -1, nk, -1),
                keys.unsqueeze(1).expand(-1, nq, -1, -1),
            ],
            dim=3,
        )
        return self.layer(pairs).flatten(2)


class ConcatAttention(nn.Module):
    """Luong's concat score; the keys are the values as well."""

    def __init__(self, query_size, key_size, hidden):
        super().__init__()
        self.score = ConcatScore(query_size, key_size, hidden)

    def forward(self, queries, keys):
        weights = self.score(queries, keys).softmax(2)
        return {"context": weights @ keys, "weights": weights}
