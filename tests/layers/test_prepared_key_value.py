"""Keys and values prepared once: the same numbers as unprepared, and refused where wrong."""

import math

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from regard import Mask
from regard.layers import MultiHeadAttention
from regard.scores import NAMES
from tests.layers.multi_head_by_hand import by_hand, randomized

WIDTHS = {"query_dim": 5, "key_dim": 7, "value_dim": 9, "output_dim": 11}
LENGTHS = Mask.lengths([4, 2])


def made(score: str = "scaled_dot", **options: object) -> MultiHeadAttention:
    return randomized(MultiHeadAttention(12, 3, score=score, **options)).double()


def randn(*shape: int, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator, dtype=torch.float64)


def inputs() -> list[Tensor]:
    return [randn(2, 3, 5), randn(2, 4, 7, seed=1), randn(2, 4, 9, seed=2)]


@pytest.mark.parametrize("may_attend", [None, LENGTHS], ids=["all", "lengths"])
@pytest.mark.parametrize("name", NAMES)
def test_prepared_gives_the_formulas_outputs_weights_and_gradients(
    name: str, may_attend: Mask | None
) -> None:
    layer = made(name, **WIDTHS)
    query, key, value = inputs()
    expected, of_heads = by_hand(layer, [query, key, value], may_attend)
    prepared = layer.prepare(key, value, may_attend=may_attend)
    found = layer(query, prepared, need_weights=True, average_attn_weights=False)
    assert_close(found.output, expected)
    assert_close(found.weights, of_heads)
    for q in range(3):  # one query after the other, and weights averaged
        step = layer(query[:, q : q + 1], prepared, need_weights=True)
        assert_close(step.output, expected[:, q : q + 1])
        assert_close(step.weights, of_heads[:, :, q : q + 1].mean(dim=1))

    parameters = list(layer.parameters())
    plain = layer(query, key, value, may_attend=may_attend).output.sin().sum()
    assert_close(
        torch.autograd.grad(found.output.sin().sum(), parameters),
        torch.autograd.grad(plain, parameters),
    )


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("name", NAMES)
def test_self_attention_grown_a_position_at_a_time_is_causal_self_attention(
    name: str, bias: bool
) -> None:
    layer, x = made(name, bias=bias), randn(2, 5, 12)
    whole = layer(x, x, x, may_attend=Mask.causal(), need_weights=True, average_attn_weights=False)
    expected, of_heads = by_hand(layer, [x, x, x], Mask.causal())
    assert_close(whole.output, expected)
    past = None
    for t in range(5):
        new = layer.prepare(x[:, t : t + 1], x[:, t : t + 1])
        past = new if past is None else past.append(new)
        step = layer(x[:, t : t + 1], past, need_weights=True, average_attn_weights=False)
        assert past.key_len == t + 1
        assert_close(step.output, expected[:, t : t + 1])
        assert_close(step.weights, of_heads[:, :, t : t + 1, : t + 1])
    pieces = layer.prepare(x[:, :2], x[:, :2]).append(layer.prepare(x[:, 2:], x[:, 2:]))
    last = layer(x[:, 2:], pieces, may_attend=Mask.causal("end"))
    assert_close(last.output, expected[:, 2:])


def test_appending_leaves_what_was_as_it_was() -> None:
    layer, x = made(), randn(2, 5, 12)
    first = layer.prepare(x[:, :3], x[:, :3])
    before = layer(x, first).output
    first.append(layer.prepare(x[:, 3:], x[:, 3:]))
    assert first.key_len == 3
    assert_close(layer(x, first).output, before, rtol=0, atol=0)


def test_masks_stay_with_the_positions_they_were_given_for() -> None:
    layer, x = made(), randn(2, 7, 12)
    whole = torch.tensor([[1, 1, 1, 1, 1, 1, 1], [1, 1, 0, 0, 1, 1, 1]]).bool()
    expected, of_heads = by_hand(layer, [x, x, x], Mask.dense(whole[:, None, :]))
    for first_mask, last_mask in (
        (LENGTHS, None),
        (LENGTHS, Mask.lengths([3, 3])),
        (Mask.dense(whole[:, None, :4]), Mask.dense(torch.ones(1, 1, 1, 3, dtype=torch.bool))),
    ):
        first = layer.prepare(x[:, :4], x[:, :4], may_attend=first_mask)
        both = first.append(layer.prepare(x[:, 4:], x[:, 4:], may_attend=last_mask))
        found = layer(x, both, need_weights=True, average_attn_weights=False)
        assert_close(found.output, expected)
        assert_close(found.weights, of_heads)
    last = layer.prepare(x[:, 4:], x[:, 4:])
    other_way = last.append(layer.prepare(x[:, :4], x[:, :4], may_attend=LENGTHS))
    assert_close(layer(x, other_way).output, expected)


def test_a_mask_of_a_call_holds_besides_that_of_the_keys() -> None:
    layer, given = made(**WIDTHS), inputs()
    of_call = torch.tensor([[1, 0, 1, 1], [1, 1, 1, 1], [0, 1, 1, 0]]).bool()[None]
    expected, _ = by_hand(layer, given, LENGTHS & Mask.dense(of_call))
    prepared = layer.prepare(*given[1:], may_attend=LENGTHS)
    assert_close(layer(given[0], prepared, may_attend=of_call).output, expected)


def test_a_head_may_have_a_mask_of_its_own() -> None:
    layer, given = made(**WIDTHS), inputs()
    grid = torch.ones(2, 3, 1, 4, dtype=torch.bool)
    grid[0, 1, 0, 2] = grid[1, 2, 0, :3] = False
    expected, of_heads = by_hand(layer, given, Mask.dense(grid.expand(2, 3, 3, 4)))
    prepared = layer.prepare(*given[1:], may_attend=grid)
    for same in (prepared, prepared.index_select(torch.tensor([0, 1]))):
        found = layer(given[0], same, need_weights=True, average_attn_weights=False)
        assert_close(found.output, expected)
        assert_close(found.weights, of_heads)


@pytest.mark.parametrize("may_attend", [None, LENGTHS], ids=["all", "lengths"])
@pytest.mark.parametrize("name", NAMES)
def test_examples_selected_are_those_examples(name: str, may_attend: Mask | None) -> None:
    layer, (query, key, value) = made(name, **WIDTHS), inputs()
    rows = torch.tensor([1, 1, 0, 1])
    prepared = layer.prepare(key, value, may_attend=may_attend).index_select(rows)
    plain = layer(query, key, value, may_attend=may_attend, need_weights=True)
    found = layer(query[rows], prepared, need_weights=True)
    assert prepared.num_examples == 4
    assert_close(found.output, plain.output[rows])
    assert_close(found.weights, plain.weights[rows])


@pytest.mark.parametrize("name", NAMES)
def test_what_lies_at_hidden_positions_reaches_no_output_and_no_gradient(name: str) -> None:
    found = []
    for junk in (0.0, math.nan, math.inf, 1e6):
        layer, (query, key, value) = made(name, **WIDTHS), inputs()
        for tensor in (key, value):
            tensor[1, 2:] = junk
            tensor.requires_grad_()
        prepared = layer.prepare(key, value, may_attend=LENGTHS)
        output, weights = layer(query, prepared, need_weights=True)
        leaves = [key, value, *layer.parameters()]
        found.append((output, weights, *torch.autograd.grad(output.sin().sum(), leaves)))
    for other in found[1:]:
        assert_close(other, found[0], rtol=0, atol=0)


def test_an_example_with_nothing_to_attend_to_has_the_bias_for_output() -> None:
    layer, (query, key, value) = made(**WIDTHS), inputs()
    prepared = layer.prepare(key, value, may_attend=Mask.lengths([4, 0]))
    output, weights = layer(query, prepared, need_weights=True)
    assert_close(output[1], layer.output_projection.bias.expand(3, 11), rtol=0, atol=0)
    assert weights[1].abs().max() == 0
    assert output.isfinite().all()


def test_nothing_is_kept_on_the_layer() -> None:
    layer, (query, key, value) = made("additive", **WIDTHS), inputs()
    before = {name: part.clone() for name, part in layer.state_dict().items()}
    attributes = set(vars(layer))
    one, other = layer.prepare(key, value), layer.prepare(2 * key, value)
    layer(query, one)
    layer(query, other)
    assert set(vars(layer)) == attributes
    assert_close(layer.state_dict(), before, rtol=0, atol=0)
    assert_close(layer(query, one).output, layer(query, key, value).output)
    assert_close(layer(query, other).output, layer(query, 2 * key, value).output)


def test_prepared_outside_of_autocast_serves_inside_and_the_other_way() -> None:
    layer, x = MultiHeadAttention(8, 2), torch.randn(2, 4, 8)
    expected = layer(x, x, x).output
    outside = layer.prepare(x, x)
    with torch.autocast("cpu", torch.bfloat16):
        inside = layer.prepare(x, x)
        found = layer(x, outside).output
    assert_close(found.float(), expected, atol=0.02, rtol=0.05)
    assert_close(layer(x, inside).output, expected, atol=0.02, rtol=0.05)
    with torch.autocast("cpu", torch.bfloat16):
        assert_close(layer(x, inside).output.float(), expected, atol=0.02, rtol=0.05)


LAYER = MultiHeadAttention(8, 2, key_dim=5, value_dim=6)
Q, K, V = torch.ones(2, 3, 8), torch.ones(2, 4, 5), torch.ones(2, 4, 6)
PREPARED = LAYER.prepare(K, V)
ANOTHER = MultiHeadAttention(8, 2, key_dim=5, value_dim=6)

REFUSED = {
    "values beside prepared ones": (
        lambda: LAYER(Q, PREPARED, V),
        TypeError,
        r"value is a Tensor, but key was prepared together.*layer\(query, prepared\)",
    ),
    "another layer's": (
        lambda: ANOTHER(Q, PREPARED),
        ValueError,
        r"prepared by another layer.*layer.prepare\(key, value\)",
    ),
    "a list of queries": (lambda: LAYER([1.0], PREPARED), TypeError, "query is a list"),
    "a query without its axis": (
        lambda: LAYER(Q[:, 0], PREPARED),
        ValueError,
        r"query \(2, 8\) has 2 axes.*query\[:, None\]",
    ),
    "a batch of one": (
        lambda: LAYER(Q[:1], PREPARED),
        ValueError,
        r"query \(1, 3, 8\) has a batch of 1, but .* prepared for 2.*index_select\(rows\)",
    ),
    "a query of another width": (
        lambda: LAYER(Q[..., :7], PREPARED),
        ValueError,
        r"query \(2, 3, 7\) has dim 7.*query_dim=8",
    ),
    "a query of another dtype": (
        lambda: LAYER(Q.double(), PREPARED),
        TypeError,
        r"query is float64, but the layer's parameters are float32",
    ),
    "keys without values": (lambda: LAYER.prepare(K, None), TypeError, "value is a NoneType"),
    "values of other positions": (
        lambda: LAYER.prepare(K, V[:, :3]),
        ValueError,
        r"prepare: key \(2, 4, 5\), value \(2, 3, 6\). Both must be .*each key needs its value",
    ),
    "a step without its axis": (
        lambda: LAYER.prepare(K[:, 0], V[:, 0]),
        ValueError,
        r"prepare: key \(2, 5\), value \(2, 6\).*x\[:, None\]",
    ),
    "keys and values in the wrong order": (
        lambda: LAYER.prepare(V, K),
        ValueError,
        "dim 6, but the layer was built for key_dim=5",
    ),
    "two dtypes": (lambda: LAYER.prepare(K.double(), V), TypeError, r"value\.to\(key\)"),
    "another dtype than the layer's": (
        lambda: LAYER.prepare(K.double(), V.double()),
        TypeError,
        r"key and value are float64.*layer.to\(torch.float64\)",
    ),
    "a causal mask": (
        lambda: LAYER.prepare(K, V, may_attend=Mask.causal("end")),
        ValueError,
        r"prepare: may_attend is Mask.causal\('end'\).*must hold for any query.*"
        r"layer\(query, prepared, may_attend=\.\.\.\)",
    ),
    "lengths of each query": (
        lambda: LAYER.prepare(K, V, may_attend=Mask.lengths([[1, 2, 3], [1, 2, 3]])),
        ValueError,
        "must hold for any query",
    ),
    "lengths beyond the keys": (
        lambda: LAYER.prepare(K, V, may_attend=Mask.lengths([5, 4])),
        ValueError,
        r"longer than the key axis, 4.*must hold for any query, as lengths of these keys do",
    ),
    "appending a tensor": (
        lambda: PREPARED.append(K),
        TypeError,
        r"more is a Tensor.*prepared.append\(layer.prepare\(key, value\)\)",
    ),
    "appending another layer's": (
        lambda: PREPARED.append(ANOTHER.prepare(K, V)),
        ValueError,
        "more was prepared by another layer",
    ),
    "appending another batch": (
        lambda: PREPARED.append(LAYER.prepare(K[:1], V[:1])),
        ValueError,
        r"more has a batch of 1, but there are 2.*shape \(2, key, dim\)",
    ),
}


@pytest.mark.usefixtures("as_a_user")
@pytest.mark.parametrize("what", REFUSED)
def test_is_refused(what: str) -> None:
    call, kind, text = REFUSED[what]
    with pytest.raises(kind, match=text):
        call()
