"""Who made an array and who used it: the trace read as a graph."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from regard.doctor.tracing.trace import Event, Operand, Trace

CONTRACTIONS = frozenset(
    [
        "matmul",
        "bmm",
        "einsum",
        "dot",
        "tensordot",
        "linear",
        "addmm",
        "baddbmm",
        "bilinear",
        "vdot",
        "scaled_dot_product_attention",
        "multi_head_attention_forward",
    ]
)


@dataclass(frozen=True)
class Product:
    """A contraction: one event, or a product followed by a sum. `event` is where it ends."""

    event: Event
    operands: tuple[Operand, ...]
    index: int  # of `event` in the trace


class Flow:
    """The events of one trace with the ways between them."""

    def __init__(self, trace: Trace):
        self.events, self.returned = trace.events, trace.returned
        self._made: dict[int, list[int]] = {}
        self._used: dict[int, list[int]] = {}
        for index, event in enumerate(trace.events):
            for operand in event.outputs:
                self._made.setdefault(operand.identity, []).append(index)
            for operand in event.inputs:
                self._used.setdefault(operand.identity, []).append(index)

    def maker(self, operand: Operand, before: int) -> int | None:
        """The event that made this array, or last wrote to it, before event number `before`."""
        made = [index for index in self._made.get(operand.identity, ()) if index < before]
        return made[-1] if made else None

    def users(self, operand: Operand, after: int) -> list[int]:
        """The events after number `after` that read this array."""
        return [index for index in self._used.get(operand.identity, ()) if index > after]

    def back(self, index: int, stop: Callable[[int], bool] = lambda _: False) -> Iterator[int]:
        """The events that event `index` depends on, nearest first; not past one that stops."""
        return _nearest_first(index, self._makers, stop)

    def forward(self, index: int, stop: Callable[[int], bool] = lambda _: False) -> Iterator[int]:
        """The events that depend on event `index`, nearest first; not past one that stops."""
        return _nearest_first(index, self._readers, stop)

    def _makers(self, index: int) -> Iterator[int]:
        for operand in self.events[index].inputs:
            maker = self.maker(operand, index)
            if maker is not None:
                yield maker

    def _readers(self, index: int) -> Iterator[int]:
        for operand in self.events[index].outputs:
            yield from self.users(operand, index)

    def product(self, index: int) -> Product | None:
        """Event `index` as a contraction, if it is one or ends one (`(a * b).sum(axis)`)."""
        event = self.events[index]
        if event.op in CONTRACTIONS and len(event.inputs) >= 2:
            return Product(event, event.inputs, index)
        if event.op == "sum" and event.inputs:
            maker = self.maker(event.inputs[0], index)
            if maker is not None:
                made = self.events[maker]
                if made.op == "mul" and len(made.inputs) == 2:
                    return Product(event, made.inputs, index)
        return None


def _nearest_first(
    index: int, beside: Callable[[int], Iterator[int]], stop: Callable[[int], bool]
) -> Iterator[int]:
    waiting, seen = [index], {index}
    while waiting:
        at = waiting.pop(0)
        if at != index:
            yield at
            if stop(at):
                continue
        for other in beside(at):
            if other not in seen:
                seen.add(other)
                waiting.append(other)
