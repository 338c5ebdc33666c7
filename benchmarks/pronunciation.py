"""Word error rates in six languages of the SIGMORPHON 2021 shared task, beside its baseline.

    python -m benchmarks.pronunciation --data DIR

DIR holds LANGUAGE_train.tsv, _dev.tsv and _test.tsv. All languages are trained with one setting,
given by the options, and otherwise with the defaults of ``regard train``; models stay in --to, and
the same command goes on from there. Beside each stands the task's baseline, an ensemble of
neural transducers (https://github.com/sigmorphon/2021-task1, README).
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple


class Language(NamedTuple):
    name: str
    baseline_dev: float
    baseline_test: float
    """Word error rates in percent."""


LANGUAGES = {
    "fre": Language("French", 7.4, 8.5),
    "hun": Language("Hungarian", 1.5, 1.8),
    "jpn_hira": Language("Japanese", 6.2, 5.2),
    "kor": Language("Korean", 18.4, 16.3),
    "gre": Language("Greek", 5.0, 21.0),
    "slv": Language("Slovene", 43.0, 49.0),
}


def parse_args() -> tuple[argparse.Namespace, list[str]]:
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0], epilog="Other options are those of regard train."
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--to", type=Path, default=Path("runs/pronunciation"))
    parser.add_argument("--languages", default=",".join(LANGUAGES), help="which, between commas")
    parser.add_argument("--beam", type=int, default=5)
    asked, options = parser.parse_known_args()
    asked.languages = asked.languages.split(",")
    if unknown := set(asked.languages) - LANGUAGES.keys():
        parser.error(f"--languages {','.join(unknown)}: choose from {','.join(LANGUAGES)}")
    for language in asked.languages:
        if not (asked.data / f"{language}_train.tsv").is_file():
            parser.error(f"--data {asked.data}: there is no {language}_train.tsv")
    return asked, options


def regard(*arguments: object) -> dict:
    """What the command line says as JSON; its progress is shown."""
    command = [sys.executable, "-m", "regard", *map(str, arguments), "--json"]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def measured(language: str, asked: argparse.Namespace, options: list[str]) -> dict:
    """Train, unless the folder has the model, and evaluate."""
    train, dev, test = (asked.data / f"{language}_{part}.tsv" for part in ("train", "dev", "test"))
    model, trained = asked.to / language, asked.to / f"{language}.json"
    if not trained.exists():
        told = regard("train", train, "--dev", dev, "--to", model, "--overwrite", *options)
        trained.write_text(json.dumps(told))
    return {
        "training": json.loads(trained.read_text()),
        "dev": regard("evaluate", model, dev),
        "test": regard("evaluate", model, test),
        "test, beam": regard("evaluate", model, test, "--beam", asked.beam),
    }


def main() -> None:
    asked, options = parse_args()
    asked.to.mkdir(parents=True, exist_ok=True)
    print(
        f"word error rates in %; [95 % intervals] over test words\n\n"
        f"| language | minutes | dev | baseline dev | test | test, beam {asked.beam} "
        "| baseline test |\n|---|---|---|---|---|---|---|"
    )
    for language in asked.languages:
        of = measured(language, asked, options)
        name, baseline_dev, baseline_test = LANGUAGES[language]
        low, high = of["test, beam"]["wer_interval"]
        dev, greedy, beam = (100 * of[part]["wer"] for part in ("dev", "test", "test, beam"))
        print(
            f"| {name} | {of['training']['minutes']:.0f} | {dev:.1f} | {baseline_dev} "
            f"| {greedy:.1f} | {beam:.1f} [{100 * low:.1f}, {100 * high:.1f}] | {baseline_test} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
