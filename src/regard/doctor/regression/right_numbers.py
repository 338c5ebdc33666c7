"""The right numbers for a test: the formula as text, if it is sure to be the right one."""

import numpy as np

from regard.doctor.binding.bound import BoundExamination
from regard.doctor.comparison.anatomy import dissect
from regard.doctor.comparison.rights import is_additive
from regard.doctor.regression.call_writer import CannotWrite
from regard.doctor.regression.formula_writer import FormulaWriter
from regard.doctor.regression.harness import Harness
from regard.doctor.regression.written_file import function


def formula(exam: BoundExamination, harness: Harness) -> str | None:
    """The function `expected`, None where the formula is not known or cannot be written."""
    inputs = exam.inputs()
    answer = exam.ask(inputs, trace=True)
    try:
        anatomy = dissect(exam, inputs, answer)
        if anatomy is None or (exam.scale is None and exam.score == "unknown"):
            return None
        if anatomy.made_inside:
            return None
        summed = is_additive(exam, anatomy)
        root = float(anatomy.parts.head_dim) ** -0.5
        scale = exam.scale
        if scale is None:
            scale = root if exam.score == "scaled_dot" and not summed else 1.0
        as_module = not exam._attempt.dims and bool(exam.parameters())
        averaged = not harness.has_heads
        text = FormulaWriter(
            anatomy,
            exam.parameters(),
            additive=summed,
            scale=scale,
            general=exam.score == "general" and bool(exam._attempt.dims),
            causal=inputs.causal,
            has_value=exam.binding.slot("value") is not None,
            has_code=as_module,
        ).text(averaged)
        if not as_module and not exam._attempt.dims:
            text = text.replace("    p = parameters()\n", "")
        names = harness.run(
            function("nothing", "assert_same(attend(draw()), attend(draw()))"), text
        )
        code = names["build"]()
        for right, theirs in zip(
            names["expected"](names["draw"](), code),
            names["attend"](names["draw"](), code),
            strict=True,
        ):
            if theirs is not None and (right.shape != theirs.shape or not np.isfinite(right).all()):
                return None
    except (CannotWrite, ValueError, KeyError, AttributeError, IndexError, RuntimeError):
        return None
    return text
