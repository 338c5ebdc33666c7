"""What words and defaults mean, in code that was once misread."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn

from regard.doctor import diagnose
from regard.doctor.binding.conventions import read_conventions
from regard.doctor.binding.subject import read_subject
from regard.doctor.binding.usage import by_words


def _attend(q: Tensor, k: Tensor, v: Tensor, hidden: Tensor | None) -> Tensor:
    scores = q @ k.transpose(1, 2) / q.shape[-1] ** 0.5
    if hidden is not None:
        scores = scores.masked_fill(hidden[:, None], float("-inf"))
    return scores.softmax(-1) @ v


def sound(q, k, v, padding_mask=None):
    """padding_mask: (B, T), True where the token is padding"""
    return _attend(q, k, v, padding_mask)


def inverted(q, k, v, padding_mask=None):
    """padding_mask: (B, T), True where the token is padding"""
    return _attend(q, k, v, None if padding_mask is None else ~padding_mask)


def glimpse(asker, sources, payload=None, *, blocked=None):
    """Scaled dot attention, time first.

    asker    (T, B, D)   the queries, length-first
    sources  (S, B, D)   the keys, length-first
    payload  (S, B, E)   the values; the sources where left out
    blocked  (B, T, S)   True where a query may not look
    """
    payload = sources if payload is None else payload
    scores = torch.einsum("tbd,sbd->bts", asker * asker.shape[-1] ** -0.5, sources)
    if blocked is not None:
        scores = scores.masked_fill(blocked, float("-inf"))
    weights = scores.softmax(-1)
    return torch.einsum("bts,sbe->tbe", weights, payload), weights


def biased(x, memory=None, attn_bias=None):
    # attn_bias is added to the scores: 0 keeps, -inf removes; (x_len, memory_len)
    memory = x if memory is None else memory
    scores = x @ memory.mT / x.shape[-1] ** 0.5
    weights = (scores if attn_bias is None else scores + attn_bias).softmax(-1)
    return weights @ memory, weights


def dropped_bias(x, memory=None, attn_bias=None):
    # attn_bias is added to the scores: 0 keeps, -inf removes; (x_len, memory_len)
    memory = x if memory is None else memory
    weights = (x @ memory.mT / x.shape[-1] ** 0.5).softmax(-1)
    return weights @ memory, weights


def in_blocks(Q, K, V, block=3):
    """Streaming softmax over key blocks."""
    top, total, context = torch.full((*Q.shape[:-1], 1), -torch.inf), 0.0, 0.0
    for start in range(0, K.shape[1], block):
        keys, values = K[:, start : start + block], V[:, start : start + block]
        scores = Q @ keys.transpose(1, 2) / Q.shape[-1] ** 0.5
        new = torch.maximum(top, scores.max(-1, keepdim=True).values)
        shares, before = torch.exp(scores - new), torch.exp(top - new)
        total = total * before + shares.sum(-1, keepdim=True)
        context, top = context * before + shares @ values, new
    return context / total


def test_true_where_the_token_is_padding_hides() -> None:
    assert diagnose(sound, isolate=False).status == 0
    assert [f.fault for f in diagnose(inverted, isolate=False).findings] == ["mask-polarity"]


def test_a_number_is_no_mask() -> None:
    assert diagnose(in_blocks, isolate=False).status == 0


def test_an_argument_that_is_not_there_cannot_be_bound() -> None:
    report = diagnose(sound, bind={"query": "zzz"}, isolate=False)
    assert (report.status, "has no argument 'zzz'" in report.question) == (2, True)


@pytest.mark.parametrize("layer", [nn.Linear(8, 4), nn.GRU(8, 4, batch_first=True)])
def test_what_is_no_attention_is_not_called_sound(layer: nn.Module) -> None:
    report = diagnose(layer, isolate=False)
    assert (report.status, "no attention is seen" in report.question) == (2, True)


def _reads(words: str, name: str = "attend", mask: str = ""):
    """What is read in these words over code that says nothing else."""

    def plain(q, k, v, mask=None):
        return q @ k.mT, v, mask

    plain.__name__ = name
    subject = read_subject(plain)
    return read_conventions(replace(subject, name=name, docs=words, sayings=words), mask)


def test_words_that_hold_a_formulas_letters_are_no_formula() -> None:
    report = diagnose(glimpse, isolate=False)
    assert (report.status, report.findings) == (0, ())
    assert "score: scaled_dot (inferred)" in report.assumed
    assert "value: payload (length, batch, dim)" in report.assumed


@pytest.mark.parametrize(
    ("words", "score"),
    [
        ("the sources where left out; dot product", "dot"),
        ("The general case of dot-product attention.", "dot"),  # there is no W
        ("Scaled dot-product attention, the general form.", "scaled_dot"),
        ("Unscaled dot-product attention.", "dot"),
        ("Dot-product attention, not scaled.", "dot"),
        ("Dot-product attention with an additive attention mask.", "dot"),
        ("Dot-product attention; the mask is additive.", "dot"),
        ("Dot-product attention: a prelude.", "dot"),
        ("Dot-product attention, positions grouped by length.", "dot"),
        ("Additive attention of Bahdanau.", "additive"),
        ("score = v^T tanh(W s + U h)", "additive"),
    ],
)
def test_a_score_is_read_in_whole_words(words: str, score: str) -> None:
    assert _reads(words).score == score


@pytest.mark.parametrize("formula", ["s^T W h", "s_t^T W_a h_j", "h_t W_a h_s", "q W k", "sWh"])
def test_a_bilinear_formula_is_general_where_there_is_a_matrix(formula: str) -> None:
    def score(s, h, W_a):
        return s @ W_a @ h.mT

    subject = replace(read_subject(score), docs=f"score = {formula}")
    assert read_conventions(subject, "").score == "general"


@pytest.mark.parametrize(
    ("words", "layout"),
    [
        ("Decodes one step at a time, batch of states", ""),
        ("keys of source length n", ""),
        ("max length, batch size and heads", ""),
        ("arrays are not length-first", ""),
        ("arrays are length-first", "length_first"),
        ("keys (src_len, batch, dim)", "length_first"),
        ("keys: src_len x batch x dim", "length_first"),
        ("(time, batch, dim)", "length_first"),
        ("(batch, time, dim)", "batch_first"),
    ],
)
def test_a_layout_is_read_in_whole_words(words: str, layout: str) -> None:
    assert _reads(words).layout == layout


@pytest.mark.parametrize(
    ("name", "does"),
    [
        ("valid", "attends"),
        ("invalid_positions", "hides"),
        ("not_visible", "hides"),
        ("disallowed", "hides"),
        ("non_pad_mask", "attends"),
        ("block_mask", "hides"),
    ],
)
def test_a_mask_is_not_read_as_the_opposite_of_its_name(name: str, does: str) -> None:
    assert _reads("", mask=name).mask_true == does


def test_code_that_says_it_is_not_causal_is_not() -> None:
    assert not _reads("Non-causal attention, without a causal mask.").causal


@pytest.mark.parametrize("bind", [{}, {"mask": "attn_bias"}])
def test_an_added_mask_is_added_bound_by_hand_or_found(bind: dict[str, str]) -> None:
    report = diagnose(biased, bind=bind, isolate=False)
    assert (report.status, report.findings) == (0, ())
    assert "mask: attn_bias (query_len, key_len), added to the scores" in report.assumed
    assert not any("takes no mask" in check.reason for check in report.checks)
    wrong = diagnose(dropped_bias, bind=bind, isolate=False)
    assert [finding.fault for finding in wrong.findings] == ["mask-dropped"]


def test_an_argument_is_what_its_line_says() -> None:
    docs = """
    a (B, T, D): the queries
    b: The keys
    c (B, S)  keys that may not be seen
    :param d: values.
    """
    assert by_words("abcd", docs) == {"a": "query", "b": "key", "d": "value"}
