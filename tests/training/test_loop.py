"""Training: budgets, the best model kept, and a run that stops goes on to the same numbers."""

import json
import signal
from dataclasses import replace

import pytest
import torch

from regard.models import ModelFolderError, Side, Translator
from regard.search import predict
from regard.text import load_dataset
from regard.training import TrainingOptions, evaluate, train
from regard.training.checkpoint import path_in

DATA = load_dataset("reverse", length=3, num_symbols=8, num_pairs=250)
OPTIONS = TrainingOptions(
    epochs=3, batch_size=16, evaluate_every=10, num_workers=1, warmup=0.1, average=0.9
)


def make_translator(seed=1, **choices):
    torch.manual_seed(seed)
    return Translator.fresh(
        Side.build(DATA.source_tokenizer, (pair.source for pair in DATA.train)),
        Side.build(DATA.target_tokenizer, (pair.target for pair in DATA.train)),
        **({"hidden_dim": 16, "embed_dim": 8, "dropout": 0.2} | choices),
    )


def run(to, options=OPTIONS, translator=None, **arguments):
    translator = translator or make_translator()
    return train(translator, DATA.train, DATA.dev, to=to, options=options, **arguments)


def weights_in(folder):
    return Translator.from_pretrained(folder).network.state_dict()


def assert_same_weights(one, other):
    for name, tensor in one.items():
        assert torch.equal(tensor, other[name]), name


@pytest.mark.parametrize("num_workers", [1, 2])
def test_the_same_seed_gives_the_same_model(tmp_path, num_workers):
    options = replace(OPTIONS, num_workers=num_workers)
    run(tmp_path / "one", options)
    torch.manual_seed(99)  # the run must not depend on what was drawn before it
    run(tmp_path / "two", options)
    assert_same_weights(weights_in(tmp_path / "one"), weights_in(tmp_path / "two"))


def test_training_leaves_torchs_generator_alone(tmp_path):
    translator = make_translator()
    before = torch.get_rng_state()
    run(tmp_path, translator=translator)
    assert torch.equal(torch.get_rng_state(), before)


class Stop(Exception):
    pass


@pytest.mark.parametrize("num_workers", [1, 2])
@pytest.mark.parametrize("at_update", [7, 10, 23])
def test_an_interrupted_run_goes_on_to_the_same_numbers(tmp_path, at_update, num_workers):
    options = replace(OPTIONS, num_workers=num_workers)
    run(tmp_path / "whole", options)

    def interrupt(progress):
        if progress.updates == at_update and progress.dev is None:
            signal.raise_signal(signal.SIGINT)

    outcome = run(tmp_path / "parts", options, report=interrupt)
    assert (outcome.stopped_by, outcome.position.updates) == ("interrupt", at_update)
    # other initial weights: all that counts must come from the checkpoint
    outcome = run(tmp_path / "parts", options, make_translator(seed=5), resume=True)
    assert outcome.stopped_by == "epochs"
    assert_same_weights(weights_in(tmp_path / "whole"), weights_in(tmp_path / "parts"))


@pytest.mark.parametrize("evaluated", [True, False])
def test_a_run_interrupted_after_its_last_update_is_evaluated_there_once(tmp_path, evaluated):

    last = run(tmp_path / "whole").position.updates
    options = replace(OPTIONS, evaluate_every=last if evaluated else last - 5)
    run(tmp_path / "whole", options)

    def interrupt(progress):
        if progress.updates == last and (progress.dev is not None) == evaluated:
            signal.raise_signal(signal.SIGINT)

    assert run(tmp_path / "parts", options, report=interrupt).stopped_by == "interrupt"
    assert run(tmp_path / "parts", options, make_translator(seed=5), resume=True)
    for folder in ("whole", "parts"):
        log = (tmp_path / folder / "training.jsonl").read_text().splitlines()
        updates = [json.loads(line)["updates"] for line in log]
        assert updates == ([last] if evaluated else [last - 5, last])
    assert_same_weights(weights_in(tmp_path / "whole"), weights_in(tmp_path / "parts"))


def test_a_killed_run_goes_on_from_its_last_evaluation_to_the_same_numbers(tmp_path):
    run(tmp_path / "whole")

    def kill(progress):
        if progress.updates == 17:
            raise Stop

    with pytest.raises(Stop):
        run(tmp_path / "killed", report=kill)
    assert run(tmp_path / "killed", resume=True).stopped_by == "epochs"
    assert_same_weights(weights_in(tmp_path / "whole"), weights_in(tmp_path / "killed"))


def test_a_finished_run_leaves_no_checkpoint(tmp_path):
    run(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "config.json",
        "model.safetensors",
        "tokenizer.json",
        "training.jsonl",
    ]
    with pytest.raises(
        ModelFolderError, match=r"is finished: it left a model and nothing to resume"
    ):
        run(tmp_path, resume=True)


def test_another_runs_checkpoint_is_refused_by_name_of_what_differs(tmp_path):

    def kill(progress):
        if progress.updates == 11:
            raise Stop

    with pytest.raises(Stop):
        run(tmp_path, report=kill)
    with pytest.raises(ModelFolderError, match=r"label_smoothing was 0.1, now 0.0"):
        run(tmp_path, replace(OPTIONS, label_smoothing=0.0), resume=True)
    path_in(tmp_path).write_bytes(b"junk")
    with pytest.raises(ModelFolderError, match=r"damaged or no checkpoint"):
        run(tmp_path, resume=True)


def test_the_best_model_by_dev_score_is_the_one_kept(tmp_path):
    seen = []
    outcome = run(tmp_path, report=lambda progress: seen.append(progress))
    evaluations = [progress for progress in seen if progress.dev is not None]
    best = min((p.dev.word_errors, p.dev.token_errors) for p in evaluations)
    assert outcome.position.best == best
    kept = evaluate(Translator.from_pretrained(tmp_path), DATA.dev)
    assert (kept.word_errors, kept.token_errors) == best
    lines = [json.loads(line) for line in (tmp_path / "training.jsonl").read_text().splitlines()]
    assert [line["updates"] for line in lines] == [p.updates for p in evaluations]
    assert [p.fraction for p in seen if p.dev is None] == pytest.approx(
        [p.updates / seen[-1].updates for p in seen if p.dev is None]
    )


def test_patience_stops_a_run_that_no_longer_improves(tmp_path):
    options = replace(OPTIONS, epochs=50, patience=2, learning_rate=1e-9, evaluate_every=3)
    outcome = run(tmp_path, options)
    assert outcome.stopped_by == "patience"
    assert outcome.position.updates == 9  # one evaluation sets the best, two do not beat it


def test_minutes_bound_the_time(tmp_path):

    outcome = run(tmp_path, replace(OPTIONS, epochs=None, minutes=0.02))
    assert outcome.stopped_by == "minutes"
    assert 1.2 <= outcome.position.seconds < 30


def test_a_loss_that_is_not_finite_stops_the_run_and_keeps_the_best(tmp_path):
    run(tmp_path)
    before = weights_in(tmp_path)
    translator = make_translator()
    with torch.no_grad():
        translator.network.encoder.embedding.tables[0].weight.fill_(float("nan"))
    with pytest.raises(FloatingPointError, match=r"loss is nan at update 0.*Try learning_rate="):
        run(tmp_path, translator=translator)
    assert_same_weights(before, weights_in(tmp_path))


@pytest.mark.slow
@pytest.mark.parametrize(
    "choices",
    [
        {},
        {"cell": "lstm", "decoder_layers": 2},
        {"decoder": "luong", "attention": "general"},
        {"decoder": "luong", "attention": "dot", "input_feeding": True},
    ],
    ids=str,
)
def test_attention_learns_to_reverse_sequences_it_has_not_seen(tmp_path, choices):
    data = load_dataset("reverse", length=6, num_symbols=10, num_pairs=4000)
    torch.manual_seed(1)
    translator = Translator.fresh(
        Side.build("whitespace", (pair.source for pair in data.train)),
        Side.build("whitespace", (pair.target for pair in data.train)),
        **({"hidden_dim": 64, "embed_dim": 32, "dropout": 0.0} | choices),
    )
    options = TrainingOptions(epochs=14, batch_size=32, learning_rate=5e-3)
    train(translator, data.train, data.dev, to=tmp_path, options=options)
    best = Translator.from_pretrained(tmp_path)
    assert evaluate(best, data.test).wer < 0.1
    (prediction,) = predict(best, ["a b c d e f"], need_weights=True)
    assert prediction.target == "f e d c b a"


def test_frozen_scores_stay_as_they_were_drawn_while_all_else_trains(tmp_path):
    translator = make_translator()
    before = {name: part.clone() for name, part in translator.network.state_dict().items()}
    run(tmp_path, replace(OPTIONS, frozen_scores=True), translator=translator)
    for name, tensor in weights_in(tmp_path).items():
        assert torch.equal(tensor, before[name]) == name.startswith("decoder.score."), name
    assert translator.frozen_scores
    assert Translator.from_pretrained(tmp_path).frozen_scores


def test_a_run_that_trains_its_scores_is_not_called_frozen(tmp_path):
    translator = make_translator()
    translator.frozen_scores = True
    run(tmp_path, replace(OPTIONS, epochs=1), translator=translator)
    assert not translator.frozen_scores
    assert not Translator.from_pretrained(tmp_path).frozen_scores


def test_without_parameters_in_its_scores_there_is_nothing_to_freeze(tmp_path):
    with pytest.raises(ValueError, match=r"^frozen_scores: the model has Dot, without parameters"):
        run(tmp_path, replace(OPTIONS, frozen_scores=True), make_translator(attention="dot"))
