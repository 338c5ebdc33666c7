"""What a recording holds: the sites of a model, in the order in which they were reached."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from os import PathLike

import torch
from jaxtyping import Float
from torch import Tensor

from regard.core.errors import shape_text
from regard.recording.rows import check_weights
from regard.recording.site import Call, Run, Site
from regard.recording.summary import Summary
from regard.recording.tokens import Tokens, check_counts, check_text


class Trace:
    """What attention did while it was recorded, site by site.

    >>> trace = Trace.of_weights("decoder", torch.tensor([[[0.25, 0.75]]]), [["K"]], [["c", "a"]])
    >>> for site in trace:
    ...     site.name, site.weights.shape, site.key_tokens
    ('decoder', torch.Size([1, 1, 1, 2]), [['c', 'a']])
    """

    def __init__(self) -> None:
        self._sites: dict[str, Site] = {}
        self.summaries: dict[str, Summary] = {}
        """What was kept of each site in place of its weights, with ``keep="summary"``."""
        self.largest_difference = 0.0
        """Between an output with and without recording, where ``verify`` asked for it."""

    @classmethod
    def of_weights(
        cls,
        name: str,
        weights: Float[Tensor, "..."],
        query_tokens: Tokens | None = None,
        key_tokens: Tokens | None = None,
        *,
        normalized: bool = True,
    ) -> Trace:
        """A trace of one site from weights that are there already.

        Args:
            name: of the site.
            weights: (query, key), (batch, query, key) or (batch, heads, query, key).
            query_tokens, key_tokens: a list for each example.
            normalized: rows sum to 1, or to 0 where there was nothing to attend to; False for
                weights that are not meant to, as those of a sigmoid.

        Raises:
            TypeError: weights that are no tensor of floating-point numbers; a name or tokens that
                are no text.
            ValueError: weights of another shape, or whose rows sum to something else; labels that
                are more than the positions.
        """
        if not isinstance(name, str):
            raise TypeError(
                f"Trace.of_weights: name is a {type(name).__name__}. It must be a str. Write "
                "Trace.of_weights('decoder', weights)."
            )
        check_weights(
            "Trace.of_weights: weights",
            weights,
            normalized=normalized,
            otherwise="or say normalized=False where they are not meant to",
        )
        weights = as_four_axes(weights)
        trace = cls()
        site = trace.site(name)
        weights = weights.detach().clone()  # what becomes of the caller's is not the trace's
        site.runs.append(Run([Call(weights, torch.ones_like(weights, dtype=torch.bool))]))
        trace.label(query_tokens, key_tokens)
        return trace

    def add(self, site: Site) -> None:
        """Take in a site; one of its name is replaced."""
        self._sites[site.name] = site

    def site(self, name: str) -> Site:
        """The site of this name, which begins if it is not there."""
        return self._sites.setdefault(name, Site(name))

    @property
    def names(self) -> list[str]:
        """Of the sites, in the order in which they were reached."""
        return list(self._sites)

    def __iter__(self) -> Iterator[Site]:
        return iter(self._sites.values())

    def __len__(self) -> int:
        return len(self._sites)

    def __contains__(self, name: object) -> bool:
        return name in self._sites

    def __getitem__(self, which: str | int) -> Site:
        """A site by name, or by its place.

        Raises:
            TypeError: it is neither.
            KeyError, IndexError: there is none.
        """
        if isinstance(which, int):
            if not -len(self) <= which < len(self):
                raise IndexError(
                    f"the trace has no site {which}. It has {len(self)}: "
                    f"{', '.join(self._sites) or 'none'}. Give one of them by name."
                )
            return list(self._sites.values())[which]
        if not isinstance(which, str):
            raise TypeError(
                f"trace[{which!r}]: a site is named by a str, or by its place, an int. For "
                "several write trace.select(sites=trace.names[:2])."
            )
        if which not in self._sites:
            raise KeyError(
                f"the trace has no site {which!r}. It has: {', '.join(self._sites) or 'none'}."
            )
        return self._sites[which]

    def __repr__(self) -> str:
        lines = [f"Trace of {len(self)} site{'' if len(self) == 1 else 's'}"]
        for site in self:
            runs = [shape_text(run.weights.shape) for run in site.runs[:3]]
            more = f", and {len(site.runs) - 3} runs more" if len(site.runs) > 3 else ""
            lines.append(f"  {site.name}: (batch, heads, query, key) = {', '.join(runs)}{more}")
        lines += [f"  {name}: {summary}" for name, summary in self.summaries.items()]
        return "\n".join(lines)

    def label(
        self,
        query_tokens: Tokens | None = None,
        key_tokens: Tokens | None = None,
        *,
        site: str | None = None,
    ) -> None:
        """Say what positions stand for, a list of tokens for each example.

        Padded examples have fewer tokens than positions. ``site`` None labels all.

        Raises:
            TypeError: no lists of text.
            ValueError: not a list for each example, or more tokens than positions.
        """
        sites = [self[site]] if site is not None else list(self)
        for name, tokens in (("query", query_tokens), ("key", key_tokens)):
            if tokens is not None:
                check_text(name, tokens)
                for labelled in sites:
                    check_counts(labelled, name, tokens)
        for labelled in sites:
            if query_tokens is not None:
                labelled.query_tokens = [list(row) for row in query_tokens]
            if key_tokens is not None:
                labelled.key_tokens = [list(row) for row in key_tokens]

    def select(
        self,
        *,
        sites: Sequence[str] | None = None,
        examples: Sequence[int] | None = None,
        heads: Sequence[int] | None = None,
    ) -> Trace:
        """Some sites, examples and heads only, in this order.

        Raises:
            TypeError: no lists of names, or of places.
            KeyError, IndexError: one is not there.
        """
        if isinstance(sites, str):
            raise TypeError(
                f"Trace.select: sites={sites!r} is one name. It must be a list. Write "
                f"sites=[{sites!r}]."
            )
        chosen = Trace()
        for name in self.names if sites is None else sites:
            chosen.add(self[name].select(examples, heads))
        return chosen

    def save(self, path: str | PathLike[str]) -> None:
        """Write one safetensors file, with the tokens as JSON in its header; see :meth:`load`.

        Raises:
            ValueError: a folder is there, or the folder that it would be in is not.
        """
        from regard.recording.storage import save

        save(self, path)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Trace:
        """Read what :meth:`save` wrote. Nothing in it is executed.

        Raises:
            ValueError: it is missing, damaged, or no trace.
        """
        from regard.recording.storage import load

        return load(path)


def as_four_axes(weights: Tensor) -> Tensor:
    """(batch, heads, query, key); what has no batch or no heads has one, further axes are batch."""
    if weights.dim() == 2:
        return weights[None, None]
    if weights.dim() == 3:
        return weights[:, None]
    return weights if weights.dim() == 4 else weights.flatten(0, -4)
