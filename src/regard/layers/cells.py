"""One step of a GRU or LSTM whose input is partly known beforehand."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.layers.dropout import LockedDropout
from regard.layers.recurrence import Hidden, init_recurrent

_NUM_GATES = {"gru": 3, "lstm": 4}


class ContextCells(nn.Module):
    """Stacked cells; the first reads ``[x ; context]``, the others the state of the one below.

    ``W [x ; context] = W_x x + W_c context``, and x is known for a whole training sequence before
    the first step: ``project_inputs`` takes that part out of the loop in one product. A summary of
    the source, if ``summary_dim`` gives it a width, is one for all steps and is projected once.

    With ``residual``, a layer gives its state and what it reads, but for the first, which reads
    another width: the sum of the states up to it. (Wu et al. 2016, arXiv:1609.08144, section 3.1.)

    A GRU cell is torch's (reset gate after the product), an LSTM cell likewise:

        GRU: r, z = σ(x + U h), n = tanh(x_n + r ∘ (U_n h + b)), h' = (1−z) ∘ n + z ∘ h
        LSTM: i, f, o = σ(x + U h), g = tanh(x_g + U_g h), c' = f ∘ c + i ∘ g, h' = o ∘ tanh(c')
    """

    def __init__(
        self,
        *,
        cell: str,
        input_dim: int,
        context_dim: int,
        hidden_dim: int,
        num_layers: int = 1,
        dropout: float = 0.0,
        summary_dim: int | None = None,
        residual: bool = False,
    ) -> None:
        super().__init__()
        self.cell, self.residual = cell, residual
        self.num_layers, self.hidden_dim = num_layers, hidden_dim
        gates_dim = _NUM_GATES[cell] * hidden_dim
        self.from_inputs = nn.Linear(input_dim, gates_dim)
        self.from_context = nn.Linear(context_dim, gates_dim, bias=False)
        self.from_summary = (
            None if summary_dim is None else nn.Linear(summary_dim, gates_dim, bias=False)
        )
        self.from_below = nn.ModuleList(
            nn.Linear(hidden_dim, gates_dim) for _ in range(num_layers - 1)
        )
        from_state = [nn.Linear(hidden_dim, gates_dim) for _ in range(num_layers)]
        self.from_state = nn.ModuleList(from_state)
        self.dropout = LockedDropout(dropout)
        for parameter in self.parameters():  # as torch initializes its own recurrent layers
            nn.init.uniform_(parameter, -(hidden_dim**-0.5), hidden_dim**-0.5)
        for linear in from_state:
            init_recurrent(linear.weight, linear.bias)

    def project_inputs(
        self,
        inputs: Float[Tensor, "*batch input_dim"],
        summary: Float[Tensor, "*#batch summary_dim"] | None = None,
    ) -> Float[Tensor, "*batch gates_dim"]:
        """What the inputs, and the summary, contribute to the first cell's gates."""
        projected = self.from_inputs(inputs)
        return projected if self.from_summary is None else projected + self.from_summary(summary)

    def forward(
        self,
        projected: Float[Tensor, "batch gates_dim"],
        context: Float[Tensor, "batch context_dim"],
        hidden: Hidden,
    ) -> Hidden:
        """The hidden state after one step, each part (num_layers, batch, hidden_dim)."""
        gates = below = projected + self.from_context(context)
        layers: list[Hidden] = []
        for layer in range(self.num_layers):
            before = tuple(part[layer] for part in hidden)
            after = self._advance(gates, self.from_state[layer](before[0]), before)
            layers.append(after)
            if layer + 1 < self.num_layers:
                below = below + after[0] if self.residual and layer > 0 else after[0]
                gates = self.from_below[layer](self.dropout(below))
        return tuple(torch.stack(parts) for parts in zip(*layers, strict=True))

    def top(self, hidden: Hidden) -> Float[Tensor, "batch hidden_dim"]:
        """What the last of these layers gives: its state, and with ``residual`` those below it."""
        return hidden[0].sum(dim=0) if self.residual else hidden[0][-1]

    def _advance(self, gates: Tensor, recurrent: Tensor, before: Hidden) -> Hidden:
        dim = self.hidden_dim
        if self.cell == "gru":
            reset, update = torch.sigmoid(gates[:, : 2 * dim] + recurrent[:, : 2 * dim]).chunk(2, 1)
            new = torch.tanh(gates[:, 2 * dim :] + reset * recurrent[:, 2 * dim :])
            return (torch.lerp(new, before[0], update),)
        gates = gates + recurrent
        keep_in, keep_old, show = torch.sigmoid(gates[:, : 3 * dim]).chunk(3, 1)
        inner = keep_old * before[1] + keep_in * torch.tanh(gates[:, 3 * dim :])
        return show * torch.tanh(inner), inner
