"""What a search may emit, and when: the longest and shortest, what is forced, what is forbidden."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.core.errors import shape_text
from regard.core.finite import check_log_probs


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The limits of a batch of sources; see :func:`regard.search.beam` for each.

    Raises:
        ValueError: limits that do not fit the batch, or that exclude each other.
    """

    caller: str
    max_lengths: Int[Tensor, " batch"]
    min_lengths: Int[Tensor, " batch"] | None
    prefix: Int[Tensor, "batch prefix_len"] | None
    never: Sequence[int]
    end: int
    padding: int

    def __post_init__(self) -> None:
        batch = self.max_lengths.shape[0]
        for name, given in (("min_lengths", self.min_lengths), ("prefix", self.prefix)):
            if given is not None and given.shape[0] != batch:
                raise ValueError(
                    f"{self.caller}: {name} {shape_text(given.shape)} with max_lengths "
                    f"({batch},). Each source has its own: no axis is stretched silently. "
                    f"Give {name} for a batch of {batch}."
                )
        if self.min_lengths is not None:
            self._refuse(
                self.min_lengths > self.max_lengths,
                "min_lengths is above max_lengths",
                "A target cannot be at least as long as that and at most as long as this. "
                "Lower min_lengths, or raise max_lengths.",
            )
        if self.prefix is not None:
            self._refuse(
                (self.prefix != self.padding).sum(dim=1) > self.max_lengths,
                "prefix has more tokens than max_lengths",
                "The prefix counts as part of the target. Raise max_lengths, or shorten it.",
            )
            self._refuse(
                (self.prefix == self.end).any(dim=1),
                "prefix holds the end token",
                "After the end there is nothing to search. Leave the end token out.",
            )

    def _refuse(self, wrong: Tensor, what: str, rule_and_fix: str) -> None:
        if wrong.any():
            raise ValueError(
                f"{self.caller}: {what} at source {int(wrong.nonzero()[0])}. {rule_and_fix}"
            )

    def log_probs(
        self,
        logits: Float[Tensor, "rows vocab"],
        position: int,
        sources: Int[Tensor, " rows"],
    ) -> Float[Tensor, "rows vocab"]:
        """Of each next token, −inf for what may not come at this position of these sources' rows.

        What may not come is left out of the search, not of the model: the rest keeps its
        probability, and a forced token its own, so that no score depends on the limits.

        Raises:
            ValueError: a log-probability is NaN, with which no token is likelier than another.
        """
        log_probs = logits.float().log_softmax(dim=-1)
        check_log_probs(log_probs, f"{self.caller}: step {position + 1}")
        forced = None
        if self.prefix is not None and position < self.prefix.shape[1]:
            forced = self.prefix[sources, position]
            alone = torch.full_like(log_probs, -torch.inf)  # what is forced may be forbidden else
            alone.scatter_(1, forced[:, None], log_probs.gather(1, forced[:, None]))
        log_probs[:, list(self.never)] = -torch.inf
        if self.min_lengths is not None:
            too_short = position < self.min_lengths[sources]
            log_probs[:, self.end].masked_fill_(too_short, -torch.inf)
        if forced is None:
            return log_probs
        return torch.where((forced == self.padding)[:, None], log_probs, alone)
