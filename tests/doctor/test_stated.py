"""Statements that the running code contradicts: said so, and no fault of the code made of them."""

import numpy as np
import pytest

from regard.doctor import diagnose
from regard.doctor.findings import Report


def pool(queries, keys, values=None, pad_mask=None):
    """queries (B, M, D), keys (B, N, D), values (B, N, E). Scaled dot-product attention.

    pad_mask (B, N) is True on padding.
    """
    values = keys if values is None else values
    scores = queries @ np.swapaxes(keys, 1, 2) / np.sqrt(queries.shape[-1])
    if pad_mask is not None:
        scores = np.where(pad_mask[:, None, :], -np.inf, scores)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = weights / weights.sum(axis=-1, keepdims=True)
    return weights @ values, weights


def either(x):
    """x (B, T, D). Scaled dot-product attention of each position over all."""
    scores = x @ np.swapaxes(x, 1, 2) / np.sqrt(x.shape[-1])
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = weights / weights.sum(axis=-1, keepdims=True)
    return weights @ x, weights


def misplaced(query, key, value, extra=None):
    """Scaled dot-product attention over (batch, length, dim). extra (B, T) is True on padding."""
    scores = query @ np.swapaxes(key, 1, 2) / np.sqrt(query.shape[-1])
    if extra is not None:
        scores = scores + extra.T
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = weights / weights.sum(axis=-1, keepdims=True)
    return weights @ value, weights


def said(function, **stated) -> Report:
    return diagnose(function, isolate=False, **stated)


def test_as_it_is_the_code_is_sound():
    assert said(pool).status == 0
    assert said(pool, bind={"query": "queries", "key": "keys", "mask": "pad_mask"}).status == 0


@pytest.mark.parametrize(
    ("stated", "words"),
    [
        (
            {"bind": {"query": "keys", "key": "queries"}},
            "pool contradicts --bind query=keys --bind key=queries: so it runs only where "
            "query_len = key_len; with keys as the key and queries as the query it runs.",
        ),
        ({"bind": {"query": "keys"}}, "with keys as the key it runs. Correct --bind"),
        ({"bind": {"mask": "values"}}, "pool contradicts --bind mask=values: so it raises at line"),
        (
            {"layout": "length_first"},
            "pool contradicts --layout length-first: with it it raises at line",
        ),
        ({"bind": {"key": "keys", "prepared_key": "queries"}}, "gives the role 'key' twice"),
        ({"bind": {"query": "keys", "mask": "keys"}}, "gives the argument 'keys' twice"),
    ],
)
def test_a_statement_that_does_not_fit_is_named_and_the_code_not_blamed(stated, words):
    report = said(pool, **stated)
    assert (report.status, report.findings) == (2, ())
    assert words in report.question


def test_a_stated_layout_outdoes_the_shapes_in_the_words():
    assert said(either).status == 0
    report = said(either, layout="length_first")
    assert any("(length, batch, dim)" in line for line in report.assumed)
    assert report.status == 1  # each position attends to the others of the batch


def test_a_fault_of_the_stated_mask_is_still_the_codes():
    report = said(misplaced, bind={"mask": "extra"})
    assert report.status == 1
