"""`regard train --model transformer`: its options reach it, and those of the other are refused."""

import re

import pytest
import torch

from regard.models import Seq2Seq, TransformerConfig, Translator
from regard.scores import NAMES
from tests.cli.command import error_of, run
from tests.cli.test_train import asked, config_in, has_bf16

__all__ = ["asked", "has_bf16"]

TINY = (
    *("--model", "transformer", "--embed-dim", 8, "--num-heads", 2),
    *("--encoder-layers", 1, "--decoder-layers", 2),
)


@pytest.fixture
def files(data):
    return (data / "train.tsv", "--dev", data / "dev.tsv")


def test_the_defaults_are_those_of_the_config(asked):
    given = asked("--model", "transformer")
    assert given.config == TransformerConfig(
        source_vocab_size=given.config.source_vocab_size,
        target_vocab_size=given.config.target_vocab_size,
        dropout=0.3,  # few pairs
        window=5,  # characters
    )
    assert given.config.attention == "scaled_dot"


@pytest.mark.parametrize(
    ("arguments", "field", "expected"),
    [
        (("--embed-dim", 8), "embed_dim", 8),
        (("--num-heads", 2), "num_heads", 2),
        (("--ff-dim", 7), "ff_dim", 7),
        (("--encoder-layers", 2), "encoder_layers", 2),
        (("--decoder-layers", 1), "decoder_layers", 1),
        (("--norm", "post"), "norm", "post"),
        (("--positions", "learned"), "positions", "learned"),
        (("--positions", "learned", "--max-len", 40), "max_len", 40),
        (("--attention", "additive"), "attention", "additive"),
        (("--window", 3), "window", 3),
        (("--source-tokens", "whitespace"), "window", 1),
        (("--tied-embeddings",), "tied_embeddings", True),
        (("--dropout", 0.05), "dropout", 0.05),
    ],
    ids=str,
)
def test_the_options_of_the_model_reach_it(asked, arguments, field, expected):
    assert getattr(asked("--model", "transformer", *arguments).config, field) == expected


@pytest.mark.parametrize(
    "choices",
    [
        ("--attention", "additive", "--norm", "post", "--positions", "learned", "--max-len", 30),
        ("--threads", 2, "--batch-size", 64, "--bf16", "--tied-embeddings"),
        *(
            pytest.param(("--attention", name), marks=pytest.mark.slow)
            for name in NAMES
            if name != "additive"
        ),
    ],
    ids=str,
)
def test_it_trains_predicts_and_aligns(files, tmp_path, has_bf16, choices):
    ran = run("train", *files, "--to", tmp_path / "m", "--epochs", 1, *TINY, *choices)
    assert ran.status == 0, ran.err
    assert config_in(tmp_path / "m")["model"] == "transformer"
    assert re.search(r"transformer, \w+ attention, 2 heads, width 8, layers 1\+2: [\d,]+", ran.err)
    for options in ((), ("--beam", 3)):
        predicted = run("predict", tmp_path / "m", *options, stdin=b"abc\nd\n")
        assert (predicted.status, predicted.out.count("\n"), predicted.err) == (0, 2, "")
    aligned = run("align", tmp_path / "m", "abc", "AH B K")
    assert aligned.status == 0, aligned.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("--cell", "lstm"),
            r"^--cell 'lstm' with --model 'transformer'\. It is for --model 'rnn'",
        ),
        (("--hidden-dim", 8), r"^--hidden-dim 8 with --model 'transformer'.*Leave it out, or "),
        (("--decoder", "luong"), r"^--decoder 'luong' with"),
        (("--no-bidirectional",), r"^--no-bidirectional with --model 'transformer'"),
        (("--input-feeding",), r"^--input-feeding with --model 'transformer'"),
        (("--no-source-summary",), r"^--no-source-summary with --model 'transformer'"),
        (("--no-residual",), r"^--no-residual with --model 'transformer'"),
        (("--attn-dim", 3), r"^--attn-dim 3 with --model 'transformer'"),
        (("--encoder-dim", 3), r"^--encoder-dim 3 with --model 'transformer'"),
        (
            ("--attention", "none"),
            r"^--attention 'none' with --model 'transformer'\. .*--model 'rnn'",
        ),
        (("--num-heads", 3), r"^--embed-dim 8 and --num-heads 3\. .*or --embed-dim 9"),
        (("--norm", "rms"), r"^--norm 'rms' is unknown\. Choose one of: pre, post"),
        (("--positions", "none"), r"^--positions 'none' is unknown\. Choose one of: sinusoidal"),
        (("--max-len", 9), r"^--max-len 9 with --positions 'sinusoidal'"),
        (("--positions", "learned", "--max-len", 3), r"with --max-len 3\..*Give --max-len 6, "),
        (
            ("--model", "rnn"),
            r"^--num-heads 2 with --model 'rnn'\. It is for --model 'transformer'",
        ),
        (("--model", "gpt"), r"^--model 'gpt' is unknown\. Choose one of: rnn, transformer"),
        (("--frozen-scores",), r"has ScaledDot, without parameters"),
    ],
    ids=str,
)
def test_impossible_options_end_with_one_error(files, tmp_path, arguments, message):
    ran = run("train", *files, "--to", tmp_path / "m", "--epochs", 1, *TINY, *arguments)
    assert re.search(message, error_of(ran)), ran.err


LEARNED = (*TINY, "--positions", "learned", "--epochs", 1, "--threads", 1)


def test_learned_positions_need_serve_no_more_than_the_longest_pair(files, tmp_path):
    ran = run("train", *files, "--to", tmp_path / "m", *LEARNED, "--max-len", 6)
    assert ran.status == 0, ran.err  # words of 5 letters, and the begin token
    sources = tmp_path / "sources.txt"
    sources.write_text("a\nabcdéa\n", encoding="utf-8")
    assert run("predict", tmp_path / "m", sources).status == 0
    sources.write_text("a\n" * 5000 + "abcdéab\n", encoding="utf-8")
    error = error_of(run("predict", tmp_path / "m", sources))  # and no answer before it
    assert re.search(r"the source 'abcdéab' has 7 tokens, but .* positions serve 6\.", error)
    error = error_of(run("predict", tmp_path / "m", "--max-length", 7))
    assert re.search(r"--max-length 7, but .* targets of 6 .*Give --max-length 6 or less", error)


@pytest.mark.parametrize(
    ("part", "line", "message"),
    [
        ("train", "abcdéabcdé\tAH", r"source of the training pairs, 'abcdéabcdé', has 10 tokens"),
        ("dev", "a\tAH B K D AH B K D AH", r"target of the dev pairs, .* 9 tokens.*begin token"),
        ("test", "abcdéabcdé\tAH", r"source of the test pairs, 'abcdéabcdé', has 10 tokens"),
    ],
)
def test_pairs_beyond_learned_positions_end_before_anything_is_written(
    data, tmp_path, part, line, message
):
    files = {name: data / f"{name}.tsv" for name in ("train", "dev", "test")}
    longer = tmp_path / "longer.tsv"
    longer.write_text(files[part].read_text("utf-8") + line + "\n", "utf-8")
    files[part] = longer
    arguments = (files["train"], "--dev", files["dev"], "--test", files["test"])
    ran = run("train", *arguments, "--to", tmp_path / "m", *LEARNED, "--max-len", 7)
    assert re.search(message + r".*Give --max-len 10, ", error_of(ran)), ran.err
    assert not (tmp_path / "m").exists()


def test_frozen_scores_stay_as_they_were_drawn(files, tmp_path):
    options = ("--epochs", 1, "--attention", "additive", "--frozen-scores", "--seed", 3)
    ran = run("train", *files, "--to", tmp_path / "m", *TINY, *options)
    assert ran.status == 0, ran.err
    trained = Translator.from_pretrained(tmp_path / "m")
    torch.manual_seed(3)
    drawn = Seq2Seq(trained.network.config)
    before, after = drawn.state_dict(), trained.network.state_dict()
    assert {name for name in before if torch.equal(before[name], after[name])} == {
        name for name in before if ".score." in name
    }


@pytest.mark.slow
def test_explain_says_that_it_is_for_recurrent_models(files, tmp_path):
    trained = run("train", *files, "--to", tmp_path / "m", "--epochs", 1, *TINY)
    assert trained.status == 0, trained.err
    error = error_of(run("explain", tmp_path / "m", files[0]))
    assert error.startswith(f"explain: {tmp_path / 'm'} is a transformer, whose attention has many")
    assert error.endswith("Give a model trained with 'regard train ... --model rnn'.")
