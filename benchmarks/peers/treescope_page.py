"""treescope's arrays as a file: ``treescope_page.py WEIGHTS.npz PAGE.html``, in its environment.

Heads on a slider, queries down, keys across, each position with its token; nothing cut off.
"""

import sys
from pathlib import Path

import numpy as np
import treescope

WRAPPED = '<!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>{}</title><body>{}</body>'


def write(weights: np.ndarray, tokens: list[str], path: Path) -> None:
    """Weights are (heads, query, key)."""
    view = treescope.render_array(
        weights,
        sliders=[0],
        rows=[1],
        columns=[2],
        vmin=0.0,
        vmax=1.0,
        axis_labels={0: "head", 1: "query", 2: "key"},
        axis_item_labels={1: tokens, 2: tokens},
    )
    path.write_text(WRAPPED.format("treescope", view._repr_html_()), encoding="utf-8")


if __name__ == "__main__":
    given = np.load(sys.argv[1])
    write(given["weights"], given["tokens"].tolist(), Path(sys.argv[2]))
