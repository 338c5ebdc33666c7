"""``python -m benchmarks``: every comparison, one after the other."""

import argparse
from pathlib import Path

from benchmarks import additive, dot_family, multi_head, prediction, training
from benchmarks.additive_keras import KERAS
from regard.text import load_dataset, read_pairs

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--data", type=Path, help="pairs to train on; default: the built-in cmudict")
parser.add_argument(
    "--peer",
    type=Path,
    default=Path("/tmp/joey-venv/bin/python"),
    help="python of the environment with JoeyNMT (see benchmarks/peers/README.md)",
)
parser.add_argument(
    "--keras-python",
    type=Path,
    default=KERAS,
    help="python of the environment with Keras (see benchmarks/peers/README.md)",
)
parser.add_argument("--model", default="demo/with-attention", help="model to predict with")
parser.add_argument("--rounds", type=int, default=3)
arguments = parser.parse_args()

dataset = load_dataset("cmudict")
peer = arguments.peer if arguments.peer.exists() else None
if peer is None:
    print(f"No JoeyNMT at {arguments.peer}: ours alone. benchmarks/peers/README.md makes it.")
if arguments.data is None:
    build = Path("build")
    build.mkdir(exist_ok=True)
    arguments.data = build / "cmudict-train.tsv"
    lines = (f"{pair.source}\t{pair.target}\n" for pair in dataset.train)
    arguments.data.write_text("".join(lines), encoding="utf-8")
training.compare(read_pairs(arguments.data).pairs, arguments.data, peer, arguments.rounds)
if Path(arguments.model).is_dir():
    words = list(dict.fromkeys(pair.source for pair in dataset.test))
    prediction.compare(arguments.model, words, arguments.rounds)
else:
    print(f"No model in {arguments.model}: 'make demo' trains one to predict with.")
dot_family.compare(arguments.rounds)
multi_head.compare(arguments.rounds)
additive.compare(arguments.rounds, keras_python=arguments.keras_python)
