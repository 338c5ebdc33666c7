"""Log-probabilities that are numbers."""

from jaxtyping import Float
from torch import Tensor


def check_log_probs(log_probs: Float[Tensor, "rows classes"], where: str) -> None:
    """Refuse NaN: with it nothing is likelier than anything else, and every comparison is false.

    Raises:
        ValueError: one is NaN; ``where`` begins the message.

    >>> import torch
    >>> check_log_probs(torch.tensor([[0.5, 0.5]]).log(), "greedy")
    >>> check_log_probs(torch.tensor([[0.5, torch.nan]]), "greedy")
    Traceback (most recent call last):
    ValueError: greedy: the decoder's log-probabilities are NaN in 1 of 1 rows. ...
    """
    wrong = log_probs.isnan().any(dim=-1)
    if wrong.any():
        raise ValueError(
            f"{where}: the decoder's log-probabilities are NaN in {int(wrong.sum())} of "
            f"{len(wrong)} rows. Nothing is likelier than anything else then. Look for NaN or "
            "infinite numbers in the logits: in the parameters first, then in what is edited "
            "while it runs."
        )
