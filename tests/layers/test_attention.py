"""Attention layers: any score, whole query sets or one decoder step, dropout on the weights.

Of the collection of known faults: 3 and 5 (an example of length 0 is zero, not uniform), 71 (no
dropout in evaluation), 72 (weights returned while training sum to 1).
"""

import copy
import math

import pytest
import torch
from torch.testing import assert_close

from regard import Mask, attend, reference, scores
from regard.core import dropout
from regard.layers import AdditiveAttention, Attention
from tests.core.cases import SCORES, Sizes, make_case, oracle

LENGTHS = Mask.lengths([5, 3])


def tutorial() -> tuple[AdditiveAttention, torch.Tensor, torch.Tensor, torch.Tensor]:
    """The worked case of the tutorials: ten equal keys, of which 2 and 6 are valid."""
    torch.manual_seed(0)
    layer = AdditiveAttention(query_dim=20, key_dim=2, attn_dim=8, dropout=0.1).eval()
    value = torch.arange(40.0).reshape(1, 10, 4).repeat(2, 1, 1)
    return layer, torch.randn(2, 1, 20), torch.ones(2, 10, 2), value


def test_equal_keys_share_the_weight_among_the_valid_ones() -> None:
    layer, query, key, value = tutorial()
    context, weights = layer(query, key, value, may_attend=Mask.lengths([2, 6]), need_weights=True)
    assert_close(weights[0, 0], torch.tensor([1 / 2] * 2 + [0.0] * 8))
    assert_close(weights[1, 0], torch.tensor([1 / 6] * 6 + [0.0] * 4))
    # the mean of rows 0 and 1, and of rows 0 to 5
    assert_close(context, torch.tensor([[[2.0, 3.0, 4.0, 5.0]], [[10.0, 11.0, 12.0, 13.0]]]))


def test_an_example_of_length_zero_is_zero() -> None:
    layer, query, key, value = tutorial()
    context, weights = layer(query, key, value, may_attend=Mask.lengths([0, 6]), need_weights=True)
    assert_close(context[0], torch.zeros(1, 4), rtol=0.0, atol=0.0)
    assert_close(weights[0], torch.zeros(1, 10), rtol=0.0, atol=0.0)


def test_additive_attention_is_the_papers_formula() -> None:
    torch.manual_seed(1)
    layer = AdditiveAttention(query_dim=6, key_dim=7, attn_dim=9).double()
    query, key = torch.randn(2, 4, 6).double(), torch.randn(2, 5, 7).double()
    context, weights = layer(query, key, key, need_weights=True)
    W_a, U_a, v_a = (
        p.detach().numpy()
        for p in (layer.score.query_weight, layer.score.key_weight, layer.score.v)
    )
    for b in range(2):
        for q in range(4):
            expected = reference.additive_attention(query[b, q], key[b], W_a, U_a, v_a)
            assert_close(context[b, q].detach().numpy(), expected.context)
            assert_close(weights[b, q].detach().numpy(), expected.weights)


@pytest.mark.parametrize("heads", [None, 3])
@pytest.mark.parametrize("name", SCORES)
def test_every_score_gives_the_oracles_context_and_weights(name: str, heads: int | None) -> None:
    case = make_case(name, Sizes(heads=heads))
    found = Attention(case.score)(*case[:3], may_attend=LENGTHS, need_weights=True)
    context, weights = oracle(case, LENGTHS)
    assert_close(found.context, context)
    assert_close(found.weights, weights)


@pytest.mark.parametrize("prepared", [False, True])
@pytest.mark.parametrize("heads", [None, 3])
@pytest.mark.parametrize("name", SCORES)
def test_one_decoder_step_is_a_query_set_of_one(
    name: str, heads: int | None, prepared: bool
) -> None:
    case = make_case(name, Sizes(heads=heads))
    layer = Attention(case.score)
    context, weights = oracle(case, LENGTHS)
    key = layer.score.prepare(case.key) if prepared else case.key
    for step in range(4):
        query = case.query[..., step, :]
        found = layer(query, key, case.value, may_attend=LENGTHS, need_weights=True)
        assert_close(found.context, context[..., step, :])
        assert_close(found.weights, weights[..., step, :])


def test_one_unbatched_query_is_one_step_too() -> None:
    query, key = torch.tensor([0.9, 0.1, 0.2]), torch.eye(3)
    found = Attention(scores.Dot())(query, key, key)
    expected = reference.dot_attention(query, key).context
    assert_close(found.context, torch.from_numpy(expected).float())


def test_a_step_of_as_many_examples_as_positions_is_read_by_example() -> None:
    """All sizes equal: what the axes are may not be guessed from them."""
    torch.manual_seed(0)
    query, key = torch.randn(3, 3), torch.randn(3, 3, 3)
    context = Attention(scores.Dot())(query, key, key).context
    for b in range(3):
        assert_close(context[b], attend(query[b, None], key[b], key[b], score=scores.Dot())[0][0])


def test_weights_are_none_unless_asked_for_and_change_nothing() -> None:
    case = make_case("general")
    layer = Attention(case.score)
    unasked = layer(*case[:3], may_attend=LENGTHS)
    assert unasked.weights is None
    asked = layer(*case[:3], may_attend=LENGTHS, need_weights=True)
    assert_close(asked.context, unasked.context)


def test_dropout_happens_while_training_alone_and_spares_the_returned_weights() -> None:
    case = make_case("dot", Sizes(heads=3))
    layer = Attention(case.score, dropout=0.5)
    expected = layer.eval()(*case[:3], need_weights=True)
    assert_close(layer(*case[:3]).context, expected.context)

    torch.manual_seed(3)
    trained = layer.train()(*case[:3], need_weights=True)
    assert_close(trained.weights, expected.weights)
    torch.manual_seed(3)
    keep = dropout.keep_mask(dropout.draw_seed(), 2, 3, 4, 5, 0.5)
    assert_close(trained.context, (expected.weights * keep / 0.5) @ case.value)


@pytest.mark.parametrize("name", ["general", "additive", "concat"])
def test_what_lies_at_hidden_positions_reaches_no_gradient(name: str) -> None:
    found = []
    for junk in (0.0, math.nan, math.inf, 1e6):
        case = make_case(name)
        with torch.no_grad():
            case.key[1, 3:] = junk
            case.value[1, 3:] = junk
        context = Attention(case.score)(*case[:3], may_attend=LENGTHS).context
        found.append((context, *torch.autograd.grad(context.sin().sum(), case.leaves)))
    for other in found[1:]:
        assert_close(other, found[0], rtol=0.0, atol=0.0)


def test_nothing_is_kept_on_the_module() -> None:
    layer, query, key, value = tutorial()
    before = {name: dict(vars(module)) for name, module in layer.named_modules()}
    layer(query, key, value, need_weights=True)
    assert before == {name: dict(vars(module)) for name, module in layer.named_modules()}
    other = layer(query, key + 1.0, value)
    assert_close(other.context, copy.deepcopy(layer)(query, key + 1.0, value).context)


def test_a_state_dict_restores_the_layer() -> None:
    layer, query, _, value = tutorial()
    key = torch.randn(2, 10, 2)
    other = AdditiveAttention(query_dim=20, key_dim=2, attn_dim=8).eval()
    assert not torch.equal(other(query, key, value)[0], layer(query, key, value)[0])
    other.load_state_dict(layer.state_dict())
    assert_close(other(query, key, value)[0], layer(query, key, value)[0], rtol=0.0, atol=0.0)


def test_a_copy_does_not_take_keys_that_the_original_prepared() -> None:
    layer, query, key, value = tutorial()
    prepared = layer.score.prepare(key)
    with pytest.raises(ValueError, match="key was prepared by"):
        copy.deepcopy(layer)(query, prepared, value)


Q, K, V = torch.ones(2, 3, 4), torch.ones(2, 5, 4), torch.ones(2, 5, 6)
LAYER = Attention(scores.Dot())
REFUSED = {
    "a name": (
        lambda: Attention("dot"),
        TypeError,
        r"Attention: score is a str. It must be a Score.*scores.make_score\('general'",
    ),
    "certain dropout": (
        lambda: AdditiveAttention(query_dim=2, key_dim=2, attn_dim=2, dropout=1.0),
        ValueError,
        r"AdditiveAttention: dropout=1.0. It is the probability.*Use 0.0 for no dropout",
    ),
    "a key without its value": (lambda: LAYER(Q, K, None), TypeError, "value is a NoneType"),
    "a query of two axes too few": (lambda: LAYER(Q[0, 0], K, V), ValueError, "have 1, 3 and 3"),
    "a step for another batch": (
        lambda: LAYER(Q[:1, 0], K, V),
        ValueError,
        "the batch axis is 1 in query, 2 in key and 2 in value",
    ),
    "another width": (lambda: LAYER(Q[..., :3], K, V), ValueError, "query has dim 3 but key has"),
    "a mask of one row per example": (
        lambda: LAYER(Q[:, 0], K, V, may_attend=torch.ones(2, 5, dtype=torch.bool)),
        ValueError,
        r"may_attend\[:, None, :\]",
    ),
    "a mask of numbers": (
        lambda: LAYER(Q, K, V, may_attend=torch.ones(2, 3, 5)),
        TypeError,
        "A mask must be bool, True meaning 'may attend'",
    ),
}


@pytest.mark.usefixtures("as_a_user")
@pytest.mark.parametrize("what", REFUSED)
def test_is_refused(what: str) -> None:
    call, kind, text = REFUSED[what]
    with pytest.raises(kind, match=text):
        call()
