"""Each version of attend that is broken on purpose must be caught by the check it breaks."""

from dataclasses import replace
from typing import Any

import pytest

from regard import attend
from regard.core.attend import Attended, attend_reference
from regard.kernels import dispatch
from regard.kernels.reference import REFERENCE
from tests.core.checks import CHECKS
from tests.core.everywhere import check_everywhere, only
from tests.core.matrix import Cell
from tests.core.mutants import CAUGHT_BY, Break
from tests.core.setting import Setting, make_setting

USUAL = Cell(
    score="scaled_dot",
    mask="dense_batch_query_key",
    dtype="f64",
    heads="heads",
    key="plain",
    observed="context",
    mode="train",
    layout="contiguous",
    bias="unbiased",
)


def _caught(check: str, setting: Setting) -> bool:
    try:
        CHECKS[check].run(attend, setting)
    except (AssertionError, pytest.fail.Exception):
        return True
    return False


@pytest.mark.parametrize("break_it", CAUGHT_BY, ids=lambda break_it: break_it.__name__)
def test_an_attend_is_caught_that_has(break_it: Break, as_a_user: None) -> None:
    check, values = CAUGHT_BY[break_it]
    setting = make_setting(USUAL._replace(**values))
    assert CHECKS[check].says_nothing(setting) is None
    # within `only`, so that what the two replace is put back in the right order
    with only(REFERENCE), pytest.MonkeyPatch.context() as patch:
        assert not _caught(check, setting)  # nothing where nothing is broken
        break_it(patch)
        assert _caught(check, setting)


def test_every_check_has_caught_something() -> None:
    assert {check for check, _ in CAUGHT_BY.values()} == set(CHECKS)


def test_a_kernel_that_attend_never_chooses_is_caught_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(*args: Any, **options: Any) -> Attended:
        attended = attend_reference(*args, **options)
        return attended._replace(context=attended.context * 1.01)

    last = replace(REFERENCE, name="last", run=wrong)
    monkeypatch.setattr(dispatch, "KERNELS", (REFERENCE, last))
    with pytest.raises(AssertionError, match="off by"):
        check_everywhere("contract_0_the_reference_gives_the_same_numbers", make_setting(USUAL))
