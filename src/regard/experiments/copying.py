"""One cell of the bottleneck: a model trained on a synthetic task, and tested by length."""

import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from regard.experiments.cells import Measured, Settings
from regard.experiments.known_alignment import known_alignment
from regard.models import Side, Translator
from regard.search import predict
from regard.text import Pair, load_dataset
from regard.training import TrainingOptions, train
from regard.training.alignment_error import alignment_error_rate, links

MODELS: dict[str, dict[str, Any]] = {
    "none": {"attention": "none"},
    "bahdanau": {"attention": "additive", "decoder": "bahdanau", "source_summary": False},
    "luong": {"attention": "general", "decoder": "luong", "source_summary": False},
}
"""Bahdanau et al. 2015 (arXiv:1409.0473) and Luong et al. 2015 (arXiv:1508.04025, score *general*,
no input feeding). As in the papers, only the model without attention sees the encoder's final
state at every step."""

NUM_SYMBOLS = 26


def measure_copying(settings: Settings, tell: Callable[[float], None]) -> Measured:
    """Train on sequences of the training lengths; test on unseen ones of each test length.

    A token is right where it stands at its place of the target, in a greedy prediction; missing
    ones are wrong. A sequence is right if it equals the target. A source is a training, dev or
    test one by its hash, so that no test source of any length was trained on.

    Args:
        settings: ``task``, ``model``, ``shortest``, ``longest``, ``test_lengths``, ``seed`` and
            the fields of :class:`regard.experiments.bottleneck.Budget`.
        tell: told the share that is done.

    Raises:
        KeyboardInterrupt: training was interrupted.
    """
    data = load_dataset(
        settings["task"],
        length=settings["longest"],
        min_length=settings["shortest"],
        num_symbols=NUM_SYMBOLS,
        num_pairs=settings["num_pairs"],
    )
    options = TrainingOptions(
        epochs=settings["epochs"],
        batch_size=settings["batch_size"],
        max_tokens=settings["batch_size"] * (settings["longest"] + 2),  # begin and end, too
        learning_rate=settings["learning_rate"],
        label_smoothing=0.0,
        patience=None,
        evaluate_every=1_000_000,  # once, at the end: the last weights are tested, for all alike
        max_dev=1,
        num_workers=2,  # on any machine, for the same numbers
        seed=settings["seed"],
    )
    with tempfile.TemporaryDirectory() as folder:
        outcome = train(
            _fresh(settings),
            data.train,
            data.dev,
            to=Path(folder),
            options=options,
            report=lambda progress: tell(0.95 * progress.fraction),
        )
        if outcome.stopped_by == "interrupt":
            raise KeyboardInterrupt
        translator = Translator.from_pretrained(folder)
    return {
        "parameters": translator.network.num_parameters(),
        "updates": outcome.position.updates,
        "seconds": round(outcome.position.seconds, 1),
        "by_length": [_tested(translator, settings, length) for length in settings["test_lengths"]],
    }


def _fresh(settings: Settings) -> Translator:
    letters = " ".join("abcdefghijklmnopqrstuvwxyz"[:NUM_SYMBOLS])
    side = Side.build("whitespace", [letters])
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(settings["seed"])
        return Translator.fresh(
            side,
            side,
            window=1,
            embed_dim=settings["embed_dim"],
            hidden_dim=settings["hidden_dim"],
            encoder_dim=settings["hidden_dim"] // 2,  # two directions: states as the decoder's
            dropout=0.0,  # no pair is seen often enough to learn by heart
            **MODELS[settings["model"]],
        )


def _tested(translator: Translator, settings: Settings, length: int) -> dict[str, Any]:
    pairs = _test_pairs(settings["task"], length, settings["num_test"])
    predictions = predict(translator, [pair.source for pair in pairs])
    targets = [pair.target.split() for pair in pairs]
    found = [prediction.target_tokens for prediction in predictions]
    has_attention = translator.network.config.attention != "none"
    return {
        "length": length,
        "tokens_right": [
            sum(f == t for f, t in zip(given, target, strict=False))
            for given, target in zip(found, targets, strict=True)
        ],
        "sequences_right": [int(f == t) for f, t in zip(found, targets, strict=True)],
        "guess": _guess(targets),
        "alignment": _aligned(translator, settings, pairs) if has_attention else None,
    }


def _test_pairs(task: str, length: int, num_test: int) -> list[Pair]:
    num_pairs = 500 + 25 * num_test  # one in twenty is a test pair, give or take
    test = load_dataset(task, length=length, num_symbols=NUM_SYMBOLS, num_pairs=num_pairs).test
    assert len(test) >= num_test
    return test[:num_test]


def _guess(targets: Sequence[Sequence[str]]) -> float:
    """Tokens right of whoever always writes the likeliest symbol of each place."""
    likeliest = [Counter(place).most_common(1)[0][1] for place in zip(*targets, strict=True)]
    return sum(likeliest) / (len(likeliest) * len(targets))


def _aligned(translator: Translator, settings: Settings, pairs: Sequence[Pair]) -> dict[str, Any]:
    """Where each step of the known target looks most, against where its symbol comes from."""
    pairs = pairs[: settings["num_aligned"]]
    weights = [translator.align(*pair) for pair in pairs]
    found = [links(of_pair) for of_pair in weights]
    known = [known_alignment(settings["task"], pair.source.split()) for pair in pairs]
    source, target = pairs[0]
    example = {"source": source, "target": target, "weights": weights[0].tolist()}
    return {
        "steps_right": [len(f & k.possible) for f, k in zip(found, known, strict=True)],
        "alignment_error_rate": alignment_error_rate(found, known),
        "example": example,
    }
