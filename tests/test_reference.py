"""The NumPy page: its equations against plain loops, its shapes, its refusals."""

import ast
import doctest
import inspect
import math

import numpy as np
import pytest

from regard import reference

rng = np.random.default_rng(0)
T, L, D_S, D_H, D_ATTN = 5, 3, 4, 6, 8
S, H = rng.normal(size=D_S), rng.normal(size=(T, D_H))
W_A, U_A, V_A = (rng.normal(size=shape) for shape in ((D_ATTN, D_S), (D_ATTN, D_H), (D_ATTN,)))
W_G, W_C = rng.normal(size=(D_S, D_H)), rng.normal(size=(D_ATTN, D_S + D_H))
Q, V = rng.normal(size=(L, D_H)), rng.normal(size=(T, 7))


def by_hand(scores: list[float]) -> list[float]:
    exponentials = [math.exp(score) for score in scores]
    return [e / sum(exponentials) for e in exponentials]


def additive_score(h: np.ndarray) -> float:
    total = 0.0
    for c in range(D_ATTN):
        inside = sum(W_A[c, i] * S[i] for i in range(D_S)) + sum(
            U_A[c, i] * h[i] for i in range(D_H)
        )
        total += V_A[c] * math.tanh(inside)
    return total


def concat_score(h: np.ndarray) -> float:
    both = [*S, *h]
    return sum(V_A[c] * math.tanh(np.dot(W_C[c], both)) for c in range(D_ATTN))


SINGLE = {
    "dot": (
        lambda **m: reference.dot_attention(Q[0], H, **m),
        lambda h: sum(a * b for a, b in zip(Q[0], h, strict=True)),
    ),
    "general": (
        lambda **m: reference.general_attention(S, H, W_G, **m),
        lambda h: sum(S[i] * W_G[i, j] * h[j] for i in range(D_S) for j in range(D_H)),
    ),
    "additive": (
        lambda **m: reference.additive_attention(S, H, W_A, U_A, V_A, **m),
        additive_score,
    ),
    "concat": (lambda **m: reference.concat_attention(S, H, W_C, V_A, **m), concat_score),
    "scaled dot": (
        lambda **m: reference.scaled_dot_attention(Q[0], H, H, **m),
        lambda h: float(Q[0] @ h) / math.sqrt(D_H),
    ),
}
every_score = pytest.mark.parametrize("name", SINGLE)


@every_score
def test_weights_and_context_are_those_of_a_plain_loop(name: str) -> None:
    attention, score = SINGLE[name]
    context, weights = attention()
    right = by_hand([score(h) for h in H])
    np.testing.assert_allclose(weights, right)
    np.testing.assert_allclose(context, sum(w * h for w, h in zip(right, H, strict=True)))
    assert context.shape == (D_H,)
    assert context.dtype == weights.dtype == np.float64


@every_score
def test_positions_that_may_not_be_attended_to_weigh_nothing(name: str) -> None:
    attention, score = SINGLE[name]
    may_attend = np.array([True, False, True, True, False])
    weights = attention(may_attend=may_attend).weights
    np.testing.assert_allclose(weights[may_attend], by_hand([score(h) for h in H[may_attend]]))
    assert (weights[~may_attend] == 0).all()


@every_score
def test_nothing_to_attend_to_gives_zeros(name: str) -> None:
    context, weights = SINGLE[name][0](may_attend=np.zeros(T, dtype=bool))
    assert (context == 0).all()
    assert (weights == 0).all()


@every_score
def test_hidden_positions_may_hold_nan(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    may_attend = np.array([True, True, True, False, False])
    right = SINGLE[name][0](may_attend=may_attend)
    spoiled = H.copy()
    spoiled[3:] = np.nan
    monkeypatch.setitem(globals(), "H", spoiled)
    for found, expected in zip(SINGLE[name][0](may_attend=may_attend), right, strict=True):
        np.testing.assert_array_equal(found, expected)


def test_softmax_neither_overflows_nor_divides_zero_by_zero() -> None:
    np.testing.assert_allclose(reference.softmax([1e4, 1e4]), [0.5, 0.5])
    np.testing.assert_allclose(reference.softmax([-1e5, -1e5 - 1]), by_hand([0, -1]))
    assert reference.softmax([-np.inf, -np.inf]).tolist() == [0, 0]
    assert reference.softmax([]).shape == (0,)


def test_softmax_is_over_the_last_axis() -> None:
    np.testing.assert_allclose(
        reference.softmax(rng.normal(size=(2, 3, 4))).sum(-1), np.ones((2, 3))
    )


def test_masked_softmax_shares_over_the_first_entries() -> None:
    np.testing.assert_allclose(
        reference.masked_softmax([1, 2, 3, 4], 2), [0.2689, 0.7311, 0, 0], atol=1e-4
    )
    assert reference.masked_softmax([1, 2, 3], 0).tolist() == [0, 0, 0]
    np.testing.assert_allclose(reference.masked_softmax([1, 2, 3], 3), reference.softmax([1, 2, 3]))


def test_scaled_dot_attention_takes_many_queries() -> None:
    may_attend = rng.random((L, T)) < 0.6
    context, weights = reference.scaled_dot_attention(Q, H, V, may_attend=may_attend)
    for row in range(L):
        alone = reference.scaled_dot_attention(Q[row], H, V, may_attend=may_attend[row])
        np.testing.assert_allclose(weights[row], alone.weights)
        np.testing.assert_allclose(context[row], alone.context)


def test_multi_head_attention_joins_heads_that_each_see_their_own_columns() -> None:
    d_q, d_k, d_v, heads, width, d_value, d_out = 3, 4, 5, 2, 6, 8, 7
    query, key, value = (rng.normal(size=s) for s in ((L, d_q), (T, d_k), (T, d_v)))
    W_q, W_k, W_v, W_o = (
        rng.normal(size=s) for s in ((d_q, width), (d_k, width), (d_v, d_value), (d_value, d_out))
    )
    may_attend = rng.random((L, T)) < 0.7
    context, weights = reference.multi_head_attention(
        query, key, value, W_q, W_k, W_v, W_o, heads, may_attend=may_attend
    )
    right = np.zeros((L, d_out))
    for head in range(heads):
        own, own_v = slice(3 * head, 3 * head + 3), slice(4 * head, 4 * head + 4)
        one = reference.scaled_dot_attention(
            query @ W_q[:, own], key @ W_k[:, own], value @ W_v[:, own_v], may_attend=may_attend
        )
        np.testing.assert_allclose(weights[head], one.weights)
        right += one.context @ W_o[own_v]
    np.testing.assert_allclose(context, right)


def test_the_results_have_names_and_unpack() -> None:
    attended = reference.dot_attention([1.0], [[1.0], [2.0]])
    context, weights = attended
    assert context is attended.context
    assert weights is attended.weights


REFUSED = {
    "another width": (
        lambda: reference.dot_attention(S, H),
        r"dot_attention: encoder_states has shape \(5, 6\) but must be \(T, d_h\), here \(T, 4\)",
    ),
    "general W with its axes swapped": (
        lambda: reference.general_attention(S, H, W_G.T),
        r"W has shape \(6, 4\) but must be \(d_s, d_h\), here \(4, 6\).*transpose it",
    ),
    "a batch": (
        lambda: reference.additive_attention(S[None], H[None], W_A, U_A, V_A),
        r"decoder_state has shape \(1, 4\) but must be \(d_s\).*one example at a time",
    ),
    "additive U_a of another width": (
        lambda: reference.additive_attention(S, H, W_A, U_A[:-1], V_A),
        r"U_a has shape \(7, 6\) but must be \(d_attn, d_h\), here \(8, 6\)",
    ),
    "concat W that is too narrow": (
        lambda: reference.concat_attention(S, H, W_C[:, :-1], V_A),
        r"W has shape \(8, 9\) but must be \(d_attn, d_s\+d_h\), here \(d_attn, 10\)",
    ),
    "keys without values": (
        lambda: reference.scaled_dot_attention(Q, H, V[:-1]),
        r"value has shape \(4, 7\) but must be \(T, d_v\), here \(5, d_v\)",
    ),
    "heads that do not divide": (
        lambda: reference.multi_head_attention(*[np.ones((10, 10))] * 7, num_heads=3),
        r"\(10, 10\).*num_heads=3. Each head needs an equal part of the columns",
    ),
    "a numeric mask": (
        lambda: reference.dot_attention(Q[0], H, may_attend=[1, 1, 0, 0, 0]),
        r"may_attend has dtype int64.*must be bool.*may_attend == 1",
    ),
    "a mask of another length": (
        lambda: reference.dot_attention(Q[0], H, may_attend=[True, False]),
        r"shape \(2,\).*the scores' shape \(5,\)",
    ),
    "a negative length": (
        lambda: reference.masked_softmax([1, 2], -1),
        "length is -1. It must be a whole number from 0 to 2",
    ),
    "a length too long": (lambda: reference.masked_softmax([1, 2], 3), "length is 3"),
    "a fractional length": (lambda: reference.masked_softmax([1, 2], 1.5), "length is 1.5"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_the_reference_refuses(name: str) -> None:
    call, text = REFUSED[name]
    with pytest.raises(ValueError, match=text):
        call()


def test_the_examples_in_its_docstrings_run() -> None:
    result = doctest.testmod(reference)
    assert result.attempted > 7
    assert result.failed == 0


def test_it_imports_nothing_of_ours_and_no_torch() -> None:
    imported = set()
    for node in ast.walk(ast.parse(inspect.getsource(reference))):
        if isinstance(node, ast.Import):
            imported |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            imported.add((node.module or "").split(".")[0])
    assert not imported & {"regard", "torch", ""}
