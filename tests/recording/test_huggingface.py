"""Models of Hugging Face transformers, small and random: their own weights are the measure."""

import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from torch.testing import assert_close

from regard.recording import edits, intervene, record

transformers = pytest.importorskip("transformers", reason="transformers is not installed")

IDS = torch.tensor([[5, 6, 7, 8, 9, 10, 11], [12, 13, 14, 15, 16, 0, 0]])
ONES = torch.tensor([[1] * 7, [1] * 5 + [0] * 2])
SMALL = {"vocab_size": 50}


def bert(kind):
    config = transformers.BertConfig(
        **SMALL, hidden_size=16, num_hidden_layers=2, num_attention_heads=4, intermediate_size=20
    )
    return transformers.BertModel._from_config(config, attn_implementation=kind).eval()


def gpt2(kind):
    config = transformers.GPT2Config(
        **SMALL, n_embd=16, n_layer=2, n_head=4, n_positions=32, bos_token_id=1, eos_token_id=2
    )
    return transformers.GPT2LMHeadModel._from_config(config, attn_implementation=kind).eval()


def bart(kind):
    config = transformers.BartConfig(
        **SMALL,
        d_model=16,
        encoder_layers=1,
        decoder_layers=2,
        encoder_attention_heads=2,
        decoder_attention_heads=4,
        encoder_ffn_dim=20,
        decoder_ffn_dim=20,
        max_position_embeddings=32,
    )
    model = transformers.BartForConditionalGeneration
    return model._from_config(config, attn_implementation=kind).eval()


def t5(kind):
    """Its scores have a bias for relative positions."""
    config = transformers.T5Config(
        **SMALL, d_model=16, d_kv=4, num_layers=2, num_heads=4, d_ff=20, dropout_rate=0.0
    )
    return transformers.T5EncoderModel._from_config(config, attn_implementation=kind).eval()


GROUPED = {
    **SMALL,
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 4,
    "intermediate_size": 20,
}


def gemma2(kind):
    """Its scores have an upper bound."""
    config = transformers.Gemma2Config(**GROUPED, attn_logit_softcapping=0.01)
    return transformers.Gemma2ForCausalLM._from_config(config, attn_implementation=kind).eval()


def llama(kind):
    config = transformers.LlamaConfig(**GROUPED)
    return transformers.LlamaForCausalLM._from_config(config, attn_implementation=kind).eval()


def gpt_oss(kind):
    """Its rows have a sink, a score that belongs to no key."""
    config = transformers.GptOssConfig(**GROUPED, num_local_experts=2, num_experts_per_tok=1)
    return transformers.GptOssForCausalLM._from_config(config, attn_implementation=kind).eval()


@pytest.fixture(autouse=True)
def without_gradients():
    torch.manual_seed(1)
    with torch.no_grad():
        yield


@pytest.mark.parametrize("kind", ["sdpa", "eager"])
@pytest.mark.parametrize("make", [bert, gpt2])
def test_recorded_weights_are_those_that_the_model_itself_gives(make, kind):
    model = make(kind)
    with record(model, verify=True) as trace:
        model(IDS, attention_mask=ONES)
    assert trace.largest_difference < 1e-5
    assert model.config._attn_implementation == kind
    model.set_attn_implementation("eager")
    theirs = model(IDS, attention_mask=ONES, output_attentions=True).attentions
    assert len(trace) == len(theirs) == 2
    for site, weights in zip(trace, theirs, strict=True):
        assert_close(site.weights, weights)
        assert not site.visible[1, :, :, 5:].any()


@pytest.mark.parametrize("kind", ["sdpa", "eager"])
def test_an_encoder_decoder_has_three_kinds_of_sites(kind):
    model = bart(kind)
    with record(model, verify=True) as trace:
        model(IDS, attention_mask=ONES, decoder_input_ids=IDS[:, :4])
    assert trace.largest_difference < 1e-5
    assert {
        name.removeprefix("model."): tuple(trace[name].weights.shape) for name in trace.names
    } == {
        "encoder.layers.0.self_attn": (2, 2, 7, 7),
        "decoder.layers.0.self_attn": (2, 4, 4, 4),
        "decoder.layers.0.encoder_attn": (2, 4, 4, 7),
        "decoder.layers.1.self_attn": (2, 4, 4, 4),
        "decoder.layers.1.encoder_attn": (2, 4, 4, 7),
    }


@pytest.mark.parametrize("kind", ["sdpa", "eager"])
def test_generation_step_by_step_is_one_run_and_agrees_with_the_whole(kind):
    model = gpt2(kind)
    with record(model) as steps:
        found = model.generate(
            IDS[:, :3],
            attention_mask=torch.ones(2, 3, dtype=torch.long),
            max_new_tokens=5,
            min_new_tokens=5,
            do_sample=False,
            pad_token_id=0,
        )
    with record(model) as whole:
        model(found[:, :-1])
    for one, other in zip(steps, whole, strict=True):
        assert_close(one.weights, other.weights)


@pytest.mark.parametrize("kind", ["sdpa", "eager"])
def test_an_edit_reaches_one_head_of_one_layer(kind):
    model = bert(kind)
    where = {"site": "encoder.layer.1.*", "head": 2}
    before = model(IDS, attention_mask=ONES).last_hidden_state
    with intervene(model, edits.uniform(**where)) as trace:
        after = model(IDS, attention_mask=ONES).last_hidden_state
    expected = ONES / ONES.sum(-1, keepdim=True)
    assert_close(trace[1].weights[:, 2], expected[:, None].expand(2, 7, 7))
    assert not torch.allclose(after, before)
    with intervene(model, edits.identity(**where)):
        same = model(IDS, attention_mask=ONES).last_hidden_state
    assert_close(same, before)


@pytest.mark.parametrize("make", [bert, gpt2, t5, gemma2, gpt_oss])
def test_what_a_model_adds_to_its_attention_is_recorded_and_nothing_changed(make):
    model = make("eager")
    for parameter in model.parameters():
        if parameter.dim() > 1:
            parameter.mul_(8.0)  # weights that differ
    unseen = model(IDS, attention_mask=ONES, output_attentions=True)
    with record(model, scores=True, values=True, verify=True) as trace:
        seen = model(IDS, attention_mask=ONES)
    assert torch.equal(seen[0], unseen[0])
    assert trace.largest_difference == 0.0
    for site, weights in zip(trace, unseen.attentions, strict=True):
        assert torch.equal(site.weights, weights)
        assert not site.visible[1, :, 4, 5:].any()
        assert site.value.shape == (2, 4, 7, 4)
        weights, scores = site.weights[0, :, 4, :5], site.scores[0, :, 4, :5]
        assert_close(weights / weights.sum(-1, keepdim=True), scores.softmax(-1))


def test_an_edit_beside_a_sink_leaves_the_sink_its_part():
    model = gpt_oss("eager")
    with record(model) as before:
        model(IDS)
    with intervene(model, edits.zero(site="model.layers.0.*", key=0, renormalize=False)) as after:
        model(IDS)
    expected = before[0].weights.clone()
    expected[..., 0] = 0.0
    assert torch.equal(after[0].weights, expected)
    with intervene(model, edits.boost(-torch.inf, site="model.layers.0.*", key=[0, 1])) as hidden:
        model(IDS)
    weights, sinks = before[0].weights[:, :, 3], 1.0 - before[0].weights[:, :, 3].sum(-1)
    left = weights[..., 2:] / (weights[..., 2:].sum(-1) + sinks)[..., None]
    assert_close(hidden[0].weights[:, :, 3, 2:], left)


@pytest.mark.parametrize("kind", ["sdpa", "eager"])
@pytest.mark.parametrize("cache", [None, "static"])
def test_a_cache_of_keys_can_be_verified_and_its_steps_are_one_run(kind, cache):
    model = gpt2(kind)
    chosen = {} if cache is None else {"cache_implementation": cache}
    with record(model, verify=True) as trace:
        found = model.generate(
            IDS[:1, :3],
            max_new_tokens=4,
            min_new_tokens=4,
            do_sample=False,
            pad_token_id=0,
            **chosen,
        )
    assert trace.largest_difference < 1e-5
    with record(model) as whole:
        model(found[:, :-1])
    for one, other in zip(trace, whole, strict=True):
        assert_close(one.weights[..., :6], other.weights)


# ---- what is shared between threads -------------------------------------------------------


def theirs():
    return sys.modules[transformers.LlamaForCausalLM.__module__].eager_attention_forward


@pytest.mark.parametrize("kind", ["sdpa", "eager", "flex_attention"])
def test_two_recordings_that_overlap_leave_the_model_as_it_was(kind):
    model = llama("eager")
    expected = model(IDS, output_attentions=True)
    if kind != "eager":
        model.set_attn_implementation(kind)
    before, started, ended = theirs(), threading.Event(), threading.Event()

    def first():
        with torch.no_grad(), record(model) as trace:
            model(IDS)
            started.set()
            assert ended.wait(20)
        return trace

    def second():
        assert started.wait(20)
        with torch.no_grad(), record(model) as trace:
            ended.set()
            one.result()  # the first has left
            model(IDS)
        return trace

    with ThreadPoolExecutor(2) as pool:
        one = pool.submit(first)
        for trace in (pool.submit(second).result(), one.result()):
            assert_close([site.weights for site in trace], list(expected.attentions))
    assert theirs() is before
    assert model.config._attn_implementation == kind


@pytest.mark.parametrize("kind", ["sdpa", "eager"])
def test_a_thread_that_is_not_recorded_goes_on(kind):
    model = gpt2(kind)
    expected = model(IDS).logits

    def run():
        with torch.no_grad():
            return model(IDS).logits

    with ThreadPoolExecutor(1) as pool, record(model) as trace:
        model(IDS)
        assert torch.equal(pool.submit(run).result(), expected)
    assert len(trace) == 2
    assert all(len(site.runs) == 1 for site in trace)


def test_what_cannot_be_seen_is_said():
    transformers.AttentionInterface.register("mine", lambda *given, **named: None)
    model = gpt2("eager")
    model.config._attn_implementation = "mine"
    with (
        pytest.raises(ValueError, match=r"computes attention by 'mine'.*implementation\('eager'\)"),
        record(model),
    ):
        pass
    assert model.config._attn_implementation == "mine"
    config = transformers.BloomConfig(**SMALL, hidden_size=16, n_layer=1, n_head=2)
    bloom = transformers.BloomModel(config).eval()
    with pytest.raises(ValueError, match="no attention was seen"), record(bloom):
        bloom(IDS)
    of_bloom = {"h.0.self_attention": 1}
    with record(bloom, outputs=of_bloom) as trace:
        theirs = bloom(IDS, output_attentions=True).attentions
    assert_close(trace[0].weights, theirs[0])
