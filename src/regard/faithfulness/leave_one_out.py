"""Leave-one-out: what each input is worth to the output."""

import torch
from jaxtyping import Float
from torch import Tensor

from regard.faithfulness.decisions import Decisions
from regard.faithfulness.distances import total_variation


@torch.no_grad()
def leave_one_out(decisions: Decisions, how: str) -> Float[Tensor, "rows keys"]:
    """``TVD(y, y without input j)``: j is removed and the rest read again; 0 where there is none.

    (Jain & Wallace 2019, arXiv:1902.10186, section 4.1, algorithm 1.)
    """
    may_attend = decisions.may_attend
    base = decisions.respond(decisions.weights)
    worth = torch.zeros_like(decisions.weights)
    for j in range(may_attend.shape[1]):
        keep = may_attend.clone()
        keep[:, j] = False
        without = decisions.respond_without(keep, how)
        worth[:, j] = torch.where(may_attend[:, j], total_variation(base, without), 0.0)
    return worth
