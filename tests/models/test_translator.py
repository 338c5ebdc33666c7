"""Models on disk: what is written comes back, and nothing else is taken for a model."""

import json
import math
import os
import pickle
import shutil

import pytest
import torch
from safetensors.torch import load_file, save_file

from regard.models import ModelFolderError, Seq2SeqConfig, Side, Translator
from regard.search import predict


def make_translator(**choices):
    torch.manual_seed(0)
    source = Side.build("characters", ["abcd", "é한א"])
    target = Side.build("whitespace", ["AE B K D", "ʃ t͡ɕ"])
    return Translator.fresh(source, target, **({"hidden_dim": 8, "embed_dim": 6} | choices))


@pytest.fixture
def folder(tmp_path):
    make_translator().save_pretrained(tmp_path / "model")
    return tmp_path / "model"


CHOICES = [
    {"attention": attention, "decoder": decoder}
    for attention in ("additive", "concat", "dot", "general", "scaled_dot", "none")
    for decoder in ("bahdanau", "luong")
    if (attention, decoder) != ("none", "luong")
] + [
    {"decoder": "luong", "attention": "general", "input_feeding": True, "cell": "lstm"},
    {"encoder_layers": 1, "decoder_layers": 2, "bidirectional": False, "attn_dim": 5},
    {"encoder_dim": 3, "attention": "general"},
    {"tied_embeddings": True, "encoder_layers": 2, "decoder_layers": 2},
    {"tied_embeddings": True, "decoder": "luong", "decoder_layers": 2, "residual": False},
    {"tied_embeddings": True, "attention": "none", "cell": "lstm"},
]


@pytest.mark.parametrize("choices", CHOICES, ids=str)
def test_a_saved_model_comes_back_with_the_same_predictions(tmp_path, choices):
    translator = make_translator(**choices)
    translator.save_pretrained(tmp_path)
    again = Translator.from_pretrained(tmp_path)
    assert again.network.config.to_json() == translator.network.config.to_json()
    before, after = (predict(t, ["abcd", "dé", ""]) for t in (translator, again))
    assert [p.target for p in before] == [p.target for p in after]
    assert [p.log_prob for p in before] == [p.log_prob for p in after]


def test_pieces_of_words_come_back_with_the_model(tmp_path):
    torch.manual_seed(0)
    texts = ["save the file", "save the files", "the saved file"]
    source, target = (Side.build("bpe", texts, num_pieces=size) for size in (15, 20))
    assert [len(side.vocabulary) for side in (source, target)] == [15 + 4, 20 + 4]
    translator = Translator.fresh(source, target, hidden_dim=8, embed_dim=6)
    translator.save_pretrained(tmp_path)
    again = Translator.from_pretrained(tmp_path)
    assert (again.source.encode("fed 漢"), again.target.encode("fed 漢")) == (
        source.encode("fed 漢"),
        target.encode("fed 漢"),
    )
    assert source.encode("fed 漢").count(source.vocabulary.UNKNOWN) == 1
    before, after = (predict(t, ["the file", "漢", ""]) for t in (translator, again))
    assert [p.target for p in before] == [p.target for p in after]


def test_pieces_that_the_vocabulary_lacks_are_damage(tmp_path):
    side = Side.build("bpe", ["save the file", "save the files"])
    Translator.fresh(side, side, hidden_dim=8).save_pretrained(tmp_path)
    saved = json.loads((tmp_path / "tokenizer.json").read_text(encoding="utf-8"))
    saved["target"]["merges"].pop()
    (tmp_path / "tokenizer.json").write_text(json.dumps(saved), encoding="utf-8")
    with pytest.raises(ModelFolderError, match="about the target: its vocabulary is not the piec"):
        Translator.from_pretrained(tmp_path)


def test_other_tokenizers_learn_no_pieces():
    with pytest.raises(ValueError, match=r"num_pieces=9 with characters\. Only bpe learns pieces"):
        Side.build("characters", ["a"], num_pieces=9)


@pytest.mark.parametrize("frozen_scores", [False, True])
def test_a_folder_says_whether_the_scores_were_frozen(tmp_path, frozen_scores):
    translator = make_translator()
    translator.frozen_scores = frozen_scores
    translator.save_pretrained(tmp_path)
    again = Translator.from_pretrained(tmp_path)
    assert again.frozen_scores is frozen_scores
    assert again.with_network(again.network).frozen_scores is frozen_scores


def test_a_folder_from_before_that_was_recorded_is_read(folder):
    path = folder / "config.json"
    config = json.loads(path.read_text())
    del config["training"]
    path.write_text(json.dumps(config))
    assert Translator.from_pretrained(folder).frozen_scores is False


@pytest.mark.parametrize("number", [math.nan, math.inf])
def test_one_number_that_is_not_finite_is_named(folder, number, as_a_user):
    put_one(number)(folder)
    with pytest.raises(
        ModelFolderError,
        match=r"cannot be used: 1 of the \d+ numbers of decoder\.readout\.to_logits\.weight in "
        r"model\.safetensors are NaN or infinite\. .*restore a copy\.$",
    ):
        Translator.from_pretrained(folder)


@pytest.mark.parametrize("beam", [1, 2])
def test_a_model_that_gives_nan_as_it_runs_says_so(beam):
    translator = make_translator()
    with torch.no_grad():
        translator.network.decoder.readout.to_logits.weight.fill_(math.nan)
    with pytest.raises(
        ValueError, match=r"step 1: the decoder's log-probabilities are NaN in 1 of"
    ):
        predict(translator, ["abc"], beam=beam)


def test_weights_that_are_nan_align_nothing():
    translator = make_translator()
    with torch.no_grad():
        next(translator.network.decoder.score.parameters()).fill_(math.nan)
    with pytest.raises(
        ValueError, match=r"align: the model's weights for this pair are not finite"
    ):
        translator.align("abc", "AE B")


def test_the_folder_holds_three_files_and_no_pickle(folder):
    names = sorted(path.name for path in folder.iterdir())
    assert names == ["config.json", "model.safetensors", "tokenizer.json"]


def truncate(folder):
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-100])


def remove_weights(folder):
    (folder / "model.safetensors").unlink()


def put_a_pickle(folder):
    (folder / "model.safetensors").write_bytes(pickle.dumps({"a": 1}))


def break_json(folder):
    (folder / "config.json").write_text("{")


def foreign_config(folder):
    (folder / "config.json").write_text(json.dumps({"model_type": "bert"}))


def edit_config(**changes):
    def edit(folder):
        path = folder / "config.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | changes))

    edit.__name__ = str(changes)
    return edit


def rename_a_tensor(folder):
    tensors = load_file(folder / "model.safetensors")
    tensors["other"] = tensors.pop("encoder.embedding.tables.0.weight")
    save_file(tensors, folder / "model.safetensors")


def put_one(number):
    def put(folder):
        tensors = load_file(folder / "model.safetensors")
        tensors["decoder.readout.to_logits.weight"][0, 1] = number
        save_file(tensors, folder / "model.safetensors")

    put.__name__ = f"put_{number}"
    return put


def put_complex_numbers(folder):
    tensors = load_file(folder / "model.safetensors")
    name = "encoder.embedding.tables.0.weight"
    save_file(tensors | {name: tensors[name].to(torch.complex64)}, folder / "model.safetensors")


def forget_the_cell(folder):
    path = folder / "config.json"
    config = json.loads(path.read_text())
    del config["cell"]
    path.write_text(json.dumps(config))


def nest_deeply(folder):
    (folder / "config.json").write_text("[" * 100_000)


def put_a_pipe(folder):
    (folder / "config.json").unlink()
    os.mkfifo(folder / "config.json")


def tokenizer_list(folder):
    (folder / "tokenizer.json").write_text("[]")


def tokenizer_without_target(folder):
    path = folder / "tokenizer.json"
    path.write_text(json.dumps({"source": json.loads(path.read_text())["source"]}))


def not_text(folder):
    (folder / "tokenizer.json").write_bytes(b"\xff\xfe\x00")


@pytest.mark.parametrize(
    "damage",
    [
        truncate,
        remove_weights,
        put_a_pickle,
        break_json,
        foreign_config,
        edit_config(hidden_dim=16),
        edit_config(hidden_dim="8"),
        edit_config(num_heads=2),
        edit_config(hidden_dim=10**20),
        edit_config(
            hidden_dim=4096, encoder_layers=64
        ),  # 38 GB, if it were made before it is refused
        edit_config(window=10**9 + 1),
        edit_config(bidirectional="no"),
        edit_config(bidirectional=3),
        edit_config(input_feeding=None),
        edit_config(source_summary="x"),
        edit_config(cell=["gru"]),
        edit_config(embed_dim=True),
        edit_config(attention="cosine"),
        edit_config(source_vocab_size=5),
        edit_config(dropout="much"),
        edit_config(training="frozen"),
        edit_config(training={"frozen_scores": "yes"}),
        rename_a_tensor,
        put_one(math.nan),
        put_one(-math.inf),
        put_complex_numbers,
        forget_the_cell,
        nest_deeply,
        put_a_pipe,
        tokenizer_list,
        tokenizer_without_target,
        not_text,
        shutil.rmtree,
    ],
    ids=lambda damage: damage.__name__,
)
def test_a_damaged_or_foreign_folder_gives_one_clear_error(folder, damage):
    damage(folder)
    with pytest.raises(ModelFolderError, match=rf"model folder {folder}") as caught:
        Translator.from_pretrained(folder)
    assert len(str(caught.value)) < 600
    assert str(caught.value).endswith(".")


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (
            edit_config(hidden_dim=16),  # for 8
            r"do not belong together: \S+ is \(4, 8\) in the file, \(4, 16\) by the config\. "
            r"Look at hidden_dim=16 in config\.json\.",
        ),
        (edit_config(embed_dim=9), r" by the config\. Look at embed_dim=9 in config\.json\."),
        (rename_a_tensor, r"encoder\.embedding\.tables\.0\.weight is in the config, the file has"),
        (forget_the_cell, r"the config has no cell\. Add what is missing"),
        (nest_deeply, r"config\.json is not JSON that we wrote: too deeply nested"),
        (put_a_pipe, r": config\.json is not a regular file"),
        (edit_config(source_summary="x"), r"source_summary='x'\. Give true or false"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_the_error_says_what_is_wrong_in_the_folder(folder, damage, message, as_a_user):
    damage(folder)
    with pytest.raises(ModelFolderError, match=message):
        Translator.from_pretrained(folder)


@pytest.mark.parametrize(
    ("path", "error", "message"),
    [
        (None, TypeError, r"model folder None is a NoneType\. It must be a path.*Give"),
        ("", ModelFolderError, r"model folder '' is an empty path\. Give the folder"),
    ],
)
def test_what_is_no_path_is_refused(path, error, message, as_a_user):
    with pytest.raises(error, match=message):
        Translator.from_pretrained(path)


def test_a_file_is_not_a_model_folder(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(ModelFolderError, match=r"is a file, not a folder"):
        Translator.from_pretrained(tmp_path / "file")


def test_a_failed_write_leaves_the_old_file(folder, monkeypatch):
    before = (folder / "config.json").read_bytes()

    def fail(*arguments):
        raise OSError("disk full")

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(OSError, match=r"disk full"):
        make_translator(hidden_dim=4).save_pretrained(folder)
    monkeypatch.undo()
    assert (folder / "config.json").read_bytes() == before
    assert sorted(path.name for path in folder.iterdir()) == [
        "config.json",
        "model.safetensors",
        "tokenizer.json",
    ]


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"attention": "cosine"}, r"attention='cosine' is unknown.*additive"),
        ({"decoder": "gru"}, r"decoder='gru' is unknown.*bahdanau, luong"),
        ({"hidden_dim": 0}, r"hidden_dim=0\. Give a whole number from 1"),
        ({"dropout": 1.0}, r"dropout=1.0.*below 1"),
        (
            {"attention": "none", "decoder": "luong"},
            r"decoder='luong' with.*Leave decoder='luong' out",
        ),
        ({"hidden_dim": 4097}, r"hidden_dim=4097\. Give a whole number from 1 to 4,096"),
        ({"input_feeding": True}, r"Input feeding is Luong's"),
        ({"attention": "dot", "hidden_dim": 7}, r"of one width.*'general'"),
        ({"attention": "dot", "encoder_dim": 8}, r"encoder states \(16 wide\)"),
        ({"attention": "dot", "attn_dim": 5}, r"attn_dim=5 with .*Leave attn_dim out"),
        ({"attention": "none", "source_summary": False}, r"source_summary=False with"),
    ],
)
def test_impossible_choices_are_refused_with_the_fix(choices, message):
    with pytest.raises(ValueError, match=message):
        Seq2SeqConfig(source_vocab_size=9, target_vocab_size=9, **choices)


def test_alignments_are_those_of_the_decoder_and_sum_to_one():
    translator = make_translator()
    weights = translator.align("abcd", "AE B K")
    assert weights.shape == (3, 4)
    torch.testing.assert_close(weights.sum(-1), torch.ones(3))


def test_aligning_a_prediction_gives_its_own_weights():
    translator = make_translator()
    bias = translator.network.decoder.readout.to_logits.bias
    with torch.no_grad():
        bias.copy_(torch.linspace(-3.0, 3.0, len(bias)))  # a token comes before the end
    prediction = predict(translator, ["abcd"], need_weights=True)[0]
    assert prediction.target_tokens
    torch.testing.assert_close(
        translator.align("abcd", prediction.target), prediction.weights, atol=1e-6, rtol=1e-5
    )


def test_a_model_without_attention_says_that_it_has_no_weights():
    with pytest.raises(ValueError, match=r"trained with attention 'none'"):
        make_translator(attention="none").align("abc", "AE")


def test_a_side_without_tokens_cannot_be_aligned():
    with pytest.raises(ValueError, match=r"the target '' has no tokens"):
        make_translator().align("abc", "")


def test_an_unreadable_folder_is_not_called_damaged(folder, monkeypatch):
    def refuse(path):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("os.listdir", refuse)
    with pytest.raises(ModelFolderError, match=r"cannot be read: .*Permission denied\. ") as caught:
        Translator.from_pretrained(folder)
    assert "damaged" not in str(caught.value)
