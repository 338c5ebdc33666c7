"""Scores: equalities between them, their own parameters for each head, prepared keys, names."""

import math

import pytest
import torch
from torch.testing import assert_close

from regard import Mask, attend, scores
from tests.core.cases import SCORES, Sizes, gradients, make_case

own_parameters = pytest.mark.parametrize(
    "name", ["general", "additive", "additive normalized", "concat"]
)


def test_concat_is_additive_with_its_weight_split_in_two() -> None:
    concat = scores.Concat(query_dim=3, key_dim=4, attn_dim=5)
    additive = scores.Additive(query_dim=3, key_dim=4, attn_dim=5)
    with torch.no_grad():
        additive.query_weight.copy_(concat.weight[:, :3])
        additive.key_weight.copy_(concat.weight[:, 3:])
        additive.v.copy_(concat.v)
    query, key = torch.randn(2, 6, 3), torch.randn(2, 7, 4)
    assert_close(concat(query, key), additive(query, key))


def test_concat_multiplies_query_and_key_laid_end_to_end() -> None:
    concat = scores.Concat(query_dim=3, key_dim=4, attn_dim=5)
    query, key = torch.randn(2, 6, 3), torch.randn(2, 7, 4)
    both = torch.cat(
        [query[:, :, None].expand(-1, -1, 7, -1), key[:, None].expand(-1, 6, -1, -1)], -1
    )
    assert_close(concat(query, key), torch.tanh(both @ concat.weight.T) @ concat.v)


def test_the_normalized_score_has_a_vector_of_length_g() -> None:
    score = scores.Additive(query_dim=3, key_dim=4, attn_dim=5, normalized=True)
    with torch.no_grad():
        score.g.fill_(2.5)
        score.v.copy_(torch.tensor([3.0, 0.0, 4.0, 0.0, 0.0]))
    assert_close(score.scoring_vector(), torch.tensor([1.5, 0.0, 2.0, 0.0, 0.0]))
    before = score(torch.ones(1, 1, 3), torch.ones(1, 1, 4))
    with torch.no_grad():
        score.v.mul_(7.0)
    assert_close(score(torch.ones(1, 1, 3), torch.ones(1, 1, 4)), before)
    assert score.bias is not None


def test_the_bias_stands_inside_the_tanh() -> None:
    score = scores.Additive(query_dim=1, key_dim=1, attn_dim=1, bias=True)
    with torch.no_grad():
        for parameter, number in ((score.query_weight, 2), (score.key_weight, 3), (score.v, 5)):
            parameter.fill_(number)
        score.bias.fill_(0.25)
    scored = score(torch.tensor([[[0.5]]]), torch.tensor([[[0.125]]]))
    assert_close(scored.item(), 5 * math.tanh(1.0 + 0.375 + 0.25))


def test_bilinear_with_unequal_widths_is_q_w_k() -> None:
    score = scores.Bilinear(query_dim=2, key_dim=3)
    with torch.no_grad():
        score.weight.copy_(torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]))
    scored = score(
        torch.tensor([[[1.0, -1.0]]]), torch.tensor([[[1.0, 0.0, 0.0], [0.0, 1.0, 1.0]]])
    )
    assert_close(scored, torch.tensor([[[-3.0, -6.0]]]))


@own_parameters
def test_each_head_has_its_own_parameters(name: str) -> None:
    case = make_case(name, Sizes(heads=3), own_heads=True)
    # the same query and key in each head: only parameters can tell them apart
    query, key = (t[:, :1].expand(-1, 3, -1, -1) for t in (case.query, case.key))
    scored = case.score(query, key)
    assert not torch.allclose(scored[:, 0], scored[:, 1])
    for parameter in case.score.parameters():
        assert parameter.shape[0] == 3
    of_second = gradients(scored[:, 1].sum(), list(case.score.parameters()))
    for gradient in of_second:
        assert (gradient[1] != 0).any()
        assert (gradient[[0, 2]] == 0).all()


@own_parameters
def test_heads_without_their_own_parameters_share_them(name: str) -> None:
    case = make_case(name, Sizes(heads=3))
    query, key = (t[:, :1].expand(-1, 3, -1, -1) for t in (case.query, case.key))
    scored = case.score(query, key)
    assert_close(scored[:, 0], scored[:, 2])


@pytest.mark.parametrize("heads", [None, 3])
@pytest.mark.parametrize("name", SCORES)
def test_prepared_keys_give_what_keys_give(name: str, heads: int | None) -> None:
    case = make_case(name, Sizes(heads=heads), own_heads=heads is not None)
    options = dict(score=case.score, may_attend=Mask.lengths([5, 2]), need_weights=True)
    plain = attend(*case[:3], **options)
    prepared = case.score.prepare(case.key)
    ready = attend(case.query, prepared, case.value, **options)
    assert_close(ready, plain)
    for one, other in zip(
        gradients(plain.context.sin().sum(), case.leaves),
        gradients(ready.context.sin().sum(), case.leaves),
        strict=True,
    ):
        assert_close(one, other)


@pytest.mark.parametrize("name", SCORES)
def test_prepared_keys_serve_one_query_after_another(name: str) -> None:
    case = make_case(name)
    prepared = case.score.prepare(case.key)
    whole = attend(*case[:3], score=case.score).context
    for step in range(4):
        one = attend(case.query[:, step, None], prepared, case.value, score=case.score).context
        assert_close(one[:, 0], whole[:, step])


def test_other_keys_are_another_value_and_never_the_old_one() -> None:
    case, other = make_case("additive"), make_case("additive", seed=1)
    first = case.score.prepare(case.key)
    attend(case.query, first, case.value, score=case.score)
    second = case.score.prepare(other.key)
    assert_close(
        attend(case.query, second, other.value, score=case.score).context,
        attend(case.query, other.key, other.value, score=case.score).context,
    )
    assert not case.score._buffers
    assert set(vars(case.score)) == set(vars(make_case("additive").score))  # nothing kept


def test_prepared_keys_can_be_picked_by_example() -> None:
    case, rows = make_case("concat", Sizes(batch=3)), torch.tensor([2, 0])
    prepared = case.score.prepare(case.key).index_select(rows)
    picked = attend(case.query[rows], prepared, case.value[rows], score=case.score).context
    assert_close(picked, attend(*case[:3], score=case.score).context[rows])


@pytest.mark.parametrize("name", SCORES)
def test_keys_prepared_with_their_mask_may_hold_nan_where_hidden(name: str) -> None:
    found, may_attend = [], Mask.lengths([5, 3])
    for junk in (0.0, math.nan):
        case = make_case(name)
        with torch.no_grad():
            case.key[1, 3:] = junk
            case.value[1, 3:] = junk
        prepared = case.score.prepare(case.key, may_attend)
        attended = attend(case.query, prepared, case.value, score=case.score, may_attend=may_attend)
        found.append((attended.context, *gradients(attended.context.sin().sum(), case.leaves)))
    assert_close(found[1], found[0], rtol=0.0, atol=0.0)


def test_keys_prepared_by_another_score_are_refused() -> None:
    one, other = make_case("additive"), make_case("concat")
    prepared = one.score.prepare(one.key)
    refused = r"attend: key was prepared by Additive\(.*, but score is Concat\(.*prepare the keys"
    with pytest.raises(ValueError, match=refused):
        attend(other.query, prepared, other.value, score=other.score)
    with pytest.raises(ValueError, match=r"Concat: key was prepared by Additive"):
        other.score(other.query, prepared)


def test_half_precision_keys_are_prepared_in_float32() -> None:
    case = make_case("additive", dtype=torch.float16)
    prepared = case.score.prepare(case.key)
    assert prepared.projected.dtype == torch.float32
    assert prepared.dtype == torch.float16
    attended = attend(case.query, prepared, case.value, score=case.score)
    assert attended.context.dtype == torch.float16


@pytest.mark.parametrize("name", SCORES)
def test_parameters_are_finite_at_birth_and_decided_by_the_seed(name: str) -> None:
    born = []
    for _ in range(2):
        torch.manual_seed(3)
        born.append(SCORES[name](Sizes(), None).state_dict())
    assert_close(born[0], born[1], rtol=0.0, atol=0.0)
    assert all(parameter.isfinite().all() for parameter in born[0].values())


def test_an_additive_score_starts_neither_dead_nor_saturated() -> None:
    torch.manual_seed(0)
    for attn_dim in (8, 512):
        for score in (
            scores.Additive(query_dim=64, key_dim=32, attn_dim=attn_dim),
            scores.Additive(query_dim=64, key_dim=32, attn_dim=attn_dim, normalized=True),
            scores.Concat(query_dim=64, key_dim=32, attn_dim=attn_dim),
        ):
            scored = score(torch.randn(1, 50, 64), torch.randn(1, 60, 32))
            assert 0.01 < scored.std() < 2.0


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("additive", scores.Additive),
        ("concat", scores.Concat),
        ("dot", scores.Dot),
        ("general", scores.Bilinear),
        ("scaled_dot", scores.ScaledDot),
    ],
)
def test_a_score_is_made_by_its_name(name: str, kind: type[scores.Score]) -> None:
    made = scores.make_score(name, query_dim=4, key_dim=4, attn_dim=5)
    assert type(made) is kind
    assert made(torch.randn(2, 3, 4), torch.randn(2, 6, 4)).shape == (2, 3, 6)
    if kind not in (scores.Dot, scores.ScaledDot):
        assert scores.make_score(name, query_dim=4, key_dim=3, num_heads=2).num_heads == 2
    assert name in scores.NAMES


def test_an_unknown_score_name_lists_the_known_ones() -> None:
    with pytest.raises(
        ValueError, match=r"'cosine' is unknown.*additive, concat, dot, general, sc"
    ):
        scores.make_score("cosine", query_dim=4, key_dim=4)


def test_a_dot_score_of_unequal_widths_is_refused_with_both_named() -> None:
    with pytest.raises(ValueError, match=r"query_dim=3 and key_dim=5 differ.*'general'"):
        scores.make_score("scaled_dot", query_dim=3, key_dim=5)


def test_a_score_called_by_itself_stretches_no_axis(as_a_user: None) -> None:
    with pytest.raises(
        ValueError, match=r"Dot: the axes before .* are \(1,\) in query and \(4,\) in"
    ):
        scores.Dot()(torch.ones(1, 2, 3), torch.ones(4, 2, 3))
    additive = scores.Additive(query_dim=3, key_dim=4, attn_dim=5, num_heads=2)
    with pytest.raises(ValueError, match="Additive has parameters for 2 heads"):
        additive(torch.ones(1, 6, 3), torch.ones(1, 7, 4))
    with pytest.raises(
        ValueError, match=r"prepare: key \(1, 7, 4\), but Additive has parameters for"
    ):
        additive.prepare(torch.ones(1, 7, 4))
    with pytest.raises(ValueError, match="has dim 3 but Additive was built with key_dim=4"):
        additive.prepare(torch.ones(1, 2, 7, 3))
    with pytest.raises(ValueError, match=r"prepare: key \(4,\) has 1 axes"):
        additive.prepare(torch.ones(4))


def test_a_score_says_what_it_is() -> None:
    made = scores.Additive(query_dim=3, key_dim=4, attn_dim=5, num_heads=2)
    right = (
        "Additive(query_dim=3, key_dim=4, attn_dim=5, bias=False, normalized=False, num_heads=2)"
    )
    assert repr(made) == right
    assert repr(scores.ScaledDot(0.5)) == "ScaledDot(scale=0.5)"
