"""Known faults of the additive score: each another `score` in place of v·tanh(W s + U h)."""

from collections.abc import Callable

import numpy as np

from regard.doctor.comparison.reference_model import (
    Parts,
    additive,
    contract,
    pairs,
    relu,
    sigmoid,
    split_heads,
)
from regard.doctor.comparison.variants import score_variant
from regard.doctor.tracing.dependence import Array

ADDITIVE_RULE = "score(s, h) = v · tanh(W s + U h), summed over d_attn"


def _apart(apply: Callable[[Array], Array]) -> Callable[[Parts, Array, Array], Array]:
    return lambda parts, q, k: contract(parts, pairs(apply(q), apply(k)))


def _together(apply: Callable[[Array], Array]) -> Callable[[Parts, Array, Array], Array]:
    return lambda parts, q, k: contract(parts, apply(pairs(q, k)))


def _along_time(parts: Parts, query: Array, key: Array) -> Array:
    """The query of sample t laid on position t of every sample: (batch, d) + (batch, T, d)."""
    if query.shape[0] != key.shape[2] or query.shape[2] != 1:
        raise ValueError("only where batch = key_len")
    laid = query[:, :, 0].transpose(1, 0, 2)[None]  # 1, heads, key_len, dim
    energy = np.tanh(laid + key)
    return contract(parts, energy[..., None, :, :])


def _repeated(parts: Parts, query: Array, key: Array) -> Array:
    """`repeat(T, 1).view(batch, T, d)`: position t of sample b gets the state of another sample."""
    batch, _, length, _ = key.shape
    if query.shape[2] != 1 or batch == 1:
        raise ValueError("only for one query")
    order = np.arange(batch * length).reshape(batch, length) % batch
    laid = query[:, :, 0][order].swapaxes(1, 2)  # batch, heads, key_len, dim
    return contract(parts, np.tanh(laid + key))[:, :, None]


def _both_of(name: str) -> Callable[[Parts, Array, Array], Array]:
    """Both projections of one sequence: the query's, or the keys'."""

    def score(parts: Parts, query: Array, key: Array) -> Array:
        if parts.swapped is None:
            raise ValueError("not two projections")
        by_key, by_query = (_split(parts, each) for each in parts.swapped)
        if name == "key":
            energy = np.tanh(by_query + key)[:, :, None]
            return np.broadcast_to(contract(parts, energy), (*query.shape[:3], key.shape[2]))
        energy = np.tanh(query + by_key)
        scores = contract(parts, energy)[..., None]
        return np.broadcast_to(scores, (*query.shape[:3], key.shape[2]))

    return score


def _split(parts: Parts, x: Array) -> Array:
    return split_heads(x, parts.num_heads)


ADDITIVE_SCORES = (
    score_variant(
        "score-formula",
        "there is no tanh: v · (W s + U h)",
        ADDITIVE_RULE,
        _together(lambda x: x),
        "tanh",
    ),
    score_variant(
        "score-formula",
        "tanh is taken after v: tanh(v · (W s + U h))",
        ADDITIVE_RULE,
        lambda p, q, k: np.tanh(contract(p, pairs(q, k))),
        "tanh-inside",
    ),
    score_variant(
        "score-formula",
        "tanh is taken twice, inside and after v",
        ADDITIVE_RULE,
        lambda p, q, k: np.tanh(additive(p, q, k)),
        "no-outer-tanh",
    ),
    score_variant(
        "score-formula",
        "tanh is taken of each part alone: v · (tanh(W s) + tanh(U h))",
        ADDITIVE_RULE,
        _apart(np.tanh),
        "tanh-sum",
    ),
    score_variant(
        "score-formula",
        "tanh is taken of the query alone: v · (tanh(W s) + U h)",
        ADDITIVE_RULE,
        lambda p, q, k: contract(p, pairs(np.tanh(q), k)),
        "tanh-sum",
    ),
    score_variant(
        "score-formula",
        "tanh is taken of the keys alone: v · (W s + tanh(U h))",
        ADDITIVE_RULE,
        lambda p, q, k: contract(p, pairs(q, np.tanh(k))),
        "tanh-sum",
    ),
    score_variant(
        "score-formula", "relu stands in place of tanh", ADDITIVE_RULE, _together(relu), "to-tanh"
    ),
    score_variant(
        "score-formula",
        "sigmoid stands in place of tanh",
        ADDITIVE_RULE,
        _together(sigmoid),
        "to-tanh",
    ),
    score_variant(
        "score-formula",
        "the parts are multiplied, not added: v · tanh(W s ∘ U h)",
        ADDITIVE_RULE,
        lambda p, q, k: contract(p, np.tanh(q[..., :, None, :] * k[..., None, :, :])),
        "add",
    ),
    score_variant(
        "score-formula",
        "the parts are subtracted, not added",
        ADDITIVE_RULE,
        lambda p, q, k: contract(p, np.tanh(pairs(q, -k))),
        "add",
    ),
    score_variant(
        "score-formula",
        "the energies are summed without v",
        ADDITIVE_RULE,
        lambda p, q, k: np.tanh(pairs(q, k)).sum(-1),
        "v",
    ),
    score_variant(
        "score-formula",
        "the energies are averaged without v",
        ADDITIVE_RULE,
        lambda p, q, k: np.tanh(pairs(q, k)).mean(-1),
        "v",
    ),
    score_variant(
        "query-ignored",
        "the query is left out: v · tanh(U h)",
        ADDITIVE_RULE,
        lambda p, q, k: contract(p, np.tanh(pairs(0 * q, k))),
        "use-query",
    ),
    score_variant(
        "key-ignored",
        "the encoder states are left out: v · tanh(W s)",
        ADDITIVE_RULE,
        lambda p, q, k: contract(p, np.tanh(pairs(q, 0 * k))),
        "use-key",
    ),
    score_variant(
        "query-ignored",
        "both parts are made of the encoder states, and none of the query",
        ADDITIVE_RULE,
        _both_of("key"),
        "use-query",
    ),
    score_variant(
        "key-ignored",
        "both parts are made of the query, and none of the encoder states",
        ADDITIVE_RULE,
        _both_of("query"),
        "use-key",
    ),
    score_variant(
        "batch-mixing",
        "repeat(T, 1) puts the samples after one another, and the view cuts them every T rows:"
        " position t of a sample gets another sample's state",
        "each position gets its own sample's state: (batch, d) to (batch, 1, d) to (batch, T, d)",
        _repeated,
        "repeat-rows",
    ),
    score_variant(
        "broadcast",
        "(batch, d) meets (batch, T, d) without a length axis: sample t's state"
        " is laid on position t",
        "the state needs a length axis: (batch, 1, d_attn)",
        _along_time,
        "unsqueeze-query",
    ),
)
