"""An examination of code written down as text, bound by hand: for tests of the diagnosis alone."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from regard.doctor.probe import Answer, Array, Failure, Inputs, Sizes
from regard.doctor.tracing.trace_numpy import record_numpy
from regard.doctor.tracing.trace_torch import record_torch


@dataclass
class Written:
    """A torch or NumPy function `attend(query, key, value, [mask,] *parameters)`.

    Takes (batch, len, dim) arrays, returns (context, weights); `mask` is True where it hides.
    """

    source_text: str
    folder: Path
    params: dict[str, Array] = field(default_factory=dict)
    sizes: Sizes = field(default_factory=Sizes)
    score: str = "unknown"
    scale: float | None = None
    num_heads: int = 1
    framework: str = "torch"
    takes: frozenset[str] = frozenset({"query", "key", "value"})
    causal: bool = False
    self_attention: bool = False
    name: str = "attend"
    convention: str = ""
    equal: frozenset[frozenset[str]] = frozenset()
    unexpected: frozenset[frozenset[str]] = frozenset()
    gives: frozenset[str] = frozenset({"context", "weights"})
    mask_role: str = "mask"

    def __post_init__(self) -> None:
        path = self.folder / "user.py"
        path.write_text(self.source_text)
        self.file = str(path)
        self.source = tuple(self.source_text.splitlines())
        space: dict[str, Any] = {}
        exec(compile(self.source_text, self.file, "exec"), space)
        self.function = space[self.name]

    def inputs(self, *, sizes: Sizes | None = None, seed: int = 0, lengths: bool = False) -> Inputs:
        s = sizes or self.sizes
        rng = np.random.default_rng(seed)
        query = rng.standard_normal((s.batch, s.query_len, s.query_dim))
        if self.self_attention:
            inputs = Inputs(query, causal=self.causal)
        else:
            key = rng.standard_normal((s.batch, s.key_len, s.key_dim))
            value = rng.standard_normal((s.batch, s.key_len, s.value_dim))
            inputs = Inputs(query, key, value, causal=self.causal)
        if lengths:
            length = inputs.keys.shape[1]
            chosen = tuple(max(length - 2 * i, 2) for i in range(s.batch))
            may = np.arange(length) < np.array(chosen)[:, None, None]
            may = np.broadcast_to(may, (s.batch, s.query_len, length))
            inputs = inputs.with_(lengths=chosen, may_attend=may)
        return inputs

    def ask(
        self,
        inputs: Inputs,
        *,
        train: bool = False,
        gradients: bool = False,
        half: bool = False,
        trace: bool = False,
    ) -> Answer:
        named: dict[str, Any] = {"query": inputs.query}
        if not self.self_attention:
            named |= {"key": inputs.key, "value": inputs.values}
        if "mask" in self.takes:
            may = inputs.may_attend
            shape = (len(inputs.query), inputs.keys.shape[1])
            named["mask"] = np.zeros(shape, bool) if may is None else ~may[:, 0]
        is_torch = self.framework == "torch"
        if is_torch:
            named = {k: _tensor(v) for k, v in named.items()}
        params = {k: _tensor(v) if is_torch else v for k, v in self.params.items()}
        record = record_torch if is_torch else record_numpy
        seen = record(lambda n, p: self.function(**n, **p), named, params, self.file)
        if seen.error is not None:
            return Answer(failure=Failure("Error", str(seen.error)), trace=seen.trace)
        context, weights = (np.asarray(part, np.float64) for part in seen.result)
        if weights.ndim == 3:
            weights = weights[:, None]
        return Answer(context, weights, seen.result, trace=seen.trace)

    def ask_twice(self, first: Inputs, second: Inputs) -> Answer:
        return self.ask(second)

    @property
    def uninitialized(self) -> tuple[str, ...]:
        return ()

    def parameters(self) -> dict[str, Array]:
        return self.params

    def with_parameters(self, parameters: dict[str, Any]) -> "Written":
        return replace(self, params=self.params | parameters)


def _tensor(array: Any) -> torch.Tensor:
    tensor = torch.as_tensor(np.asarray(array))
    return tensor.float() if tensor.is_floating_point() else tensor
