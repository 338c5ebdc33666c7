"""How far apart two distributions are."""

import torch
from jaxtyping import Float
from torch import Tensor


def total_variation(
    log_p: Float[Tensor, "*rows classes"], log_q: Float[Tensor, "*rows classes"]
) -> Float[Tensor, "*rows"]:
    r"""``TVD(p, q) = ½ Σ |p − q|``, from log-probabilities; 0 to 1.

    >>> p, q = torch.tensor([0.7, 0.2, 0.1]), torch.tensor([0.5, 0.1, 0.4])
    >>> round(float(total_variation(p.log(), q.log())), 4)
    0.3
    """
    return (log_p.exp() - log_q.exp()).abs().sum(-1) / 2


def jensen_shannon(
    p: Float[Tensor, "*rows keys"], q: Float[Tensor, "*rows keys"]
) -> Float[Tensor, "*rows"]:
    r"""``JSD(p, q) = H(½p + ½q) − ½H(p) − ½H(q)`` with the natural logarithm; 0 to ln 2 = 0.693.

    (Lin 1991, Divergence measures based on the Shannon entropy, equation 4.1.)

    >>> p, q = torch.tensor([1.0, 0.0]), torch.tensor([0.0, 1.0])
    >>> round(float(jensen_shannon(p, q)), 4)
    0.6931
    """
    between = _entropy((p + q) / 2) - (_entropy(p) + _entropy(q)) / 2
    return between.clamp(min=0.0)  # rounding


def _entropy(p: Float[Tensor, "*rows keys"]) -> Float[Tensor, "*rows"]:
    # the slope at 0 is infinite, and times a weight of 0 it would be NaN
    return torch.special.entr(p.clamp(min=torch.finfo(p.dtype).tiny)).sum(-1)
