import torch
import torch.nn as nn


class AttentionDecoder(nn.Module):
    def __init__(self, input_dim, memory_dim, state_dim, attn_dim):
        super(AttentionDecoder, self).__init__()
        self.query_layer = nn.Linear(state_dim, attn_dim, bias=False)
        self.memory_layer = nn.Linear(memory_dim, attn_dim, bias=False)
        self.v = nn.Linear(attn_dim, 1, bias=False)
        self.cell = nn.GRUCell(input_dim + memory_dim, state_dim)
        self.proj_memory = None

    def attend(self, state, memory, lengths=None):
        # the memory is the same at every step, project it once
        if self.proj_memory is None:
            self.proj_memory = self.memory_layer(memory)
        q = self.query_layer(state).unsqueeze(1)
        energies = self.v(torch.tanh(q + self.proj_memory)).squeeze(-1)
        if lengths is not None:
            steps = torch.arange(memory.size(1), device=memory.device)
            energies = energies.masked_fill(steps >= lengths.unsqueeze(1), -1e9)
        alignment = torch.softmax(energies, dim=1)
        context = torch.bmm(alignment.unsqueeze(1), memory).squeeze(1)
        return context, alignment

    def forward(self, inputs, state, memory, lengths=None):
        """
        inputs:  [B, input_dim]      frame t-1
        state:   [B, state_dim]      s_{t-1}
        memory:  [B, T, memory_dim]
        lengths: [B]
        """
        context, alignment = self.attend(state, memory, lengths)
        state = self.cell(torch.cat([inputs, context], dim=-1), state)
        return state, context, alignment
