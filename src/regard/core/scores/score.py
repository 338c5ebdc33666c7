"""What a score is: project the query, project the key, compare."""

from abc import ABC, abstractmethod

from jaxtyping import Float
from torch import Tensor, nn

from regard.core.autocast import without_autocast
from regard.core.axes import check_key, check_widths, widen
from regard.core.masks import Mask, as_mask
from regard.core.scores.prepared import PreparedKey
from regard.core.sizes import check_sizes
from regard.core.zero_fill import zero_where


class Score(nn.Module, ABC):
    """How well each key answers each query.

    ``forward(query, key)`` gives scores ``(*lead, query, key)`` for a query
    ``(*lead, query, query_dim)`` and a key ``(*lead, key, key_dim)``. The key part can be computed
    once, ``prepared = score.prepare(key)``, and used for many queries, ``score(query, prepared)``.

    A subclass writes three short methods; keys that a query need not change with go into
    ``project_key``. Kernels call ``compare`` on some queries and some keys at a time, and again to
    differentiate it, so a score follows from its own query and key, and all that is learned is a
    parameter. Half precision comes to all three in float32: give a parameter the dtype of what it
    meets, as in ``x @ self.weight.to(x.dtype)``.
    """

    query_dim: int | None = None
    """Width of the queries it takes; None: any."""
    key_dim: int | None = None
    """Width of the keys it takes; None: the queries' own."""
    num_heads: int | None = None
    """With a number, each head has its own parameters and the heads axis must have this size."""
    attn_dim: int | None = None
    """Width inside, if there is one: the memory that comparing all pairs takes goes by it."""

    @abstractmethod
    def project_query(self, query: Float[Tensor, "*lead query query_dim"]) -> Tensor:
        """The query as it is compared."""

    @abstractmethod
    def project_key(self, key: Float[Tensor, "*lead key key_dim"]) -> Tensor:
        """The key as it is compared. A key of zeros must give zeros: hidden means absent."""

    @abstractmethod
    def compare(
        self, query: Float[Tensor, "*lead query d"], key: Float[Tensor, "*lead key d"]
    ) -> Float[Tensor, "*lead query key"]:
        """Scores of projected queries against projected keys."""

    def prepare(
        self, key: Float[Tensor, "*lead key key_dim"], may_attend: Mask | None = None
    ) -> PreparedKey:
        """Project the keys once, for many calls of ``attend``.

        Give the mask here too if hidden positions may hold NaN or inf: positions that no query may
        see are then zeroed before the projection, so that not even its gradient feels them. (The
        mask must serve any query: lengths do.)
        """
        check_key(key, self.key_dim, self.num_heads, score=type(self).__name__)
        if may_attend is not None:
            may_attend = as_mask(may_attend)
            shape = (*key.shape[:-2], 1, key.shape[-2])
            unseen = may_attend.unseen_keys(shape, key.device)
            if unseen is not None:
                (key,) = zero_where(unseen.unsqueeze(-1), key)
        with without_autocast(key.device):
            projected = self.project_key(widen(key))
        return PreparedKey(self, projected, key.shape[-1], key.dtype, may_attend)

    def forward(
        self,
        query: Float[Tensor, "*lead query query_dim"],
        key: Float[Tensor, "*lead key key_dim"] | PreparedKey,
    ) -> Float[Tensor, "*lead query key"]:
        """Scores of every query against every key."""
        self.check(query, key)
        projected = key.projected if isinstance(key, PreparedKey) else self.project_key(key)
        return self.compare(self.project_query(query), projected)

    def check(self, query: Tensor, key: Tensor | PreparedKey, *, caller: str | None = None) -> None:
        """Refuse a query and a key that this score cannot compare.

        Raises:
            ValueError: leading axes, widths, heads or devices do not fit, or another score prepared
                the key.
        """
        name = type(self).__name__
        key_shape = tuple(key.shape)
        if isinstance(key, PreparedKey):
            if key.score is not self:
                another = "another " if repr(key.score) == repr(self) else ""
                raise ValueError(
                    f"{caller or name}: key was prepared by {another}{key.score!r}, but score is "
                    f"{self!r}. "
                    "Keys prepared by one score mean nothing to another. Pass "
                    "score=prepared.score, or prepare the keys with this score."
                )
            key_shape = (*key_shape[:-1], key.key_dim)
        for own in self._parameters.values():
            if own is not None and own.device != query.device:  # torch may compute with both
                raise ValueError(
                    f"{caller or name}: query is on {query.device}, but the parameters of {name} "
                    f"are on {own.device}. They must be on one device. Write "
                    f"score.to({str(query.device)!r})."
                )
        check_widths(
            query.shape,
            key_shape,
            self.query_dim,
            self.key_dim,
            self.num_heads,
            score=name,
            caller=caller or name,
        )


def project(
    x: Float[Tensor, "*lead position dim"], weight: Float[Tensor, "*heads out dim"]
) -> Float[Tensor, "*lead position out"]:
    """``x Wᵀ`` in x's dtype, with one W for all heads or one W each."""
    return x @ weight.mT.to(x.dtype)


def per_head(num_heads: int | None, *shape: int) -> tuple[int, ...]:
    """The shape of a parameter: with a heads axis in front if heads have their own."""
    return shape if num_heads is None else (num_heads, *shape)


def check_parameter_sizes(score: Score, num_heads: int | None, **widths: int) -> None:
    """The widths of a score's parameters, and the number of heads if they have their own."""
    heads = {} if num_heads is None else {"num_heads": num_heads}
    check_sizes(type(score).__name__, **widths, **heads)
