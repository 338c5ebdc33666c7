"""Contracts 5 to 12: what attend refuses, what it keeps, how far it can be trusted."""

import pytest
import torch
from torch import Tensor

from regard.core import dropout
from regard.core.attend import Attended
from tests.core.cases import gradients
from tests.core.check import axes_to_stretch, contract, dropping, gradients_taken, precise_gradients
from tests.core.definition import Defined, define
from tests.core.setting import Attend, Setting, exactly, near, seed_torch, squared

# ---- 5 and 12. no silent broadcast; errors --------------------------------------------------


@contract(5, axes_to_stretch)
def no_axis_is_stretched(attend: Attend, s: Setting) -> None:
    for name in ("query", "key", "value"):
        for axis in range(s.case.query.dim() - 2):
            cut = s.with_(case=s.case.with_(**{name: getattr(s.case, name).narrow(axis, 0, 1)}))
            _refused(
                attend,
                cut,
                f"{('batch', 'heads')[axis]} axis is .*1 in {name}|for {s.sizes.heads} heads",
            )
    shorter = s.with_(case=s.case.with_(value=s.case.value.narrow(-2, 0, 1)))
    _refused(attend, shorter, f"key has {s.sizes.key_len} positions but value has 1")


@contract(5, axes_to_stretch)
def no_mask_or_bias_is_stretched(attend: Attend, s: Setting) -> None:
    grid = s.grid
    _refused(attend, s, "its key axis is 1", may_attend=grid[..., :1])
    _refused(attend, s, "its batch axis is 2", may_attend=grid[:2])
    bias = torch.zeros(s.allowed.shape)
    _refused(attend, s, "bias .* does not fit scores", bias=bias[..., :1])
    _refused(attend, s, "bias .* does not fit scores", bias=bias[:2])


@contract(12)
def errors_say_what_was_given_and_how_to_mend_it(attend: Attend, s: Setting) -> None:
    case, dim = s.case, s.sizes.key_dim
    wider = torch.cat([case.key, case.key], dim=-1)
    mistakes: dict[str, tuple[Setting, type[Exception]]] = {
        f"{2 * dim}": (s.with_(case=case.with_(key=wider)), ValueError),
        "int64": (s.with_(case=case.with_(query=case.query.detach().long())), TypeError),
        "dropout_p=1.0": (s.with_(dropout_p=1.0), ValueError),
    }
    for given, (mistake, error) in mistakes.items():
        with pytest.raises(error) as caught:
            mistake.ask(attend)
        message = str(caught.value)
        assert message.startswith(("attend:", "prepare:")), message  # who speaks
        assert given in message  # what was given
        assert message.count(". ") >= 1, message  # the rule, then the fix
        assert message.endswith("."), message


# ---- 6. nothing goes stale ------------------------------------------------------------------


@contract(6)
def nothing_goes_stale(attend: Attend, s: Setting) -> None:
    """Other keys, or other parameters, give another answer at once: that of those keys."""
    s = s.resized()  # a copy, to be changed
    before = set(vars(s.case.score)), list(s.case.score.buffers())
    s.ask(attend)
    assert (set(vars(s.case.score)), list(s.case.score.buffers())) == before
    with torch.no_grad():
        for tensor in (s.case.key, s.case.value, *s.case.score.parameters()):
            tensor.mul_(-0.5)
    near(s.ask(attend).context, s.answer()[0], s.dtype)


@contract(6)
def prepared_keys_answer_as_plain_ones(attend: Attend, s: Setting) -> None:
    other = "plain" if s.cell.key == "prepared" else "prepared"
    one, two = s.ask(attend), s.with_(cell=s.cell._replace(key=other)).ask(attend)
    near(two.context, one.context, s.dtype)
    for first, second in zip(s.derivatives(one), s.derivatives(two), strict=True):
        near(second, first, s.dtype)


# ---- 8. no finite fill values ---------------------------------------------------------------


@contract(8)
def live_rows_sum_to_one_however_low_they_score(attend: Attend, s: Setting) -> None:
    for shift in (-1e5, -1e4, 1e4):
        bias = torch.full((1,) * (s.allowed.dim() - 1) + (s.sizes.key_len,), shift)
        low = s.with_(bias=bias.requires_grad_())
        attended = low.ask(attend, need_weights=True, need_lse=True)
        assert attended.weights is not None
        assert attended.lse is not None
        exactly(attended.weights[~s.allowed], torch.zeros_like(attended.weights[~s.allowed]))
        total = attended.weights.double().sum(-1)
        near(total, (~s.empty).double(), torch.bfloat16)  # at 1e5 float32 resolves 0.008
        near(attended.lse[~s.empty] / shift, torch.ones_like(total[~s.empty]), torch.bfloat16)
        for derivative in low.derivatives(attended):
            assert derivative.isfinite().all()


@contract(8)
def large_scores_do_not_overflow(attend: Attend, s: Setting) -> None:
    """Products near 1e5 fit into float32, which half precision is scored in, not into float16."""
    with torch.no_grad():
        loud = s.with_(case=s.case.with_(query=s.case.query * 200.0, key=s.case.key * 200.0))
        attended = loud.without_dropout().ask(attend, need_weights=True)
    assert attended.weights is not None
    assert attended.context.isfinite().all()
    near(attended.weights.double().sum(-1), (~s.empty).double(), s.dtype)


# ---- 9. derivatives -------------------------------------------------------------------------


@contract(9, gradients_taken)
def first_derivatives_are_those_of_the_definition(attend: Attend, s: Setting) -> None:
    attended, defined = s.ask(attend), define(s)
    expected = gradients(s.loss(_as_observed(s, defined)), defined.leaves)
    for derivative, right in zip(s.derivatives(attended), expected, strict=True):
        near(derivative, right, s.dtype)


@contract(9, precise_gradients)
def second_derivatives_are_those_of_the_definition(attend: Attend, s: Setting) -> None:
    attended, defined = s.ask(attend), define(s)
    found = _second(s.loss(attended), s.leaves)
    expected = _second(s.loss(_as_observed(s, defined)), defined.leaves)
    for derivative, right in zip(found, expected, strict=True):
        near(derivative, right, s.dtype)


# ---- 10 and 11. dropout; same seed, same result ---------------------------------------------


@contract(10, dropping)
def weights_are_dropped_by_a_hash_of_their_position(attend: Attend, s: Setting) -> None:
    """Of one seed from torch's generator; the weights returned are those before it."""
    undropped = s.without_dropout().ask(attend, need_weights=True)
    attended = s.ask(attend, need_weights=True)
    after = torch.get_rng_state()
    near(attended.weights, undropped.weights, s.dtype)
    near(attended.context, s.answer()[0], s.dtype)
    seed_torch(s.seed)
    dropout.draw_seed()
    assert torch.equal(torch.get_rng_state(), after), "not one seed was drawn"


@contract(11)
def the_same_seed_gives_the_same_result(attend: Attend, s: Setting) -> None:
    """And nothing outside is changed: inputs, generator (without dropout), torch's settings."""
    given = [leaf.detach().clone() for leaf in s.leaves]
    torch_s = _torch_settings()
    first = s.ask(attend)
    if not s.dropout_p:
        state = torch.get_rng_state()
        seed_torch(s.seed)
        assert torch.equal(torch.get_rng_state(), state), "random numbers were drawn"
    second = s.ask(attend)
    exactly((*first, *s.derivatives(first)), (*second, *s.derivatives(second)))
    exactly(s.leaves, given)
    assert _torch_settings() == torch_s


# ---- helpers --------------------------------------------------------------------------------


def _as_observed(s: Setting, defined: Defined) -> Attended:
    context, weights, lse, _ = defined
    return Attended(context, weights, lse) if s.cell.observed == "weights" else Attended(context)


def _second(loss: Tensor, leaves: list[Tensor]) -> list[Tensor]:
    first = gradients(loss, leaves, create_graph=True)
    return list(gradients(squared(first), leaves))


def _refused(attend: Attend, s: Setting, text: str, **options: object) -> None:
    with pytest.raises(ValueError, match=text):
        s.ask(attend, **options)


def _torch_settings() -> tuple[object, ...]:
    return (
        torch.get_default_dtype(),
        torch.is_grad_enabled(),
        torch.get_num_threads(),
        torch.are_deterministic_algorithms_enabled(),
        torch.is_autocast_enabled("cpu"),
        *(getattr(torch.backends.cuda, f"{kind}_sdp_enabled")() for kind in ("math", "flash")),
    )
