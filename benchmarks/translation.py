"""Translation with attention, without, and by JoeyNMT: BLEU and chrF by source length.

    python -m benchmarks.translation --data DIR --minutes 15

DIR holds train.tsv, dev.tsv and test.tsv, `source TAB target` a line. Each model trains for as
long, on as many threads, with the same widths, and on the same pieces: those that the model with
attention learned. All translate with a beam of one size, the best model by their own dev score,
and are measured by the same code. Several targets of one source are all right; lengths are in
words. Intervals are bootstraps over the test sources, and say nothing of another seed.

What is finished stays in the folder --to, and the same command goes on from there.
"""

import argparse
import hashlib
import json
import signal
import subprocess
import sys
from pathlib import Path

from benchmarks.translation_table import NAMES, measure, tables
from regard.core.files import write_atomically
from regard.kernels import Workers
from regard.models import Translator
from regard.search import predict
from regard.text import read_pairs, references
from regard.training import checkpoint

OURS: dict[str, list[str]] = {"attention": [], "none": ["--attention", "none"]}
PEER = Path(__file__).parent / "peers" / "joeynmt_translation.py"
SPLITS = ("train", "dev", "test")


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="train.tsv, dev.tsv, test.tsv")
    parser.add_argument("--to", type=Path, default=Path("runs/translation"))
    parser.add_argument("--models", default=",".join(NAMES), help="which, between commas")
    parser.add_argument("--minutes", type=float, default=15.0, help="to train each model")
    parser.add_argument("--beam", type=int, default=5)
    parser.add_argument("--length-penalty", type=float, default=0.6, help="alpha, of all models")
    parser.add_argument("--tokens", default="bpe", help="how regard cuts both sides")
    parser.add_argument("--embed-dim", type=int, default=256)
    parser.add_argument("--hidden-dim", type=int, default=256, help="of decoder and encoder")
    parser.add_argument("--dropout", type=float, default=0.2)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--joeynmt-python",
        type=Path,
        default=Path("/tmp/joey-venv/bin/python"),
        help="python of the environment with JoeyNMT (see benchmarks/peers/README.md)",
    )
    asked = parser.parse_args()
    asked.models = asked.models.split(",")
    if unknown := set(asked.models) - NAMES.keys():
        parser.error(f"--models {','.join(sorted(unknown))}: choose from {','.join(NAMES)}")
    if asked.beam == 1 and asked.length_penalty:
        parser.error("--beam 1 has nothing to compare by length: give --length-penalty 0 with it")
    for split in SPLITS:
        if not (asked.data / f"{split}.tsv").is_file():
            parser.error(f"--data {asked.data}: there is no {split}.tsv")
    return asked


def keep_settings(asked: argparse.Namespace) -> None:
    """Write what the folder's models were trained by, or refuse to go on with anything else."""
    apart = ("data", "to", "models", "joeynmt_python")
    settings = {name: value for name, value in vars(asked).items() if name not in apart}
    for split in SPLITS:
        content = (asked.data / f"{split}.tsv").read_bytes()
        settings[f"{split}.tsv"] = hashlib.sha256(content).hexdigest()
    file = asked.to / "settings.json"
    if not file.exists():
        asked.to.mkdir(parents=True, exist_ok=True)
        write_atomically(file, json.dumps(settings, indent=1).encode())
    kept = json.loads(file.read_text())
    if differing := [name for name in settings if kept.get(name) != settings[name]]:
        sys.exit(f"{asked.to} holds models of another {', '.join(differing)}. Name another --to.")


def equal_settings(asked: argparse.Namespace) -> list[str]:
    """Options that mean the same to ``regard train`` and to the peer's script."""
    names = ("minutes", "embed_dim", "hidden_dim", "dropout", "threads", "seed")
    options = [f"--{name.replace('_', '-')}={getattr(asked, name)}" for name in names]
    return [*options, f"--encoder-dim={asked.hidden_dim}"]


def ours(name: str, asked: argparse.Namespace, sources: list[str]) -> dict:
    """Train a model of regard, unless the folder has it, and translate."""
    folder, unfinished = asked.to / name, asked.to / f"{name}.unfinished"
    if not folder.exists():
        started = checkpoint.path_in(unfinished).exists()
        command = [
            sys.executable, "-m", "regard", "train", asked.data / "train.tsv",
            "--dev", asked.data / "dev.tsv", "--to", unfinished, *equal_settings(asked),
            "--source-tokens", asked.tokens, "--target-tokens", asked.tokens,
            "--patience=1000000", *OURS[name], "--resume" if started else "--overwrite",
        ]  # fmt: skip
        run(command)
        unfinished.rename(folder)
    translator = Translator.from_pretrained(folder)
    with Workers(asked.threads) as workers:
        search = {"beam": asked.beam, "length_penalty": asked.length_penalty, "workers": workers}
        predictions = predict(translator, sources, **search)
    *_, last = (json.loads(line) for line in (folder / "training.jsonl").open(encoding="utf-8"))
    return {
        "updates": last["updates"],
        "epochs": last["epoch"],
        "seconds": last["seconds"],
        "parameters": translator.network.num_parameters(),
        "translations": [prediction.target for prediction in predictions],
    }


def joeynmt(asked: argparse.Namespace, sources: list[str], translator: Translator) -> dict:
    """Train JoeyNMT on the translator's pieces, and translate."""
    folder = asked.to / "joeynmt"
    folder.mkdir(exist_ok=True)
    cut, target = translator.source.tokenizer.tokenize, translator.target.tokenizer
    for split in SPLITS[:2]:
        pairs = read_pairs(asked.data / f"{split}.tsv").pairs
        write_tokens(folder / f"{split}.src", [cut(pair.source) for pair in pairs])
        write_tokens(folder / f"{split}.trg", [target.tokenize(pair.target) for pair in pairs])
    write_tokens(folder / "test.src", [cut(source) for source in sources])
    command = [
        asked.joeynmt_python, PEER, folder, folder / "test.hyp", *equal_settings(asked),
        f"--beam={asked.beam}", f"--length-penalty={asked.length_penalty}",
    ]  # fmt: skip
    with (folder / "log.txt").open("w") as log:
        answer = run(command, stdout=subprocess.PIPE, stderr=log, text=True)
    lines = (folder / "test.hyp").read_text(encoding="utf-8").split("\n")[:-1]
    return json.loads(answer.stdout) | {
        "translations": [target.join(line.split(" ")) for line in lines]
    }


def run(command: list, **options) -> subprocess.CompletedProcess:
    """Run a program, which Ctrl-C ends in the program's own way; its end is waited for."""
    handler = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        return subprocess.run(command, check=True, **options)
    finally:
        signal.signal(signal.SIGINT, handler)


def write_tokens(file: Path, texts: list[list[str]]) -> None:
    """A text a line, its tokens between spaces."""
    lines = [" ".join(tokens) for tokens in texts]
    for line, tokens in zip(lines, texts, strict=True):
        if line.split(" ") != tokens or line.splitlines() != [line]:
            sys.exit(f"{file}: a token of {tokens} has a space or a line end. Leave this pair out.")
    file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def results(asked: argparse.Namespace, sources: list[str]) -> dict[str, dict]:
    """Of each model that was asked for: what its training came to, and its translations."""
    found = {}
    for name in (name for name in NAMES if name in asked.models):
        file = asked.to / f"{name}.json"
        if not file.exists():
            if name in OURS:
                result = ours(name, asked, sources)
            elif not asked.joeynmt_python.exists():
                print(f"No JoeyNMT at {asked.joeynmt_python}: benchmarks/peers/README.md makes it.")
                continue
            elif not (asked.to / "attention").exists():
                sys.exit("JoeyNMT is given the pieces of the model with attention: train it first.")
            else:
                result = joeynmt(asked, sources, Translator.from_pretrained(asked.to / "attention"))
            write_atomically(file, json.dumps(result, indent=1, ensure_ascii=False).encode())
        found[name] = json.loads(file.read_text(encoding="utf-8"))
    return found


def main() -> None:
    asked = parse_args()
    keep_settings(asked)
    by_source = references(read_pairs(asked.data / "test.tsv"))
    try:
        found = results(asked, list(by_source))
    except subprocess.CalledProcessError as error:
        why = "interrupted" if error.returncode == 130 else f"exit status {error.returncode}"
        sys.exit(
            f"A training ended early ({why}); the same command goes on. What JoeyNMT said is in "
            f"{asked.to / 'joeynmt' / 'log.txt'}."
        )
    if not found:
        sys.exit("There is no model to measure.")
    measure(found, by_source)
    settings = json.loads((asked.to / "settings.json").read_text())
    scores = json.dumps({"settings": settings, "models": found}, indent=1)
    write_atomically(asked.to / "scores.json", scores.encode())
    print(tables(found))


if __name__ == "__main__":
    main()
