"""Which module is running, and modules that return their weights themselves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

from torch import Tensor, nn

from regard.core.scores import Score
from regard.recording.recorder import Recorder


@contextmanager
def running_names(model: nn.Module, recorder: Recorder) -> Iterator[None]:
    """Keep the recorder's list of the modules that are running in its thread."""
    with ExitStack() as stack:
        for name, module in model.named_modules():
            if isinstance(module, Score):  # a score with a hook would be another kind of score
                continue
            entered = partial(_enter, recorder, name or type(module).__name__)
            stack.callback(module.register_forward_pre_hook(entered).remove)
            left = module.register_forward_hook(partial(_leave, recorder), always_call=True)
            stack.callback(left.remove)
        yield


def _enter(recorder: Recorder, name: str, *_: Any) -> None:
    if recorder.watches_here():
        recorder.running.append(name)


def _leave(recorder: Recorder, *_: Any) -> None:
    if recorder.watches_here() and recorder.running:
        recorder.running.pop()


@contextmanager
def outputs_recorded(
    model: nn.Module, recorder: Recorder, outputs: Mapping[str, int]
) -> Iterator[None]:
    """Write down the weights that these modules return, ``{name: which output}``."""
    _check_outputs(outputs)
    modules = dict(model.named_modules())
    with ExitStack() as stack:
        for name, which in outputs.items():
            if name not in modules:
                raise ValueError(
                    f"record: outputs names {name!r}, which is no module of the model. It has: "
                    f"{', '.join(sorted(modules)[1:21])}. Give one of model.named_modules()."
                )

            def seen(
                module: nn.Module, args: Any, output: Any, name: str = name, which: int = which
            ) -> None:
                if recorder.watches_here():
                    recorder.tap(name, _weights(name, output, which))

            stack.callback(modules[name].register_forward_hook(seen).remove)
        yield


def _check_outputs(outputs: object) -> None:
    fits = isinstance(outputs, Mapping) and all(
        isinstance(name, str) and isinstance(which, int) and not isinstance(which, bool)
        for name, which in outputs.items()
    )
    if not fits:
        raise TypeError(
            f"record: outputs={outputs!r}. It says for each module by name which of its outputs "
            "are weights. Write outputs={'decoder.attention': 1} for the second."
        )


def _weights(name: str, output: Any, which: int) -> Tensor:
    parts = output if isinstance(output, tuple | list) else [output]
    weights = parts[which] if -len(parts) <= which < len(parts) else None
    if not isinstance(weights, Tensor) or weights.dim() not in (2, 3, 4):
        kinds = ", ".join(
            str(tuple(part.shape)) if isinstance(part, Tensor) else type(part).__name__
            for part in parts
        )
        raise ValueError(
            f"record: output {which} of {name!r} is no weights of (query, key), (batch, query, "
            f"key) or (batch, heads, query, key). It returned {kinds}. Give the place of the "
            f"weights: outputs={{{name!r}: place}}."
        )
    return weights
