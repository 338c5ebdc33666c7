"""The contracts of attend, over scores, masks, dtypes, heads, flags and modes.

Quick: every contract in cells where each pair of values of two axes meets; and at any sizes, in
cells that hypothesis draws. Slow: every contract where each three values meet, and the answer
itself in every cell there is.
"""

import math
import os
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st
from torch import Tensor

from regard import attend, scores
from regard.kernels import KERNELS
from tests.core.cases import SCORES, Sizes
from tests.core.check import dropping
from tests.core.checks import CHECKS, Needs
from tests.core.everywhere import KERNELS_RAN, check_everywhere, everywhere
from tests.core.matrix import AXES, Cell, covering, groups, product_of, why_not
from tests.core.setting import Attend, Setting, make_setting, near

ROOT = Path(__file__).parents[2]
CELLS = covering(2)
_setting = cache(make_setting)  # no check changes it


@cache
def _silence(needs: Needs, mask: str, heads: str, dtype: str, mode: str) -> str | None:
    """Why checks with these needs have nothing to say; the other axes play no part in it."""
    cell = CELLS[0]._replace(score="additive", mask=mask, heads=heads, dtype=dtype, mode=mode)
    return needs(_setting(cell))


@cache
def _speaks(needs: Needs) -> Callable[[Cell], bool]:
    return lambda cell: _silence(needs, cell.mask, cell.heads, cell.dtype, cell.mode) is None


def _apart(name: str) -> frozenset[str]:
    """Of the quick cells: every score meets every mask for the answer itself alone."""
    return frozenset(() if name == next(iter(CHECKS)) else ("score", "mask"))


MATRIX = [
    (name, cell)
    for name, check in CHECKS.items()
    for cell in covering(2, _speaks(check.says_nothing), _apart(name))
]
every_check = pytest.mark.parametrize("name", CHECKS)

ELSEWHERE = {7: "tests/layers/test_decoders.py"}
"""Contracts about other things than attend."""

# What a check has nothing to say about; `Check.says_nothing` gives the reason.
NEVER_EMPTY = {"unmasked", "causal", "causal_start", "window_start"} | {
    "lengths_or_dense",
    "segments_and_window",
}
ALL_SEEN = {"unmasked", "causal", "causal_start", "causal_end", "window", "window_start"}
SAME_FOR_ALL_QUERIES = {"unmasked", "lengths", "not_lengths"} | {
    "lengths_or_dense",
    "dense_batch_key",
    "from_attention_mask",
}
SILENT: dict[str, set[str]] = {
    "contract_2_an_empty_row_is_zero": NEVER_EMPTY,
    "contract_2_an_empty_row_moves_nothing": NEVER_EMPTY | {"eval"},
    "contract_3_hidden_means_absent": ALL_SEEN,
    "contract_3_large_numbers_stay_with_those_who_see_them": SAME_FOR_ALL_QUERIES,
    "contract_9_first_derivatives_are_those_of_the_definition": {"eval"},
    "contract_9_second_derivatives_are_those_of_the_definition": {"eval", "bf16", "f16"},
    "contract_10_weights_are_dropped_by_a_hash_of_their_position": {"eval", "train"},
}


@pytest.mark.parametrize(("name", "cell"), MATRIX, ids=[f"{name}-{cell}" for name, cell in MATRIX])
def test_attend_keeps(name: str, cell: Cell, as_a_user: None) -> None:
    check_everywhere(name, _setting(cell))


# ---- the matrix is whole --------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("needs", "strength"),
    [
        *((needs, 2) for needs in dict.fromkeys(c.says_nothing for c in CHECKS.values())),
        (dropping, 3),
    ],
)
def test_all_values_meet_that_can_meet(needs: Needs, strength: int) -> None:
    speaks = _speaks(needs)
    can_meet: set[object] = set()
    for cell in product_of():
        if why_not(cell) is None and speaks(cell):
            can_meet.update(groups(cell, strength))
    assert {
        group for cell in covering(strength, speaks) for group in groups(cell, strength)
    } == can_meet


@every_check
def test_a_check_runs_with_every_value_but_those_it_has_nothing_to_say_about(name: str) -> None:
    values = {value for axis in AXES.values() for value in axis}
    ran = {value for check, cell in MATRIX if check == name for value in cell}
    assert values - ran == SILENT.get(name, set())


def test_every_contract_has_a_check() -> None:
    checked = {check.contract for check in CHECKS.values()}
    assert checked | set(ELSEWHERE) == set(range(13))  # 0 is the idea itself
    for contract, path in ELSEWHERE.items():
        assert f"contract {contract}" in (ROOT / path).read_text().lower()


def test_every_kernel_takes_part() -> None:
    """Each refuses something; if one refused everything, or were left out, nobody would see it."""
    one_of_each_score = {c.score: c for c in CELLS if c.mode == "train"}
    for cell in one_of_each_score.values():
        check_everywhere("contract_4_observing_changes_nothing", _setting(cell))
    assert set(KERNELS_RAN) == {kernel.name for kernel in KERNELS}


# ---- at any sizes ---------------------------------------------------------------------------

cells = st.builds(Cell, **{a: st.sampled_from(v) for a, v in AXES.items()}).filter(
    lambda cell: why_not(cell) is None
)
few, width = st.integers(0, 4), st.integers(1, 5)
sizes_ = st.builds(Sizes, few, st.integers(1, 3), few, few, width, width, width, width)


@every_check
@settings(
    max_examples=12,
    phases=(Phase.generate, Phase.shrink),
    suppress_health_check=[HealthCheck.filter_too_much],
)
@given(cell=cells, sizes=sizes_, seed=st.integers(0, 2**31))
def test_at_any_sizes_attend_keeps(name: str, cell: Cell, sizes: Sizes, seed: int) -> None:
    setting = make_setting(cell, sizes, seed)
    assume(CHECKS[name].says_nothing(setting) is None)
    check_everywhere(name, setting)


# ---- threads and processes (contract 11) ----------------------------------------------------


def _answers_in_many_cells() -> None:
    for cell in CELLS[::3]:
        if cell.mode != "dropout":  # threads share torch's generator
            setting = _setting(cell)
            near(setting.ask(attend).context, setting.answer()[0], setting.dtype)


def test_threads_do_not_disturb_each_other() -> None:
    with ThreadPoolExecutor(3) as pool:
        for outcome in [pool.submit(_answers_in_many_cells) for _ in range(3)]:
            outcome.result()


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_process_answers_as_its_parent() -> None:
    _answers_in_many_cells()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            _answers_in_many_cells()
            status = 0
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


# ---- slow -----------------------------------------------------------------------------------


@pytest.mark.slow
@every_check
def test_wherever_three_values_meet_attend_keeps(name: str, as_a_user: None) -> None:
    for cell in covering(3, _speaks(CHECKS[name].says_nothing)):
        try:
            check_everywhere(name, make_setting(cell))
        except BaseException as error:
            error.add_note(f"in the cell {cell}")
            raise


@pytest.mark.slow
@pytest.mark.parametrize("score", scores.NAMES)
def test_the_answer_is_right_in_every_cell(score: str, as_a_user: None) -> None:
    """The whole product, but for a bias and variants of a score: three values must do for those."""
    setting, answer = cache(make_setting), cache(lambda cell: make_setting(cell).answer())
    ran: Counter[str | None] = Counter()
    for cell in product_of(score=score, bias="unbiased"):
        ran[why_not(cell)] += 1
        if why_not(cell) is None:
            # what neither the numbers given nor the answer depend on
            mode = cell.mode if cell.mode == "dropout" else "eval"
            same = cell._replace(key="plain", observed="context", layout="contiguous", mode=mode)
            gives = partial(_gives, setting(same).with_(cell=cell), answer(same))
            everywhere("answer", gives, cell)
    assert ran.total() == math.prod(map(len, AXES.values())) // len(SCORES) // 2


def _gives(setting: Setting, answer: tuple[Tensor, Tensor], attend: Attend) -> None:
    attended = setting.ask(attend)
    near(attended.context, answer[0], setting.dtype)
    if setting.cell.observed == "weights":
        near(attended.weights, answer[1], setting.dtype)
