"""What a search is given, checked: numbers per source, ids, and what came of it."""

import reprlib
from collections.abc import Collection
from numbers import Integral, Real

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from regard.core.errors import dtype_text, shape_text

_MOST_PENALTY = 10  # (5 + |y|)^alpha stays a float32 up to 40,000 tokens


def check_whole(caller: str, name: str, given: object, axes: str) -> None:
    """A tensor of whole numbers with these axes, such as ``batch, prefix_len``.

    Raises:
        TypeError: no tensor, or one of other numbers.
        ValueError: another number of axes.
    """
    num_axes = len(axes.split(", "))
    shape = f"({axes})" if num_axes > 1 else f"({axes},)"
    rule = f"It is a tensor {shape} of whole numbers."
    if not isinstance(given, Tensor):
        raise TypeError(
            f"{caller}: {name}={reprlib.repr(given)} is a {type(given).__name__}. {rule} "
            f"Give torch.tensor({'[[3, 4]]' if num_axes > 1 else '[3, 4]'}) for a batch of "
            f"{1 if num_axes > 1 else 2}."
        )
    if given.is_floating_point() or given.is_complex() or given.dtype == torch.bool:
        raise TypeError(
            f"{caller}: {name} {shape_text(given.shape)} has dtype {dtype_text(given.dtype)}. "
            f"{rule} Make them whole yourself, then .long()."
        )
    if given.dim() != num_axes:
        raise ValueError(
            f"{caller}: {name} has shape {shape_text(given.shape)}. {rule} "
            "Each source has its own, a batch of one too."
        )


def check_id(caller: str, name: str, given: object) -> None:
    """A token id, as far as that shows without the vocabulary.

    Raises:
        TypeError: no whole number.
        ValueError: below 0.
    """
    if isinstance(given, bool) or not isinstance(given, Integral):
        raise TypeError(
            f"{caller}: {name}={reprlib.repr(given)} is a {type(given).__name__}. A token id is a "
            "whole number. Give the int that stands for the token."
        )
    if given < 0:
        raise ValueError(
            f"{caller}: {name}={given}. A token id is at least 0: none counts from the end. Give "
            "the int that stands for the token."
        )


def check_never(caller: str, given: object) -> None:
    """Ids, as many as there are.

    Raises:
        TypeError: no collection, or one of something else.
        ValueError: an id below 0.
    """
    if not isinstance(given, Collection):
        raise TypeError(
            f"{caller}: never={reprlib.repr(given)} is a {type(given).__name__}. It lists the ids "
            "that must not be emitted, and is read at every step. Give a tuple, () for none."
        )
    for each in given:
        check_id(caller, "never", each)


def check_penalty(caller: str, given: object) -> None:
    """The exponent of a length penalty.

    Raises:
        TypeError: no number.
        ValueError: one so large that scores overflow, or NaN.
    """
    fix = "Give 0 for none, 0.6 to 1 to favor longer targets."
    if isinstance(given, bool) or not isinstance(given, Real):
        raise TypeError(
            f"{caller}: length_penalty={reprlib.repr(given)} is a {type(given).__name__}. It is "
            f"an exponent, a number. {fix}"
        )
    if not -_MOST_PENALTY <= float(given) <= _MOST_PENALTY:
        raise ValueError(
            f"{caller}: length_penalty={given}. It is an exponent, from -{_MOST_PENALTY} to "
            f"{_MOST_PENALTY}: beyond, scores overflow. {fix}"
        )


def check_found(caller: str, best: Float[Tensor, " batch"]) -> None:
    """Each source's best score, or log-probability, is that of something.

    Raises:
        ValueError: a source has nothing that may be emitted.
    """
    nothing: Bool[Tensor, " batch"] = best == -torch.inf
    if nothing.any():
        raise ValueError(
            f"{caller}: source {int(nothing.nonzero()[0])} has no hypothesis: at some step no "
            "token that may come has a probability above 0. Forbid less, or look for a prefix or "
            "logits of -inf that leave nothing."
        )
