"""Where the code takes the wrong operand: the event at which query or key went astray."""

from collections.abc import Callable

from regard.doctor.comparison.anatomy import WHOLE, Anatomy
from regard.doctor.comparison.variants import Variant
from regard.doctor.examination import Examination
from regard.doctor.probe import Answer
from regard.doctor.tracing.dependence import PRODUCTS, feeds
from regard.doctor.tracing.flow import Flow
from regard.doctor.tracing.trace import Event

_MEETING = PRODUCTS | {"add", "mul", "cat"}
_KEYS = frozenset({"key", "value"})


def operand_event(
    exam: Examination, answer: Answer, anatomy: Anatomy, variant: Variant
) -> Event | None:
    """The last event before the softmax that does what the variant does; None where none does."""
    trace, first = answer.trace, anatomy.normalizers[0]
    names = frozenset(exam.parameters())
    flow = Flow(trace)

    def after_repeat(index: int, event: Event) -> bool:
        maker = flow.maker(event.inputs[0], index)
        return maker is not None and trace.events[maker].op == "repeat"

    def of_queries(event: Event) -> bool:
        return not any(o.origins & _KEYS for o in event.inputs)

    def alike(event: Event) -> bool:
        """Two operands, both of the query or both of the keys."""
        roles = [o.origins - names for o in event.inputs if o.origins - names]
        return len(roles) == 2 and roles[0] == roles[1]

    def meets(event: Event) -> bool:
        """The query's part and the keys' part are joined here, element by element."""
        sides = [bool(o.origins & _KEYS) for o in event.inputs if o.origins - names]
        return sorted(sides) == [False, True]

    seen: dict[str, Callable[[int, Event], bool]] = {
        "interleave": lambda i, e: e.op == "repeat" and len(e.outputs[0].shape) > 3,
        "repeat-rows": lambda i, e: e.op in ("view", "reshape") and after_repeat(i, e),
        "each-sample": lambda i, e: e.op in ("mean", "sum") and of_queries(e),
        "state": lambda i, e: e.op == "getitem" and of_queries(e) and len(e.inputs[0].shape) == 3,
        "first-layer": lambda i, e: e.op == "getitem" and of_queries(e),
        "use-query": lambda i, e: e.op in _MEETING and alike(e),
        "use-key": lambda i, e: e.op in _MEETING and alike(e),
        "tanh": lambda i, e: e.op in ("add", "sub", "mul") and meets(e),
        "add": lambda i, e: e.op in ("sub", "mul") and meets(e),
        "batch-first": lambda i, e: e.op in WHOLE,
    }
    does = seen.get(variant.fix)
    if does is None:
        return None
    found = [
        event
        for index, event in enumerate(trace.events[: first + 1])
        if event.place is not None
        and event.inputs
        and event.outputs
        and does(index, event)
        and (index == first or feeds(trace, index, anatomy.normalizers))
    ]
    return found[-1] if found else None
