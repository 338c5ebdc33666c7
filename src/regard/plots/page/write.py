"""The weights of a trace as a page for the browser."""

import os
from pathlib import Path

from regard.plots._beside import as_path, check_place, written_beside
from regard.plots._grid import check_title, visible
from regard.plots.page.document import document
from regard.plots.page.sites import shown
from regard.recording.trace import Trace


def page(trace: Trace, path: str | os.PathLike[str], *, title: str | None = None) -> None:
    """Write one HTML file that shows every weight of `trace`, and that needs nothing else.

    It is opened in any browser of 2023 or later and makes no request, which its content-security
    policy enforces. Arrow keys reach every cell, and a screen reader says query, key and weight.
    Layer (site), head and example are chosen there, and pictures and tables saved from there.

    The file holds the weights as 32-bit numbers, exactly: 256 x 256 in 8 heads take about 2.4 MB,
    and half of that in half precision. Positions beyond an example's tokens are padding and left
    out; but where a key without a token has weight, it is shown.

    Args:
        trace: what `regard.record` gave, or `Trace.of_weights`; `trace.label` names the positions,
            which are numbered otherwise.
        path: ends with ``.html``. The file appears whole or not at all.
        title: the heading.

    Raises:
        ValueError: there are no weights, they are not in 0..1, tokens do not fit them, or the path
            is none that an HTML file can have.
        TypeError: ``trace`` is no trace, ``path`` no path, the title or a name or token no string,
            or weights are no real numbers.

    >>> import tempfile, torch
    >>> weights = torch.tensor([[0.25, 0.75], [0.5, 0.5]])
    >>> trace = Trace.of_weights("decoder", weights, [["K", "AE"]], [["c", "a"]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page(trace, Path(folder) / "weights.html", title="ca")
    """
    caller = "plots.page"
    if not isinstance(trace, Trace):
        raise TypeError(
            f"{caller}: trace is a {type(trace).__name__}. It must be a Trace. Write "
            "Trace.of_weights(name, weights) around weights that are there already."
        )
    check_title(title, caller)
    path = as_path(path, caller)
    check_page_path(path, caller)
    sites = shown(trace, caller)
    if not sites:
        raise ValueError(
            f"{caller}: the trace has no weights ({len(trace.summaries)} summaries). A page shows "
            "those of at least one site. Run the model while recording, with the weights kept."
        )
    text = document(sites, visible(title or "Attention weights"))
    with written_beside(path) as beside:
        beside.write_text(text, encoding="utf-8", newline="\n")


def check_page_path(path: Path, caller: str) -> None:
    """Refuse a path at which no page can be written, before there is one.

    Raises:
        ValueError: it does not end with .html, or its directory does not exist.
        IsADirectoryError: it is a directory.
    """
    if path.suffix.lower() not in (".html", ".htm"):
        ending = f"ends with {path.suffix!r}" if path.suffix else "has no ending"
        raise ValueError(
            f"{caller}: {str(path)!r} {ending}. A browser opens the page by its ending. Use .html."
        )
    check_place(path, caller)
