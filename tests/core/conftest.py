"""Shared by the tests of the core."""

from collections.abc import Iterator

import jaxtyping
import pytest

pytest.register_assert_rewrite(
    "tests.core.checks_of_answers", "tests.core.checks_of_conduct", "tests.core.setting"
)


@pytest.fixture
def as_a_user() -> Iterator[None]:
    """Without the checks of annotations that only tests have: our own messages must do alone."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)
