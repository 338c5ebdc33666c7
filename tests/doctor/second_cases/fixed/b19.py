import torch
import torch.nn as nn
import torch.nn.functional as F


class LuongAttnDecoderRNN(nn.Module):
    def __init__(self, embed_size, hidden_size, output_size):
        super(LuongAttnDecoderRNN, self).__init__()
        self.hidden_size = hidden_size
        self.gru = nn.GRU(embed_size, hidden_size)
        self.attn = nn.Linear(hidden_size, hidden_size, bias=False)
        self.concat = nn.Linear(hidden_size * 2, hidden_size)
        self.out = nn.Linear(hidden_size, output_size)

    def general_score(self, rnn_output, encoder_outputs):
        # B x 1 x H, B x S x H -> B x S
        energy = self.attn(encoder_outputs)
        return torch.bmm(rnn_output, energy.transpose(1, 2)).squeeze(1)

    def forward(self, embedded, last_hidden, encoder_outputs):
        """
        embedded: 1 x B x E, the word of this step
        last_hidden: 1 x B x H
        encoder_outputs: S x B x H
        """
        rnn_output, hidden = self.gru(embedded, last_hidden)

        rnn_output = rnn_output.transpose(0, 1)
        encoder_outputs = encoder_outputs.transpose(0, 1).contiguous()

        attn_energies = self.general_score(rnn_output, encoder_outputs)
        attn_weights = F.softmax(attn_energies, dim=1).unsqueeze(1)
        context = attn_weights.bmm(encoder_outputs)

        concat_input = torch.cat((rnn_output.squeeze(1), context.squeeze(1)), 1)
        concat_output = torch.tanh(self.concat(concat_input))
        output = F.softmax(self.out(concat_output), dim=1)
        return output, hidden, attn_weights
