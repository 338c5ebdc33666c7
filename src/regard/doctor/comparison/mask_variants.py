"""Known faults of the mask: each the reference's `hide` or what follows the softmax, replaced."""

from collections.abc import Callable

import numpy as np

from regard.doctor.comparison.reference_model import Bools, Stages, hide, softmax_without_care
from regard.doctor.comparison.variants import Variant
from regard.doctor.tracing.dependence import Array

HIDE_RULE = "scores of hidden keys are -inf before the softmax, those of visible keys untouched"


def _filled(value: float) -> Callable[[Array, Bools], Array]:
    return lambda scores, may: np.where(may[:, None], scores, value)


def _through(
    change: Callable[[Bools], Bools], value: float = -1e30
) -> Callable[[Array, Bools], Array]:
    """Another mask, with a finite fill: a row without keys becomes uniform."""
    return lambda scores, may: np.where(change(may)[:, None], scores, value)


def _added(value: float, when: bool) -> Callable[[Array, Bools], Array]:
    return lambda scores, may: scores + value * (may == when)[:, None]


def _hide(
    fault: str, does: str, form: Callable[[Array, Bools], Array], fix: str, rule: str = HIDE_RULE
) -> Variant:
    return Variant(fault, does, rule, "hide", lambda s: s.with_(hide=form), fix)


def _renamed(dropped: Stages, form: Callable[[Array, Bools], Array]) -> Stages:
    return dropped.with_(hide=lambda scores, may: scores, after=form)


def _after(fault: str, does: str, form: Callable[[Array, Bools], Array]) -> Variant:
    return Variant(
        fault,
        does,
        "the mask hides scores before the softmax, so that the rest sums to 1",
        "hide",
        lambda s: _renamed(s, form),
        "mask-before",
    )


def _over_queries(may: Bools) -> Bools:
    """A (batch, key_len) mask laid over the queries."""
    if may.shape[1] != may.shape[2]:
        raise ValueError("only where query_len = key_len")
    return np.broadcast_to(may[:, -1, :, None], may.shape)


def _per_query(may: Bools) -> Bools:
    """A (batch, key_len) mask read as (query_len, key_len)."""
    if may.shape[0] != may.shape[1]:
        raise ValueError("only where batch = query_len")
    return np.broadcast_to(may[None, :, 0, :], may.shape)


def _by_head(scores: Array, may: Bools) -> Array:
    if may.shape[0] != scores.shape[1]:
        raise ValueError("only where batch = heads")
    return np.where(may[None], scores, -1e30)


def _across_heads(order: Callable[[int, int, int, int], int]) -> Callable[[Array, Bools], Array]:
    """The mask of (batch · heads) rows in another order than the scores'."""

    def hidden(scores: Array, may: Bools) -> Array:
        batch, heads = scores.shape[:2]
        if heads == 1:
            raise ValueError("only where there are heads")
        rows = [[order(b, h, batch, heads) for h in range(heads)] for b in range(batch)]
        return np.where(may[np.array(rows)], scores, -1e30)

    return hidden


def _transposed(may: Bools) -> Bools:
    if may.shape[1] != may.shape[2]:
        raise ValueError("only where query_len = key_len")
    return may.swapaxes(1, 2)


def _shorter(by: int) -> Callable[[Bools], Bools]:
    """Prefixes longer or shorter by so many keys."""

    def change(may: Bools) -> Bools:
        count = may.sum(-1, keepdims=True) + by
        return np.asarray(np.arange(may.shape[-1]) < count)

    return change


AXIS_RULE = "a (batch, T_enc) mask is laid over the keys: (batch, 1, T_enc)"
MASKS = (
    _hide(
        "mask-dropped",
        "the mask has no effect on the weights",
        lambda s, m: s,
        "use-mask",
        "the mask hides keys: their weight is 0",
    ),
    _hide(
        "mask-polarity",
        "the visible keys are hidden, and the hidden ones seen",
        _through(lambda m: ~m),
        "invert",
    ),
    _hide(
        "mask-polarity", "the visible keys are filled with -inf", lambda s, m: hide(s, ~m), "invert"
    ),
    _hide(
        "mask-polarity",
        "every key is hidden alike, whatever the mask says",
        lambda s, m: np.full_like(s, -1e30),
        "as-bool",
    ),
    Variant(
        "mask-polarity",
        "the visible keys are filled with -inf, and rows with no other give NaN",
        HIDE_RULE,
        "hide",
        lambda s: s.with_(hide=lambda x, m: hide(x, ~m), normalize=softmax_without_care),
        "invert",
    ),
    Variant(
        "mask-axis",
        "the mask is laid over the queries, and hidden rows give NaN",
        AXIS_RULE,
        "hide",
        lambda s: s.with_(
            hide=lambda x, m: hide(x, _over_queries(m)), normalize=softmax_without_care
        ),
        "mask-axis",
    ),
    Variant(
        "mask-axis",
        "the (batch, T_enc) mask is read as (T_dec, T_enc)",
        AXIS_RULE,
        "hide",
        lambda s: s.with_(hide=lambda x, m: hide(x, _per_query(m)), normalize=softmax_without_care),
        "mask-axis",
    ),
    _hide(
        "mask-axis",
        "the mask is laid over the queries",
        _through(_over_queries),
        "mask-axis",
        AXIS_RULE,
    ),
    _hide(
        "mask-axis",
        "the mask is laid over the queries, inverted",
        _through(lambda m: ~_over_queries(m)),
        "mask-axis",
        AXIS_RULE,
    ),
    _hide(
        "mask-axis",
        "the (batch, T_enc) mask is read as (T_dec, T_enc)",
        _through(_per_query),
        "mask-axis",
        AXIS_RULE,
    ),
    _hide(
        "mask-axis",
        "the batch axis of the mask lies on the heads",
        _by_head,
        "mask-heads",
        "a (batch, T_dec, T_enc) mask needs a heads axis: (batch, 1, T_dec, T_enc)",
    ),
    _hide(
        "mask-axis",
        "repeat(heads) gives the masks sample by sample where the scores go head by head:"
        " heads get other samples' masks",
        _across_heads(lambda b, h, batch, heads: (b * heads + h) % batch),
        "interleave",
        "rows of (batch · heads) scores meet the mask of their own sample",
    ),
    _hide(
        "mask-axis",
        "repeat_interleave(heads) gives the masks head by head where the scores go sample by"
        " sample: heads get other samples' masks",
        _across_heads(lambda b, h, batch, heads: (h * batch + b) // heads),
        "repeat",
        "rows of (heads · batch) scores meet the mask of their own sample",
    ),
    _hide(
        "mask-axis",
        "each sample gets the mask of the next",
        _through(lambda m: np.roll(m, -1, 0)),
        "mask-axis",
    ),
    _hide(
        "mask-axis",
        "each sample gets the mask of the one before",
        _through(lambda m: np.roll(m, 1, 0)),
        "mask-axis",
    ),
    _hide(
        "mask-axis",
        "the first sample's mask serves every sample",
        _through(lambda m: np.broadcast_to(m[:1], m.shape)),
        "mask-axis",
    ),
    _hide(
        "mask-axis",
        "the last sample's mask serves every sample",
        _through(lambda m: np.broadcast_to(m[-1:], m.shape)),
        "mask-axis",
    ),
    _hide("mask-axis", "the mask is transposed", _through(_transposed), "mask-axis"),
    _hide("mask-axis", "one key more than the length is seen", _through(_shorter(1)), "length"),
    _hide("mask-axis", "one key fewer than the length is seen", _through(_shorter(-1)), "length"),
    _hide(
        "mask-polarity",
        "hidden keys get a large positive score",
        lambda s, m: np.where(m[:, None], s, 1e30),
        "fill",
    ),
    _hide(
        "mask-value",
        "scores are multiplied by the mask: hidden keys have score 0",
        lambda s, m: s * m[:, None],
        "fill",
    ),
    _hide("mask-value", "the 1/0 mask is added to the scores as it is", _added(1.0, True), "fill"),
    _hide("mask-value", "the 0/1 mask is added to the scores as it is", _added(1.0, False), "fill"),
    _hide(
        "mask-value",
        "0 · -inf makes the scores of visible keys NaN",
        lambda s, m: np.where(m[:, None], np.nan, -np.inf),
        "fill",
    ),
    Variant(
        "mask-value",
        "0 · -inf makes the scores of visible keys NaN",
        HIDE_RULE,
        "hide",
        lambda s: s.with_(
            hide=lambda x, m: np.where(m[:, None], np.nan, -np.inf), normalize=softmax_without_care
        ),
        "fill",
    ),
    _hide("mask-value", "scores are divided by the mask", lambda s, m: s / m[:, None], "fill"),
    *(
        _hide(
            "mask-value",
            f"hidden scores are filled with {value:g}, too weak to hide them",
            _filled(value),
            "fill",
        )
        for value in (1e-9, -1e-9, -1.0, -2.0, -5.0, -9.0, -10.0, 1.0)
    ),
    *(
        _hide(
            "mask-value",
            f"{value:g} is added to hidden scores, too weak to hide them",
            _added(value, False),
            "fill",
        )
        for value in (1e-9, -1e-9, -2.0, -5.0, -9.0, -10.0)
    ),
    *(
        _hide(
            "mask-polarity",
            f"{value:g} is added to the scores of visible keys",
            _added(value, True),
            "invert",
        )
        for value in (-10.0, -1e4, -1e9)
    ),
    _after(
        "mask-after-softmax",
        "hidden weights are zeroed after the softmax",
        lambda w, m: w * m[:, None],
    ),
    _after(
        "mask-after-softmax",
        "hidden weights are filled with a large negative number",
        lambda w, m: np.where(m[:, None], w, -1e9),
    ),
    _after(
        "mask-after-softmax",
        "hidden weights are filled with -inf",
        lambda w, m: np.where(m[:, None], w, -np.inf),
    ),
    _after(
        "mask-polarity",
        "visible weights are zeroed after the softmax",
        lambda w, m: w * ~m[:, None],
    ),
)
