"""``Mask``: the type that says who may attend to what, and its algebra."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NoReturn, TypeAlias

from jaxtyping import Bool, Shaped
from torch import Tensor

from regard.core.masks.description import Description

Align: TypeAlias = Literal["start", "end"]
Whole: TypeAlias = Sequence[int] | Sequence[Sequence[int]] | Shaped[Tensor, "..."]


class Mask(Description):
    """Who may attend to what. True means *may attend*, always.

    Build one with :meth:`lengths`, :meth:`causal`, :meth:`window`, :meth:`segments` or
    :meth:`dense`, or from what another library calls a mask with :meth:`from_attention_mask` or
    :meth:`from_torch`; combine them with ``&`` (both allow), ``|`` (either allows) and ``~`` (the
    opposite). A mask is a description: it becomes a tensor only when a kernel needs one.

    >>> Mask.lengths([2, 3]) & Mask.causal()
    (Mask.lengths([2, 3]) & Mask.causal())
    ▪ · ·   ▪ · ·
    ▪ ▪ ·   ▪ ▪ ·
    ▪ ▪ ·   ▪ ▪ ▪

    (queries down, keys across, an example beside the other; ``str`` is the first line alone.)
    torch 2.13 compiles no ``~`` of an object: within a compiled function write
    ``mask.__invert__()``, or make the mask before.
    """

    # ---- constructors -------------------------------------------------------------------
    @staticmethod
    def lengths(lengths: Whole) -> Mask:
        """Each query may attend to the first ``lengths`` keys of its example.

        Shape ``(batch,)``: one length per example; ``(batch, query_len)``: one per query. A
        length of 0 is an empty row: its weights and context are zero.

        Raises:
            TypeError: the lengths are not whole numbers.
            ValueError: a length is negative, or (when used) longer than the key axis.

        >>> Mask.lengths([1, 2]).dense_for(query_len=1, key_len=2).int().tolist()
        [[[1, 0]], [[1, 1]]]
        """
        from regard.core.masks.lengths import Lengths

        return Lengths(lengths)

    @staticmethod
    def causal(align: Align | None = None) -> Mask:
        """No query may attend to a key after itself.

        ``align="start"``: query 0 sits at key 0. ``align="end"``: the last query sits at the last
        key, as when new queries attend to a cache. Where the two lengths are equal both mean the
        same and ``align`` may be left out; where they differ it must be given.

        >>> Mask.causal("end").dense_for(query_len=2, key_len=3).int().tolist()
        [[1, 1, 0], [1, 1, 1]]
        """
        from regard.core.masks.causal import Causal

        return Causal(align)

    @staticmethod
    def window(before: int | None, after: int | None, *, align: Align | None = None) -> Mask:
        """Each query may attend to its own place, ``before`` keys before it and ``after`` after.

        ``None`` is no limit: ``window(None, 0)`` allows what ``causal()`` allows. ``align`` says
        where the queries sit among the keys, as in :meth:`causal`.

        Raises:
            TypeError: a number is not whole.
            ValueError: a number is negative, or (when used) the lengths differ without ``align``.

        >>> Mask.window(1, 0)
        Mask.window(1, 0)
        ▪ · · · ·
        ▪ ▪ · · ·
        · ▪ ▪ · ·
        · · ▪ ▪ ·
        · · · ▪ ▪
        """
        from regard.core.masks.window import Window

        return Window(before, after, align)

    @staticmethod
    def segments(query_ids: Whole, key_ids: Whole | None = None) -> Mask:
        """Each query may attend to the keys of its own segment: those with the same id.

        For several sequences packed into one. Shape ``(position,)``, which serves every example,
        or ``(batch, position)``; self-attention needs ``query_ids`` alone.

        Raises:
            TypeError: the ids are not whole numbers.
            ValueError: their shape is neither, or (when used) does not fit.

        >>> Mask.segments([0, 0, 1]).dense_for(query_len=3, key_len=3).int().tolist()
        [[1, 1, 0], [1, 1, 0], [0, 0, 1]]
        """
        from regard.core.masks.segments import Segments

        return Segments(query_ids, key_ids)

    @staticmethod
    def dense(may_attend: Shaped[Tensor, "..."]) -> Mask:
        """A bool tensor, True where the query may attend.

        Shape ``(query, key)``, ``(batch, query, key)`` or ``(batch, heads, query, key)``; its
        batch, heads and query axes may have size 1 and then serve all. The bool ``attn_mask`` of
        torch's ``scaled_dot_product_attention`` has this polarity; that of
        ``nn.MultiheadAttention`` has the opposite one, for which there is :meth:`from_torch`.

        Raises:
            TypeError: the tensor is not bool (0/1 numbers could mean either polarity).
            ValueError: it has fewer than two or more than four axes.

        >>> import torch
        >>> Mask.dense(torch.tensor([[True, False]])).dense_for(query_len=2, key_len=2).tolist()
        [[True, False], [True, False]]
        """
        from regard.core.masks.dense import Dense

        return Dense(may_attend)

    @staticmethod
    def from_attention_mask(ones_and_zeros: Shaped[Tensor, "..."]) -> Mask:
        """The ``attention_mask`` of a Hugging Face tokenizer: 1 = real, 0 = padding.

        Shape ``(batch, key)``, ints, floats or bools.

        Raises:
            TypeError: not a tensor.
            ValueError: another shape, or a value that is neither 0 nor 1.

        >>> import torch
        >>> ones_and_zeros = torch.tensor([[1, 1, 0]])
        >>> Mask.from_attention_mask(ones_and_zeros).dense_for(1, 3).int().tolist()
        [[[1, 1, 0]]]
        """
        from regard.core.masks.foreign import from_attention_mask

        return from_attention_mask(ones_and_zeros)

    @staticmethod
    def from_torch(
        attn_mask: Shaped[Tensor, "..."] | None = None,
        key_padding_mask: Shaped[Tensor, "..."] | None = None,
        *,
        num_heads: int | None = None,
    ) -> Mask:
        """The masks of ``nn.MultiheadAttention`` and ``nn.Transformer``: bool, True = *hidden*.

        Mind that the bool mask of ``scaled_dot_product_attention`` means the opposite (True = may
        attend): that one is :meth:`dense`. Float masks are added to the scores; one of only 0 and
        -inf is a mask, and any other number is a bias, which ``attend`` takes as ``bias=``.

        Args:
            attn_mask: ``(query, key)``, or ``(batch * num_heads, query, key)``.
            key_padding_mask: ``(batch, key)``, or ``(key,)`` of an unbatched call.
            num_heads: the module's, by which the axes of a three-axis ``attn_mask`` are told apart.

        Raises:
            TypeError: not a tensor, or neither bool nor float.
            ValueError: shapes that do not fit, a float that is neither 0 nor -inf, or no mask.

        >>> import torch
        >>> hidden = torch.tensor([[False, False, True]])
        >>> Mask.from_torch(key_padding_mask=hidden).dense_for(1, 3).int().tolist()
        [[[1, 1, 0]]]
        """
        from regard.core.masks.foreign import from_torch

        return from_torch(attn_mask, key_padding_mask, num_heads)

    # ---- algebra ------------------------------------------------------------------------
    def __and__(self, other: Mask | Bool[Tensor, "..."]) -> Mask:
        from regard.core.masks.algebra import Both

        return Both(self, _operand(other, "&"))

    def __or__(self, other: Mask | Bool[Tensor, "..."]) -> Mask:
        from regard.core.masks.algebra import Either

        return Either(self, _operand(other, "|"))

    def __invert__(self) -> Mask:
        from regard.core.masks.algebra import Opposite

        return Opposite(self)

    __rand__ = __and__
    __ror__ = __or__

    def __bool__(self) -> NoReturn:
        raise TypeError(
            f"{self} has no truth value: `and`, `or` and `not` would take one mask and drop the "
            "other. Combine masks with &, | and ~; whether there is one is `mask is not None`."
        )

    @property
    def parts(self) -> tuple[Mask, ...]:
        """The masks that must all allow, from left to right; itself alone if it is no ``&``."""
        return (self,)

    def __repr__(self) -> str:
        from regard.core.masks.drawing import draw

        return f"{self}\n{draw(self)}".rstrip()


def as_mask(may_attend: Mask | Shaped[Tensor, "..."]) -> Mask:
    """A ``Mask`` as it is; a bool tensor as ``Mask.dense``; anything else is refused."""
    if isinstance(may_attend, Mask):
        return may_attend
    if isinstance(may_attend, Tensor):
        return Mask.dense(may_attend)
    raise TypeError(
        f"may_attend is a {type(may_attend).__name__}. It must be a Mask or a bool tensor whose "
        "True means 'may attend'. Use Mask.lengths(...), Mask.causal() or Mask.dense(...)."
    )


def _operand(other: Mask | Shaped[Tensor, "..."], sign: str) -> Mask:
    if isinstance(other, Mask | Tensor):
        return as_mask(other)
    raise TypeError(
        f"Mask {sign} {type(other).__name__}: both sides of {sign} must be a Mask, or a bool "
        "tensor whose True means 'may attend'. Use Mask.lengths(...), Mask.causal() or "
        "Mask.dense(...)."
    )
