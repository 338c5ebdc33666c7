"""How ``benchmarks.additive`` prints what it measured."""

import math
from collections.abc import Sequence
from statistics import median

from benchmarks.additive_contestants import OURS, SDPA, TEXTBOOK, Name
from benchmarks.additive_keras import Beside
from benchmarks.peers.textbook_additive import Size, Tensors

Took = dict[Name, list[float]]
HEAD = (
    f"  {'batch query   key   dim':23}  {'':7}  {'given':9}  {'lengths':7}  {'contestant':18}"
    f"  {'time':>11}  {'textbook / it':24}  it / regard"
)


def print_rows(
    size: Size, step: bool, took: Took, keras: dict[tuple[bool, bool], Beside], peak: float
) -> None:
    """A row for each contestant."""
    visible = float(Tensors.draw(size).lengths.float().mean()) / size[2]
    for name, own in took.items():
        row = f"{start_of(size, step, name)}  {1e3 * median(own):8.2f} ms"
        if name.who == OURS:
            row += f"  {_ratio(_textbook(took, name), own):24}"
            seconds = median(own)
            speed = math.prod(size) * (visible if name.lengths else 1.0) / seconds
            row += f"  {speed / 1e9:.2f} G elements/s (peak/{peak / speed:.1f})"
            if name.lengths:
                share = _ratios(own, took[name._replace(lengths=False)])
                row += f", time {median(share):.2f} of full, visible {visible:.2f}"
        else:
            anchor = None if name.who == SDPA else _textbook(took, name)
            row += f"  {_ratio(anchor, own):24}  {_ratio(own, took[name._replace(who=OURS)])}"
        print(row, flush=True)
    for (of_step, lengths), beside in keras.items():
        if of_step == step:
            _print_keras(size, step, Name("Keras", "raw", lengths), beside, took)


def start_of(size: Size, step: bool, name: Name) -> str:
    """The question, in columns."""
    sizes = " ".join(f"{number:5}" for number in size)
    return (
        f"  {sizes:23}  {'step' if step else 'forward':7}  {name.given:9}"
        f"  {'drawn' if name.lengths else 'full':7}  {name.who:18}"
    )


def _print_keras(size: Size, step: bool, name: Name, beside: Beside, took: Took) -> None:
    row = f"{start_of(size, step, name)}  {1e3 * median(beside.keras):8.2f} ms"
    row += f"  {_ratio(beside.textbook, beside.keras):24}"
    ours = name._replace(who=OURS)
    anchor = _textbook(took, ours)
    if anchor is not None:
        slower = median(_ratios(beside.keras, beside.textbook))
        row += f"  x {slower * median(_ratios(anchor, took[ours])):.2f}"
    print(row, flush=True)


def _textbook(took: Took, name: Name) -> list[float] | None:
    """The textbook's time for this; where it ran without projections only, that."""
    own = name._replace(who=TEXTBOOK)
    return took.get(own, took.get(own._replace(given="projected")))


def _ratios(some: Sequence[float], others: Sequence[float]) -> list[float]:
    return [one / other for one, other in zip(some, others, strict=True)]


def _ratio(some: Sequence[float] | None, others: Sequence[float]) -> str:
    if some is None:
        return "-"
    ratios = _ratios(some, others)
    return f"x {median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"
