"""Decisions whose right explanation is known, because they are made by a formula."""

import torch


class Planted:
    """The value at one planted position alone says the class of its row.

    ``logits = 8 (share · Σ_j α_j value_j + (1 − share) · value_planted)``: with ``share=1`` the
    planted value is found by attention alone, with ``share=0`` attention changes nothing and the
    planted input still decides. Each row has its own length. An input that is removed leaves no
    score; a planted one that is removed leaves the second way empty.
    """

    interventions = ("deleted", "masked")

    def __init__(self, scores, may_attend, planted, *, share, examples=None):
        rows, _ = scores.shape
        self.may_attend = may_attend
        self._scores, self._planted, self._share = scores, planted, share
        self._values = torch.zeros(*scores.shape, 3)
        self._values[..., 0] = 1.0  # every other position says class 0
        at = torch.arange(rows), planted
        self._values[at] = torch.eye(3)[1 + torch.arange(rows) % 2]
        self.weights = self._softmax(may_attend)
        self.examples = torch.arange(rows) if examples is None else examples
        self.by_position = -torch.arange(scores.shape[1]).float().expand_as(scores)

    @classmethod
    def found(cls, rows=40, keys=7, seed=0):
        """Attention that looks at the planted position."""
        may_attend, planted = _places(rows, keys, seed)
        scores = 5.0 * torch.nn.functional.one_hot(planted, keys).float()
        return cls(scores, may_attend, planted, share=1.0)

    @classmethod
    def bypassed(cls, rows=40, keys=7, seed=0):
        """Random attention that the output does not depend on."""
        may_attend, planted = _places(rows, keys, seed)
        scores = torch.randn(rows, keys, generator=torch.Generator().manual_seed(seed + 1))
        return cls(scores, may_attend, planted, share=0.0)

    @classmethod
    def uniform(cls, rows=40, keys=7, seed=0):
        may_attend, planted = _places(rows, keys, seed)
        return cls(torch.zeros(rows, keys), may_attend, planted, share=1.0)

    def respond(self, weights):
        return self._logits(weights, self.may_attend).log_softmax(-1)

    def respond_without(self, keep, how):
        return self._logits(self._softmax(keep), keep).log_softmax(-1)

    def input_gradient(self):
        gates = torch.ones_like(self.weights, requires_grad=True)
        probs = self._logits(self.weights, self.may_attend, gates).softmax(-1)
        (slope,) = torch.autograd.grad(probs.amax(-1).sum(), gates)
        slope = slope.abs() * self.may_attend
        return slope / slope.sum(-1, keepdim=True)

    def _softmax(self, keep):
        return self._scores.masked_fill(~keep, -torch.inf).softmax(-1)

    def _logits(self, weights, keep, gates=1.0):
        values = self._values * (torch.ones_like(weights) * gates)[..., None]
        attended = torch.einsum("r k, r k c -> r c", weights, values)
        at = torch.arange(len(weights)), self._planted
        direct = values[at] * keep[at][:, None]
        return 8.0 * (self._share * attended + (1.0 - self._share) * direct)


def _places(rows, keys, seed):
    generator = torch.Generator().manual_seed(seed)
    lengths = torch.randint(4, keys + 1, (rows,), generator=generator)
    planted = (torch.rand(rows, generator=generator) * lengths).long()
    return torch.arange(keys) < lengths[:, None], planted


def generator(seed=3):
    return torch.Generator().manual_seed(seed)
