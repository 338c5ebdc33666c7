"""Models of Hugging Face transformers: their own eager attention, seen at its softmax."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial, wraps
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from regard.kernels.watching import WATCHER
from regard.recording.recorder import Recorder
from regard.recording.shared import Undo, held

_EAGER = "eager_attention_forward"
"""What each of transformers' files of models calls its attention by definition."""
_OPEN = ("eager", "sdpa", None)
"""Implementations that are seen as they are: the second calls torch's function."""


@contextmanager
def opened_transformers(model: nn.Module) -> Iterator[None]:
    """Let a recorder see what transformers' models compute, and leave them as they were.

    A model computes with its own code, with whatever that adds to the scores or takes from the
    weights. Implementations that hold no weights, such as flash attention, give way to it.
    """
    with ExitStack() as stack:
        for namespace in _namespaces(model):
            stack.enter_context(held((_EAGER, id(namespace)), partial(_open, namespace)))
        for part in _outermost(model):
            stack.enter_context(held(("kind", id(part.config)), partial(_to_eager, part)))
        yield


def _namespaces(model: nn.Module) -> list[dict[str, Any]]:
    """Of the files that define the model's modules, those that define an eager attention."""
    if "transformers" not in sys.modules:
        return []
    files = {kind.__module__ for module in model.modules() for kind in type(module).__mro__}
    found = [vars(sys.modules[name]) for name in sorted(files) if name in sys.modules]
    return [namespace for namespace in found if callable(namespace.get(_EAGER))]


def _open(namespace: dict[str, Any]) -> Undo:
    theirs = namespace[_EAGER]
    namespace[_EAGER] = _seen(theirs)

    def undo() -> None:
        namespace[_EAGER] = theirs

    return undo


def _seen(theirs: Callable[..., Any]) -> Callable[..., Any]:
    """Their function, which computes and gives back the same, and shows it to a recorder."""

    @wraps(theirs)
    def eager_attention_forward(
        module: nn.Module,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attention_mask: Tensor | None,
        *args: Any,
        **kwargs: Any,
    ) -> Any:
        recorder = WATCHER.get()
        if not isinstance(recorder, Recorder):  # a thread that is not recorded
            return theirs(module, query, key, value, attention_mask, *args, **kwargs)
        with _AtSoftmax(recorder, value, attention_mask) as opened:
            answer = theirs(module, query, key, value, attention_mask, *args, **kwargs)
        if opened.times != 1:
            raise ValueError(
                f"record: {type(module).__name__} of {theirs.__module__} computes {opened.times} "
                "softmaxes in one attention. Weights are what the only one gives. Set another "
                "implementation, model.set_attn_implementation('sdpa'), or record its outputs."
            )
        return answer

    return eager_attention_forward


class _AtSoftmax(TorchFunctionMode):
    """While entered, the weights of a softmax are seen, and edited, before anything uses them."""

    def __init__(self, recorder: Recorder, value: Tensor, attention_mask: Tensor | None) -> None:
        super().__init__()
        self.recorder, self.value, self.attention_mask = recorder, value, attention_mask
        self.times = 0

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        """As torch's; a softmax is answered here."""
        if func not in (F.softmax, torch.softmax, Tensor.softmax):
            return func(*args, **(kwargs or {}))
        self.times += 1
        given = dict(zip(("input", "dim"), args, strict=False)) | (kwargs or {})
        scores = given.pop("self", None) if "self" in given else given.pop("input")
        return self._answer(scores, partial(_softmax, **given))

    def _answer(self, scores: Tensor, softmax: Callable[[Tensor], Tensor]) -> Tensor:
        """The weights, and after them those of a sink, a score that belongs to no key."""
        num_keys = self.value.shape[-2]
        of_keys, sinks = scores[..., :num_keys], scores[..., num_keys:]
        taken: list[Tensor] = []

        def normalizer(edited: Tensor) -> Tensor:
            weights = softmax(torch.cat([edited, sinks], -1) if sinks.shape[-1] else edited)
            taken.append(weights[..., num_keys:])
            return weights[..., :num_keys]

        weights = self.recorder.see(
            self.recorder.where(), of_keys, normalizer, self.value, self._visible(of_keys)
        )
        return torch.cat([weights, taken[0]], -1) if sinks.shape[-1] else weights

    def _visible(self, scores: Tensor) -> Tensor:
        """What is not hidden: their masks hide by the least number that there is, or -inf."""
        visible = scores != -torch.inf
        if self.attention_mask is None:
            return visible
        added = self.attention_mask[..., : scores.shape[-1]]
        if added.dtype == torch.bool:
            return visible & added
        return visible & (added > torch.finfo(added.dtype).min)


def _softmax(scores: Tensor, *, dim: int, dtype: torch.dtype | None = None, **_: Any) -> Tensor:
    return torch.softmax(scores, dim, dtype)


def _outermost(model: nn.Module) -> list[Any]:
    """Transformers' models in this one that are in no other of them."""
    library = sys.modules.get("transformers")
    if library is None:
        return []
    found: dict[str, Any] = {}
    for name, module in model.named_modules():
        inner = any(outer == "" or name.startswith(f"{outer}.") for outer in found)
        if isinstance(module, library.PreTrainedModel) and not inner:
            found[name] = module
    return list(found.values())


def _kinds(part: nn.Module) -> list[tuple[Any, str | None]]:
    """The configurations in a model, outermost first, and the implementation that each names."""
    library = sys.modules["transformers"]
    configs = {
        id(module.config): module.config
        for module in part.modules()
        if isinstance(module, library.PreTrainedModel)
    }
    return [(config, config._attn_implementation) for config in configs.values()]


def _to_eager(part: Any) -> Undo:
    """Let a model whose implementation keeps its weights to itself compute by definition."""
    before = _kinds(part)

    def undo() -> None:
        for config, kind in before:  # each sets those within it, which then are set themselves
            if kind != config._attn_implementation:
                config._attn_implementation = kind

    if any(kind not in _OPEN for _, kind in before):
        for _, kind in before:
            _refuse_unknown(part, kind)
        part.set_attn_implementation("eager")
    return undo


def _refuse_unknown(part: Any, kind: str | None) -> None:
    """Attention that somebody registered may be any; nothing of it could be seen."""
    from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

    function = ALL_ATTENTION_FUNCTIONS.get(kind) if kind not in _OPEN else None
    owner = getattr(getattr(function, "func", function), "__module__", "transformers")
    if owner.partition(".")[0] != "transformers":
        raise ValueError(
            f"record: {type(part).__name__} computes attention by {kind!r}, of {owner}, in which "
            "nothing can be seen. Seen are transformers' own. Write "
            "model.set_attn_implementation('eager') first, or tap your own code."
        )
