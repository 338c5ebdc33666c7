"""What counts as right, on predictions that are said beforehand."""

from importlib import import_module

import pytest

from regard.models import Side, Translator
from regard.search import Hypothesis, Prediction
from regard.text import Pair
from regard.training import evaluate


@pytest.fixture
def predicts(monkeypatch):
    """The translator predicts these pieces, whatever it is asked."""

    def say(*answers):
        def predict(translator, sources, **_):
            join = translator.target.tokenizer.join
            return [
                Prediction(source, [source], [Hypothesis(join(tokens), tokens, 0.0, 0.0, None)])
                for source, tokens in zip(sources, answers, strict=True)
            ]

        module = import_module("regard.training.evaluate")  # the function has its name
        monkeypatch.setattr(module, "predict", predict)

    return say


def test_a_text_is_right_however_its_pieces_spell_it(predicts):
    side = Side.build("bpe", ["save saved", "save the file"])
    translator = Translator.fresh(side, side, hidden_dim=8)
    assert side.tokenizer.tokenize("save") == ["▁save"]
    pairs = [Pair("a", "save"), Pair("b", "save"), Pair("c", "save")]
    predicts(["▁save"], ["▁s", "a", "ve"], ["▁s", "a"])
    rates = evaluate(translator, pairs)
    assert rates.num_words == 3
    assert rates.wer == pytest.approx(1 / 3)
    assert rates.ter == pytest.approx(2 / 3)  # two pieces for the one of "c"
