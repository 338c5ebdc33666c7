"""`regard train`: every option does what it says, and what cannot be done is refused at once."""

import json
import os
import re
import signal
import sys
from itertools import product
from typing import NamedTuple

import pytest
import torch
from safetensors.torch import load_file

from regard import training
from regard.models import ATTENTIONS, DECODERS, Translator
from regard.models.config import Seq2SeqConfig
from regard.text import load_dataset
from tests.cli.command import TINY, error_of, finish, run, start, usage_error_of


class Asked(NamedTuple):
    """What the command line asked of the training loop."""

    config: Seq2SeqConfig
    options: training.TrainingOptions
    train: list
    dev: list


class Stop(Exception):
    pass


@pytest.fixture
def asked(monkeypatch, files, tmp_path):
    """What these arguments ask of the training loop, which is not run."""

    def ask(*arguments, data=files):
        seen = []

        def take(translator, train_pairs, dev_pairs, *, options, **others):
            seen.append(Asked(translator.network.config, options, train_pairs, dev_pairs))
            raise Stop

        monkeypatch.setattr(training, "train", take)
        with pytest.raises(Stop):
            run("train", *data, "--to", tmp_path / "never", *arguments)
        return seen[0]

    return ask


def config_in(folder):
    return json.loads((folder / "config.json").read_text(encoding="utf-8"))


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


def assert_same_weights(one, other):
    one, other = (load_file(folder / "model.safetensors") for folder in (one, other))
    assert one.keys() == other.keys()
    assert all(torch.equal(one[name], other[name]) for name in one)


@pytest.fixture
def has_bf16(monkeypatch):
    """Any processor can compute in bfloat16, if slowly, but for torch's LSTM."""
    monkeypatch.setattr(sys.modules["regard.cli.train"], "_has_bf16", lambda: True)


# ---- what comes of it ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("attention", "decoder"),
    [pair for pair in product(ATTENTIONS, DECODERS) if pair != ("none", "luong")],
)
def test_every_attention_trains_with_every_decoder(files, tmp_path, attention, decoder):
    choices = ("--attention", attention, "--decoder", decoder, "--epochs", 1)
    ran = run("train", *files, "--to", tmp_path / "m", *choices)
    assert ran.status == 0, ran.err
    config = config_in(tmp_path / "m")
    assert (config["attention"], config["decoder"]) == (attention, decoder)
    predicted = run("predict", tmp_path / "m", stdin=b"abc\n")
    assert (predicted.status, predicted.out.count("\n"), predicted.err) == (0, 1, "")


@pytest.mark.parametrize(
    "choices",
    [
        ("--cell", "lstm", "--encoder-layers", 2, "--decoder-layers", 2),
        ("--decoder", "luong", "--input-feeding", "--no-bidirectional"),
        ("--window", 1, "--attn-dim", 3, "--dropout", 0),
        ("--threads", 2, "--batch-size", 64),
        ("--hidden-dim", 1, "--batch-size", 1),
        ("--source-tokens", "whitespace", "--target-tokens", "characters"),
    ],
    ids=str,
)
def test_other_choices_train_too(files, tmp_path, choices):
    ran = run("train", *files, "--to", tmp_path / "m", "--epochs", 1, *choices)
    assert ran.status == 0, ran.err
    assert Translator.from_pretrained(tmp_path / "m")


def test_bf16_trains_and_no_other_run_of_the_process_feels_it(files, tmp_path, has_bf16):
    def weights_of(name, *choices):
        ran = run("train", *files, "--to", tmp_path / name, "--epochs", 1, *choices)
        assert ran.status == 0, ran.err
        return load_file(tmp_path / name / "model.safetensors")

    before = weights_of("before")
    mixed = weights_of("mixed", "--bf16")
    assert any(not torch.equal(mixed[name], before[name]) for name in before)
    torch.testing.assert_close(mixed, before, atol=0.02, rtol=0.1)
    weights_of("after")
    assert_same_weights(tmp_path / "before", tmp_path / "after")


@pytest.mark.slow
@pytest.mark.parametrize(
    "choices",
    [
        ("--attention", "general"),
        ("--attention", "concat", "--decoder", "luong"),
        ("--attention", "dot", "--decoder", "luong", "--input-feeding"),
        ("--attention", "none"),
    ],
    ids=str,
)
def test_bf16_trains_with_the_other_choices_too(files, tmp_path, has_bf16, choices):
    ran = run("train", *files, "--to", tmp_path / "m", "--epochs", 1, "--bf16", *choices)
    assert ran.status == 0, ran.err


def test_bf16_is_refused_where_the_processor_cannot(files, tmp_path, monkeypatch):
    monkeypatch.setattr("torch.cpu.get_capabilities", dict)
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    error = error_of(run("train", *files, "--to", tmp_path / "m", "--bf16"))
    assert error.startswith("--bf16: this processor has no bfloat16 instructions")


def test_the_result_says_where_the_model_is_and_how_good(files, tmp_path, data):
    ran = run("train", *files, "--to", tmp_path / "m", "--epochs", 1, "--test", data / "test.tsv")
    stopped, dev, test, model = ran.out.splitlines()
    assert re.fullmatch(r"Stopped by epochs after \d+\.\d+ minutes, \d+ updates\.", stopped)
    assert re.match(r"dev   \d+ words: word error rate \d+\.\d\d%, token error rate \d+", dev)
    assert re.match(r"test  \d+ words: word error rate", test)
    assert model == f"Model in {tmp_path / 'm'}"
    heading, model, evaluation = ran.err.splitlines()
    assert heading == (
        "48 pairs to train on, 10 for dev, 12 to test; 9 source ids (characters) and 9 target ids "
        "(whitespace)"
    )
    assert "additive attention, gru of 8, layers 1+1" in model
    assert re.match(r"\d+:\d\d  epoch 1\.0  loss \d\.\d+ .* dev word errors .* best", evaluation)


def test_json_is_one_object_on_standard_output(files, tmp_path, data):
    options = ("--epochs", 1, "--test", data / "test.tsv", "--json")
    ran = run("train", *files, "--to", tmp_path / "m", *options)
    result = json.loads(ran.out)
    assert result.keys() == {
        *("model", "stopped_by", "epochs", "updates", "minutes", "parameters", "dev", "test")
    }
    assert (result["model"], result["stopped_by"]) == (str(tmp_path / "m"), "epochs")
    evaluation = json.loads((tmp_path / "m" / "training.jsonl").read_text())
    assert (result["epochs"], result["updates"]) == (1, evaluation["updates"])
    network = Translator.from_pretrained(tmp_path / "m").network
    assert result["parameters"] == network.num_parameters()
    evaluated = json.loads(run("evaluate", tmp_path / "m", data / "test.tsv", "--json").out)
    assert result["test"] == {name: evaluated[name] for name in ("words", "wer", "ter")}


def test_without_test_pairs_nothing_is_said_of_a_test(files, tmp_path):
    ran = run("train", *files, "--to", tmp_path / "m", "--epochs", 1, "--json")
    assert "test" not in json.loads(ran.out)


def test_training_learns(model, data):
    rates = json.loads(run("evaluate", model, data / "test.tsv", "--json").out)
    assert rates["ter"] < 0.5


def test_the_same_seed_and_epochs_give_the_same_model_and_another_seed_another(files, tmp_path):
    for name, seed in (("one", 7), ("two", 7), ("three", 8)):
        ran = run("train", *files, "--to", tmp_path / name, "--epochs", 2, "--seed", seed)
        assert ran.status == 0
    assert_same_weights(tmp_path / "one", tmp_path / "two")
    with pytest.raises(AssertionError):
        assert_same_weights(tmp_path / "one", tmp_path / "three")


def test_minutes_bound_the_time_and_leave_a_model(files, tmp_path):
    ran = run("train", *files, "--to", tmp_path / "m", "--minutes", 0.01, "--json")
    result = json.loads(ran.out)
    assert result["stopped_by"] == "minutes"
    assert result["minutes"] < 0.2
    assert result["updates"] >= 1


def test_the_shortest_budget_still_leaves_a_model(files, tmp_path):
    ran = run("train", *files, "--to", tmp_path / "m", "--minutes", 1e-9, "--json")
    assert json.loads(ran.out)["updates"] == 1
    assert Translator.from_pretrained(tmp_path / "m")


# ---- options that reach the model and the loop --------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "field", "expected"),
    [
        (("--cell", "lstm"), "cell", "lstm"),
        (("--hidden-dim", 6), "hidden_dim", 6),
        (("--embed-dim", 5), "embed_dim", 5),
        (("--attn-dim", 3), "attn_dim", 3),
        (("--window", 3), "window", 3),
        ((), "window", 5),
        (("--source-tokens", "whitespace"), "window", 1),
        (("--encoder-layers", 2), "encoder_layers", 2),
        (("--decoder-layers", 3), "decoder_layers", 3),
        (("--no-bidirectional",), "bidirectional", False),
        (("--decoder", "luong", "--input-feeding"), "input_feeding", True),
        ((), "source_summary", True),
        (("--no-source-summary",), "source_summary", False),
        ((), "residual", True),
        (("--no-residual",), "residual", False),
        ((), "tied_embeddings", False),
        (("--tied-embeddings",), "tied_embeddings", True),
        (("--dropout", 0.05), "dropout", 0.05),
    ],
    ids=str,
)
def test_the_options_of_the_model_reach_it(asked, arguments, field, expected):
    assert getattr(asked(*arguments).config, field) == expected


@pytest.mark.parametrize(
    ("arguments", "field", "expected"),
    [
        (("--epochs", 3), "epochs", 3),
        (("--minutes", 2.5), "minutes", 2.5),
        (("--batch-size", 7), "batch_size", 7),
        (("--learning-rate", 0.5), "learning_rate", 0.5),
        (("--label-smoothing", 0.25), "label_smoothing", 0.25),
        (("--patience", 2), "patience", 2),
        (("--seed", 5), "seed", 5),
        (("--threads", 2), "num_workers", 2),
        (("--bf16",), "mixed_precision", "bf16"),
        ((), "mixed_precision", "no"),
    ],
    ids=str,
)
def test_the_options_of_the_run_reach_it(asked, has_bf16, arguments, field, expected):
    assert getattr(asked(*arguments).options, field) == expected


@pytest.mark.parametrize("task", ["copy", "reverse", "sort"])
def test_length_is_the_length_of_the_synthetic_tasks(asked, task):
    pair = asked("--length", 7, *TINY, data=(task,)).train[0]
    solve = {"copy": list, "reverse": lambda s: s[::-1], "sort": sorted}[task]
    assert len(pair.source.split()) == 7
    assert pair.target.split() == solve(pair.source.split())


def test_num_pairs_is_the_size_of_the_synthetic_tasks(asked):
    given = asked("--length", 2, "--num-pairs", 300, *TINY, data=("copy",))
    assert given.train == load_dataset("copy", length=2, num_pairs=300).train


@pytest.mark.slow
def test_cmudict_is_built_in(asked):
    given = asked(*TINY, data=("cmudict",))
    assert len(given.train) > 100_000
    assert given.config.window == 5  # characters


def test_a_file_named_like_a_built_in_data_set_is_read(asked, data, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "copy").write_bytes((data / "train.tsv").read_bytes())
    assert len(asked("--dev", data / "dev.tsv", data=("copy",)).train) == 48


def test_dev_pairs_are_held_out_of_the_data_and_counted(asked, data, tmp_path):
    given = asked(data=(data / "train.tsv", *TINY))
    sources = [{pair.source for pair in part} for part in (given.train, given.dev)]
    assert all(sources)
    assert not sources[0] & sources[1]
    assert len(given.train) + len(given.dev) == 48


def test_held_out_pairs_and_skipped_lines_are_told_with_the_heading(data, tmp_path):
    path = tmp_path / "some.tsv"
    path.write_text((data / "train.tsv").read_text() + "no tab\na\tb\tc\n\tx\n")
    options = ("--to", tmp_path / "m", "--epochs", 1, *TINY, "--skip-bad-lines")
    ran = run("train", path, *options)
    skipped, held_out, _, _, _ = ran.err.splitlines()
    assert ran.status == 0
    assert skipped == f"{path}: 3 bad lines skipped"
    assert re.fullmatch(rf"{re.escape(str(path))}: \d+ of 48 pairs held out for --dev", held_out)


def test_windows_line_ends_a_byte_order_mark_and_no_last_newline_are_accepted(asked, tmp_path):
    path = tmp_path / "windows.tsv"
    path.write_bytes(b"\xef\xbb\xbfa\tA\r\n\r\nb\tB")
    given = asked(data=(path, "--dev", path, *TINY))
    assert [tuple(pair) for pair in given.train] == [("a", "A"), ("b", "B")]


# ---- what is refused ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--attention", "cosine"), r"--attention 'cosine' is unknown\. Choose one of: additive, "),
        (("--decoder", "gru"), r"--decoder 'gru' is unknown\. Choose one of: bahdanau, luong"),
        (("--cell", "rnn"), r"--cell 'rnn' is unknown\. Choose one of: gru, lstm"),
        (("--input-feeding",), r"Input feeding is Luong's: choose --decoder 'luong'"),
        (("--input-feeding", "--decoder", "luong", "--attention", "none"), r"--attention 'none'"),
        (
            ("--attention", "none", "--decoder", "luong"),
            r"--decoder 'luong' with --attention 'none'\. .*Leave --decoder 'luong' out",
        ),
        (("--window", 0), r"--window 0\. .*an odd number"),
        (("--window", 4), r"--window 4\. .*an odd number"),
        (("--hidden-dim", 0), r"--hidden-dim 0\. Give a whole number from 1 to 4,096\."),
        (("--hidden-dim", -3), r"--hidden-dim -3"),
        (
            ("--hidden-dim", 7, "--attention", "dot"),
            r"Use an even --hidden-dim, or choose --attention 'general'",
        ),
        (("--dropout", "nan"), r"--dropout nan\. Give a number at least 0 and below 1"),
        (("--dropout", 1), r"--dropout 1\.0"),
        (("--learning-rate", "nan"), r"--learning-rate nan\. Give a number above 0, at most 1\."),
        (("--learning-rate", "inf"), r"--learning-rate inf\. Give a number above 0"),
        (("--learning-rate", -1), r"--learning-rate -1\.0"),
        (("--label-smoothing", 1), r"--label-smoothing 1\.0\. .*below 1"),
        (("--minutes", "nan"), r"--minutes nan"),
        (("--minutes", 0), r"--minutes 0\.0\. Give a number above 0"),
        (("--epochs", 0), r"--epochs 0\. Give a whole number from 1 to"),
        (("--batch-size", 0), r"--batch-size 0\. Give a whole number from 1"),
        (("--patience", 0), r"--patience 0"),
        (("--seed", -1), r"--seed -1\. Give a whole number from 0"),
        (("--seed", 10**20), r"--seed 1\d+\. Give a whole number from 0 to 4,294,967,295"),
        (
            ("--source-tokens", "letters"),
            r"--source-tokens 'letters' is unknown.*characters, whitespace",
        ),
        (("--length", 5), r"--length 5 is for the synthetic data sets copy, reverse, sort\. Leave"),
        (("--test", "missing.tsv"), r"missing\.tsv: No such file or directory"),
        (("--resume",), r"no unfinished training to resume in .*Leave out --resume"),
        (("--resume", "--overwrite"), r"--resume and --overwrite: .*Choose one"),
        (("--hidden-dim", 10**20), r"--hidden-dim 1\d+\. Give a whole number from 1 to 4,096\."),
        (("--embed-dim", 10**20), r"--embed-dim 1\d+\. Give"),
        (("--attn-dim", 10**20), r"--attn-dim 1\d+\. Give"),
        (("--encoder-layers", 3000), r"--encoder-layers 3000\. Give a whole number from 1 to 64"),
        (("--window", 10**9 + 1), r"--window 1\d+\. Give a whole number from 1 to 99"),
        (("--threads", 0), r"--threads 0\. Give a whole number from 1"),
        (("--threads", 100_000), r"--threads 100000\. Give a whole number from 1 to 1,024"),
        (("--epochs", 10**20), r"--epochs 1\d+\. Give a whole number from 1 to 1,000,000"),
        (("--learning-rate", 1e30), r"--learning-rate 1e\+30\. Give a number above 0, at most 1\."),
        (("--attention", "dot", "--attn-dim", 5), r"--attn-dim 5 with .*Leave --attn-dim out"),
        (("--attention", "none", "--attn-dim", 7), r"--attn-dim 7 with --attention 'none'"),
        (("--attention", "none", "--no-source-summary"), r"^--no-source-summary with --attention"),
    ],
    ids=str,
)
def test_impossible_options_end_with_one_error_and_nothing_written(
    files, tmp_path, arguments, message
):
    ran = run("train", *files, "--to", tmp_path / "m", "--epochs", 1, *arguments)
    assert re.search(message, error_of(ran))
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--epochs", "many"), r"'--epochs': 'many'\. Give a whole number\."),
        (("--hidden-dim", 4.5), r"'--hidden-dim': '4\.5'\. Give a whole number\."),
        (("--dropout", "0,5"), r"'--dropout': '0,5'\. Give a number\."),
        (("--to", ""), r"'--to': '' is an empty path\. Give the name"),
        (("--dev", ""), r"'--dev': '' is an empty path"),
        (("--attn", 3), r"No such option"),
    ],
    ids=str,
)
def test_options_that_cannot_be_read_are_named(files, tmp_path, arguments, message):
    ran = run("train", *files, "--to", tmp_path / "m", *arguments)
    assert re.search(message, usage_error_of(ran))


def test_an_empty_path_is_no_data(tmp_path):
    error = error_of(run("train", "", "--to", tmp_path / "m"))
    assert error.startswith("DATA '' is an empty path. Give a file")


def test_a_length_below_one_is_refused_with_the_option_as_the_fix(tmp_path):
    error = error_of(run("train", "copy", "--length", 0, "--to", tmp_path / "m"))
    assert error.endswith("--length 0. A sequence has at least one letter. Give --length >= 1.")


def test_to_resume_what_is_finished_names_both_ways_on(files, model):
    error = error_of(run("train", *files, "--to", model, "--resume"))
    assert error.startswith(f"the training in {model} is finished")
    assert "Use that model, or train another with --overwrite" in error


def test_without_attention_the_heading_names_the_decoder_there_is(files, tmp_path):
    options = ("--to", tmp_path / "m", "--epochs", 1, "--attention", "none")
    ran = run("train", *files, *options)
    assert ran.status == 0
    assert "fixed-context decoder, no attention, gru of 8" in ran.err
    assert "bahdanau" not in ran.err


def test_data_and_folder_must_be_given(data):
    assert "Missing argument 'DATA'" in usage_error_of(run("train"))
    assert "Missing option '--to'" in usage_error_of(run("train", data / "train.tsv"))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", r"no pair in this file"),
        (b"\n  \n", r"no pair in this file"),
        (b"a\tA\nbroken\n", r"line 2: 'broken'\. .*no tab.*--skip-bad-lines"),
        (b"a\tA\nb\t \n", r"line 2: .*the target is empty"),
        (b"a\tA\nb\tB\tC\n", r"line 2: .*2 tabs"),
        (b"a\tA\n\xff\tB\n", r"line 2: .*Byte 1 of the line is not valid UTF-8"),
        (b"a\0b\tA\n", r"NUL bytes"),
        (b"a\tA\n", r"too few pairs, 1 with 1 different sources, .*with --dev"),
        (b"a\tA\n" * 30, r"too few pairs, 30 with 1 different sources"),
    ],
    ids=repr,
)
def test_a_file_that_cannot_be_trained_on_is_one_error_with_its_place(tmp_path, content, message):
    (tmp_path / "some.tsv").write_bytes(content)
    error = error_of(run("train", tmp_path / "some.tsv", "--to", tmp_path / "m"))
    assert error.startswith(str(tmp_path / "some.tsv"))
    assert re.search(message, error)
    assert not (tmp_path / "m").exists()


def test_one_pair_is_enough_where_dev_is_given(tmp_path):
    (tmp_path / "one.tsv").write_bytes(b"a\tA\n")
    arguments = ("--dev", tmp_path / "one.tsv", "--to", tmp_path / "m", "--epochs", 1, *TINY)
    assert run("train", tmp_path / "one.tsv", *arguments).status == 0


@pytest.mark.slow
def test_a_pair_of_500_letters_can_be_trained_on(tmp_path):
    (tmp_path / "long.tsv").write_bytes(b"a" * 500 + b"\t" + b"A " * 500 + b"\n")
    arguments = ("--dev", tmp_path / "long.tsv", "--to", tmp_path / "m", "--epochs", 1, *TINY)
    assert run("train", tmp_path / "long.tsv", *arguments).status == 0


def test_what_is_neither_file_nor_built_in_is_told_what_there_is(tmp_path):
    error = error_of(run("train", "nothing", "--to", tmp_path / "m"))
    assert "neither a file nor a built-in data set" in error
    assert "cmudict, copy, reverse, sort" in error
    assert "Is a directory" in error_of(run("train", tmp_path, "--to", tmp_path / "m"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("cmudict", "--length", 5), r"--length 5 is for .*copy, reverse, sort"),
        (("copy", "--dev", "dev.tsv"), r"--dev and --test with the built-in data set 'copy'"),
        (("cmudict", "--num-pairs", 5), r"--num-pairs 5 is for .*copy, reverse, sort"),
        (("copy", "--length", 2), r"Raise length .*or give --num-pairs <= 338"),
        (("copy", "--length", -2), r"--length -2\. .*Give --length >= 1"),
        (
            ("copy", "--length", 10**11),
            r"--length 1\d+ and --num-pairs 10000 make .*at most 20,000,000",
        ),
        (("copy", "--num-pairs", 10**12), r"--length 10 and --num-pairs 1\d+ make"),
    ],
    ids=str,
)
def test_options_that_a_built_in_data_set_does_not_have_are_refused(tmp_path, arguments, message):
    assert re.search(message, error_of(run("train", *arguments, "--to", tmp_path / "m")))


# ---- the model's folder -------------------------------------------------------------------------


def test_a_model_is_replaced_only_with_overwrite(files, tmp_path):
    once = ("train", *files, "--to", tmp_path / "m", "--epochs", 1)
    assert run(*once).status == 0
    before = {path.name: path.read_bytes() for path in (tmp_path / "m").iterdir()}
    error = error_of(run(*once, "--seed", 2))
    assert error.endswith(
        "already holds a model. Replace it with --overwrite, or choose another --to."
    )
    assert {path.name: path.read_bytes() for path in (tmp_path / "m").iterdir()} == before
    assert run(*once, "--seed", 2, "--overwrite").status == 0
    after = {path.name: path.read_bytes() for path in (tmp_path / "m").iterdir()}
    assert after["model.safetensors"] != before["model.safetensors"]
    assert after["training.jsonl"].count(b"\n") == 1  # the log of this run alone


@pytest.mark.parametrize("place", ["file", "file/below"])
def test_a_file_in_the_models_place_is_refused_before_training(files, tmp_path, place):
    (tmp_path / "file").write_text("precious")
    error = error_of(run("train", *files, "--to", tmp_path / place))
    assert f"{tmp_path / 'file'} is a file, not a folder" in error
    assert (tmp_path / "file").read_text() == "precious"


def test_a_place_that_cannot_be_written_is_refused_before_training(files, tmp_path, monkeypatch):
    monkeypatch.setattr("os.access", lambda path, mode: mode == os.R_OK)
    error = error_of(run("train", *files, "--to", tmp_path / "m"))
    assert f"nothing can be written to {tmp_path}. Choose another --to." in error


def test_a_folder_that_cannot_be_made_is_one_error(files):
    assert error_of(run("train", *files, "--to", "/proc/model")).startswith("/proc/model: ")


def test_a_full_disk_is_one_error_that_names_the_file(files, tmp_path, monkeypatch):
    def fail(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", fail)
    ran = run("train", *files, "--to", tmp_path / "m", "--epochs", 1)
    assert (ran.status, ran.out) == (1, "")
    last = ran.err.splitlines()[-1]
    place = tmp_path / "m" / "config.json"
    assert last == f"error: {place}: No space left on device. Make room, or write elsewhere."
    assert names_in(tmp_path / "m") == []  # no half of a model


def test_a_missing_extra_is_one_error_that_says_what_to_install(files, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "regard.training", None)
    error = error_of(run("train", *files, "--to", tmp_path / "m"))
    assert error.endswith("pip install 'regard[all]'.")


def test_a_loss_that_is_not_finite_is_one_error_and_leaves_no_folder(files, tmp_path, monkeypatch):
    from regard.training.gradients import GradientWorkers

    monkeypatch.setattr(GradientWorkers, "__call__", lambda workers, batch: float("nan"))
    ran = run("train", *files, "--to", tmp_path / "m", "--epochs", 2, "--learning-rate", 0.3)
    assert (ran.status, ran.err) == (
        1,
        "error: training: the loss is nan at update 0, with --learning-rate 0.3. No model was kept "
        "yet. Try --learning-rate 0.1.\n",
    )
    assert not (tmp_path / "m").exists()


def test_too_little_memory_is_one_error(files, tmp_path, monkeypatch):
    def fail(*arguments, **choices):
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory")

    monkeypatch.setattr(Translator, "fresh", fail)
    error = error_of(run("train", *files, "--to", tmp_path / "m"))
    assert error.startswith("out of memory. Choose smaller sizes")


# ---- interrupted and resumed --------------------------------------------------------------------

LONG = ("--epochs", 4, "--seed", 3)


def test_ctrl_c_keeps_a_checkpoint_from_which_resume_goes_on_to_the_same_model(files, tmp_path):
    process = start("train", *files, "--to", tmp_path / "m", *LONG)
    process.stderr.readline()  # the heading comes with the first update
    process.send_signal(signal.SIGINT)
    ran = finish(process)
    assert (ran.status, ran.out) == (130, "")
    assert ran.err.splitlines()[-1] == (
        "Stopped. Go on with --resume and the same options; no model was evaluated yet."
    )
    assert names_in(tmp_path / "m") == ["training.safetensors"]

    unfinished = error_of(run("predict", tmp_path / "m"))
    assert re.search(r"holds an interrupted training .*: regard train .* --resume\.", unfinished)
    again = ("train", *files, "--to", tmp_path / "m", *LONG)
    assert "holds an interrupted training. Go on with --resume" in error_of(run(*again))
    other = error_of(run(*again, "--resume", "--label-smoothing", 0))
    assert "--label-smoothing was 0.1, now 0.0" in other
    assert other.endswith("or start again with --overwrite in place of --resume.")
    assert names_in(tmp_path / "m") == ["training.safetensors"]  # nothing was touched

    assert run(*again, "--resume").status == 0
    assert run("train", *files, "--to", tmp_path / "whole", *LONG).status == 0
    assert_same_weights(tmp_path / "m", tmp_path / "whole")
    assert names_in(tmp_path / "m") == names_in(tmp_path / "whole")


def interrupt_at(update, monkeypatch):
    """Ctrl-C after so many updates of the run that follows."""
    from regard.cli.progress import TrainingDisplay

    def report(display, progress):
        if progress.updates == update:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(TrainingDisplay, "report", report)


def test_a_run_interrupted_after_its_last_update_is_still_evaluated(files, tmp_path, monkeypatch):
    arguments = ("train", *files, "--to", tmp_path / "m", "--epochs", 2)
    whole = run("train", *files, "--to", tmp_path / "whole", "--epochs", 2, "--json")
    num_updates = json.loads(whole.out)["updates"]
    with monkeypatch.context() as patched:
        interrupt_at(num_updates, patched)
        assert run(*arguments).status == 130
    ran = run(*arguments, "--resume", "--json")
    assert ran.status == 0, ran.err
    assert json.loads(ran.out)["updates"] == num_updates
    assert_same_weights(tmp_path / "m", tmp_path / "whole")


def test_an_interrupted_overwrite_says_nothing_good_of_the_old_model(files, tmp_path, monkeypatch):
    arguments = ("train", *files, "--to", tmp_path / "m", "--epochs", 2)
    assert run(*arguments).status == 0
    with monkeypatch.context() as patched:
        interrupt_at(3, patched)
        ran = run(*arguments, "--overwrite", "--seed", 5)
    assert ran.status == 130
    assert ran.err.endswith("no model was evaluated yet.\n")


def test_a_damaged_checkpoint_is_one_error(files, tmp_path):
    (tmp_path / "training.safetensors").write_bytes(b"junk")
    error = error_of(run("train", *files, "--to", tmp_path, "--epochs", 1, "--resume"))
    assert re.search(r"damaged or no checkpoint: .*Start again with --overwrite in place of", error)


def test_words_are_cut_into_pieces_and_few_symbols_are_not(asked, data, tmp_path):
    words = [f"word{n} word{n + 1}" for n in range(1200)]
    lines = [f"{text}\tA B\n" for text in words]
    (tmp_path / "words.tsv").write_text("".join(lines), encoding="utf-8")
    given = asked("--num-pieces", 40, data=(tmp_path / "words.tsv",))
    assert given.config.source_vocab_size == 40 + 4
    assert given.config.target_vocab_size == 2 + 4
    assert given.config.window == 1


def test_pieces_are_learned_where_they_are_asked_for(files, tmp_path):
    to = tmp_path / "model"
    ran = run("train", *files, "--to", to, "--epochs", 1, "--source-tokens", "bpe")
    assert ran.status == 0, ran.err
    saved = json.loads((to / "tokenizer.json").read_text(encoding="utf-8"))
    assert (saved["source"]["tokenizer"], saved["target"]["tokenizer"]) == ("bpe", "whitespace")
    assert run("predict", to, stdin=b"abc\n").status == 0
    assert run("align", to, "abcd", "AH B", "--words").out.split()[0] == "abcd"


def test_a_text_with_the_mark_of_pieces_is_noted(tmp_path):
    lines = [f"word{n % 7}▁here\tA▁ B{n % 5}\n" for n in range(30)]
    (tmp_path / "w.tsv").write_text("".join(lines), encoding="utf-8")
    dev = ("--dev", tmp_path / "w.tsv", *TINY, "--epochs", 1)
    ran = run("train", tmp_path / "w.tsv", *dev, "--to", tmp_path / "m", "--source-tokens", "bpe")
    assert ran.status == 0, ran.err
    assert "30 texts hold ▁, which bpe takes for a space, and gives back as one\n" in ran.err


def test_pieces_without_a_side_that_has_them_are_refused(files, tmp_path):
    ran = run("train", *files, "--to", tmp_path / "model", "--num-pieces", 50)
    assert error_of(ran).startswith("--num-pieces 50 where neither side is cut into pieces")


def test_too_few_pieces_are_refused_as_typed(files, tmp_path):
    bpe = ("--source-tokens", "bpe", "--num-pieces", 2)
    ran = run("train", *files, "--to", tmp_path / "model", *bpe)
    assert error_of(ran).startswith("--num-pieces 2, and the texts have 6 different characters.")
    assert not (tmp_path / "model").exists()
