"""``record`` and ``intervene``: blocks in which a model's attention is seen, or changed."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, Literal

from torch import Tensor, nn

from regard.core.masks import Mask
from regard.kernels.watching import WATCHER
from regard.recording.edits import Edit
from regard.recording.huggingface import opened_transformers
from regard.recording.names import outputs_recorded, running_names
from regard.recording.recorder import Recorder
from regard.recording.torch_attention import TorchAttention
from regard.recording.trace import Trace
from regard.recording.verify import verified


@contextmanager
def record(
    model: nn.Module,
    *,
    scores: bool = False,
    values: bool = False,
    keep: Literal["weights", "summary"] = "weights",
    outputs: Mapping[str, int] | None = None,
    verify: bool = False,
) -> Iterator[Trace]:
    """Record what every attention in a model does, while the block runs in this thread.

    Other threads may run the model meanwhile, or record it: each sees its own.

    Seen are :func:`regard.attend` and all that is built on it; calls of torch's
    ``scaled_dot_product_attention`` anywhere, ``nn.MultiheadAttention`` and the transformer layers
    that hold it (their fused fast path is off meanwhile); models of Hugging Face transformers;
    whatever passes through :func:`tap`; and modules named in ``outputs``.

    The steps of a decoder that goes on with one query at a time are one run of its site, also from
    a cache of keys. A run ends where rows change places, as in the beam search of transformers
    (regard's own tells of it by :func:`follow`), and where several queries come at once.

    Weights are those before dropout, per head. Attention is computed by its definition while it is
    recorded, so that results are those of the usual kernels to rounding, and gradients too. (The
    fused fast path of ``nn.TransformerEncoder`` gives zeros at padded positions; its usual path,
    which a recording takes, does not.)

    Args:
        model: any module. What runs outside it in the block is recorded under its own name.
        scores: also keep the scores, -inf where hidden.
        values: also keep what was averaged.
        keep: ``"summary"`` keeps counts, entropy and the largest weight alone, in constant memory.
        outputs: modules that return weights themselves, ``{"decoder.attention": 1}`` for those
            whose second output they are.
        verify: run each forward of the model once more, unrecorded, on a copy of its inputs, and
            compare. Not with dropout.

    Raises:
        TypeError: ``model`` is no module.
        ValueError: compiled code, in which nothing can be seen; an unknown name in ``outputs``; a
            block within another; ``verify`` while dropout makes no two runs equal, or of weights
            whose rows sum to neither 1 nor 0; at the end, a block in which nothing was seen.
        RecordingError: with ``verify``, the recorded output is not the unrecorded one.

    >>> import torch
    >>> from regard import layers
    >>> layer, x = layers.MultiHeadAttention(8, 2), torch.randn(1, 3, 8)
    >>> with record(layer) as trace:
    ...     output = layer(x, x, x).output
    >>> trace["MultiHeadAttention"].weights.shape
    torch.Size([1, 2, 3, 3])
    """
    with _watched(
        model, (), scores=scores, values=values, keep=keep, outputs=outputs, verify=verify
    ) as trace:
        yield trace


@contextmanager
def intervene(
    model: nn.Module,
    edits: Edit | Iterable[Edit],
    *,
    scores: bool = False,
    values: bool = False,
) -> Iterator[Trace]:
    """Change what a model attends to while the block runs, and record what it then did.

    Run or decode the model in the block: all that follows from the changed attention follows.

    Args:
        model: any module, as in :func:`record`.
        edits: made one after the other, those of scores before those of weights; see
            :mod:`regard.recording.edits`.
        scores, values: also keep these.

    Raises:
        TypeError, ValueError: as :func:`record`; an edit that does not fit a site; at the end, one
            that met no site, or names places that never came.

    >>> import torch
    >>> from regard import layers
    >>> from regard.recording import edits
    >>> layer, x = layers.MultiHeadAttention(8, 2), torch.randn(1, 3, 8)
    >>> with intervene(layer, edits.zero(key=0, renormalize=True)) as trace:
    ...     output = layer(x, x, x).output
    >>> trace["MultiHeadAttention"][..., 0]
    tensor([[[0., 0., 0.],
             [0., 0., 0.]]])
    """
    given: list[Any] = list(edits) if isinstance(edits, Iterable) else [edits]
    for edit in given:
        if not isinstance(edit, Edit):
            raise TypeError(
                f"intervene: an edit is a {type(edit).__name__}. It must be an Edit. Make one with "
                "regard.recording.edits, for example edits.zero(key=0, renormalize=True)."
            )
    with _watched(
        model, given, scores=scores, values=values, keep="weights", outputs=None, verify=False
    ) as trace:
        yield trace


def tap(
    name: str,
    weights: Tensor,
    *,
    may_attend: Mask | Tensor | None = None,
    normalized: bool = True,
) -> Tensor:
    """One line that makes weights of your own code recordable: ``weights = tap("mine", weights)``.

    Outside of :func:`record` it gives back what it got. Edits reach the weights here.

    Args:
        name: of the site.
        weights: (query, key), (batch, query, key) or (batch, heads, query, key), after normalizing
            and before dropout.
        may_attend: what each query may attend to, as :func:`regard.attend` takes it. Without it
            every position counts as visible, so that ``edits.uniform`` or ``edits.permute`` would
            give weight to what your code had hidden.
        normalized: rows sum to 1, or to 0 where there is nothing to attend to, which
            ``record(..., verify=True)`` checks; False for weights that are not meant to.

    Raises:
        TypeError, ValueError: while it is recorded, what are no weights, or a mask that does not
            fit.

    >>> import torch
    >>> from regard.recording import tap
    >>> tap("mine", torch.tensor([[0.5, 0.5]]))
    tensor([[0.5000, 0.5000]])
    """
    recorder = WATCHER.get()
    if not isinstance(recorder, Recorder):
        return weights
    return recorder.tap(name, weights, may_attend=may_attend, normalized=normalized)


def follow(parents: Tensor) -> None:
    """Tell a recording that rows of a step-by-step decoder were reordered, as beams are.

    Row i goes on from what was row ``parents[i]``: its recorded past becomes that row's.
    """
    recorder = WATCHER.get()
    if isinstance(recorder, Recorder):
        recorder.follow(parents)


@contextmanager
def _watched(
    model: nn.Module,
    edits: Sequence[Edit],
    *,
    scores: bool,
    values: bool,
    keep: str,
    outputs: Mapping[str, int] | None,
    verify: bool,
) -> Iterator[Trace]:
    _check(model, keep)
    trace = Trace()
    recorder = Recorder(
        model,
        trace,
        edits,
        keep_scores=scores,
        keep_values=values,
        keep_weights=keep == "weights",
        check_taps=verify,
    )

    @contextmanager
    def watched() -> Iterator[None]:
        with (
            running_names(model, recorder),
            outputs_recorded(model, recorder, {} if outputs is None else outputs),
            opened_transformers(model),
            TorchAttention(recorder),
        ):
            token = WATCHER.set(recorder)
            try:
                yield
            finally:
                WATCHER.reset(token)

    watching = ExitStack()

    @contextmanager
    def unwatched() -> Iterator[None]:
        watching.close()
        try:
            yield
        finally:
            watching.enter_context(watched())

    with ExitStack() as stack:
        if verify:
            stack.enter_context(verified(model, recorder, unwatched))
        stack.enter_context(watching)
        watching.enter_context(watched())
        yield trace
    recorder.check_end()


def _check(model: object, keep: str) -> None:
    if not isinstance(model, nn.Module):
        raise TypeError(
            f"record: model is a {type(model).__name__}. It must be a torch.nn.Module. For a "
            "Translator that is translator.network."
        )
    if keep not in ("weights", "summary"):
        raise ValueError(f"record: keep={keep!r} is unknown. Choose 'weights' or 'summary'.")
    if WATCHER.get() is not None:
        raise ValueError(
            "record: another recording is running. Each attention has one. Leave the outer block "
            "first, or give it all the edits."
        )
    compiler = sys.modules.get("torch._dynamo")  # seconds to import, and needless until it was
    for name, module in model.named_modules():
        if compiler is not None and isinstance(module, compiler.OptimizedModule):
            raise ValueError(
                f"record: {name or 'the model'} is compiled, and nothing can be seen in compiled "
                "code. Record the module it was made from: model._orig_mod."
            )
