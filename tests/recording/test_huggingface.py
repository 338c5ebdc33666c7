"""Models of Hugging Face transformers, small and random: their own weights are the measure."""

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
