"""An examination of attention written here, sound or broken in one way, for the checks' own tests.

The code is one torch function in float32 over (batch, position, dim); `broken` names what is wrong.
"""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from regard.doctor.probe import Answer, Array, Failure, Inputs, Sizes


@dataclass
class FakeExamination:
    """Implements `regard.doctor.examination.Examination`."""

    score: str = "scaled_dot"
    broken: str = ""
    dropout: float = 0.0
    returns_weights: bool = True
    num_heads: int = 1
    self_attention: bool = False
    always_causal: bool = False
    convention: str = ""
    step: bool = False
    name: str = "fake"
    framework: str = "torch"
    sizes: Sizes = field(default_factory=lambda: Sizes(key_dim=11))
    equal: frozenset[frozenset[str]] = frozenset({frozenset({"query_dim", "key_dim"})})
    source: tuple[str, ...] = ("scores = query @ key",)
    file: str = "fake.py"
    mask_role: str = "mask"
    scale: float | None = None
    stale: dict[str, Tensor] = field(default_factory=dict)
    own: dict[str, Array] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.score == "additive":
            self.sizes, self.equal = Sizes(), frozenset()
            self.source = self.source and ("scores = torch.tanh(query + key) @ v_a",)
        if self.broken == "position-coupled":
            self.equal = frozenset({frozenset({"batch", "key_len"})})
        if self.broken == "widths-coupled":
            self.sizes = Sizes(key_dim=11)
            self.equal = frozenset({frozenset({"query_dim", "key_dim"})})
            self.source = ("def __init__(self, enc_dim, dec_dim): ...",)
        made = np.random.default_rng(99)
        s = self.sizes
        if not self.own:
            self.own = {
                "W_a": made.normal(0, 0.5, (s.query_dim, s.attn_dim)),
                "U_a": made.normal(0, 0.5, (s.key_dim, s.attn_dim)),
                "v_a": made.normal(0, 0.5, (s.attn_dim,)),
            }
            if self.broken == "nan-parameter":
                self.own["v_a"][0] = np.nan

    @property
    def unexpected(self) -> frozenset[frozenset[str]]:
        return self.equal

    @property
    def uninitialized(self) -> tuple[str, ...]:
        return tuple(name for name, array in self.own.items() if np.isnan(array).any())

    @property
    def gives(self) -> frozenset[str]:
        return frozenset({"context", "weights"} if self.returns_weights else {"context"})

    @property
    def takes(self) -> frozenset[str]:
        roles = {"mask", "lengths", "causal", "gradients", "train", "half", "query"}
        roles |= set() if self.self_attention else {"key", "value"}
        return frozenset(roles | ({"step"} if self.step else set()))

    def inputs(self, *, sizes: Sizes | None = None, seed: int = 0, lengths: bool = False) -> Inputs:
        s, made = sizes or self.sizes, np.random.default_rng(seed)
        if self.self_attention:
            s = s.with_(key_len=s.query_len)
        query = made.standard_normal((s.batch, s.query_len, s.query_dim))
        key = made.standard_normal((s.batch, s.key_len, s.key_dim))
        value = made.standard_normal((s.batch, s.key_len, s.value_dim))
        alone = self.self_attention
        given = Inputs(query, None if alone else key, None if alone else value)
        given = given.with_(causal=self.always_causal)
        if self.step:
            given = given.with_(extra={"token": np.arange(s.batch)})
        if lengths:
            short = tuple(max(1, s.key_len - 2 * i) for i in range(s.batch))
            shown = np.arange(s.key_len) < np.array(short)[:, None, None]
            shape = (s.batch, s.query_len, s.key_len)
            given = given.with_(lengths=short, may_attend=np.broadcast_to(shown, shape).copy())
        return given

    def parameters(self) -> dict[str, Array]:
        return self.own if self.score == "additive" else {}

    def with_parameters(self, parameters: dict[str, Any]) -> "FakeExamination":
        return replace(self, own={**self.own, **parameters})

    def ask_twice(self, first: Inputs, second: Inputs) -> Answer:
        if self.broken == "stale":
            self.stale["key"] = torch.tensor(first.keys, dtype=torch.float32)
        answer = self.ask(second)
        self.stale.clear()
        return answer

    def ask(
        self,
        inputs: Inputs,
        *,
        train: bool = False,
        gradients: bool = False,
        half: bool = False,
        trace: bool = False,
    ) -> Answer:
        kind = torch.float16 if half else torch.float32

        def tensor(array: Array) -> Tensor:
            return torch.tensor(array, dtype=kind).requires_grad_(gradients)

        roles = {"query": tensor(inputs.query)}
        if inputs.key is not None:
            roles["key"] = tensor(inputs.keys)
        if inputs.value is not None:
            roles["value"] = tensor(inputs.values)
        parameters = {name: tensor(array) for name, array in self.parameters().items()}
        try:
            context, weights = self._attend(roles, parameters, inputs, train)
        except (RuntimeError, IndexError) as error:
            return Answer(failure=Failure(type(error).__name__, str(error)))
        grads = {}
        if gradients:
            made = torch.Generator().manual_seed(0)
            (context * torch.randn(context.shape, generator=made)).sum().backward()
            for name, given in {**roles, **parameters}.items():
                grads[name] = (
                    np.zeros(given.shape) if given.grad is None else given.grad.double().numpy()
                )
        return Answer(
            context=context.detach().double().numpy(),
            weights=weights.detach().double().numpy() if self.returns_weights else None,
            gradients=grads,
            changed=("key",) if self.broken == "in-place" else (),
        )

    def _attend(
        self, roles: dict[str, Tensor], p: dict[str, Tensor], inputs: Inputs, train: bool
    ) -> tuple[Tensor, Tensor]:
        b, query = self.broken, roles["query"]
        key = self.stale.get("key", roles.get("key", query))
        value = roles.get("value", query if self.self_attention else key)
        if b == "fixed-length" and key.shape[1] > 20:
            raise IndexError("index 20 is out of bounds for dimension 1 with size 20")
        if b == "query-ignored":
            query = query * 0
        if b == "key-ignored":
            key = key * 0 + torch.arange(key.shape[1])[:, None] / 10.0
        if b == "token-moves":
            query = query + torch.tensor(inputs.extra["token"])[:, None, None]
        if b == "view-transpose":
            scores = query @ key.reshape(key.shape[0], key.shape[2], key.shape[1])
        elif self.score == "additive":
            hidden = (query @ p["W_a"])[:, :, None] + (key @ p["U_a"])[:, None]
            if b == "detached":
                hidden = (query @ p["W_a"].detach())[:, :, None] + (key @ p["U_a"])[:, None]
            scores = (hidden if b == "no-tanh" else hidden.tanh()) @ p["v_a"]
        else:
            scores = query @ key.transpose(1, 2) / key.shape[-1] ** 0.5
        if b == "position-bias":
            scores = scores - torch.arange(key.shape[1]).to(scores)
        if b == "half-product":
            scores = scores * 1e6 / 1e6
        if b == "no-exp":
            scores = scores.tanh()
        seen = torch.ones(scores.shape, dtype=torch.bool)
        if inputs.may_attend is not None:
            seen &= torch.tensor(inputs.may_attend)
        if inputs.causal:
            shift = {"future": 1, "past-only": -1}.get(b, 0)
            seen &= torch.ones(scores.shape[1:], dtype=torch.bool).tril(shift)
        if b == "batch-broadcast" and scores.shape[0] == scores.shape[2]:
            scores = scores + key[:, 0, 0]
        weights = self._weigh(scores, seen)
        context = self._average(roles, weights, value, train)
        if b == "squeeze" and len(context) == 1:
            context = context.roll(1, 2)
        if b == "refuses-one" and len(context) == 1:
            raise RuntimeError("batch1 must be a 3D tensor")
        if b == "dropout-scores" and train:
            noise = torch.nn.functional.dropout(scores, 0.5)
            weights = self._weigh(noise, seen)
        if b == "dropped-weights" and train:
            weights = torch.nn.functional.dropout(weights, 0.5)
        return context, weights[:, None]

    def _weigh(self, scores: Tensor, seen: Tensor) -> Tensor:
        b = self.broken
        axis = {"softmax-queries": 1, "softmax-batch": 0}.get(b, 2)
        if b == "mask-dropped":
            seen = torch.ones_like(seen)
        if b == "polarity":
            seen = ~seen | seen.all(-1, keepdim=True)
        if b == "mask-other-sample":
            seen = seen.roll(1, 0)
        if b == "exp-without-max":
            raw = scores.exp() * seen
            return raw / raw.sum(-1, keepdim=True)
        if b == "mask-after":
            return scores.softmax(-1) * seen
        fill = {"weak-fill": -10.0, "weaker-fill": -40.0, "finite": -1e9}.get(b, -torch.inf)
        weights = scores.masked_fill(~seen, fill).softmax(axis)
        if b in ("nan-rows", "finite"):
            return weights
        if b == "nan-gradient":
            added = scores + torch.where(seen, 0.0, -torch.inf)
            return added.softmax(-1).masked_fill(~seen.any(-1, keepdim=True), 0.0)
        empty = ~seen.any(-1, keepdim=True)
        return scores.masked_fill(~(seen | empty), fill).softmax(axis) * ~empty

    def _average(
        self, roles: dict[str, Tensor], weights: Tensor, value: Tensor, train: bool
    ) -> Tensor:
        b = self.broken
        if b == "eval-dropout" or (train and self.dropout):
            weights = torch.nn.functional.dropout(weights, 0.5)
        if b == "from-keys":
            value = roles["key"]
        if b == "from-query":
            return roles["query"]
        if b == "plain-mean":
            return value.mean(1, keepdim=True).expand(-1, weights.shape[1], -1)
        if b == "other-weights":
            weights = (weights * 2).softmax(-1)
        if b == "context-mixes-batch":
            return weights @ value.roll(1, 0)
        if b == "rows-moved":
            return (weights @ value).roll(1, 1)
        if b == "residual":
            return weights @ value + roles["query"].sum(-1, keepdim=True)
        return weights @ value
