"""What counts as a right answer is what `regard evaluate` counts."""

from regard.faithfulness import precondition
from regard.models import Side, Translator
from regard.search import Hypothesis, Prediction
from regard.text import Pair


def test_a_text_is_right_however_its_pieces_spell_it(monkeypatch):
    side = Side.build("bpe", ["save saved", "save the file"])
    translator = Translator.fresh(side, side, hidden_dim=8)
    answers = {"a": ["▁save"], "b": ["▁s", "a", "ve"], "c": ["▁s", "a"]}

    def predict(translator, sources):
        join = translator.target.tokenizer.join
        return [
            Prediction(s, [s], [Hypothesis(join(answers[s]), answers[s], 0.0, 0.0, None)])
            for s in sources
        ]

    monkeypatch.setattr(precondition, "predict", predict)
    pairs = [Pair("a", "save"), Pair("b", "the"), Pair("b", "save"), Pair("c", "save")]
    assert precondition.right_answers(translator, pairs).tolist() == [1.0, 1.0, 0.0]
