"""Recurrent layers over padded sequences in which padding never touches a state."""

from typing import TypeAlias

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from regard.layers.dropout import LockedDropout

Hidden: TypeAlias = tuple[Tensor, ...]
"""``(h,)`` of a GRU or ``(h, c)`` of an LSTM, each (num_layers, batch, hidden_dim)."""

CELLS: dict[str, type[nn.GRU] | type[nn.LSTM]] = {"gru": nn.GRU, "lstm": nn.LSTM}


class Recurrence(nn.Module):
    """Stacked GRU or LSTM layers, in one or both directions, batch first.

    With ``residual``, every layer but the first, which reads another width, gives what it reads
    besides its states. (Wu et al. 2016, arXiv:1609.08144, section 3.1.)
    """

    def __init__(
        self,
        *,
        cell: str,
        input_dim: int,
        hidden_dim: int,
        num_layers: int = 1,
        bidirectional: bool = False,
        dropout: float = 0.0,
        residual: bool = False,
    ) -> None:
        super().__init__()
        self.residual = residual
        self.output_dim = hidden_dim * (2 if bidirectional else 1)
        self.layers = nn.ModuleList(
            CELLS[cell](
                input_dim if layer == 0 else self.output_dim,
                hidden_dim,
                batch_first=True,
                bidirectional=bidirectional,
            )
            for layer in range(num_layers)
        )
        self.dropout = LockedDropout(dropout)
        for layer in self.layers:
            for name, weight in layer.named_parameters():
                if name.startswith("weight_hh"):
                    init_recurrent(weight, getattr(layer, name.replace("weight", "bias")))

    def forward(
        self,
        inputs: Float[Tensor, "batch position input_dim"],
        initial: Hidden | None = None,
        lengths: Int[Tensor, " batch"] | None = None,
    ) -> tuple[Float[Tensor, "batch position output_dim"], Hidden]:
        """States at every position, and the final ones.

        Final states are each sample's own, after its last real position, with both directions side
        by side: (num_layers, batch, output_dim). ``lengths`` None means that nothing is padding;
        that is faster, since then nothing is packed.
        """
        finals: list[Hidden] = []
        for index, layer in enumerate(self.layers):
            below = inputs
            if index > 0:
                inputs = self.dropout(inputs)
            start = None if initial is None else tuple(part[index : index + 1] for part in initial)
            inputs, final = _run(layer, inputs, start, lengths)
            if self.residual and index > 0:
                inputs = below + inputs
            finals.append(final)
        return inputs, tuple(torch.stack(parts) for parts in zip(*finals, strict=True))


def _run(
    layer: nn.Module, inputs: Tensor, start: Hidden | None, lengths: Tensor | None
) -> tuple[Tensor, Hidden]:
    is_lstm = isinstance(layer, nn.LSTM)
    given = start if start is None or is_lstm else start[0]
    if lengths is None:
        outputs, final = layer(inputs, given)
    else:
        packed = pack_padded_sequence(inputs, lengths.cpu(), batch_first=True, enforce_sorted=False)
        packed_outputs, final = layer(packed, given)
        outputs, _ = pad_packed_sequence(
            packed_outputs, batch_first=True, total_length=inputs.shape[1]
        )
    # torch gives (direction, batch, hidden); side by side: (batch, direction * hidden)
    parts = final if is_lstm else (final,)
    return outputs, tuple(part.transpose(0, 1).flatten(1) for part in parts)


def init_recurrent(weight: Tensor, bias: Tensor) -> None:
    """Each gate's state-to-state matrix orthogonal, its bias 0: states neither fade nor blow up.

    (Saxe et al. 2014, arXiv:1312.6120, section 3.)
    """
    for gate in weight.detach().view(-1, weight.shape[1], weight.shape[1]):
        nn.init.orthogonal_(gate)
    nn.init.zeros_(bias)
