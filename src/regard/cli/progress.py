"""What a person sees while a model trains: on standard error, one line per evaluation."""

from __future__ import annotations

from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from regard.cli.data import Data
from regard.models import Side, Translator
from regard.training import Progress as TrainingProgress


class TrainingDisplay:
    """A bar while entered (on a terminal), and a line for each evaluation.

    What is being trained is said with the first report: a run that is refused says only why.
    """

    def __init__(self, translator: Translator, data: Data) -> None:
        self._console = Console(stderr=True)
        self._bar = Progress(
            BarColumn(bar_width=24),
            TextColumn("{task.percentage:>3.0f}%  {task.description}"),
            console=self._console,
            disable=not self._console.is_terminal,
            transient=True,
        )
        self._task = self._bar.add_task("starting", total=1.0)
        config = translator.network.config
        self._heading: str | None = "\n".join(
            [
                *data.notes,
                f"{len(data.train):,} pairs to train on, {len(data.dev):,} for dev, "
                f"{len(data.test):,} to test; {_ids(translator.source, 'source')} and "
                f"{_ids(translator.target, 'target')}",
                f"{config.description()}: {translator.network.num_parameters():,} parameters",
            ]
        )

    def __enter__(self) -> TrainingDisplay:
        self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._bar.stop()

    def report(self, progress: TrainingProgress) -> None:
        """Show how the run stands."""
        if self._heading is not None:
            self._print(self._heading)
            self._heading = None
        state = (
            f"epoch {progress.epoch:.1f}  loss {progress.loss:.3f}  "
            f"{progress.pairs_per_second:,.0f} pairs/s"
        )
        left = f"{_clock(progress.seconds_left)} left"
        if progress.dev is not None:
            best = "  best" if progress.is_best else ""
            self._print(
                f"{_clock(progress.seconds)}  {state}  dev word errors {progress.dev.wer:.2%}  "
                f"token errors {progress.dev.ter:.2%}{best}  {left}"
            )
        self._bar.update(self._task, completed=progress.fraction, description=f"{state}  {left}")

    def _print(self, text: str) -> None:
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)


def _clock(seconds: float) -> str:
    if seconds == float("inf"):
        return "?:??"
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"


def _ids(side: Side, name: str) -> str:
    """How many, and what the texts were cut into: it may have been guessed."""
    return f"{len(side.vocabulary)} {name} ids ({side.tokenizer.name})"
