"""Experiments that reproduce a figure: measured in cells, each of which is kept when finished."""

from regard.experiments.bottleneck import Bottleneck, bottleneck
from regard.experiments.cells import CellError, Table
from regard.experiments.scaling import Scaling, scaling

__all__ = ["Bottleneck", "CellError", "Scaling", "Table", "bottleneck", "scaling"]
