"""The contracts of attend, for every score."""

import pytest

from regard import attend
from regard.core.attend import attend_reference
from tests.core.cases import SCORES
from tests.core.checks import CHECKS


@pytest.mark.parametrize("name", SCORES)
@pytest.mark.parametrize("check", CHECKS)
def test_attend_keeps_the_contract_that(check: str, name: str) -> None:
    CHECKS[check](attend, name)


@pytest.mark.parametrize("check", CHECKS)
def test_the_reference_itself_keeps_the_contract_that(check: str) -> None:
    CHECKS[check](attend_reference, "additive normalized")
