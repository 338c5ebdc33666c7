"""Score functions, named as the field names them: how well does each key answer the query?"""

from regard.core.scores.additive import Additive
from regard.core.scores.bilinear import Bilinear
from regard.core.scores.concat import Concat
from regard.core.scores.dot import Dot, ScaledDot
from regard.core.scores.names import NAMES, make_score
from regard.core.scores.prepared import PreparedKey
from regard.core.scores.score import Score
from regard.core.scores.uniform import Uniform

__all__ = [
    "NAMES",
    "Additive",
    "Bilinear",
    "Concat",
    "Dot",
    "PreparedKey",
    "ScaledDot",
    "Score",
    "Uniform",
    "make_score",
]
