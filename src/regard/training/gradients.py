"""The gradient of a batch, its rows shared out among workers."""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor, nn

from regard.kernels.workers import Workers
from regard.layers import dropout_from
from regard.text import Batch, Vocabulary


class _Part(NamedTuple):
    batch: Batch
    num_tokens: int
    """Real target tokens of the whole batch, by which every part divides."""
    generator: torch.Generator


class GradientWorkers:
    """Cross-entropy over a batch's real tokens, and its gradient.

    The parts' losses are sums divided by the number of tokens in the whole batch, so that the sum
    of their gradients is the gradient of the batch. Each worker drops out from its own generator
    and gradients are added in order: the same seed and number of workers give the same numbers.
    """

    def __init__(
        self,
        network: Callable[[Tensor, Tensor, Tensor], Tensor],
        parameters: list[nn.Parameter],
        *,
        workers: Workers,
        label_smoothing: float,
        seed: int,
    ) -> None:
        self._network, self._parameters, self._workers = network, parameters, workers
        self._loss = nn.CrossEntropyLoss(
            ignore_index=Vocabulary.PADDING, label_smoothing=label_smoothing, reduction="sum"
        )
        device = parameters[0].device
        self._generators = [
            torch.Generator(device).manual_seed(seed * 1_000 + worker)
            for worker in range(workers.num)
        ]

    def __call__(self, batch: Batch) -> float:
        """Set every parameter's ``grad``; return the loss per token, in nats."""
        num_tokens = int((batch.target_out != Vocabulary.PADDING).sum())
        rows = torch.arange(len(batch.source)).tensor_split(self._workers.num)
        parts = [
            _Part(Batch(*(tensor[chosen] for tensor in batch)), num_tokens, generator)
            for chosen, generator in zip(rows, self._generators, strict=True)
            if len(chosen)
        ]
        outcomes = self._workers.map(self._part_gradients, parts)
        for parameter, gradients in zip(
            self._parameters, zip(*(o[1] for o in outcomes), strict=True), strict=True
        ):
            parameter.grad = gradients[0] if len(gradients) == 1 else sum(gradients)
        return sum(loss for loss, _ in outcomes)

    def _part_gradients(self, part: _Part) -> tuple[float, tuple[Tensor, ...]]:
        batch = part.batch
        with dropout_from(part.generator):
            logits = self._network(batch.source, batch.source_lengths, batch.target_in)
        total = self._loss(logits.flatten(0, 1).float(), batch.target_out.flatten())
        loss = total / part.num_tokens
        return loss.item(), torch.autograd.grad(loss, self._parameters)

    def state(self) -> Tensor:
        """Where the generators stand, (workers, bytes)."""
        return torch.stack([generator.get_state() for generator in self._generators])

    def restore(self, state: Tensor) -> None:
        """Put the generators back where they stood.

        Raises:
            ValueError: the state is that of another number of workers.
        """
        if len(state) != len(self._generators):
            raise ValueError(
                f"training: the interrupted run had {len(state)} workers, this one has "
                f"{len(self._generators)}. Resume with --threads {len(state)}."
            )
        for generator, saved in zip(self._generators, state, strict=True):
            generator.set_state(saved.clone())
