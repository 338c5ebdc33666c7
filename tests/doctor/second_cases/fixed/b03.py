import torch
import torch.nn as nn
import torch.nn.functional as F

class Attn(nn.Module):
    def __init__(self, enc_hid_dim, dec_hid_dim):
        super(Attn, self).__init__()

        self.attn = nn.Linear(enc_hid_dim + dec_hid_dim, dec_hid_dim)
        self.v = nn.Linear(dec_hid_dim, 1, bias = False)

    def forward(self, hidden, encoder_outputs):

        #hidden = [batch size, dec hid dim]
        #encoder_outputs = [src len, batch size, enc hid dim]

        src_len = encoder_outputs.shape[0]

        hidden = hidden.unsqueeze(0).repeat(src_len, 1, 1)

        energy = torch.tanh(self.attn(torch.cat((hidden, encoder_outputs), dim = 2)))

        #energy = [src len, batch size, dec hid dim]

        attention = self.v(energy).squeeze(-1)

        #attention = [src len, batch size]

        a = F.softmax(attention, dim = 0)

        weighted = (a.unsqueeze(-1) * encoder_outputs).sum(dim = 0)

        #weighted = [batch size, enc hid dim]

        return weighted, a
