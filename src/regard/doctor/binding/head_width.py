"""The width that a head compares, where the code gives heads a width of their own."""

import re
from typing import Any

from regard.doctor.binding.roles import init_role
from regard.doctor.binding.subject import Subject
from regard.doctor.tracing.locate import score_products
from regard.doctor.tracing.trace import Trace


def declared_head_widths(subject: Subject, made: Any) -> set[int]:
    """Whole numbers that are called a head's width: `dim_head`, Keras' `key_dim`."""
    given = {name: parameter.default for name, parameter in subject.init.items()}
    given |= {name.lstrip("_"): value for name, value in getattr(made, "__dict__", {}).items()}
    roles = {name: init_role(name) for name, value in given.items() if type(value) is int}
    own = {"head_dim"} if "width" in roles.values() else {"head_dim", "key_dim"}
    return {given[name] for name, role in roles.items() if role in own}


def compared_width(trace: Trace) -> int | None:
    """The length of the axis that query and key are summed over."""
    for product in score_products(trace):
        shape = product.operands[0].shape
        op, settings = product.event.op, product.event.settings
        if op in ("matmul", "bmm", "baddbmm", "scaled_dot_product_attention"):
            return shape[-1]
        if op == "einsum" and len(product.operands) == 2:
            return _summed(str(settings.get("equation", "")), shape)
    return None


def _summed(equation: str, shape: tuple[int, ...]) -> int | None:
    terms = re.split(r",|->", equation.replace(" ", "").replace("...", ""))
    if len(terms) != 3:
        return None
    gone = [letter for letter in terms[0] if letter in terms[1] and letter not in terms[2]]
    return shape[terms[0].index(gone[0]) - len(terms[0])] if len(gone) == 1 else None
