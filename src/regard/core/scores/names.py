"""Score functions by name, the same in Python and on the command line."""

from collections.abc import Callable

from regard.core.scores.additive import Additive
from regard.core.scores.bilinear import Bilinear
from regard.core.scores.concat import Concat
from regard.core.scores.dot import Dot, ScaledDot
from regard.core.scores.score import Score
from regard.core.scores.uniform import Uniform
from regard.core.sizes import check_sizes

_BUILDERS: dict[str, Callable[[int, int, int, int | None], Score]] = {
    "additive": lambda query, key, attn, heads: Additive(
        query_dim=query, key_dim=key, attn_dim=attn, num_heads=heads
    ),
    "concat": lambda query, key, attn, heads: Concat(
        query_dim=query, key_dim=key, attn_dim=attn, num_heads=heads
    ),
    "dot": lambda query, key, attn, heads: Dot(),
    "general": lambda query, key, attn, heads: Bilinear(
        query_dim=query, key_dim=key, num_heads=heads
    ),
    "scaled_dot": lambda query, key, attn, heads: ScaledDot(),
    "uniform": lambda query, key, attn, heads: Uniform(query_dim=query, key_dim=key),
}

NAMES: tuple[str, ...] = tuple(_BUILDERS)


def make_score(
    name: str,
    *,
    query_dim: int,
    key_dim: int,
    attn_dim: int | None = None,
    num_heads: int | None = None,
) -> Score:
    """The score of this name, built for these widths.

    Args:
        name: ``additive``, ``concat``, ``dot``, ``general``, ``scaled_dot`` or ``uniform``.
        query_dim, key_dim: widths of query and key. The dot scores need them equal.
        attn_dim: width inside the additive and concat scores; None for ``query_dim``.
        num_heads: give each head its own parameters.

    Raises:
        ValueError: an unknown name, a size below 1, or unequal widths for a dot score.

    >>> make_score("general", query_dim=3, key_dim=5)
    Bilinear(query_dim=3, key_dim=5, num_heads=None)
    """
    if name not in _BUILDERS:
        raise ValueError(f"score {name!r} is unknown. Choose one of: {', '.join(NAMES)}.")
    check_sizes("make_score", query_dim=query_dim, key_dim=key_dim)
    if name in ("dot", "scaled_dot") and query_dim != key_dim:
        raise ValueError(
            f"score {name!r}: query_dim={query_dim} and key_dim={key_dim} differ, and a dot "
            "product needs them equal. Use 'general' (qᵀWk), or project one to the other's width."
        )
    return _BUILDERS[name](
        query_dim, key_dim, query_dim if attn_dim is None else attn_dim, num_heads
    )
