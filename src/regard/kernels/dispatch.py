"""The public ``attend``: check once, choose a kernel by metadata, run it."""

import torch
from torch import Tensor

from regard.core.attend import Attended, without_blind
from regard.core.axes import check_bias, check_inputs
from regard.core.masks import Mask, as_mask
from regard.core.normalizers import NORMALIZERS
from regard.core.scores import PreparedKey, ScaledDot, Score
from regard.core.transforms import is_only_vmapped, is_transformed
from regard.kernels.additive_cpu import ADDITIVE_CPU
from regard.kernels.kernel import Kernel
from regard.kernels.reference import REFERENCE
from regard.kernels.request import Request, score_kind
from regard.kernels.tiled import TILED
from regard.kernels.torch_sdpa import TORCH_SDPA
from regard.kernels.torch_softmax import TORCH_SOFTMAX
from regard.kernels.watching import watcher

KERNELS: tuple[Kernel, ...] = (TORCH_SDPA, TORCH_SOFTMAX, ADDITIVE_CPU, TILED, REFERENCE)
"""In order of preference; the first that does not refuse runs."""

_SCALED_DOT = ScaledDot()

_TENSORS: dict[str, type | tuple[type, ...]] = {
    "query": Tensor,
    "key": (Tensor, PreparedKey),
    "value": Tensor,
    "bias": (Tensor, type(None)),
}


def attend(
    query: Tensor,
    key: Tensor | PreparedKey,
    value: Tensor,
    *,
    score: Score = _SCALED_DOT,
    may_attend: Mask | Tensor | None = None,
    bias: Tensor | None = None,
    normalize: str = "softmax",
    dropout_p: float = 0.0,
    need_weights: bool = False,
    need_lse: bool = False,
) -> Attended:
    r"""Attention: a weighted average of the values, weighted by how well each key answers a query.

    .. math:: c_i = \sum_j \alpha_{ij} v_j, \qquad
              \alpha_{ij} = \frac{m_{ij}\, e^{\mathrm{score}(q_i, k_j) + b_{ij}}}
                                 {\sum_l m_{il}\, e^{\mathrm{score}(q_i, k_l) + b_{il}}}

    (Bahdanau et al. 2015, arXiv:1409.0473, equations 5 and 6.) A query with nothing to attend to
    gets weights 0 and context 0. A position hidden from every query is absent: whatever it holds,
    NaN included, changes nothing.

    Args:
        query: ``(batch, query, query_dim)``, or with a heads axis ``(batch, heads, query,
            query_dim)``, or unbatched ``(query, query_dim)``; key and value alike.
        key: ``(batch, key, key_dim)``, or what ``score.prepare(key)`` returned.
        value: ``(batch, key, value_dim)``.
        score: the score function; ``ScaledDot()`` if none is given. See :mod:`regard.scores`.
        may_attend: a :class:`Mask`, or a bool tensor, True = may attend.
        bias: float tensor added to the scores, in their dtype; its batch, heads and query axes
            may be 1.
        normalize: ``"softmax"``.
        dropout_p: probability with which a weight is dropped (and the others scaled up). Pass 0 in
            evaluation: nothing here knows about training.
        need_weights: also return the weights, as they are before dropout.
        need_lse: also return the logsumexp of the scores, needed to ``merge``.

    Returns:
        ``Attended(context, weights, lse)`` with context ``(batch, query, value_dim)`` in the
        inputs' dtype; half precision is computed in float32.

    Raises:
        TypeError: dtypes differ; a mask that is not bool.
        ValueError: shapes that do not fit: no axis is stretched silently.

    >>> from regard import Mask, attend, scores
    >>> score = scores.Additive(query_dim=4, key_dim=6, attn_dim=8)
    >>> query, key = torch.randn(2, 3, 4), torch.randn(2, 5, 6)
    >>> attended = attend(query, key, key, score=score, may_attend=Mask.lengths([5, 3]),
    ...                   need_weights=True)
    >>> attended.context.shape, attended.weights.shape
    (torch.Size([2, 3, 6]), torch.Size([2, 3, 5]))
    """
    _check_tensors(query=query, key=key, value=value, bias=bias)
    _check_score(score)
    mask = None if may_attend is None else as_mask(may_attend)
    check_inputs(query, key.shape, key.dtype, key.device, value)
    score.check(query, key, caller="attend")
    scores_shape = (*query.shape[:-1], key.shape[-2])
    bias = None if bias is None else check_bias(bias, scores_shape)
    _check_choices(normalize, dropout_p)

    return attend_checked(
        query,
        key,
        value,
        score=score,
        may_attend=mask,
        bias=bias,
        normalize=normalize,
        dropout_p=dropout_p,
        need_weights=need_weights,
        need_lse=need_lse,
    )


def attend_checked(
    query: Tensor,
    key: Tensor | PreparedKey,
    value: Tensor,
    *,
    score: Score,
    may_attend: Mask | None = None,
    bias: Tensor | None = None,
    normalize: str = "softmax",
    dropout_p: float = 0.0,
    need_weights: bool = False,
    need_lse: bool = False,
) -> Attended:
    """``attend`` of what a layer has checked at its own border, as :func:`attend` does at its."""
    watched = watcher()
    if watched is not None:
        return watched.attend(
            query,
            key,
            value,
            score=score,
            may_attend=may_attend,
            bias=bias,
            normalize=normalize,
            dropout_p=dropout_p,
            need_weights=need_weights,
            need_lse=need_lse,
        )
    transformed = is_transformed()
    request = Request(
        query_shape=query.shape,
        key_shape=key.shape,
        value_shape=value.shape,
        dtype=query.dtype,
        device=query.device.type,
        score=score_kind(score),
        mask=None if may_attend is None else may_attend.kind,
        attn_dim=score.attn_dim,
        normalize=normalize,
        has_bias=bias is not None,
        has_dropout=dropout_p > 0.0,
        key_is_prepared=isinstance(key, PreparedKey),
        need_weights=need_weights,
        need_lse=need_lse,
        need_grad=torch.is_grad_enabled(),
        is_transformed=transformed,
        is_only_vmapped=transformed and is_only_vmapped(),
    )
    attended = choose(request).run(
        query,
        key,
        value,
        score=score,
        may_attend=may_attend,
        bias=bias,
        normalize=normalize,
        dropout_p=dropout_p,
        need_weights=need_weights,
        need_lse=need_lse,
    )
    return attended if may_attend is None else without_blind(attended, may_attend, key.shape[-2])


def choose(request: Request) -> Kernel:
    """The first kernel that does not refuse the request; the reference never does."""
    return next(kernel for kernel in KERNELS if not kernel.refusals(request))


def _check_tensors(**given: object) -> None:
    for name, tensor in given.items():
        if not isinstance(tensor, _TENSORS[name]):
            raise TypeError(
                f"attend: {name} is a {type(tensor).__name__}. It must be a torch tensor. "
                f"Convert it with torch.as_tensor({name})."
            )


def _check_score(score: object) -> None:
    if not isinstance(score, Score):
        given = (
            f"the class {score.__name__}"
            if isinstance(score, type)
            else f"a {type(score).__name__}"
        )
        raise TypeError(
            f"attend: score is {given}. It must be a Score, for example "
            "scores.Dot() or scores.Additive(query_dim=..., key_dim=..., attn_dim=...); build one "
            "by its name with scores.make_score(name, ...), and write your own as a subclass of "
            "scores.Score."
        )


def _check_choices(normalize: str, dropout_p: float) -> None:
    if not isinstance(normalize, str) or normalize not in NORMALIZERS:
        raise ValueError(
            f"attend: normalize={normalize!r} is unknown. Choose one of: {', '.join(NORMALIZERS)}."
        )
    if not isinstance(dropout_p, int | float) or not 0.0 <= dropout_p < 1.0:
        raise ValueError(
            f"attend: dropout_p={dropout_p!r}. It is a probability, at least 0 and below 1. "
            "Use 0.0 for no dropout."
        )
