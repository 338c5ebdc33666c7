"""How a library is asked: cases come in as JSON on stdin, its answers leave on stdout.

It needs torch alone, so that it runs in any peer's own environment. A peer's script translates each
case into that library's documented conventions, with every projection the identity, and calls
:func:`answer_all`. What a library has no parameter for raises :class:`CannotBeAsked`; any other
exception out of the library is its refusal, and is reported as such.
"""

import contextlib
import json
import re
import sys
import traceback
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

Numbers = list[Any]  # nested lists, as a tensor's tolist() gives them
COLOURS = re.compile(r"\x1b\[[0-9;]*m")


class CannotBeAsked(Exception):
    """The library has no such feature."""


@dataclass(frozen=True)
class Case:
    """One call of attention; lists, so that it travels as JSON."""

    memory: Numbers  # (batch, key, dim), keys and values in one
    query: Numbers | None = None  # (batch, query, dim); None: the memory attends to itself
    v: tuple[float, ...] = (1.0, -0.5, 0.75, 2.0)  # of the additive score
    dtype: str = "float32"
    keep: list[list[bool]] | None = (
        None  # (batch, key), true where a key may be seen; to be translated
    )
    mask: Numbers | None = None  # (batch, key), for the library's own mask parameter as it is
    mask_dtype: str = "bool"
    causal: str | None = None  # "flag": the library's own; "start", "end": that alignment
    need_weights: bool | None = None  # None: as the library has it by default
    train: bool = True
    dropout: float = 0.0
    num_heads: int = 1
    default_layout: bool = False  # leave the layer's layout at its default
    loss_over: list[int] | None = None  # the examples in the loss; None: no gradients

    def mask_tensor(self) -> Tensor | None:
        """The mask to hand over as it is."""
        return None if self.mask is None else torch.tensor(self.mask, dtype=_dtype(self.mask_dtype))

    def keep_tensor(self) -> Tensor | None:
        return None if self.keep is None else torch.tensor(self.keep)

    def lengths(self) -> Tensor | None:
        """``keep`` for a library that takes only lengths."""
        if self.mask is not None:
            raise CannotBeAsked("it takes lengths, no mask")
        if self.keep is None:
            return None
        if any(row != sorted(row, reverse=True) for row in self.keep):
            raise CannotBeAsked("it takes lengths, so it can hide only the last keys")
        return torch.tensor([sum(row) for row in self.keep])


class Found(NamedTuple):
    """What the library returned, (batch, query, dim) and (batch, query, key)."""

    context: Tensor
    weights: Tensor | None = None
    parameters: Iterable[Tensor] = ()


Attend = Callable[[Case, Tensor, Tensor], Found]


def answer_all(contestants: dict[str, Attend], packages: tuple[str, ...]) -> None:
    """Read ``{contestant: [case, ...]}``, print ``{"versions": ..., "answers": ...}``."""
    torch.set_num_threads(1)
    asked = json.load(sys.stdin)
    with contextlib.redirect_stdout(sys.stderr), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        answers = {
            name: [_answer(contestants[name], Case(**case)) for case in cases]
            for name, cases in asked.items()
        }
    print(json.dumps({"versions": {name: version(name) for name in packages}, "answers": answers}))


def identity(*weights: Tensor) -> None:
    """Make each weight (rows, columns) an identity, with zeros beyond it."""
    with torch.no_grad():
        for weight in weights:
            weight.copy_(torch.eye(*weight.shape))


def _answer(attend: Attend, case: Case) -> dict[str, Any]:
    torch.manual_seed(0)
    needs_grad = case.loss_over is not None
    memory = torch.tensor(case.memory, dtype=_dtype(case.dtype), requires_grad=needs_grad)
    query = memory
    if case.query is not None:
        query = torch.tensor(case.query, dtype=_dtype(case.dtype), requires_grad=needs_grad)
    try:
        with torch.set_grad_enabled(needs_grad):
            found = attend(case, query, memory)
            answer = {"context": _numbers(found.context), "weights": _numbers(found.weights)}
            if needs_grad:
                answer |= _gradients(case, query, memory, found)
    except CannotBeAsked as reason:
        return {"cannot": str(reason)}
    except Exception as error:  # whatever the library raises is its answer
        if _is_mistake_of_the_script(error):
            raise
        text = " ".join(COLOURS.sub("", str(error)).split())
        return {"error": f"{type(error).__name__}: {text}" if text else type(error).__name__}
    return answer


def _is_mistake_of_the_script(error: Exception) -> bool:
    """Raised in a script itself, and not by a call into torch, which leaves no frame of its own."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    return Path(last.filename).parent == Path(__file__).parent and type(error) is not RuntimeError


def _gradients(case: Case, query: Tensor, memory: Tensor, found: Found) -> dict[str, Any]:
    parameters = list(found.parameters)
    found.context[case.loss_over].sin().sum().backward()
    return {
        "gradients": [_numbers(query.grad), _numbers(memory.grad)],
        "parameters_finite": all(
            p.grad is None or bool(p.grad.isfinite().all()) for p in parameters
        ),
    }


def _numbers(tensor: Tensor | None) -> Numbers | None:
    return None if tensor is None else tensor.detach().double().tolist()


def _dtype(name: str) -> torch.dtype:
    return getattr(torch, name)
