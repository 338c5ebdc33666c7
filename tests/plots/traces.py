"""Traces to look at, in sizes that differ on every axis."""

import torch

from regard.recording.site import Call, Run
from regard.recording.trace import Trace

ENGLISH = ["the", "agreement", "on", "the", "Economic", "Area", "</script>"]
GERMAN = ["das", "Abkommen", "über", 'den "Raum"', "."]
ARABIC = ["وقعت", "الاتفاقية"]
HEBREW = ["שלום", "a,b", "日本"]


def softmax(*shape: int, seed: int = 0, sharp: float = 2.0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return (sharp * torch.randn(shape, generator=generator)).softmax(-1)


def add(trace: Trace, name: str, *weights: torch.Tensor) -> None:
    site = trace.site(name)
    for each in weights:
        site.runs.append(Run([Call(each, torch.ones_like(each, dtype=torch.bool))]))


def two_sites() -> Trace:
    """Five queries over seven keys in three heads, two examples; and a site without tokens."""
    weights = softmax(2, 3, 5, 7)
    weights[1, :, :, 3:] = 0  # the second example has three keys, two queries
    weights[1] /= weights[1].sum(-1, keepdim=True)
    trace = Trace()
    add(trace, "decoder.cross", weights)
    trace.label([GERMAN, ARABIC], [ENGLISH, HEBREW])
    add(trace, "encoder", softmax(2, 1, 4, 6, seed=1))
    return trace
