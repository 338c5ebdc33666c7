"""The four lines once more, in float64 torch, as the formulas stand in the papers.

Written apart from the package: autograd through them gives the derivatives that `regard.reference`,
which is NumPy, cannot. `test_contracts.py` checks that both give the same numbers.
"""

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import pad

from regard import scores
from tests.core.setting import Setting


class Defined(NamedTuple):
    """What attention is, and the leaves it was computed from, in the order of `Setting.leaves`."""

    context: Tensor
    weights: Tensor
    lse: Tensor
    leaves: list[Tensor]


def define(setting: Setting) -> Defined:
    """Score, hide, normalize, average."""
    leaves = [leaf.detach().double().requires_grad_() for leaf in setting.leaves]
    query, key, value, *rest = leaves
    names = [name for name, _ in setting.case.score.named_parameters()]
    own = dict(zip(names, rest, strict=False))
    absent = setting.unseen.unsqueeze(-1)
    key, value = key.masked_fill(absent, 0.0), value.masked_fill(absent, 0.0)

    scores_ = _scores(setting.case.score, query, key, own)
    scores_ = scores_ if setting.bias is None else scores_ + rest[-1]
    hidden = ~setting.allowed
    top = pad(scores_.detach().masked_fill(hidden, -torch.inf), (0, 1), value=-torch.inf).amax(-1)
    top = top.masked_fill(setting.empty, 0.0)
    exp = (scores_ - top.unsqueeze(-1)).masked_fill(hidden, 0.0).exp().masked_fill(hidden, 0.0)
    total = exp.sum(-1).masked_fill(setting.empty, 1.0)
    weights = exp / total.unsqueeze(-1)
    lse = (total.log() + top).masked_fill(setting.empty, -torch.inf)
    return Defined((weights * setting.keep) @ value, weights, lse, leaves)


def _scores(score: scores.Score, query: Tensor, key: Tensor, own: dict[str, Tensor]) -> Tensor:
    match score:
        case scores.ScaledDot(scale=scale):
            scale = query.shape[-1] ** -0.5 if scale is None else scale
            return torch.einsum("...qd,...kd->...qk", query, key) * scale
        case scores.Uniform():
            return query.new_zeros(*query.shape[:-1], key.shape[-2])
        case scores.Dot():
            return torch.einsum("...qd,...kd->...qk", query, key)
        case scores.Bilinear():
            return torch.einsum("...qd,...de,...ke->...qk", query, own["weight"], key)
        case scores.Concat():
            shape = (*query.shape[:-1], key.shape[-2])
            pairs = [
                query.unsqueeze(-2).expand(*shape, -1),
                key.unsqueeze(-3).expand(*shape, -1),
            ]
            inside = torch.einsum("...qkd,...ad->...qka", torch.cat(pairs, -1), own["weight"])
            return torch.einsum("...qka,...a->...qk", inside.tanh(), own["v"])
        case scores.Additive():
            v = own["v"]
            if score.normalized:
                v = own["g"] * v / (v**2).sum(-1, keepdim=True).sqrt()
            of_query = torch.einsum("...qd,...ad->...qa", query, own["query_weight"])
            of_key = torch.einsum("...kd,...ad->...ka", key, own["key_weight"])
            inside = of_query.unsqueeze(-2) + of_key.unsqueeze(-3)
            if score.bias is not None:
                inside = inside + own["bias"].unsqueeze(-2).unsqueeze(-2)
            return torch.einsum("...qka,...a->...qk", inside.tanh(), v)
    raise NotImplementedError(type(score).__name__)
