"""What recurrent encoders and decoders refuse, in words.

Types, dtypes and shapes alone, which cost nothing at a training step, except for the source's ids:
one of them has a meaning of its own, so torch would not notice it.
"""

import torch
from torch import Tensor

from regard.core.errors import dtype_text, shape_text, shapes_text
from regard.core.masks.checks import readable
from regard.core.sizes import check_sizes
from regard.layers.dropout import check_dropout
from regard.layers.recurrence import CELLS

_INTS = (torch.int64, torch.int32)


def check_recurrent(caller: str, *, cell: object, dropout: object, **sizes: object) -> None:
    """What every recurrent encoder and decoder is built from.

    Raises:
        TypeError: a size that is no whole number, a dropout that is no number.
        ValueError: a size or a dropout out of its range, an unknown cell.
    """
    check_sizes(caller, **sizes)
    if not isinstance(cell, str) or cell not in CELLS:
        raise ValueError(f"{caller}: cell={cell!r} is unknown. Choose one of: {', '.join(CELLS)}.")
    check_dropout(dropout, caller=caller)


def check_switches(caller: str, **switches: object) -> None:
    """True or False, and nothing that Python would take for one of them.

    Raises:
        TypeError: another type.
    """
    for name, given in switches.items():
        if not isinstance(given, bool):
            raise TypeError(
                f"{caller}: {name}={given!r} is a {type(given).__name__}. It is a switch. "
                "Give True or False."
            )


def check_whole_ids(given: object, *, caller: str, name: str, axes: str) -> None:
    """A tensor of whole numbers with these axes.

    Raises:
        TypeError: no tensor, or another dtype.
        ValueError: another number of axes.
    """
    if not isinstance(given, Tensor):
        raise TypeError(
            f"{caller}: {name} is a {type(given).__name__}. It must be a torch tensor of whole "
            f"numbers, {axes}. Write torch.tensor(...) around plain numbers."
        )
    if given.dtype not in _INTS:
        raise TypeError(
            f"{caller}: {name} {shape_text(given.shape)} is {dtype_text(given.dtype)}. It holds "
            f"whole numbers, int64 or int32. Write {name}.long() if that is what they are."
        )
    num_axes = 1 if axes == "(batch,)" else 2
    if given.dim() != num_axes:
        fix = (
            f"Give a single example as a batch of one: {name}[None]."
            if given.dim() < num_axes
            else f"Take one index of the axis too many: {name}[:, 0], for example."
        )
        raise ValueError(f"{caller}: {name} {shape_text(given.shape)}. It must be {axes}. {fix}")


def check_source(tokens: Tensor, lengths: Tensor, *, vocab_size: int) -> None:
    """A padded source with a length for each example, and ids of the vocabulary where it is real.

    Raises:
        TypeError: not tensors of whole numbers.
        ValueError: shapes that do not fit, or an id that is not the vocabulary's.
    """
    caller = "encoder"  # wherever it is embedded, this is the one door
    check_whole_ids(tokens, caller=caller, name="tokens", axes="(batch, source_len)")
    check_whole_ids(lengths, caller=caller, name="lengths", axes="(batch,)")
    if lengths.shape[0] != tokens.shape[0]:
        raise ValueError(
            f"{caller}: {shapes_text(tokens=tokens, lengths=lengths)}. There must be one length "
            "for each example: no axis is stretched silently. "
            f"Give lengths of shape ({tokens.shape[0]},)."
        )
    if not readable(tokens) or not tokens.numel():
        return
    lowest, highest = torch.aminmax(tokens)
    if lowest < 0 or highest >= vocab_size:  # but padding may be anything
        real = torch.arange(tokens.shape[1], device=tokens.device) < lengths[:, None]
        wrong = ((tokens < 0) | (tokens >= vocab_size)) & real
        if wrong.any():
            raise ValueError(unknown_id_text(tokens, wrong, vocab_size=vocab_size, caller=caller))


def is_padded(tokens: Tensor, lengths: Tensor, *, caller: str) -> bool:
    """Whether some position of the batch is padding.

    Raises:
        ValueError: a length of 0, or more than there are positions.
    """
    source_len = tokens.shape[1]
    if lengths.numel() == 0:
        return False
    shortest, longest = int(lengths.min()), int(lengths.max())
    if shortest < 1 or longest > source_len:
        sample = int(((lengths < 1) | (lengths > source_len)).nonzero()[0])
        raise ValueError(
            f"{caller}: lengths[{sample}] is {int(lengths[sample])}, tokens "
            f"{shape_text(tokens.shape)}. A source has at least one token, and at most "
            f"source_len={source_len}. Leave empty sources out of the batch."
        )
    return shortest < source_len


def unknown_id_text(tokens: Tensor, wrong: Tensor, *, vocab_size: int, caller: str) -> str:
    """Names the first token whose id is not the vocabulary's."""
    where = wrong.nonzero()[0].tolist()
    return (
        f"{caller}: tokens{where} is {int(tokens[tuple(where)])}, tokens "
        f"{shape_text(tokens.shape)}. Ids of this vocabulary are 0 to {vocab_size - 1}. Build it "
        "with a larger vocab_size, or encode the tokens with the vocabulary it was built for."
    )
