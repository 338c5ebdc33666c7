"""bertviz's head view as a file: ``bertviz_page.py WEIGHTS.npz PAGE.html``, in its environment."""

import sys
from pathlib import Path

import numpy as np
import torch
from bertviz import head_view

WRAPPED = '<!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>{}</title><body>{}</body>'


def write(weights: np.ndarray, tokens: list[str], path: Path) -> None:
    """Weights are (heads, position, position): self-attention is what the head view shows."""
    view = head_view([torch.from_numpy(weights)[None]], tokens, html_action="return")
    path.write_text(WRAPPED.format("bertviz", view.data), encoding="utf-8")


if __name__ == "__main__":
    given = np.load(sys.argv[1])
    write(given["weights"], given["tokens"].tolist(), Path(sys.argv[2]))
