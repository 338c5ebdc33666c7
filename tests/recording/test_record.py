"""Recording: every kind of model, the weights that torch itself gives, and nothing changed."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.testing import assert_close

from regard import Mask, attend, layers, scores
from regard.models import Side, Translator
from regard.recording import RecordingError, follow, record, tap
from regard.search import predict

GENERATOR = torch.Generator()
SOURCE, LENGTHS = torch.tensor([[5, 6, 7, 0], [4, 5, 6, 7]]), torch.tensor([3, 4])
TARGET = torch.tensor([[2, 4, 5], [2, 5, 6]])
RECURRENT = [
    {},
    {"attention": "general", "cell": "lstm", "decoder_layers": 2},
    {"decoder": "luong", "attention": "additive"},
    {"decoder": "luong", "attention": "scaled_dot", "input_feeding": True},
]


def numbers(*shape, seed=1, dtype=torch.float32):
    return torch.randn(shape, generator=GENERATOR.manual_seed(seed), dtype=dtype)


def translator(**choices):
    torch.manual_seed(3)
    sides = Side.build("characters", ["abcdef"]), Side.build("characters", ["xyzw"])
    made = Translator.fresh(*sides, **({"hidden_dim": 8, "dropout": 0.0} | choices))
    made.network.eval()
    return made


# ---- ours -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", scores.NAMES)
def test_multi_head_attention_is_recorded_and_not_changed(name):
    layer = layers.MultiHeadAttention(12, 3, score=name, query_dim=5, key_dim=7, value_dim=6)
    query, key, value = numbers(2, 3, 5), numbers(2, 4, 7), numbers(2, 4, 6)
    query.requires_grad_()
    may_attend = Mask.lengths([4, 2])
    unseen = layer(query, key, value, may_attend=may_attend, need_weights=True)
    each = layer(
        query, key, value, may_attend=may_attend, need_weights=True, average_attn_weights=False
    )
    with record(layer, scores=True, values=True, verify=True) as trace:
        seen = layer(query, key, value, may_attend=may_attend, need_weights=True)
    site = trace["MultiHeadAttention"]
    assert site.weights.shape == (2, 3, 3, 4)
    assert_close(site.weights, each.weights.detach())
    assert_close(seen, unseen)
    assert trace.largest_difference < 1e-5
    of_seen, of_unseen = (torch.autograd.grad(a.output.sin().sum(), query) for a in (seen, unseen))
    assert_close(of_seen, of_unseen)

    visible = torch.arange(4) < torch.tensor([4, 2])[:, None, None, None]
    assert torch.equal(site.visible, visible.expand(2, 3, 3, 4))
    assert torch.equal(site.scores == -torch.inf, ~site.visible)
    assert_close(site.scores.softmax(-1), site.weights)
    context = site.weights @ site.value
    assert_close(layer.output_projection(context.transpose(1, 2).flatten(2)), unseen.output)


@pytest.mark.parametrize("choices", RECURRENT)
def test_a_recurrent_models_steps_are_one_run_in_order(choices):
    network = translator(**choices).network
    unseen = network(SOURCE, LENGTHS, TARGET, need_weights=True)
    with record(network, verify=True) as trace:
        network(SOURCE, LENGTHS, TARGET)
    assert trace.names == ["decoder"]
    assert_close(trace["decoder"].weights[:, 0], unseen.weights.detach())
    assert trace.largest_difference < 1e-5


def test_each_decoding_is_a_run_of_its_own():
    made = translator()
    with record(made.network) as trace:
        predictions = predict(made, ["abc", "fedc"], need_weights=True)
    assert len(trace["decoder"].runs) == 2
    for run, prediction in zip(trace["decoder"].runs, predictions, strict=True):
        steps = len(prediction.target_tokens)
        assert_close(run.weights[0, 0, :steps], prediction.weights)
    with pytest.raises(ValueError, match=r"^site 'decoder' has 2 runs"):
        _ = trace["decoder"].weights


def test_rows_of_beams_follow_their_parents():
    keys, score = numbers(2, 4, 3), scores.Dot()
    with record(nn.Identity()) as trace:
        for step, parents in enumerate(([0, 1], [1, 1], [1, 0])):
            order = torch.tensor(parents)
            if step:
                keys = keys[order]
                follow(order)
            attend(numbers(2, 1, 3, seed=step), keys, keys, score=score)
    first, second, third = (numbers(2, 1, 3, seed=step)[:, 0] for step in range(3))
    keys = numbers(2, 4, 3)
    # example 0 at the end came from 1 (step 2), which came from 1; all after step 1 hold keys 1
    expected = torch.stack([first[[1, 1]], second[[1, 0]], third], 1) @ keys[1].T
    assert_close(trace[0].weights[:, 0], expected.softmax(-1))


def test_a_cache_that_grows_is_one_run():
    values = numbers(2, 3, 4)
    with record(nn.Identity()) as trace:
        for step in range(1, 4):
            attend(values[:, step - 1 : step], values[:, :step], values[:, :step])
    whole = attend(values, values, values, may_attend=Mask.causal(), need_weights=True).weights
    assert_close(trace["attend"].weights[:, 0], whole)
    assert torch.equal(trace["attend"].visible[0, 0], torch.ones(3, 3).tril().bool())


def test_a_query_with_nothing_to_attend_to_is_a_row_of_zeros():
    with record(nn.Identity()) as trace:
        attend(
            numbers(2, 1, 3), numbers(2, 4, 3), numbers(2, 4, 3), may_attend=Mask.lengths([0, 2])
        )
    assert_close(trace["attend"].weights.sum(-1), torch.tensor([[[0.0]], [[1.0]]]))


def test_weights_are_those_before_dropout():
    layer = layers.MultiHeadAttention(8, 2, dropout=0.5).train()
    x = numbers(2, 5, 8)
    with record(layer) as trace:
        layer(x, x, x)
    assert_close(trace[0].weights.sum(-1), torch.ones(2, 2, 5))


# ---- torch's ----------------------------------------------------------------------------

PADDING = torch.tensor([[False] * 5, [False] * 3 + [True] * 2])
LATER = torch.ones(5, 5).triu(1).bool()


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"need_weights": False},
        {"average_attn_weights": False},
        {"key_padding_mask": PADDING},
        {"key_padding_mask": PADDING, "need_weights": False},
        {"attn_mask": LATER, "is_causal": True},
        {"attn_mask": LATER, "is_causal": True, "need_weights": False},
        {"attn_mask": numbers(4, 5, 5)},
    ],
)
def test_torchs_multi_head_attention(asked, training):
    layer, x = nn.MultiheadAttention(8, 2, batch_first=True).train(training), numbers(2, 5, 8)
    with torch.no_grad():
        unseen = layer(x, x, x, **asked)
        of_heads = layer(x, x, x, **(asked | {"average_attn_weights": False, "need_weights": True}))
        with record(layer, verify=True) as trace:
            seen = layer(x, x, x, **asked)
    assert_close(seen, unseen)
    assert_close(trace["MultiheadAttention"].weights, of_heads[1])


@pytest.mark.parametrize("layout", ["unbatched", "length-first", "other widths"])
def test_torchs_multi_head_attention_in_its_other_shapes(layout):
    widths = {"kdim": 3, "vdim": 5} if layout == "other widths" else {}
    layer = nn.MultiheadAttention(8, 2, **widths).eval()
    query, key, value = numbers(4, 2, 8), numbers(6, 2, 3 if widths else 8), numbers(6, 2, 8)
    value = value[..., :5] if widths else value
    if layout == "unbatched":
        query, key, value = query[:, 0], key[:, 0], value[:, 0]
    with torch.no_grad(), record(layer, verify=True) as trace:
        seen = layer(query, key, value)
    assert_close(seen, layer(query, key, value))
    assert trace[0].weights.shape == (1 if layout == "unbatched" else 2, 2, 4, 6)


def test_an_empty_row_stays_what_torch_makes_of_it():
    layer, x = nn.MultiheadAttention(8, 2, batch_first=True), numbers(2, 5, 8)
    nothing = torch.tensor([[True] * 5, [False] * 5])
    for need_weights in (True, False):
        asked = {"key_padding_mask": nothing, "need_weights": need_weights}
        with record(layer, verify=True) as trace:
            seen, _ = layer(x, x, x, **asked)
        assert_close(seen, layer(x, x, x, **asked)[0], equal_nan=True)
        assert bool(trace[0].weights[0].isnan().all()) == need_weights


def test_transformer_layers_off_their_fast_path():
    encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 2)
    decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(8, 2, 16, batch_first=True), 2)
    x, memory = numbers(2, 5, 8), numbers(2, 7, 8)
    causal = nn.Transformer.generate_square_subsequent_mask(5)
    with torch.inference_mode():
        with record(encoder.eval(), verify=True) as trace:
            encoder(x)
        assert trace.names == ["layers.0.self_attn", "layers.1.self_attn"]
        assert trace.largest_difference < 1e-5
        with record(decoder.eval(), verify=True) as trace:
            decoder(x, memory, tgt_mask=causal, tgt_is_causal=True)
    assert [site.weights.shape[2:] for site in trace] == [(5, 5), (5, 7)] * 2
    assert (trace["layers.0.self_attn"].weights.triu(1) == 0.0).all()
    assert trace.largest_difference < 1e-5


def test_what_is_compared_with_is_the_fast_path(monkeypatch):
    calls = []
    fused = torch._transformer_encoder_layer_fwd
    monkeypatch.setattr(
        torch, "_transformer_encoder_layer_fwd", lambda *given: calls.append(1) or fused(*given)
    )
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval()
    with torch.inference_mode(), record(layer):
        layer(numbers(2, 5, 8))
    assert not calls
    with torch.inference_mode(), record(layer, verify=True):
        layer(numbers(2, 5, 8))
    assert calls


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors:UserWarning")
def test_the_fast_path_with_padding_agrees_at_every_real_position():
    encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 2)
    x = numbers(2, 5, 8)
    with torch.inference_mode(), record(encoder.eval(), verify=True) as trace:
        seen = encoder(x, src_key_padding_mask=PADDING)
    with torch.inference_mode():
        unseen = encoder(x, src_key_padding_mask=PADDING)
    assert (unseen[PADDING] == 0.0).all()
    assert_close(seen[~PADDING], unseen[~PADDING])
    assert (trace[0].weights[1, :, :, 3:] == 0.0).all()


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"is_causal": True},
        {"scale": 0.3},
        {"attn_mask": (torch.arange(6) < 4).expand(5, 6)},
        {"attn_mask": numbers(2, 4, 5, 6)},
        {"enable_gqa": True},
    ],
)
def test_calls_of_torchs_function_anywhere_in_a_model(asked):
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.Linear(8, 8)

        def forward(self, q, k, v):
            return F.scaled_dot_product_attention(self.inner(q), k, v, **asked)

    heads = 2 if "enable_gqa" in asked else 4
    q, k, v = numbers(2, 4, 5, 8), numbers(2, heads, 6, 8), numbers(2, heads, 6, 3)
    model = Model()
    with record(model, verify=True) as trace:
        seen = model(q, k, v)
    assert_close(seen, model(q, k, v))
    assert trace.names == ["Model"]
    each = v.repeat_interleave(4 // heads, 1)
    assert_close(trace[0].weights @ each, seen.detach())


def test_half_precision_and_autocast():
    layer, x = nn.MultiheadAttention(8, 2, batch_first=True).bfloat16(), numbers(2, 5, 8).bfloat16()
    with record(layer, verify=True) as trace:
        layer(x, x, x)
    assert trace[0].dtype == torch.float32
    ours, x = layers.MultiHeadAttention(8, 2), numbers(2, 5, 8)
    with torch.autocast("cpu", dtype=torch.bfloat16), record(ours, verify=True) as trace:
        ours(x, x, x)
    assert_close(trace[0].weights.sum(-1), torch.ones(2, 2, 5))


# ---- anybody's --------------------------------------------------------------------------


class Own(nn.Module):
    def __init__(self):
        super().__init__()
        self.to_query, self.drop = nn.Linear(4, 4), nn.Dropout(0.5)

    def forward(self, query, key):
        weights = torch.softmax(self.to_query(query) @ key.mT, -1)
        weights = tap("own", weights)
        return weights @ key, weights


def test_a_tap_is_one_line_and_nothing_outside_of_a_recording():
    model, query, key = Own(), numbers(2, 3, 4), numbers(2, 5, 4)
    unseen = model(query, key)
    with record(model, outputs={"": 1}) as trace:
        seen = model(query, key)
    assert torch.equal(seen[0], unseen[0])
    assert_close(trace["own"].weights[:, 0], unseen[1].detach())
    assert_close(trace[""].weights[:, 0], unseen[1].detach())


@pytest.mark.usefixtures("as_a_user")
def test_bad_requests_say_what_to_do():
    model, query, key = Own(), numbers(2, 3, 4), numbers(2, 5, 4)
    with (
        pytest.raises(ValueError, match=r"outputs names 'mine', which is no module"),
        record(model, outputs={"mine": 1}),
    ):
        pass
    with (
        pytest.raises(ValueError, match=r"output 2 of '' is no weights .* returned \(2, 3, 4\), "),
        record(model, outputs={"": 2}),
    ):
        model(query, key)
    with pytest.raises(TypeError, match="model is a function"), record(tap):
        pass
    with pytest.raises(ValueError, match="keep='all' is unknown"), record(model, keep="all"):
        pass
    with (
        pytest.raises(ValueError, match="another recording is running"),
        record(model),
        record(model),
    ):
        pass
    with pytest.raises(ValueError, match="drop drops out"), record(model, verify=True):
        pass


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of torch's own, as it is imported
def test_compiled_code_is_refused():
    with pytest.raises(ValueError, match="is compiled"), record(torch.compile(Own())):
        pass


def test_verify_finds_a_model_that_recording_changes():
    class Shy(nn.Module):
        def forward(self, x):
            return x + float(len(self._forward_hooks) > 0)

    class Random(nn.Module):
        def forward(self, x):
            return x + torch.rand(())

    for model in (Random(), Shy()):
        with (
            pytest.raises(RecordingError, match="differs from the unrecorded one"),
            record(model, verify=True),
        ):
            model(numbers(3))
        assert not model._forward_hooks
        assert not model._forward_pre_hooks


def test_a_recording_leaves_nothing_behind_even_after_an_error():
    model = Own()
    with pytest.raises(RuntimeError), record(model):
        model(numbers(2, 3, 5), numbers(2, 5, 4))
    assert not any(module._forward_hooks for module in model.modules())
    assert not any(module._forward_pre_hooks for module in model.modules())
    assert tap("own", x := numbers(2, 3)) is x
    with record(model) as trace:
        model(numbers(2, 3, 4), numbers(2, 5, 4))
    assert trace.names == ["own"]


def test_what_a_model_does_to_its_memory_later_is_not_in_the_trace():
    class Later(nn.Module):
        def forward(self, weights):
            weights = tap("own", weights)
            weights[..., 0] = 0.0
            return weights

    given = numbers(2, 3, 4).softmax(-1)
    with record(nn.Identity(), values=True) as trace, torch.no_grad():
        Later()(given.clone())
    assert torch.equal(trace["own"].weights[:, 0], given)
    assert trace["own"].value is None
    layer, x = nn.MultiheadAttention(8, 2, batch_first=True), numbers(2, 5, 8)
    with record(layer) as trace, torch.no_grad():
        layer(x, x, x, average_attn_weights=False)[1].zero_()
    assert_close(trace[0].weights.sum(-1), torch.ones(2, 2, 5))


def test_rows_of_a_tap_are_checked_by_verify():
    weights = numbers(2, 3, 4).softmax(-1)
    for doubtful in (weights * 2.0, weights.bfloat16() * 2.0):
        with (
            pytest.raises(ValueError, match=r"'own' \(2, 3, 4\): row \(0, 0\) sums to 2"),
            record(nn.Identity(), verify=True),
        ):
            tap("own", doubtful)
    with record(nn.Identity(), verify=True) as trace:
        tap("own", weights)
        tap("own", torch.zeros(2, 3, 4))
        tap("own", weights.mT * 2.0, normalized=False)
    assert len(trace["own"].runs) == 3
    with record(nn.Identity()):
        tap("own", torch.dropout(weights, 0.5, train=True))  # what a model in training may return


@pytest.mark.usefixtures("as_a_user")
def test_a_tap_of_what_are_no_weights_is_refused():
    for name, weights, kind, message in (
        ("q", "x", TypeError, "'q' is a str"),
        ("q", [[1.0]], TypeError, "'q' is a list.*as_tensor"),
        ("q", torch.ones(3), ValueError, r"'q' \(3,\). They are \(query, key\)"),
        ("q", torch.ones(1, 1, 1, 2, 2), ValueError, "They are"),
        ("q", torch.eye(2).long(), TypeError, "have dtype int64"),
        (5, torch.eye(2), TypeError, "name is a int"),
    ):
        with pytest.raises(kind, match=message), record(nn.Identity()):
            tap(name, weights)
    for outputs in (["a"], "a", {"": "1"}, {"": True}):
        with (
            pytest.raises(TypeError, match=r"outputs=.*'decoder.attention': 1"),
            record(Own(), outputs=outputs),
        ):
            pass


def test_a_block_in_which_nothing_was_seen_says_so():
    layer = nn.Linear(3, 3)
    with pytest.raises(ValueError, match=r"no attention was seen.*tap.*outputs="), record(layer):
        layer(numbers(2, 3))
    with (
        pytest.raises(ValueError, match="no attention was seen"),
        record(layer, keep="summary"),
    ):
        pass
    with pytest.raises(KeyError), record(layer):
        raise KeyError  # the first error is the one


def test_a_cache_among_the_inputs_is_as_it_was_for_the_second_run():
    class Cached(nn.Module):
        def forward(self, x, *, cache):
            cache["keys"].append(x)
            keys = torch.cat(cache["keys"], 1)
            return attend(x, keys, keys).context

    model, steps, cache = Cached(), numbers(2, 3, 4).requires_grad_() * 1.0, {"keys": []}
    with record(model, verify=True) as trace:
        for step in steps.split(1, 1):
            model(step, cache=cache)
    assert len(cache["keys"]) == 3
    assert trace["Cached"].weights.shape == (2, 1, 3, 3)
    with (
        pytest.raises(ValueError, match="an input of the model cannot be copied"),
        record(model, verify=True),
    ):
        model(steps, cache={"keys": [], "lock": threading.Lock()})

    class Keeps(nn.Module):
        def __init__(self):
            super().__init__()
            self.keys = []

        def forward(self, x):
            self.keys.append(x)
            return attend(x, x, x).context * len(self.keys)

    with (
        pytest.raises(RecordingError, match=r"keep state between runs .*use_cache=False"),
        record(model := Keeps(), verify=True),
    ):
        model(steps)


# ---- threads ----------------------------------------------------------------------------


def in_a_thread(work):
    """What it gives, once it is done; what it raises."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(work).result()


def test_other_threads_are_not_recorded():
    x = numbers(2, 3, 4)
    layer = layers.MultiHeadAttention(4, 2)
    with record(layer) as trace:
        in_a_thread(lambda: attend(x, x, x))
        in_a_thread(lambda: layer(x, x, x))
        in_a_thread(lambda: tap("own", x))
        layer(x, x, x)
    assert trace.names == ["MultiHeadAttention"]
    assert len(trace[0].runs) == 1


@pytest.mark.parametrize("verify", [False, True])
def test_a_thread_that_is_in_the_middle_of_the_model_goes_on_undisturbed(verify):
    class Waits(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = layers.MultiHeadAttention(4, 2)
            self.halfway, self.go_on = threading.Event(), threading.Event()

        def forward(self, x, wait=False):
            if wait:
                self.halfway.set()
                assert self.go_on.wait(20)
            return self.inner(x, x, x).output

    model, x = Waits(), numbers(2, 3, 4)
    with ThreadPoolExecutor(1) as pool:
        with record(model):
            other = pool.submit(model, x, True)
            assert model.halfway.wait(20)
            model(x)
        with record(model, verify=verify) as trace:
            model(x)
            model.go_on.set()
            assert_close(other.result(), model(x))
            between = pool.submit(model, x)
            assert_close(between.result(), model(x))
    assert trace.names == ["inner"]
    assert len(trace["inner"].runs) == 3


def test_two_threads_may_record_the_same_model():
    model = nn.Sequential(
        nn.TransformerEncoderLayer(8, 2, 16, batch_first=True),
        nn.TransformerEncoderLayer(8, 2, 16, batch_first=True),
    ).eval()
    together = threading.Barrier(2)

    def recorded(seed):
        x = numbers(1, 3 + seed, 8, seed=seed)
        with record(model, verify=True) as trace:
            together.wait(20)
            for _ in range(5):
                model(x)
            together.wait(20)
        return trace

    with ThreadPoolExecutor(2) as pool:
        traces = list(pool.map(recorded, (1, 2)))
    for seed, trace in enumerate(traces, 1):
        assert trace.names == ["0.self_attn", "1.self_attn"]
        assert [run.weights.shape[2] for site in trace for run in site.runs] == [3 + seed] * 10
    assert not any(module._forward_hooks for module in model.modules())


def test_a_summary_holds_what_the_weights_would_say():
    layer, x = layers.MultiHeadAttention(8, 2), numbers(3, 5, 8)
    may_attend = Mask.lengths([5, 0, 3])
    with record(layer) as trace:
        layer(x, x, x, may_attend=may_attend)
    with record(layer, keep="summary") as summed:
        layer(x, x, x, may_attend=may_attend)
        layer(x, x, x, may_attend=may_attend)
    summary, weights = summed.summaries["MultiHeadAttention"], trace[0].weights[[0, 2]].double()
    assert len(summed) == 0
    assert summary.rows.tolist() == [20.0, 20.0]
    assert summary.empty.tolist() == [10.0, 10.0]
    assert_close(summary.entropy, -weights.xlogy(weights).sum(-1).mean((0, 2)))
    assert_close(summary.peak, weights.amax(-1).mean((0, 2)))
