"""``python -m benchmarks.contracts``: ask everyone, print the table, write it if told where."""

import argparse
from itertools import groupby
from operator import attrgetter
from pathlib import Path

from rich.console import Console

from benchmarks.contracts.contestants import CONTESTANTS, NoAnswer, ask, pythons
from benchmarks.contracts.report import as_json, contestants_table, page, terminal_table

README = "benchmarks/peers/README.md"

parser = argparse.ArgumentParser(prog="python -m benchmarks.contracts", description=__doc__)
parser.add_argument(
    "--peers-python",
    type=Path,
    default=Path("/tmp/peers-venv/bin/python"),
    help=f"python of the environment with Keras, x-transformers and OpenNMT-py (see {README})",
)
parser.add_argument(
    "--joeynmt-python",
    type=Path,
    default=Path("/tmp/joey-venv/bin/python"),
    help=f"python of the environment with JoeyNMT (see {README})",
)
parser.add_argument("--markdown", type=Path, help="write the page here")
parser.add_argument("--json", type=Path, help="write every verdict here")
arguments = parser.parse_args()

console = Console()
console.width = max(console.width, 120)  # the table needs that much, also in a pipe
homes = pythons(arguments.peers_python, arguments.joeynmt_python)
answered, skipped = [], []
for script, group in groupby(CONTESTANTS, key=attrgetter("script")):
    contestants = list(group)
    python = homes[contestants[0].home]
    try:
        if not python.exists():
            raise NoAnswer(f"there is no {python}; {README} makes it")
        answered += ask(contestants, python)
    except NoAnswer as reason:
        skipped.append(f"{script} ({reason})")
        console.print(f"[yellow]Skipped {script}[/]: {reason}")

console.print(contestants_table(answered), terminal_table(answered))
if arguments.markdown:
    arguments.markdown.write_text(page(answered, skipped), encoding="utf-8")
if arguments.json:
    arguments.json.write_text(as_json(answered), encoding="utf-8")
