"""Whether an edit reached what it names, so that one that changes nothing is not silent."""

from __future__ import annotations

from collections.abc import Sequence

from regard.recording.edits import AXES, Edit
from regard.recording.positions import Places


class Reach:
    """What one edit has met so far."""

    def __init__(self, edit: Edit) -> None:
        self.edit = edit
        self.met = False
        self._unmet: dict[str, set[int]] = {}
        self._sizes = dict.fromkeys(AXES, 0)
        for axis, places in edit.places.items():
            self._unmet[axis] = set(places.some) if places.some is not None else {places.start}

    def meet(self, shape: Sequence[int], first_query: int) -> None:
        """A grid (batch, heads, query, key) that it was for."""
        self.met = True
        for axis, size in zip(AXES, shape, strict=True):
            first = first_query if axis == "query" else 0
            self._sizes[axis] = max(self._sizes[axis], first + size)
            if self._unmet.get(axis):
                self._unmet[axis] -= _among(self.edit.places[axis], first, first + size)

    def complaint(self, sites: Sequence[str]) -> str | None:
        """What is to be said of it at the end, in one sentence or three."""
        named = ", ".join(f"{name}={value!r}" for name, value in self.edit.where.items())
        if not self.met:
            return (
                f"intervene: the edit of {self.edit.at} for {named or 'all'} met no site. Seen "
                f"were: {', '.join(sites[:20])} (where weights are tapped, no scores are seen). "
                "Name one of them, or a pattern, site='decoder.*'."
            )
        for axis, unmet in self._unmet.items():
            if unmet:
                never = ", ".join(str(place) for place in sorted(unmet)[:5])
                return (
                    f"intervene: the edit of {self.edit.at} for {named} met no {axis} {never}. "
                    f"Where it reached, there were {self._sizes[axis]}, from 0 on. Leave out what "
                    "is not there, or name the site that has it."
                )
        return None


def _among(places: Places, first: int, end: int) -> set[int]:
    """Of what is looked for, what lies between; any place of a slice stands for it."""
    if places.some is not None:
        return {place for place in places.some if first <= place < end}
    steps = max(0, -(-(first - places.start) // places.step))
    reached = places.start + steps * places.step
    inside = reached < (end if places.stop is None else min(end, places.stop))
    return {places.start} if inside else set()
