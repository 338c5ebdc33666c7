"""What a search may emit, and when: the longest and shortest, what is forced, what is forbidden."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.core.errors import shape_text
from regard.core.finite import check_log_probs
from regard.search.checks import check_id, check_never, check_whole


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The limits of a batch of sources; see :func:`regard.search.beam` for each.

    Raises:
        TypeError: lengths or ids that are no whole numbers.
        ValueError: limits that do not fit the batch, or that exclude each other.
    """

    caller: str
    max_lengths: Int[Tensor, " batch"]
    min_lengths: Int[Tensor, " batch"] | None
    prefix: Int[Tensor, "batch prefix_len"] | None
    never: Sequence[int]
    begin: int
    end: int
    padding: int

    def __post_init__(self) -> None:
        self._check_each()
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
            self._check_prefix(self.prefix)

    def _check_each(self) -> None:
        check_whole(self.caller, "max_lengths", self.max_lengths, "batch")
        if self.min_lengths is not None:
            check_whole(self.caller, "min_lengths", self.min_lengths, "batch")
        if self.prefix is not None:
            check_whole(self.caller, "prefix", self.prefix, "batch, prefix_len")
        for name, lengths in (("max_lengths", self.max_lengths), ("min_lengths", self.min_lengths)):
            if lengths is not None:
                self._refuse(
                    lengths < 0,
                    f"{name} is below 0",
                    "It counts tokens. Give 0 or more.",
                )
        for name, given in self._ids:
            check_id(self.caller, name, given)
        check_never(self.caller, self.never)

    @property
    def _ids(self) -> tuple[tuple[str, int], ...]:
        return ("begin", self.begin), ("end", self.end), ("padding", self.padding)

    def _check_prefix(self, prefix: Int[Tensor, "batch prefix_len"]) -> None:
        is_token = prefix != self.padding
        self._refuse(
            (is_token[:, 1:] & ~is_token[:, :-1]).any(dim=1),
            "prefix has a token after padding",
            "It is padded after its tokens, and is over where padding begins. Move the tokens to "
            "the front.",
        )
        self._refuse(
            is_token.sum(dim=1) > self.max_lengths,
            "prefix has more tokens than max_lengths",
            "The prefix counts as part of the target. Raise max_lengths, or shorten it.",
        )
        self._refuse(
            (prefix == self.end).any(dim=1),
            "prefix holds the end token",
            "After the end there is nothing to search. Leave the end token out.",
        )

    def check_vocabulary(self, vocab: int) -> None:
        """Refuse ids for which the logits of a step have no place.

        Raises:
            ValueError: there is one.
        """
        for name, given in (*self._ids, *(("never", each) for each in self.never)):
            if given >= vocab:
                raise ValueError(
                    f"{self.caller}: {name}={given} where the step's logits have a vocabulary of "
                    f"{vocab}. An id is below that. Give the id that stands for the token, or "
                    "logits for it."
                )
        if self.prefix is not None:
            self._refuse(
                ((self.prefix < 0) | (self.prefix >= vocab)).any(dim=1),
                f"prefix has an id outside the logits' vocabulary of {vocab}",
                f"An id is from 0 to {vocab - 1}. Give ids of tokens the step knows.",
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
        if log_probs[:, 0].isnan().any():  # a row with NaN anywhere is NaN everywhere
            # nothing is possible after these rows, which is no fault of the others
            impossible = (logits == -torch.inf).all(dim=-1, keepdim=True)
            log_probs = log_probs.masked_fill(impossible, -torch.inf)
            check_log_probs(log_probs, f"{self.caller}: step {position + 1}")
        forced = None
        if self.prefix is not None and position < self.prefix.shape[1]:
            forced = self.prefix[sources, position].long()
            alone = torch.full_like(log_probs, -torch.inf)  # what is forced may be forbidden else
            alone.scatter_(1, forced[:, None], log_probs.gather(1, forced[:, None]))
        log_probs[:, list(self.never)] = -torch.inf
        if self.min_lengths is not None:
            too_short = position < self.min_lengths[sources]
            log_probs[:, self.end].masked_fill_(too_short, -torch.inf)
        if forced is None:
            return log_probs
        return torch.where((forced == self.padding)[:, None], log_probs, alone)
