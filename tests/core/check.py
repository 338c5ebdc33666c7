"""What a check of a contract is, and what it needs to have anything to say."""

from collections.abc import Callable
from typing import NamedTuple

import torch

from tests.core.setting import Attend, Setting

Needs = Callable[[Setting], str | None]


class Check(NamedTuple):
    """A contract, and why it has nothing to say about some settings (None where it has)."""

    contract: int
    run: Callable[[Attend, Setting], None]
    says_nothing: Needs


CHECKS: dict[str, Check] = {}


def nothing(s: Setting) -> str | None:
    return None


def contract(
    number: int, needs: Needs = nothing
) -> Callable[[Callable[[Attend, Setting], None]], Callable[[Attend, Setting], None]]:
    """Register a check of this contract."""

    def register(run: Callable[[Attend, Setting], None]) -> Callable[[Attend, Setting], None]:
        CHECKS[f"contract_{number}_{run.__name__}"] = Check(number, run, needs)
        return run

    return register


# ---- what a check needs to have anything to say ---------------------------------------------


def empty_rows(s: Setting) -> str | None:
    return None if s.empty.any() else "no row is empty"


def unseen_keys(s: Setting) -> str | None:
    if s.may_attend is None:
        return "nothing is hidden"
    return None if s.unseen.any() else "every key is seen by some query"


def keys_seen_by_some(s: Setting) -> str | None:
    seen_by_some = (s.allowed.any(-2) & ~s.allowed.all(-2)).any()
    return None if seen_by_some else "no key is seen by some queries and hidden from others"


def gradients_taken(s: Setting) -> str | None:
    return None if s.differentiates else "evaluation takes no gradients"


def empty_rows_with_gradients(s: Setting) -> str | None:
    return empty_rows(s) or gradients_taken(s)


def precise_gradients(s: Setting) -> str | None:
    if s.dtype in (torch.bfloat16, torch.float16):
        return "half precision rounds first derivatives before the second"
    return gradients_taken(s)


def axes_to_stretch(s: Setting) -> str | None:
    sizes = (s.sizes.batch, s.sizes.heads or 3, s.sizes.key_len)
    return None if min(sizes) > 1 and s.sizes.batch > 2 else "an axis is too short to be stretched"


def dropping(s: Setting) -> str | None:
    return None if s.dropout_p else "nothing is dropped"
