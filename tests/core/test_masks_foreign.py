"""Masks as Hugging Face and torch write them, against what their own code does with them."""

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from regard import Mask, attend

BATCH, HEADS, QUERIES, KEYS, DIM = 2, 3, 4, 5, 6


def _seen_by_torch(attn_mask: Tensor | None, key_padding_mask: Tensor | None) -> Tensor:
    """Which keys get weight from ``nn.MultiheadAttention``, whose every weight is above 0."""
    torch.manual_seed(0)
    attention = nn.MultiheadAttention(DIM, HEADS, batch_first=True)
    query, key = torch.randn(BATCH, QUERIES, DIM), torch.randn(BATCH, KEYS, DIM)
    _, weights = attention(
        query,
        key,
        key,
        attn_mask=attn_mask,
        key_padding_mask=key_padding_mask,
        average_attn_weights=False,
    )
    assert weights.isfinite().all()
    return weights > 0


def _hidden(*shape: int) -> Tensor:
    """At random, but each row keeps a key, or torch would give NaN."""
    hidden = torch.rand(shape, generator=torch.Generator().manual_seed(sum(shape))) < 0.5
    hidden[..., 1] = False
    return hidden


def _as_float(hidden: Tensor) -> Tensor:
    return torch.zeros(hidden.shape).masked_fill(hidden, -math.inf)


MASKS_OF_TORCH = {
    "(query, key)": (_hidden(QUERIES, KEYS), None),
    "(batch * heads, query, key)": (_hidden(BATCH * HEADS, QUERIES, KEYS), None),
    "(batch, key)": (None, _hidden(BATCH, KEYS)),
    "(query, key) and (batch, key)": (_hidden(QUERIES, KEYS), _hidden(BATCH, KEYS)),
    "(batch * heads, query, key) and (batch, key)": (
        _hidden(BATCH * HEADS, QUERIES, KEYS),
        _hidden(BATCH, KEYS),
    ),
}


@pytest.mark.parametrize("name", MASKS_OF_TORCH)
@pytest.mark.parametrize("as_float", [False, True], ids=["bool", "float"])
def test_from_torch_hides_what_multihead_attention_hides(name: str, as_float: bool) -> None:
    masks = MASKS_OF_TORCH[name]
    if as_float:
        masks = tuple(None if mask is None else _as_float(mask) for mask in masks)  # type: ignore[assignment]
    grid = Mask.from_torch(*masks, num_heads=HEADS).dense_for(QUERIES, KEYS)
    grid = grid[:, None] if grid.dim() == 3 else grid
    seen = _seen_by_torch(*masks)
    assert torch.equal(grid.expand(seen.shape), seen)
    assert 0 < seen.sum() < seen.numel()


def test_the_bool_mask_of_sdpa_has_the_polarity_of_dense_and_not_of_from_torch() -> None:
    query, key = torch.randn(1, 1, 3, 4), torch.randn(1, 1, 5, 4)
    mask = ~_hidden(3, 5)
    right = nn.functional.scaled_dot_product_attention(query, key, key, attn_mask=mask)
    found = attend(query, key, key, may_attend=Mask.dense(mask)).context
    torch.testing.assert_close(found, right)
    opposite = Mask.from_torch(mask).dense_for(3, 5)
    assert torch.equal(opposite[0], ~Mask.dense(mask).dense_for(3, 5))


def test_torchs_own_causal_mask_is_causal() -> None:
    mask = nn.Transformer.generate_square_subsequent_mask(4)
    shown = Mask.from_torch(mask).dense_for(4, 4)[0]
    assert torch.equal(shown, Mask.causal().dense_for(4, 4))


def test_masks_of_an_unbatched_call_serve_an_unbatched_call() -> None:
    hidden = torch.tensor([False, True])
    grid = Mask.from_torch(hidden[None].expand(3, 2), hidden).grid_for((3, 2), torch.device("cpu"))
    assert grid.expand(3, 2).tolist() == [[True, False]] * 3


def test_as_many_examples_as_queries_leave_no_doubt_about_a_mask_of_torch() -> None:
    hidden = torch.tensor([[False, True], [False, False]])
    cpu = torch.device("cpu")
    by_query = Mask.from_torch(hidden).grid_for((2, 2, 2), cpu).expand(2, 2, 2)
    by_example = Mask.from_torch(key_padding_mask=hidden).grid_for((2, 2, 2), cpu).expand(2, 2, 2)
    assert torch.equal(by_query, ~hidden[None].expand(2, 2, 2))
    assert torch.equal(by_example, ~hidden[:, None].expand(2, 2, 2))


@pytest.mark.parametrize("dtype", [torch.int64, torch.uint8, torch.float16, torch.bool])
def test_an_attention_mask_is_1_where_a_token_is_real(dtype: torch.dtype) -> None:
    mask = Mask.from_attention_mask(torch.tensor([[1, 1, 0], [0, 1, 1]]).to(dtype))
    assert mask.dense_for(1, 3).int().tolist() == [[[1, 1, 0]], [[0, 1, 1]]]


ONES = torch.ones(2, 5)
REFUSED: dict[str, tuple[Callable[[], Mask], type[Exception], str]] = {
    "a two": (
        lambda: Mask.from_attention_mask(torch.tensor([[1, 1], [1, 2]])),
        ValueError,
        r"attention_mask\[1, 1\] is 2, shape \(2, 2\). Every value must be 1 \(real\) or 0",
    ),
    "NaN": (lambda: Mask.from_attention_mask(ONES * math.nan), ValueError, r"\[0, 0\] is nan"),
    "added to scores": (
        lambda: Mask.from_attention_mask(torch.tensor([[0.0, -1e4]])),
        ValueError,
        r"\[0, 1\] is -10000.0.*0 means may attend.*Mask.dense\(\(attention_mask == 0\)\[:, None",
    ),
    "one example": (
        lambda: Mask.from_attention_mask(ONES[0]),
        ValueError,
        r"shape \(5,\). It must be \(batch, key\).*Write attention_mask\[None\]",
    ),
    "four axes": (
        lambda: Mask.from_attention_mask(ONES[:, None, None]),
        ValueError,
        r"shape \(2, 1, 1, 5\).*Mask.dense\(attention_mask == 1\)",
    ),
    "a list": (
        lambda: Mask.from_attention_mask([[1, 0]]),  # type: ignore[arg-type]
        TypeError,
        r"attention_mask is a list.*torch.as_tensor\(attention_mask\)",
    ),
    "nothing": (lambda: Mask.from_torch(), ValueError, "both None.*pass may_attend=None"),
    "a bias": (
        lambda: Mask.from_torch(torch.tensor([[0.0, -0.5]])),
        ValueError,
        r"attn_mask\[0, 1\] is -0.5, shape \(1, 2\).*only hide: 0 or -inf.*as bias=",
    ),
    "a large negative number": (
        lambda: Mask.from_torch(key_padding_mask=torch.tensor([[0.0, -1e9]])),
        ValueError,
        r"key_padding_mask\[0, 1\] is -1000000000.0.*key_padding_mask.bool\(\)",
    ),
    "ints": (
        lambda: Mask.from_torch(ONES.long()),
        TypeError,
        r"attn_mask has dtype int64 and shape \(2, 5\).*attn_mask.bool\(\) if 1 means hidden",
    ),
    "no tensor": (
        lambda: Mask.from_torch(key_padding_mask=[[True]]),  # type: ignore[arg-type]
        TypeError,
        "key_padding_mask is a list",
    ),
    "heads unknown": (
        lambda: Mask.from_torch(torch.zeros(6, 4, 5)),
        ValueError,
        r"shape \(6, 4, 5\), so its first axis is batch \* num_heads.*Pass num_heads=",
    ),
    "other heads": (
        lambda: Mask.from_torch(torch.zeros(6, 4, 5), num_heads=4),
        ValueError,
        r"shape \(6, 4, 5\) and num_heads=4.*6 is no multiple of 4",
    ),
    "no heads": (
        lambda: Mask.from_torch(torch.zeros(6, 4, 5), num_heads=0),
        ValueError,
        "num_heads=0",
    ),
    "heads in words": (
        lambda: Mask.from_torch(torch.zeros(6, 4, 5), num_heads="3"),  # type: ignore[arg-type]
        TypeError,
        "Mask.from_torch: num_heads='3' is a str",
    ),
    "an attn_mask of four axes": (
        lambda: Mask.from_torch(torch.zeros(2, 3, 4, 5)),
        ValueError,
        r"shape \(2, 3, 4, 5\). It must be \(query, key\) or.*Mask.dense\(~attn_mask\)",
    ),
    "padding by query": (
        lambda: Mask.from_torch(key_padding_mask=torch.zeros(2, 4, 5)),
        ValueError,
        r"key_padding_mask has shape \(2, 4, 5\). It must be \(batch, key\)",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_foreign_mask_is_refused_that_is(name: str, as_a_user: None) -> None:
    make, error, text = REFUSED[name]
    with pytest.raises(error, match=text):
        make()
