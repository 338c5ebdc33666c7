"""What an answer is worth, and in which words it differs from the float64 one."""

from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor

from benchmarks.contracts.definition import Truth
from benchmarks.peers.protocol import Numbers

Kind = Literal["right", "wrong", "refuses", "says", "cannot"]
MARKS: dict[Kind, str] = {
    "right": "✓",
    "wrong": "✗",
    "refuses": "err",
    "says": "",
    "cannot": "–",
}
Answer = dict[str, Any]  # context, weights, gradients, parameters_finite; or error; or cannot


class Verdict(NamedTuple):
    kind: Kind
    words: str

    @property
    def mark(self) -> str:
        """What stands in the table: a sign, or the words where there is no right answer."""
        return MARKS[self.kind] or self.words


def tensor(numbers: Numbers) -> Tensor:
    return torch.tensor(numbers, dtype=torch.float64)


def close(found: Tensor, expected: Tensor, tolerance: float = 1e-4) -> bool:
    """Equal to rounding; NaN is equal to nothing."""
    return found.shape == expected.shape and torch.allclose(
        found, expected, rtol=tolerance, atol=tolerance
    )


def difference(name: str, found: Tensor, expected: Tensor) -> str | None:
    """None where the two agree, else what is wrong, in a few words."""
    if close(found, expected):
        return None
    if found.shape != expected.shape:
        return f"{name} of shape {tuple(found.shape)} instead of {tuple(expected.shape)}"
    wrong = ~torch.isclose(found, expected, rtol=1e-4, atol=1e-4)
    examples = sorted({int(example) for example in wrong.nonzero()[:, 0]})
    where = "" if len(examples) == len(found) else f" of example {', '.join(map(str, examples))}"
    if not found.isfinite().all():
        return f"{name}{where} NaN" if found.isnan().any() else f"{name}{where} infinite"
    return f"{name}{where} off by up to {float((found - expected).abs().max()):.2g}"


def gradient_differences(answer: Answer, right: Truth) -> list[str]:
    """Of query, keys and values, and whether the layer's parameters got NaN."""
    found = [
        difference(f"gradient of {name}", tensor(gradient), expected)
        for name, gradient, expected in zip(
            ("query", "memory"), answer["gradients"], right.gradients, strict=True
        )
    ]
    if not answer["parameters_finite"]:
        found.append("gradient of the parameters NaN")
    return [words for words in found if words]


def right_unless(wrong: list[str], right: str = "as the formula") -> Verdict:
    return Verdict("wrong", "; ".join(wrong)) if wrong else Verdict("right", right)
