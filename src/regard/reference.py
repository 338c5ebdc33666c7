"""Attention on one page: NumPy, float64, no batch. Slow, exact, and written to be read.

Every function is the same four steps: score, mask, softmax, weighted sum. The letters are those of
the papers: d_s and d_h are the widths of a decoder and of an encoder state, d_attn the width inside
a score, T the number of positions looked at, L the number of queries.

``may_attend`` is a bool array, True = may attend. Where nothing may be attended to, weights and
context are zero; a position that no query may attend to is absent, whatever it holds.
"""

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
from jaxtyping import Bool, Float

Array: TypeAlias = np.ndarray[Any, Any]
Function = TypeVar("Function", bound=Callable[..., Any])


class Attended(NamedTuple):
    """The weighted average, and the weights over the T positions, which sum to 1 (or to 0)."""

    context: Float[Array, "... d_h"]
    weights: Float[Array, "... T"]


def _checked(function: Function) -> Function:
    """Arrays as float64, refused where their shapes disagree with the letters in the signature."""
    signature = inspect.signature(function)
    annotations = {name: p.annotation for name, p in signature.parameters.items()}
    letters = {n: a.dim_str.split() for n, a in annotations.items() if hasattr(a, "dim_str")}

    @wraps(function)
    def checked(*args: object, **kwargs: object) -> object:
        given, sizes = signature.bind(*args, **kwargs), dict[str, int]()
        for name, axes in letters.items():
            array = given.arguments[name] = np.asarray(given.arguments[name], np.float64)
            shape, axes = (array.shape[-1:], axes[1:]) if axes[0] == "..." else (array.shape, axes)
            sizes["d_s+d_h"] = sizes.get("d_s", 0) + sizes.get("d_h", 0)
            right = tuple(sizes.get(axis, size) for axis, size in zip(axes, shape, strict=False))
            if len(axes) != len(shape) or right != shape:
                known = ", ".join(str(sizes.get(axis, axis)) for axis in axes)
                raise ValueError(
                    f"{function.__name__}: {name} has shape {array.shape} but must be "
                    f"({', '.join(letters[name])}), here ({known}). Give it that shape: transpose "
                    "it if its axes are swapped, and take a batch one example at a time."
                )
            sizes.update(zip(axes, shape, strict=True))
        return function(*given.args, **given.kwargs)

    return checked  # type: ignore[return-value]


def _attend(scores: Array, value: Array, may_attend: Array | None) -> Attended:
    """Mask, softmax, weighted sum."""
    allowed = np.full(scores.shape[-1:], True) if may_attend is None else np.asarray(may_attend)
    if allowed.dtype != bool or allowed.shape not in (scores.shape, scores.shape[-1:]):
        raise ValueError(
            f"may_attend has dtype {allowed.dtype} and shape {allowed.shape}. It must be bool, "
            f"True = may attend, of the scores' shape {scores.shape} or one row for every query. "
            "If it is 1 where it may attend, write may_attend == 1."
        )
    weights = softmax(np.where(allowed, scores, -np.inf))
    seen = np.any(allowed, axis=tuple(range(allowed.ndim - 1)), keepdims=True)  # by any query
    return Attended(weights @ np.where(seen.reshape(-1, 1), value, 0.0), weights)


@_checked
def softmax(x: Float[Array, "... T"]) -> Float[Array, "... T"]:
    """``exp(x_j) / sum_k exp(x_k)`` over the last axis; zeros where every x is -inf.

    >>> softmax([1.0, 2.0, 3.0]).round(3)
    array([0.09 , 0.245, 0.665])
    """
    top = x.max(axis=-1, keepdims=True, initial=-np.inf)
    exp = np.exp(x - np.where(top == -np.inf, 0.0, top))  # at most exp(0): no overflow
    total = exp.sum(axis=-1, keepdims=True)
    return exp / np.where(total == 0.0, 1.0, total)


@_checked
def masked_softmax(x: Float[Array, "... T"], length: int) -> Float[Array, "... T"]:
    """Softmax over the first ``length`` entries of the last axis; the others get 0.

    >>> masked_softmax([1.0, 2.0, 3.0], 2).round(4)
    array([0.2689, 0.7311, 0.    ])
    """
    if not isinstance(length, int | np.integer) or not 0 <= length <= x.shape[-1]:
        raise ValueError(
            f"masked_softmax: length is {length!r}. It must be a whole number from 0 to "
            f"{x.shape[-1]}, the entries of x {x.shape}. For several lengths call once for each."
        )
    return softmax(np.where(np.arange(x.shape[-1]) < length, x, -np.inf))


@_checked
def dot_attention(
    decoder_state: Float[Array, "d_h"],
    encoder_states: Float[Array, "T d_h"],
    *,
    may_attend: Bool[Array, "T"] | None = None,
) -> Attended:
    """``score_j = s · h_j`` (Luong et al. 2015, arXiv:1508.04025, section 3.1, "dot").

    >>> encoder_states = [[1.0, 0.0, 0.2], [0.5, 0.5, 0.1], [0.1, 0.9, 0.3]]
    >>> dot_attention([0.9, 0.1, 0.2], encoder_states).weights.round(3)
    array([0.464, 0.305, 0.231])
    """
    scores = encoder_states @ decoder_state
    return _attend(scores, encoder_states, may_attend)


@_checked
def general_attention(
    decoder_state: Float[Array, "d_s"],
    encoder_states: Float[Array, "T d_h"],
    W: Float[Array, "d_s d_h"],
    *,
    may_attend: Bool[Array, "T"] | None = None,
) -> Attended:
    """``score_j = sᵀ W h_j`` (Luong et al. 2015, arXiv:1508.04025, section 3.1, "general").

    >>> general_attention([1, 0], np.eye(3), W=[[0, 0, 5], [7, 0, 0]]).weights.round(3)
    array([0.007, 0.007, 0.987])
    """
    scores = encoder_states @ (decoder_state @ W)
    return _attend(scores, encoder_states, may_attend)


@_checked
def additive_attention(
    decoder_state: Float[Array, "d_s"],
    encoder_states: Float[Array, "T d_h"],
    W_a: Float[Array, "d_attn d_s"],
    U_a: Float[Array, "d_attn d_h"],
    v_a: Float[Array, "d_attn"],
    *,
    may_attend: Bool[Array, "T"] | None = None,
) -> Attended:
    """``score_j = v_aᵀ tanh(W_a s + U_a h_j)`` (Bahdanau et al. 2015, arXiv:1409.0473, A.1.2).

    >>> W_a, U_a, v_a = np.ones((8, 4)), np.ones((8, 6)), np.ones(8)
    >>> context, weights = additive_attention(np.zeros(4), np.ones((5, 6)), W_a, U_a, v_a)
    >>> context.shape, weights
    ((6,), array([0.2, 0.2, 0.2, 0.2, 0.2]))
    """
    scores = np.tanh(W_a @ decoder_state + encoder_states @ U_a.T) @ v_a
    return _attend(scores, encoder_states, may_attend)


@_checked
def concat_attention(
    decoder_state: Float[Array, "d_s"],
    encoder_states: Float[Array, "T d_h"],
    W: Float[Array, "d_attn d_s+d_h"],
    v: Float[Array, "d_attn"],
    *,
    may_attend: Bool[Array, "T"] | None = None,
) -> Attended:
    """``score_j = vᵀ tanh(W [s; h_j])`` (Luong et al. 2015, arXiv:1508.04025, 3.1, "concat").

    >>> concat_attention([1.0], [[2.0], [2.0]], W=[[1.0, 1.0]], v=[3.0]).context
    array([2.])
    """
    scores = [v @ np.tanh(W @ np.concatenate([decoder_state, h])) for h in encoder_states]
    return _attend(np.array(scores), encoder_states, may_attend)


@_checked
def scaled_dot_attention(
    query: Float[Array, "... d_k"],
    key: Float[Array, "T d_k"],
    value: Float[Array, "T d_v"],
    *,
    may_attend: Bool[Array, "... T"] | None = None,
) -> Attended:
    """``softmax(Q Kᵀ / √d_k) V`` (Vaswani et al. 2017, arXiv:1706.03762, equation 1).

    Q is (L, d_k), or one query (d_k,). Context (L, d_v), weights (L, T).

    >>> key = [[1, 0, 0, 0], [-1, 0, 0, 0]]
    >>> scaled_dot_attention([2, 0, 0, 0], key, value=[[1, 0], [0, 1]]).context.round(2)
    array([0.88, 0.12])
    """
    scores = query @ key.T / np.sqrt(key.shape[1])
    return _attend(scores, value, may_attend)


@_checked
def multi_head_attention(
    query: Float[Array, "L d_q"],
    key: Float[Array, "T d_k"],
    value: Float[Array, "T d_v"],
    W_q: Float[Array, "d_q d_model"],
    W_k: Float[Array, "d_k d_model"],
    W_v: Float[Array, "d_v d_value"],
    W_o: Float[Array, "d_value d_out"],
    num_heads: int,
    *,
    may_attend: Bool[Array, "... T"] | None = None,
) -> Attended:
    """``[head_1; ...; head_h] W_o``, with a scaled dot attention on ``Q W_q, K W_k, V W_v`` a head.

    (Vaswani et al. 2017, arXiv:1706.03762, section 3.2.2.) Weights multiply from the right, as
    there; head i has the i-th equal part of their columns. Context (L, d_out), weights (h, L, T).

    >>> x, W = np.ones((3, 4)), np.eye(4)
    >>> multi_head_attention(x, x, x, W, W, W, W, num_heads=2).weights.shape
    (2, 3, 3)
    """
    if W_q.shape[1] % num_heads or W_v.shape[1] % num_heads:
        raise ValueError(
            f"multi_head_attention: W_q {W_q.shape} and W_v {W_v.shape} for num_heads={num_heads}. "
            "Each head needs an equal part of the columns. Choose a number that divides them."
        )
    projected = query @ W_q, key @ W_k, value @ W_v
    heads = zip(*(np.split(x, num_heads, axis=1) for x in projected), strict=True)
    contexts, weights = zip(
        *(scaled_dot_attention(*head, may_attend=may_attend) for head in heads), strict=True
    )
    return Attended(np.concatenate(contexts, axis=1) @ W_o, np.stack(weights))
