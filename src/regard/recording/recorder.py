"""Who watches: names each attention, edits it, and writes down what it did."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from regard.core.attend import Attended, attend_reference, without_blind
from regard.core.masks import Mask, as_mask
from regard.core.normalizers import NORMALIZERS, Normalizer
from regard.core.scores import PreparedKey, Score
from regard.kernels.watching import WATCHER
from regard.recording.edits import Edit
from regard.recording.reach import Reach
from regard.recording.rows import check_weights
from regard.recording.site import Call, Run
from regard.recording.summary import Summary
from regard.recording.trace import Trace, as_four_axes


class Recorder:
    """A :class:`regard.kernels.watching.Watcher` that fills a trace.

    It computes attention by its definition, with the weights in the open, whichever kernel would
    have run: an edited run and a recorded one differ by the edit alone.
    """

    def __init__(
        self,
        model: nn.Module,
        trace: Trace,
        edits: Sequence[Edit],
        *,
        keep_scores: bool,
        keep_values: bool,
        keep_weights: bool,
        check_taps: bool,
    ) -> None:
        self.trace, self.edits = trace, edits
        self.keep_scores, self.keep_values = keep_scores, keep_values
        self.keep_weights, self.check_taps = keep_weights, check_taps
        self.running: list[str] = []
        """Names of the modules whose forward is running, outermost first."""
        self._owners = _owners_of_scores(model)
        self._progress: dict[str, _Progress] = {}
        self._reaches = [Reach(edit) for edit in edits]

    def watches_here(self) -> bool:
        """Whether this thread is the recorded one: hooks are called in every thread."""
        return WATCHER.get() is self

    # ---- what kernels ask -----------------------------------------------------------------
    def attend(
        self,
        query: Tensor,
        key: Tensor | PreparedKey,
        value: Tensor,
        *,
        score: Score,
        may_attend: Mask | None,
        bias: Tensor | None,
        normalize: str,
        dropout_p: float,
        need_weights: bool,
        need_lse: bool,
    ) -> Attended:
        """Attention by its definition, seen on the way."""
        site = self.name_of(score)

        def watched(scores: Tensor) -> Tensor:
            return self.see(site, scores, NORMALIZERS[normalize], value)

        attended = attend_reference(
            query,
            key,
            value,
            score=score,
            may_attend=may_attend,
            bias=bias,
            normalize=watched,
            dropout_p=dropout_p,
            need_weights=need_weights,
            need_lse=need_lse,
        )
        return (
            attended if may_attend is None else without_blind(attended, may_attend, key.shape[-2])
        )

    # ---- what is done to every attention --------------------------------------------------
    def see(
        self,
        site: str,
        scores: Tensor,
        normalizer: Normalizer,
        value: Tensor,
        visible: Tensor | None = None,
    ) -> Tensor:
        """Weights of these scores: edited and written down."""
        scores = as_four_axes(given := scores)
        visible = scores != -torch.inf if visible is None else as_four_axes(visible)
        first_query = self._first_query(site, scores, value)
        scores = self._edited("scores", site, scores, visible, first_query)
        weights = as_four_axes(normalizer(scores.reshape(given.shape)))
        weights = self._edited("weights", site, weights, visible, first_query)
        self._write(site, weights, visible, scores, value)
        return weights.reshape(given.shape)

    def tap(
        self,
        site: str,
        weights: Tensor,
        *,
        may_attend: Mask | Tensor | None = None,
        normalized: bool = True,
    ) -> Tensor:
        """Weights that a model computed itself: edited and written down."""
        if not isinstance(site, str):
            raise TypeError(
                f"tap: name is a {type(site).__name__}. It names the site in the trace, so it must "
                "be a str. Write tap('mine', weights)."
            )
        check_weights(
            f"tap: weights of {site!r}",
            weights,
            normalized=normalized and self.check_taps,
            otherwise="or say normalized=False where they are not meant to, or record without "
            "verify",
        )
        grid = as_four_axes(weights)
        visible = torch.ones_like(grid, dtype=torch.bool)
        if may_attend is not None:
            allowed = as_mask(may_attend).grid_for(weights.shape, weights.device)
            visible = as_four_axes(allowed.expand(weights.shape))
        first_query = self._first_query(site, grid, grid)
        edited = self._edited("weights", site, grid, visible, first_query)
        self._write(site, edited, visible)
        return weights if edited is grid else edited.reshape(weights.shape)

    def follow(self, parents: Tensor) -> None:
        """Give every row of a decoder's steps the past of its parent."""
        for site, progress in self._progress.items():
            if progress.shape[2] == 1:  # a decoder's steps
                progress.shape = torch.Size((len(parents), *progress.shape[1:]))
                progress.value = None
                if self.keep_weights:
                    self.trace[site].runs[-1].reorder(parents)

    def name_of(self, score: Score) -> str:
        """The module that holds this score, or else the one that is running."""
        return self._owners.get(id(score)) or self.where()

    def where(self) -> str:
        """The innermost module that is running."""
        return (self.running[-1] if self.running else "") or "attend"

    def _edited(
        self, at: str, site: str, grid: Tensor, visible: Tensor, first_query: int
    ) -> Tensor:
        for edit, reach in zip(self.edits, self._reaches, strict=True):
            if edit.at == at and edit.is_for(site):
                reach.meet(grid.shape, first_query)
                grid = edit.apply(grid, visible, first_query)
        return grid

    def check_end(self) -> None:
        """That something was seen, and each edit met what it names.

        Raises:
            ValueError: nothing was, or one did not.
        """
        seen = [*self.trace.names, *self.trace.summaries]
        if not seen:
            raise ValueError(
                "record: no attention was seen in the block. Seen are, where the model runs in "
                "the block and in its thread: regard.attend and regard's layers, torch's "
                "scaled_dot_product_attention and nn.MultiheadAttention, and transformers' models "
                "that choose by attn_implementation. For other code write weights = tap('name', "
                "weights) in it, or name the modules that return theirs, outputs={'name': 1}."
            )
        for reach in self._reaches:
            if complaint := reach.complaint(seen):
                raise ValueError(complaint)

    # ---- writing down ---------------------------------------------------------------------
    def _first_query(self, site: str, grid: Tensor, value: Tensor) -> int:
        """The place of these queries in their run, which may begin with them."""
        before = self._progress.get(site)
        first = before.num_queries if before is not None and before.leads_to(grid, value) else 0
        if first == 0 and self.keep_weights:
            self.trace.site(site).runs.append(Run())
        self._progress[site] = _Progress(grid.shape, value, first + grid.shape[2])
        return first

    def _write(
        self,
        site: str,
        weights: Tensor,
        visible: Tensor,
        scores: Tensor | None = None,
        value: Tensor | None = None,
    ) -> None:
        weights = weights.detach()
        if not self.keep_weights:
            added = Summary.of(weights, visible)
            before = self.trace.summaries.get(site)
            self.trace.summaries[site] = added if before is None else before.joined(added)
            return
        self.trace.site(site).runs[-1].calls.append(  # copies: a model may go on in its memory
            Call(
                weights.clone(),
                visible.clone(),
                scores.detach().clone() if self.keep_scores and scores is not None else None,
                _of_each_head(value, weights) if self.keep_values and value is not None else None,
            )
        )


@dataclass
class _Progress:
    """How far a site's run has come."""

    shape: torch.Size
    """(batch, heads, query, key) of its last call."""
    value: Tensor | None
    """What that call averaged, held so that its memory is not another's; None if reordered."""
    num_queries: int

    def leads_to(self, grid: Tensor, value: Tensor) -> bool:
        """Whether this is a decoder's next step: one query, and the keys of before or one more.

        Keys are those of before if they lie in the same memory, as those of an encoder do, and of
        a cache that has room ahead.
        """
        if grid.shape[2] != 1 or grid.shape[:2] != self.shape[:2]:
            return False
        longer = grid.shape[3] - self.shape[3]
        if self.value is None:
            return longer in (0, 1)
        if longer >= 0 and value.data_ptr() == self.value.data_ptr():
            return value.stride() == self.value.stride()
        return longer == 1 and torch.equal(value[..., :-1, :], self.value)


def _of_each_head(value: Tensor, weights: Tensor) -> Tensor:
    """A copy of the values, repeated for the heads that share them."""
    value = as_four_axes(value).detach()
    return value.repeat_interleave(weights.shape[1] // value.shape[1], 1)


def _owners_of_scores(model: nn.Module) -> dict[int, str]:
    """The module that holds each score; none for a score that several hold."""
    owners: dict[int, str] = {}
    for name, module in model.named_modules(remove_duplicate=False):
        if isinstance(module, Score):
            owner = name.rpartition(".")[0] or type(model).__name__
            owners[id(module)] = "" if owners.get(id(module), owner) != owner else owner
    return owners
