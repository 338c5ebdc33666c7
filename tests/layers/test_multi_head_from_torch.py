"""torch's own layer, taken over: its numbers wherever it gives numbers, zeros where it gives NaN.

Of the collection of known faults: 2 and 3 (what torch gives depends on whether weights are wanted),
72 (returned weights are those before dropout).
"""

from itertools import product

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from regard import Mask
from regard.layers import MultiHeadAttention

BATCH, QUERY_LEN, KEY_LEN, EMBED, HEADS = 3, 5, 6, 24, 4

OPTIONS = [
    {"bias": bias, "batch_first": batch_first, **widths}
    for bias, batch_first, widths in product(
        (True, False),
        (True, False),
        ({}, {"kdim": 7}, {"vdim": 9}, {"kdim": 7, "vdim": 9}, {"kdim": 7, "vdim": 7}),
    )
]


def torchs(**options: object) -> nn.MultiheadAttention:
    torch.manual_seed(0)
    layer = nn.MultiheadAttention(EMBED, HEADS, **options)
    with torch.no_grad():  # biases start at zero
        for parameter in layer.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.1)
    return layer


def run_torchs(
    layer: nn.MultiheadAttention, inputs: list[Tensor], **options: object
) -> tuple[Tensor, Tensor | None]:
    if layer.batch_first:
        return layer(*inputs, **options)
    output, weights = layer(*(x.transpose(0, 1) for x in inputs), **options)
    return output.transpose(0, 1), weights


def masks(self_attention: bool) -> list[tuple[dict[str, Tensor], Mask | None]]:
    """What torch takes, in which True is hidden, and the same as a `Mask`."""
    generator = torch.Generator().manual_seed(1)
    query_len = KEY_LEN if self_attention else QUERY_LEN
    padding = torch.arange(KEY_LEN) >= torch.tensor([6, 1, 3])[:, None]
    plane = torch.rand(query_len, KEY_LEN, generator=generator) < 0.4
    plane[:, 0] = False
    of_heads = torch.rand(BATCH * HEADS, query_len, KEY_LEN, generator=generator) < 0.4
    of_heads[..., 0] = False
    lengths, open_plane = Mask.lengths([6, 1, 3]), Mask.dense(~plane[None])
    open_heads = Mask.dense(~of_heads.view(BATCH, HEADS, query_len, KEY_LEN))
    cases: list[tuple[dict[str, Tensor], Mask | None]] = [
        ({}, None),
        ({"key_padding_mask": padding}, lengths),
        ({"attn_mask": plane}, open_plane),
        ({"attn_mask": plane, "key_padding_mask": padding}, open_plane & lengths),
        ({"attn_mask": of_heads}, open_heads),
        ({"attn_mask": of_heads, "key_padding_mask": padding}, open_heads & lengths),
    ]
    if self_attention:
        triangle = torch.ones(KEY_LEN, KEY_LEN, dtype=torch.bool).triu(1)
        cases.append(({"attn_mask": triangle}, Mask.causal()))
    return cases


@pytest.mark.parametrize("training", [True, False], ids=["train", "eval"])
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_the_numbers_are_torchs(options: dict[str, object], training: bool) -> None:
    theirs = torchs(**options).train(training)
    ours = MultiHeadAttention.from_torch(theirs)
    generator = torch.Generator().manual_seed(2)
    sizes = ((QUERY_LEN, EMBED), (KEY_LEN, theirs.kdim), (KEY_LEN, theirs.vdim))
    cross = [torch.randn(BATCH, *size, generator=generator) for size in sizes]
    x = torch.randn(BATCH, KEY_LEN, EMBED, generator=generator)
    both = [(cross, False)] if len(options) > 2 else [(cross, False), ([x, x, x], True)]
    for inputs, is_self in both:
        for (in_torch, may_attend), average in product(masks(is_self), (True, False)):
            output, weights = run_torchs(
                theirs, inputs, need_weights=True, average_attn_weights=average, **in_torch
            )
            found = ours(
                *inputs, may_attend=may_attend, need_weights=True, average_attn_weights=average
            )
            assert_close(found.output, output, rtol=0.0, atol=1e-6)
            assert_close(found.weights, weights, rtol=0.0, atol=1e-6)
            output, _ = run_torchs(theirs, inputs, need_weights=False, **in_torch)
            found = ours(*inputs, may_attend=may_attend)
            assert_close(found.output, output, rtol=0.0, atol=1e-6)


def test_the_gradients_are_torchs() -> None:
    theirs = torchs(batch_first=True)
    ours = MultiHeadAttention.from_torch(theirs)
    x = torch.randn(BATCH, KEY_LEN, EMBED, generator=torch.Generator().manual_seed(2))
    for in_torch, may_attend in masks(True):
        grads = []
        for layer, options in ((theirs, in_torch), (ours, {"may_attend": may_attend})):
            output = layer(x, x, x, **options)[0]
            grads.append(torch.autograd.grad(output.sin().sum(), list(layer.parameters())))
        for ours_grad, theirs_grad in zip(
            grads[1], _in_our_order(ours, theirs, grads[0]), strict=True
        ):
            assert_close(ours_grad, theirs_grad, rtol=1e-4, atol=1e-4)


def _in_our_order(
    ours: MultiHeadAttention, theirs: nn.MultiheadAttention, grads: tuple[Tensor, ...]
) -> list[Tensor]:
    by_name = dict(zip(dict(theirs.named_parameters()), grads, strict=True))
    names = ("in_proj_weight", "in_proj_bias", "out_proj.weight", "out_proj.bias")
    assert len(names) == len(list(ours.parameters()))
    return [by_name[name] for name in names]


@pytest.mark.parametrize("training", [True, False], ids=["train", "eval"])
@pytest.mark.parametrize("fast_path", [True, False])
def test_where_torch_gives_nan_there_are_zeros(fast_path: bool, training: bool) -> None:
    """torch's answer for an empty row depends on the mode and on whether weights are wanted."""
    theirs = torchs(batch_first=True).train(training)
    ours = MultiHeadAttention.from_torch(theirs)
    x = torch.randn(BATCH, KEY_LEN, EMBED, generator=torch.Generator().manual_seed(2))
    padding = torch.arange(KEY_LEN) >= torch.tensor([6, 0, 3])[:, None]
    seen_nan = False
    with torch.set_grad_enabled(not fast_path):
        for need_weights in (True, False):
            output, weights = theirs(x, x, x, key_padding_mask=padding, need_weights=need_weights)
            found = ours(x, x, x, may_attend=Mask.lengths([6, 0, 3]), need_weights=need_weights)
            seen_nan |= bool(output.isnan().any())
            # heads of zeros, so the output is what the last projection adds to them
            assert_close(found.output[1], theirs.out_proj.bias.expand(KEY_LEN, -1))
            is_number = ~output.isnan()
            assert_close(found.output[is_number], output[is_number], rtol=0.0, atol=1e-6)
            if need_weights:
                expected = weights.nan_to_num(0.0)
                assert_close(found.weights, expected, rtol=0.0, atol=1e-6)
                assert not found.weights[1].any()
    assert seen_nan, "torch has mended it: this test has nothing to tell any more"


def test_mode_dropout_dtype_and_frozen_weights_come_along() -> None:
    theirs = torchs(dropout=0.3).double().eval()
    theirs.in_proj_weight.requires_grad_(False)
    ours = MultiHeadAttention.from_torch(theirs)
    assert (ours.dropout, ours.training) == (0.3, False)
    assert ours.output_projection.weight.dtype == torch.float64
    assert not ours.input_projections.weight.requires_grad
    assert ours.input_projections.bias.requires_grad


def test_weights_are_copied_and_not_shared() -> None:
    theirs = torchs()
    ours = MultiHeadAttention.from_torch(theirs)
    before = ours.output_projection.weight.clone()
    with torch.no_grad():
        theirs.out_proj.weight.zero_()
    assert_close(ours.output_projection.weight, before, rtol=0.0, atol=0.0)


@pytest.mark.usefixtures("as_a_user")
@pytest.mark.parametrize(
    ("layer", "kind", "text"),
    [
        (
            torchs(add_bias_kv=True),
            ValueError,
            "from_torch: the layer was built with add_bias_kv=True.*with add_bias_kv=False",
        ),
        (torchs(add_zero_attn=True), ValueError, "the layer was built with add_zero_attn=True"),
        (nn.Linear(2, 2), TypeError, r"got a Linear. It copies a torch.nn.*it is .self_attn"),
    ],
)
def test_what_has_no_place_here_is_refused(
    layer: nn.MultiheadAttention, kind: type[Exception], text: str
) -> None:
    with pytest.raises(kind, match=text):
        MultiHeadAttention.from_torch(layer)
