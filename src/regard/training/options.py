"""How to train, as plain data with defaults that serve small data and large."""

import math
from dataclasses import dataclass
from typing import Annotated, TypeAlias

import torch

from regard.core.fields import SHARE, above_zero, between, check_fields

# Far above what anyone needs, so that a slip of the finger ends at once.
Count: TypeAlias = Annotated[int, between(1, 1_000_000)]
Share: TypeAlias = Annotated[float, SHARE]


@dataclass(frozen=True, kw_only=True)
class TrainingOptions:
    """Budget, optimizer and regularization.

    Args:
        epochs: stop after so many passes over the data. With neither ``epochs`` nor ``minutes``,
            as many as :meth:`planned_epochs` says.
        minutes: stop after so much wall-clock time, evaluations included.
        batch_size: pairs per update; None for one that leaves small data enough updates.
        max_tokens: most pairs times positions in a batch; longer sequences get smaller batches.
        learning_rate: its peak, after the warm-up; None for 3e-3 at 128 pairs an update, and in
            proportion to the square root of their number.
        warmup: fraction of the budget over which the rate rises from 0.
        label_smoothing: share of the target distribution spread over the whole vocabulary.
        clip_norm: largest norm of a gradient.
        weight_decay: of AdamW.
        average: decay of the moving average of the weights, which is what is evaluated and kept.
        patience: stop after so many evaluations without a better dev score; None to never.
        evaluate_every: updates between evaluations; None for an epoch, but at least 200 updates.
        max_dev: at most so many dev sources are decoded at an evaluation.
        mixed_precision: ``"no"`` or ``"bf16"``.
        num_workers: parts of a batch computed at once, one core each; None for as many as torch
            has threads, but at least 32 pairs to each.
        seed: of order and dropout.
        frozen_scores: leave the scores' own parameters as they were drawn: what such a model
            reaches, it owes little to where its attention looks.

    Raises:
        TypeError: a value of another type than its field's.
        ValueError: a number out of its range.
    """

    epochs: Count | None = None
    minutes: Annotated[float, above_zero(1_000_000)] | None = None
    batch_size: Count | None = None
    max_tokens: Annotated[int, between(1, 1_000_000_000)] = 8192
    learning_rate: Annotated[float, above_zero(1)] | None = None
    warmup: Share = 0.03
    label_smoothing: Share = 0.1
    clip_norm: Annotated[float, above_zero(1_000_000)] = 2.0
    weight_decay: Share = 0.01
    average: Share = 0.999
    patience: Count | None = 20
    evaluate_every: Count | None = None
    max_dev: Count = 2000
    mixed_precision: str = "no"
    num_workers: Annotated[int, between(1, 1_024)] | None = None
    seed: Annotated[int, between(0, 2**32 - 1)] = 1
    frozen_scores: bool = False

    def __post_init__(self) -> None:
        check_fields(self)
        if self.mixed_precision not in ("no", "bf16"):
            raise ValueError(
                f"mixed_precision={self.mixed_precision!r} is unknown. Choose 'no' or 'bf16'."
            )

    def planned_epochs(self, num_pairs: int) -> int | None:
        """Epochs to stop after: as given; without any budget, about 1.5 million pairs in all,
        but between 10 and 200 epochs; None if only time counts.
        """
        if self.epochs is None and self.minutes is None:
            return min(200, max(10, round(1_500_000 / num_pairs)))
        return self.epochs

    def planned_workers(self, num_pairs: int) -> int:
        """Parts of a batch: as given, or a core each, but at least 32 pairs in a part."""
        if self.num_workers is not None:
            return self.num_workers
        return min(torch.get_num_threads(), max(1, self.planned_batch_size(num_pairs) // 32))

    def planned_batch_size(self, num_pairs: int) -> int:
        """Pairs per update: as given, or 16 to 128, so that an epoch has some 25 updates."""
        if self.batch_size is not None:
            return self.batch_size
        return min(128, max(16, num_pairs // 25))

    def planned_learning_rate(self, num_pairs: int) -> float:
        """The peak: as given, or by the batch size."""
        if self.learning_rate is not None:
            return self.learning_rate
        return 3e-3 * math.sqrt(self.planned_batch_size(num_pairs) / 128)
