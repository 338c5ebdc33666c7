"""torch's own modules: their faults are told by the module's public name, with a test."""

import types
from pathlib import Path

import pytest
import torch
from torch import nn

from regard.doctor import diagnose
from regard.doctor.binding.bound import BoundExamination, examine

SOURCE = '''
import torch
from torch import nn

class Mended(nn.MultiheadAttention):
    """With the advice taken: rows of padding see a key, and give zeros."""

    def forward(self, query, key, value, key_padding_mask=None, **settings):
        empty = torch.zeros(key.shape[0], 1, dtype=torch.bool)
        if key_padding_mask is not None:
            empty = key_padding_mask.all(-1, keepdim=True)
            key_padding_mask = key_padding_mask & ~empty
        context, _ = super().forward(query, key, value, key_padding_mask, **settings)
        training, self.training = self.training, False
        _, weights = super().forward(query, key, value, key_padding_mask, **settings)
        self.training = training
        return tuple(x.masked_fill(empty[:, None], 0.0) for x in (context, weights))

def make():
    return nn.MultiheadAttention(8, 2, dropout=0.5, batch_first=True)

def mended():
    return Mended(8, 2, dropout=0.5, batch_first=True)
'''


class Wrapper(nn.Module):
    """Promises nothing of rows that hide all."""

    def __init__(self, d_model, num_heads):
        super().__init__()
        self.inner = nn.MultiheadAttention(d_model, num_heads, dropout=0.5, batch_first=True)

    def forward(self, query, key, value, key_padding_mask=None):
        return self.inner(query, key, value, key_padding_mask=key_padding_mask)


class WithoutBatchFirst(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.inner = nn.MultiheadAttention(d_model, num_heads)

    def forward(self, x, pad_mask):
        """x (batch, length, d_model); pad_mask (batch, length), True at padding"""
        return self.inner(x, x, x, key_padding_mask=pad_mask)[0]


class OverLines(WithoutBatchFirst):
    def __init__(self, d_model, num_heads):
        super().__init__(d_model, num_heads)
        self.inner = nn.MultiheadAttention(
            d_model,
            num_heads,
        )

    def forward(self, x, pad_mask):
        """x (batch, length, d_model); pad_mask (batch, length), True at padding"""
        return self.inner(x, x, x, key_padding_mask=pad_mask)[0]


class NoWords(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.inner = nn.MultiheadAttention(d_model, num_heads)

    def forward(self, query, key, value):
        return self.inner(query, key, value)


@pytest.mark.slow
def test_an_instance_and_its_class_have_the_same_faults_of_the_library() -> None:
    instance = nn.MultiheadAttention(8, 2, dropout=0.5, batch_first=True)
    for given in (instance, nn.MultiheadAttention):  # a class is built with dropout
        findings = diagnose(given, isolate=False).findings
        assert {f.fault for f in findings} == {"empty-row", "returned-weights"}
        assert all(f.tensor == "torch.nn.MultiheadAttention (library code)" for f in findings)
        assert all(f.place is None and "from_torch(module)" in f.fix for f in findings)


def test_a_wrapper_that_promises_nothing_keeps_its_notes() -> None:
    report = diagnose(Wrapper, isolate=False)
    assert report.status == 0
    assert any("gives NaN" in note for note in report.notes)
    assert any("after dropout" in note for note in report.notes)


def test_the_tests_for_a_factory_fail_until_its_advice_is_taken(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(SOURCE)
    report = diagnose(f"{tmp_path / 'own.py'}:make")
    assert {f.fault for f in report.findings} == {"empty-row", "returned-weights"}
    for text, passes in (
        (SOURCE, False),
        (SOURCE.replace("make", "x").replace("mended", "make"), True),
    ):
        (tmp_path / "own.py").write_text(text)
        written = types.ModuleType("written")
        exec(report.test_file, vars(written))
        for fault in ("empty_row", "returned_weights"):
            test = vars(written)[f"test_{fault}"]
            torch.manual_seed(0)
            if passes:
                test()
            else:
                with pytest.raises(AssertionError):
                    test()


@pytest.mark.parametrize(
    ("code", "line"),
    [(WithoutBatchFirst, "self.inner = nn.MultiheadAttention(d_model, num_heads)"),
     (OverLines, "self.inner = nn.MultiheadAttention(")],
)  # fmt: skip
def test_input_with_the_batch_first_is_no_input_of_a_length_first_module(code, line) -> None:
    (finding,) = diagnose(code, isolate=False).findings
    assert finding.place is not None
    assert (finding.tensor, finding.place.code.strip()) == ("self.inner", line)
    right = "self.inner = nn.MultiheadAttention(d_model, num_heads, batch_first=True)"
    assert finding.fix == right
    assert "without batch_first=True it takes (T, batch, d)" in finding.rule
    assert "--layout length-first" in finding.rule


def test_without_words_its_layout_is_that_of_its_module() -> None:
    exam = examine(NoWords)
    assert isinstance(exam, BoundExamination)
    assert exam.binding.leading.axes == "TBD"
