"""Small translators: untrained, with the switches that change what a step reads."""

import torch

from regard.models import Side, Translator
from regard.text import Pair

SIDES = Side.build("characters", ["abcdef"]), Side.build("characters", ["uvwxyz"])
PAIRS = [
    Pair("fade", "uvwx"),
    Pair("ab", "z"),
    Pair("cafebad", "xyzu"),
    Pair("bead", "wv"),
    Pair("deaf", "vuz"),
]
KINDS = {
    "bahdanau": {},
    "without a summary": {"source_summary": False},
    "lstm, two layers": {"cell": "lstm", "decoder_layers": 2, "encoder_layers": 2},
    "luong": {"decoder": "luong", "attention": "general"},
    "luong, input feeding": {
        "decoder": "luong",
        "attention": "dot",
        "input_feeding": True,
        "cell": "lstm",
    },
}


def fresh(seed=0, **choices):
    torch.manual_seed(seed)
    sizes = {"hidden_dim": 12, "embed_dim": 5, "window": 3, "dropout": 0.3}
    translator = Translator.fresh(*SIDES, **{**sizes, **choices})
    with torch.no_grad():
        for parameter in translator.network.parameters():  # so that weights are not nearly equal
            parameter.mul_(3.0)
    translator.network.eval()
    return translator


def examples(translator, pairs=PAIRS):
    return [(translator.source.encode(s), translator.target.encode(t)) for s, t in pairs]
