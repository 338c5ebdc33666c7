import torch
import torch.nn as nn


class LuongDecoderStep(nn.Module):
    """Effective Approaches to Attention-based NMT (Luong et al. 2015), general score."""

    def __init__(self, vocab, emb, hidden):
        super().__init__()
        self.embed = nn.Embedding(vocab, emb)
        self.gru = nn.GRU(emb, hidden, batch_first=True)
        self.W_a = nn.Linear(hidden, hidden, bias=False)
        self.W_c = nn.Linear(2 * hidden, hidden)
        self.out = nn.Linear(hidden, vocab)

    def forward(self, input_token, hidden, encoder_outputs):
        x = self.embed(input_token).unsqueeze(1)  # (B, 1, E)
        query = hidden[-1].unsqueeze(1)
        rnn_out, hidden = self.gru(x, hidden)
        scores = torch.bmm(query, self.W_a(encoder_outputs).transpose(1, 2))
        weights = torch.softmax(scores, dim=-1)  # (B, 1, T)
        context = torch.bmm(weights, encoder_outputs)
        attentional = torch.tanh(self.W_c(torch.cat([context, rnn_out], dim=-1)))
        return self.out(attentional.squeeze(1)), hidden, weights.squeeze(1)
