"""Pronunciation with and without attention, in about three minutes on two cores.

Trains two models on the CMU Pronouncing Dictionary, the same but for attention, and compares them
on words neither has seen; predicts words that are in no dictionary; shows and draws what the model
looks at. Everything it makes is in the folder ``demo/``.
"""

import argparse
import shutil
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

from regard import plots
from regard.cli.data import Data
from regard.cli.progress import TrainingDisplay
from regard.kernels import Workers
from regard.models import Side, Translator
from regard.search import predict
from regard.text import Dataset, load_dataset
from regard.training import ErrorRates, TrainingOptions, evaluate, train

# Candidates; those that the dictionary has after all are left out.
NEW_WORDS = [
    "blockchain",
    "selfie",
    "hashtag",
    "emoji",
    "podcaster",
    "deepfake",
    "crowdfund",
    "photobomb",
    "metaverse",
    "doomscroll",
    "unfriend",
    "malware",
    "phishing",
    "cryptocurrency",
    "biohacker",
    "livestream",
    "glamping",
    "staycation",
    "chatbot",
]
DRAWN = ("photobomb", "doomscroll", "cryptocurrency", "biohacker")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=1.2, help="for each of the two models")
    parser.add_argument("--to", type=Path, default=Path("demo"), help="folder to write")
    arguments = parser.parse_args()
    console = Console()
    start = time.monotonic()

    dataset = load_dataset("cmudict")
    rates = {}
    for name, attention in (("with attention", "additive"), ("without attention", "none")):
        console.rule(f"[bold]{name}")
        folder = arguments.to / name.replace(" ", "-")
        rates[name] = train_and_test(dataset, attention, folder, arguments.minutes)

    console.rule("[bold]Words that neither model has seen")
    table = Table("same model, same time", "word error rate", "phoneme error rate")
    for name, rate in rates.items():
        table.add_row(name, f"{rate.wer:.1%}", f"{rate.ter:.1%}")
    console.print(table)

    translator = Translator.from_pretrained(arguments.to / "with-attention")
    known = {pair.source for part in dataset[1:4] for pair in part}
    new_words = [word for word in NEW_WORDS if word not in known][:12]
    console.rule(f"[bold]{len(new_words)} words that are not in the dictionary")
    for prediction in predict(translator, new_words):
        console.print(f"{prediction.source:>16}  {prediction.target}", highlight=False)

    console.rule("[bold]What it looks at: phonemes down, letters across")
    aligned = predict(translator, DRAWN, need_weights=True)
    panels = [(p.weights, p.source_tokens, p.target_tokens) for p in aligned]
    console.print(plots.terminal_alignment(*panels[0]))
    picture = arguments.to / "alignments.png"
    plots.save(plots.alignments(panels, ncols=2, titles=list(DRAWN)), picture)
    console.print(
        f"\n{time.monotonic() - start:.0f} seconds. Picture: {picture}. Try:\n"
        f"  echo attention | regard predict {arguments.to / 'with-attention'}",
        highlight=False,
    )


def train_and_test(dataset: Dataset, attention: str, folder: Path, minutes: float) -> ErrorRates:
    """Train within the budget; error rates on the dictionary's test words."""
    shutil.rmtree(folder, ignore_errors=True)
    translator = Translator.fresh(
        Side.build(dataset.source_tokenizer, (pair.source for pair in dataset.train)),
        Side.build(dataset.target_tokenizer, (pair.target for pair in dataset.train)),
        attention=attention,
        hidden_dim=160,
        embed_dim=64,
        dropout=0.1,
    )
    data = Data(*dataset[1:])
    with TrainingDisplay(translator, data) as display:
        train(
            translator,
            dataset.train,
            dataset.dev,
            to=folder,
            options=TrainingOptions(minutes=minutes, max_dev=500),
            report=display.report,
        )
    with Workers() as workers:
        return evaluate(Translator.from_pretrained(folder), dataset.test, workers=workers)


if __name__ == "__main__":
    main()
