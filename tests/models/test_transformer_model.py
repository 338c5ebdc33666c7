"""The transformer as a whole model: its config, its folder, its predictions, and that it learns."""

import json

import pytest
import torch
from torch.testing import assert_close

from regard import record
from regard.kernels import Workers
from regard.models import ModelFolderError, Side, TransformerConfig, Translator
from regard.search import predict
from regard.text import Vocabulary, collate, load_dataset
from regard.training import TrainingOptions, evaluate, train
from regard.training.gradients import GradientWorkers

TINY = {"embed_dim": 12, "num_heads": 3, "encoder_layers": 2, "decoder_layers": 1}
SIZES = {"source_vocab_size": 9, "target_vocab_size": 9}


def make_translator(**choices: object) -> Translator:
    torch.manual_seed(0)
    source = Side.build("characters", ["abcd", "é한א"])
    target = Side.build("whitespace", ["AE B K D", "ʃ t͡ɕ"])
    translator = Translator.fresh(source, target, model="transformer", **TINY | choices)
    with torch.no_grad():
        for parameter in translator.network.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    return translator


CHOICES = [
    {},
    {"norm": "post", "attention": "additive"},
    {"positions": "learned", "max_len": 30, "attention": "general"},
    {"ff_dim": 5, "window": 3, "attention": "concat"},
    {"attention": "uniform", "positions": "learned", "tied_embeddings": True},
]


@pytest.mark.parametrize("choices", CHOICES, ids=str)
def test_a_saved_model_comes_back_with_the_same_predictions(tmp_path, choices):
    translator = make_translator(**choices)
    translator.save_pretrained(tmp_path)
    again = Translator.from_pretrained(tmp_path)
    assert json.loads((tmp_path / "config.json").read_text())["model"] == "transformer"
    assert isinstance(again.network.config, TransformerConfig)
    assert again.network.config.to_json() == translator.network.config.to_json()
    for search in ({}, {"beam": 3, "n_best": 2}):
        before, after = (
            predict(t, ["abcd", "dé", ""], need_weights=True, **search) for t in (translator, again)
        )
        assert [p.target for p in before] == [p.target for p in after]
        assert [p.log_prob for p in before] == [p.log_prob for p in after]


def test_what_a_default_was_is_written_down(tmp_path):
    written = TransformerConfig(**SIZES, positions="learned").to_json()
    assert (written["ff_dim"], written["max_len"]) == (512, 512)
    assert TransformerConfig(**SIZES, embed_dim=32).to_json()["ff_dim"] == 128
    assert TransformerConfig(**SIZES).to_json()["max_len"] is None


def test_a_folder_from_before_there_was_a_choice_of_models_is_read_as_it_was(tmp_path):
    sides = Side.build("characters", ["abc"]), Side.build("characters", ["xyz"])
    plain = {"residual": False, "tied_embeddings": False}
    translator = Translator.fresh(*sides, hidden_dim=8, encoder_layers=2, **plain)
    translator.save_pretrained(tmp_path)
    path = tmp_path / "config.json"
    config = json.loads(path.read_text())
    assert config.pop("model") == "rnn"
    for name in plain:
        del config[name]
    path.write_text(json.dumps(config))
    again = Translator.from_pretrained(tmp_path)
    assert again.network.config.to_json() == translator.network.config.to_json()
    assert_close(again.align("abc", "xy"), translator.align("abc", "xy"))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model": "mamba"}, r"model='mamba' is unknown. Choose one of: rnn, transformer"),
        ({"model": ["rnn"]}, r"model=\['rnn'\] is unknown"),
        ({"model": "rnn"}, r"the config has unknown fields: ff_dim, max_len, norm"),
        ({"num_heads": 5}, r"embed_dim=12 and num_heads=5"),
        ({"hidden_dim": 5}, r"unknown fields: hidden_dim"),
        (
            {"ff_dim": 7},
            r"feed_forward.widen.weight is \(48, 12\) in the file, \(7, 12\).*Look at ff_dim=7",
        ),
    ],
    ids=str,
)
def test_a_damaged_config_is_refused(tmp_path, changes, message):
    make_translator().save_pretrained(tmp_path)
    path = tmp_path / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
    with pytest.raises(ModelFolderError, match=message):
        Translator.from_pretrained(tmp_path)


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"attention": "none"}, r"attention='none' with model='transformer'.*model='rnn'"),
        ({"attention": "cosine"}, r"attention='cosine' is unknown.*scaled_dot, uniform"),
        ({"norm": "rms"}, r"norm='rms' is unknown. Choose one of: pre, post"),
        ({"positions": "rotary"}, r"positions='rotary' is unknown.*sinusoidal, learned"),
        ({"num_heads": 5}, r"embed_dim=128 and num_heads=5.*divides it, or embed_dim=130"),
        ({"max_len": 9}, r"max_len=9 with positions='sinusoidal'.*Leave max_len out"),
        ({"encoder_layers": 0}, r"encoder_layers=0"),
        ({"dropout": 1.0}, r"dropout=1.0"),
    ],
    ids=str,
)
def test_choices_that_cannot_be_are_refused(choices, message):
    with pytest.raises(ValueError, match=message):
        TransformerConfig(**SIZES, **choices)


@pytest.mark.parametrize(
    ("model", "choices", "message"),
    [
        (
            "transformer",
            {"cell": "lstm"},
            r"cell='lstm' with model='transformer'. It is for model=",
        ),
        ("rnn", {"norm": "pre"}, r"norm='pre' with model='rnn'. It is for model='transformer'"),
        ("rnn", {"heads": 2}, r"heads=2 is no choice of model='rnn'. It has: attention, attn_dim"),
        ("gpt", {}, r"model='gpt' is unknown. Choose one of: rnn, transformer"),
    ],
    ids=str,
)
def test_a_choice_of_another_model_is_refused(model, choices, message):
    sides = Side.build("characters", ["abc"]), Side.build("characters", ["xyz"])
    with pytest.raises(ValueError, match=message):
        Translator.fresh(*sides, model=model, **choices)


def test_align_gives_the_weights_of_its_teacher_forced_run():
    translator = make_translator()
    with record(translator.network) as trace:
        weights = translator.align("abcd", "K AE")
    assert weights.shape == (2, 4)
    assert_close(weights.sum(-1), torch.ones(2))
    assert_close(weights, trace["decoder.layers.0.cross_attention"].weights[0].mean(dim=0))


def test_predictions_do_not_depend_on_the_batch_and_beam_1_is_greedy():
    translator = make_translator()
    sources = ["abcd", "d", "éa", "dcba", "bb", "abca"]
    together = predict(translator, sources, beam=3, need_weights=True)
    alone = [predict(translator, [source], beam=3, need_weights=True)[0] for source in sources]
    for one, other in zip(together, alone, strict=True):
        assert one.target == other.target
        assert one.log_prob == pytest.approx(other.log_prob, abs=1e-5)
        assert_close(one.weights, other.weights)
    for prediction in predict(translator, sources, need_weights=True):
        ids = translator.source.encode(prediction.source)
        target = translator.target.vocabulary.encode(prediction.target_tokens)
        decoded = translator.network(  # without a cache
            torch.tensor([ids]),
            torch.tensor([len(ids)]),
            torch.tensor([[Vocabulary.BEGIN, *target]]),
            need_weights=True,
        )
        assert_close(prediction.weights, decoded.weights[0, : len(prediction.weights)].detach())
        log_probs = decoded.logits[0].detach().log_softmax(-1)
        chosen = [*target, Vocabulary.END][: 2 * len(ids) + 10]
        total = sum(float(log_probs[t, token]) for t, token in enumerate(chosen))
        assert prediction.log_prob == pytest.approx(total, abs=1e-4)


@pytest.mark.parametrize("num_workers", [2, 3])
def test_threads_share_out_the_gradient_of_a_batch(num_workers):
    examples = [([4, 5, 6], [4, 5]), ([7, 8], [6, 7, 8, 4]), ([5, 5], [4]), ([8], [5, 5])]
    network, batch = make_translator(dropout=0.0).network.double(), collate(examples)

    def gradients(num_workers):
        with Workers(num_workers) as workers:
            of_batch = GradientWorkers(
                lambda *inputs: network(*inputs).logits,
                list(network.parameters()),
                workers=workers,
                label_smoothing=0.1,
                seed=1,
            )
            loss = of_batch(batch)
        return loss, [parameter.grad for parameter in network.parameters()]

    assert_close(gradients(num_workers), gradients(1), rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("num_workers", [1, 2])
def test_the_same_seed_gives_the_same_model_with_dropout_on_weights(tmp_path, num_workers):
    dataset = load_dataset("reverse", length=3, num_pairs=300)
    side = Side.build(dataset.source_tokenizer, (pair.source for pair in dataset.train))
    found = []
    for name in ("one", "other"):
        torch.manual_seed(1)
        translator = Translator.fresh(side, side, model="transformer", **TINY, dropout=0.3)
        torch.manual_seed(len(found))  # the run must not depend on what was drawn before it
        before = torch.get_rng_state()
        options = TrainingOptions(epochs=2, num_workers=num_workers, batch_size=32)
        train(translator, dataset.train, dataset.dev, to=tmp_path / name, options=options)
        assert torch.equal(torch.get_rng_state(), before)
        found.append(Translator.from_pretrained(tmp_path / name).network.state_dict())
    assert_close(found[0], found[1], rtol=0, atol=0)


@pytest.mark.slow
def test_it_learns_to_reverse_sequences_it_has_not_seen(tmp_path):
    dataset = load_dataset("reverse", length=5, num_pairs=4000)
    torch.manual_seed(1)
    side = Side.build(dataset.source_tokenizer, (pair.source for pair in dataset.train))
    sizes = {"embed_dim": 32, "encoder_layers": 2, "decoder_layers": 2, "dropout": 0.0}
    translator = Translator.fresh(side, side, model="transformer", **sizes)
    options = TrainingOptions(epochs=6, num_workers=1)
    train(translator, dataset.train, dataset.dev, to=tmp_path, options=options)
    best = Translator.from_pretrained(tmp_path)
    assert evaluate(best, dataset.test).wer < 0.02
