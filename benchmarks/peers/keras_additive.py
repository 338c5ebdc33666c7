"""Keras's ``AdditiveAttention`` on its torch backend, timed beside the textbook in this process.

    python -m benchmarks.peers.keras_additive TENSORS.npz ROUNDS THREADS

prints, as JSON, seconds of each round. Keras's layer has no projections, so they stand before it,
in torch; its weight ``scale`` is v.
"""

import json
import os
import sys
from pathlib import Path

os.environ["KERAS_BACKEND"] = "torch"  # before keras is imported
os.environ["CUDA_VISIBLE_DEVICES"] = ""

import keras
import torch
from torch import Tensor
from torch.nn.functional import linear

from benchmarks.peers.textbook_additive import (
    Tensors,
    check,
    finish,
    textbook_with_projections,
)
from benchmarks.rounds import Call, in_turn


def keras_attention(tensors: Tensors, step: bool, lengths: bool) -> Call:
    """A call that gives the context and, in a step, the gradients."""
    query, key, value, query_weight, key_weight, v = tensors.leaves(step)
    layer = keras.layers.AdditiveAttention()
    layer.build([query.shape, value.shape, key.shape])
    layer.weights[0].assign(v.detach())
    mask = [None, tensors.may_attend()[:, 0]] if lengths else None
    leaves = (query, key, value, query_weight, key_weight, *layer.parameters())

    def call() -> tuple[Tensor, ...]:
        with torch.set_grad_enabled(step):
            projected = [linear(query, query_weight), value, linear(key, key_weight)]
            return finish(layer(projected, mask=mask), leaves, tensors.upstream, step)

    return call


def textbook_attention(tensors: Tensors, step: bool, lengths: bool) -> Call:
    """The same, by hand."""
    leaves = tensors.leaves(step)
    may_attend = tensors.may_attend() if lengths else None

    def call() -> tuple[Tensor, ...]:
        with torch.set_grad_enabled(step):
            context = textbook_with_projections(*leaves, may_attend)
            return finish(context, leaves, tensors.upstream, step)

    return call


def main(path: Path, rounds: int, threads: int) -> None:
    """Print ``[[step, lengths, seconds of the textbook, seconds of Keras], ...]``."""
    torch.set_num_threads(threads)
    tensors, answers = Tensors.load(path), []
    for step in (False, True):
        for lengths in (False, True):
            calls = {
                "textbook": textbook_attention(tensors, step, lengths),
                "keras": keras_attention(tensors, step, lengths),
            }
            took = in_turn(calls, rounds, lambda found: check(found["keras"], found["textbook"]))
            answers.append([step, lengths, took["textbook"], took["keras"]])
    print(json.dumps(answers))


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(int, sys.argv[2:]))
