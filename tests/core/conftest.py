"""Shared by the tests of the core."""

import pytest

pytest.register_assert_rewrite(
    "tests.core.checks_of_answers", "tests.core.checks_of_conduct", "tests.core.setting"
)
