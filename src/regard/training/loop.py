"""The training loop: teacher forcing, one update after the other, within a budget."""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path

import torch
from accelerate import Accelerator
from torch import Tensor, nn
from torch.optim.swa_utils import AveragedModel

from regard.kernels import Workers
from regard.layers import scale_dropout
from regard.models import Translator
from regard.text import Batch, BatchLoader, Pair
from regard.training import checkpoint
from regard.training.checkpoint import Position
from regard.training.evaluate import evaluate
from regard.training.frozen import freeze_scores
from regard.training.gradients import GradientWorkers
from regard.training.interrupt import Interrupt
from regard.training.lengths import check_lengths
from regard.training.metrics import ErrorRates
from regard.training.options import TrainingOptions
from regard.training.schedule import learning_rate


@dataclass(frozen=True)
class Progress:
    """How a run stands, reported after each update; with ``dev`` after each evaluation."""

    fraction: float
    """Share of the budget that is spent, 0 to 1."""
    epoch: float
    updates: int
    seconds: float
    seconds_left: float
    loss: float
    """Mean loss per token since the last evaluation, in nats, label smoothing included."""
    pairs_per_second: float
    dev: ErrorRates | None = None
    is_best: bool = False


@dataclass(frozen=True)
class Outcome:
    """What a run came to."""

    position: Position
    stopped_by: str
    """``"epochs"``, ``"minutes"``, ``"patience"`` or ``"interrupt"``."""


def train(
    translator: Translator,
    train_pairs: Sequence[Pair],
    dev_pairs: Sequence[Pair],
    *,
    to: Path,
    options: TrainingOptions,
    resume: bool = False,
    report: Callable[[Progress], None] = lambda progress: None,
) -> Outcome:
    """Train and leave the best model, by dev score, in the folder ``to``.

    The dev score is word errors, then token errors. Weights are averaged over updates, and the
    average is what is evaluated and kept. Ctrl-C finishes the update, writes a checkpoint and
    returns; ``resume`` goes on from a checkpoint to the same numbers.

    Raises:
        ModelFolderError: nothing to resume, or another run's checkpoint.
        FloatingPointError: the loss became NaN or infinite; the best model so far stays.
        ValueError: pairs are longer than the model's learned positions serve; nothing is written.
    """
    check_lengths(translator, training=train_pairs, dev=dev_pairs)
    with Workers(options.planned_workers(len(train_pairs))) as workers, Interrupt() as interrupt:
        run = _Run(translator, train_pairs, dev_pairs, to, options, report, workers)
        if resume:
            run.restore()
        else:
            run.begin()
        return run.finish(run.go(interrupt))


class _Run:
    def __init__(
        self,
        translator: Translator,
        train_pairs: Sequence[Pair],
        dev_pairs: Sequence[Pair],
        to: Path,
        options: TrainingOptions,
        report: Callable[[Progress], None],
        workers: Workers,
    ) -> None:
        self.workers = workers
        self.options, self.to, self.report, self.dev_pairs = options, to, report, dev_pairs
        self.loader = BatchLoader(
            [
                (translator.source.encode(pair.source), translator.target.encode(pair.target))
                for pair in train_pairs
            ],
            batch_size=options.planned_batch_size(len(train_pairs)),
            max_tokens=options.max_tokens,
            seed=options.seed,
        )
        self.epochs = options.planned_epochs(len(train_pairs))
        self.peak = options.planned_learning_rate(len(train_pairs))
        self.evaluate_every = options.evaluate_every or max(len(self.loader), 200)

        # its mixed_precision would hold for every later run in this process: see logits
        self.accelerator = Accelerator(cpu=not torch.cuda.is_available())
        network = translator.network.to(self.accelerator.device)
        self.average = AveragedModel(
            network, multi_avg_fn=partial(_move_average, decay=options.average)
        )
        self.averaged = translator.with_network(self.average.module)
        optimizer = torch.optim.AdamW(
            network.parameters(),
            lr=0.0,
            betas=(0.9, 0.98),
            weight_decay=options.weight_decay,
            fused=True,
        )
        self.network, self.optimizer = self.accelerator.prepare(network, optimizer)
        if options.frozen_scores:
            freeze_scores(network)
        translator.frozen_scores = self.averaged.frozen_scores = options.frozen_scores
        self.parameters = [part for part in network.parameters() if part.requires_grad]
        self.gradients = GradientWorkers(
            self.logits,
            self.parameters,
            workers=workers,
            label_smoothing=options.label_smoothing,
            seed=options.seed,
        )
        self.description = {
            **translator.network.config.to_json(),
            **asdict(options),
            "data": _fingerprint(train_pairs, dev_pairs),
        }
        self.position = Position()
        self.recent_loss, self.recent_updates, self.recent_pairs = 0.0, 0, 0
        self.recent_start = self.start = time.monotonic()

    # ---- the run --------------------------------------------------------------------------
    def go(self, interrupt: Interrupt) -> str:
        """Update until something ends the run, and say what."""
        while True:
            for indices in self.loader.plan(self.position.epoch)[self.position.batch :]:
                if (reason := self.ended(interrupt)) is not None:
                    return reason
                self.update(self.loader.batch(indices))
                if self.position.updates % self.evaluate_every == 0:
                    self.evaluate()
            self.position = self.position._replace(epoch=self.position.epoch + 1, batch=0)

    def ended(self, interrupt: Interrupt) -> str | None:
        """What ends the run now, if anything."""
        if interrupt.requested:
            return "interrupt"
        if self.epochs is not None and self.position.epoch >= self.epochs:
            return "epochs"
        minutes = self.options.minutes
        if minutes is not None and self.seconds() >= 60 * minutes and self.position.updates > 0:
            return "minutes"
        patience = self.options.patience
        if patience is not None and self.position.evaluations_since_best >= patience:
            return "patience"
        return None

    def update(self, batch: Batch) -> None:
        """One gradient step."""
        batch = Batch(*(tensor.to(self.accelerator.device) for tensor in batch))
        rate = learning_rate(self.fraction(), peak=self.peak, warmup=self.options.warmup)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        scale_dropout(self.network, self.fraction())
        self.network.train()
        loss = self.gradients(batch)
        nn.utils.clip_grad_norm_(self.parameters, self.options.clip_norm)
        if not math.isfinite(loss):
            kept = "No model was kept yet."
            if self.position.best is None:
                with suppress(OSError):  # only an empty folder goes
                    self.to.rmdir()
            else:
                kept = f"The best model so far is kept in {self.to}."
            raise FloatingPointError(
                f"training: the loss is {loss} at update {self.position.updates}, with "
                f"learning_rate={self.peak:.2g}. {kept} Try learning_rate={self.peak / 3:.1g}."
            )
        self.optimizer.step()
        self.average.update_parameters(self.accelerator.unwrap_model(self.network))

        self.position = self.position._replace(
            batch=self.position.batch + 1,
            updates=self.position.updates + 1,
            pairs=self.position.pairs + len(batch.source),
        )
        self.recent_loss += loss
        self.recent_updates += 1
        self.recent_pairs += len(batch.source)
        self.report(self.progress())

    def logits(self, source: Tensor, source_lengths: Tensor, target_in: Tensor) -> Tensor:
        """The network's, in the precision asked for."""
        is_mixed = self.options.mixed_precision == "bf16"
        with torch.autocast(self.accelerator.device.type, torch.bfloat16, enabled=is_mixed):
            return self.network(source, source_lengths, target_in).logits

    def evaluate(self) -> None:
        """Score the averaged weights on dev data, keep them if they are the best, checkpoint."""
        progress = self.progress()
        dev = evaluate(
            self.averaged,
            self.dev_pairs,
            max_sources=self.options.max_dev,
            workers=self.workers,
        )
        self.position = self.position._replace(evaluated_updates=self.position.updates)
        errors = (dev.word_errors, dev.token_errors)
        is_best = self.position.best is None or errors < self.position.best
        if is_best:
            self.averaged.save_pretrained(self.to)
            self.position = self.position._replace(
                best=errors, best_updates=self.position.updates, evaluations_since_best=0
            )
        else:
            self.position = self.position._replace(
                evaluations_since_best=self.position.evaluations_since_best + 1
            )
        self.log(progress, dev, is_best)
        self.checkpoint()
        self.report(replace(progress, dev=dev, is_best=is_best, seconds=self.seconds()))
        self.recent_loss, self.recent_updates, self.recent_pairs = 0.0, 0, 0
        self.recent_start = time.monotonic()

    def finish(self, stopped_by: str) -> Outcome:
        """Evaluate what was not evaluated yet; keep the checkpoint only if there is more to do."""
        if stopped_by == "interrupt":
            self.checkpoint()
        elif self.position.best is None or self.position.updates > self.position.evaluated_updates:
            self.evaluate()
        if stopped_by != "interrupt":
            checkpoint.path_in(self.to).unlink(missing_ok=True)
        return Outcome(self.position._replace(seconds=self.seconds()), stopped_by)

    # ---- its state ------------------------------------------------------------------------
    def seconds(self) -> float:
        """Wall-clock time spent on this run, before a resumption too."""
        return time.monotonic() - self.start

    def fraction(self) -> float:
        """Share of the budget that is spent."""
        shares = [0.0]
        if self.epochs is not None:
            shares.append(self.position.updates / (self.epochs * len(self.loader)))
        if self.options.minutes is not None:
            shares.append(self.seconds() / (60 * self.options.minutes))
        return min(1.0, max(shares))

    def progress(self) -> Progress:
        """How the run stands."""
        seconds, fraction = self.seconds(), self.fraction()
        return Progress(
            fraction=fraction,
            epoch=self.position.updates / len(self.loader),
            updates=self.position.updates,
            seconds=seconds,
            seconds_left=seconds * (1 / fraction - 1) if fraction > 0 else math.inf,
            loss=self.recent_loss / max(1, self.recent_updates),
            pairs_per_second=self.recent_pairs / max(1e-9, time.monotonic() - self.recent_start),
        )

    def begin(self) -> None:
        """Make the folder; what another run left there to resume is gone, its model stays."""
        self.to.mkdir(parents=True, exist_ok=True)
        checkpoint.path_in(self.to).unlink(missing_ok=True)
        (self.to / "training.jsonl").unlink(missing_ok=True)

    def restore(self) -> None:
        """Go on from the checkpoint in the model's folder."""
        self.position, generators = checkpoint.read(
            checkpoint.path_in(self.to),
            run=self.description,
            modules=self.modules(),
            optimizer=self.optimizer.optimizer,
        )
        self.gradients.restore(generators)
        self.start -= self.position.seconds

    def checkpoint(self) -> None:
        """Write where the run stands."""
        checkpoint.write(
            checkpoint.path_in(self.to),
            position=self.position._replace(seconds=self.seconds()),
            run=self.description,
            modules=self.modules(),
            optimizer=self.optimizer.optimizer,
            generators=self.gradients.state(),
        )

    def modules(self) -> dict[str, nn.Module]:
        """What a checkpoint holds."""
        network = self.accelerator.unwrap_model(self.network)
        return {"network": network, "average": self.average}

    def log(self, progress: Progress, dev: ErrorRates, is_best: bool) -> None:
        """Add a line to ``training.jsonl``."""
        line = {
            "updates": progress.updates,
            "epoch": round(progress.epoch, 3),
            "seconds": round(progress.seconds, 1),
            "loss": round(progress.loss, 4),
            "pairs_per_second": round(progress.pairs_per_second, 1),
            "dev_wer": round(dev.wer, 5),
            "dev_ter": round(dev.ter, 5),
            "is_best": is_best,
        }
        with (self.to / "training.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")


def _move_average(
    averages: list[Tensor], weights: list[Tensor], num_averaged: Tensor, *, decay: float
) -> None:
    # a young average forgets faster, so that the first random weights do not linger in short runs
    young = (1 + int(num_averaged)) / (10 + int(num_averaged))
    torch._foreach_lerp_(averages, weights, 1 - min(decay, young))


def _fingerprint(*parts: Sequence[Pair]) -> str:
    digest = hashlib.sha256()
    for pairs in parts:
        for pair in pairs:
            digest.update(f"{pair.source}\t{pair.target}\n".encode())
        digest.update(b"\0")
    return digest.hexdigest()[:16]
