"""The contracts, as functions that any `attend` can be put through.

Each takes an ``attend`` and a `Setting`, and raises AssertionError if a contract is broken there.
`test_contracts.py` puts ours through them, and every kernel behind it; `test_the_tests_can_fail.py`
puts broken ones through. The number is the contract's; 0 is the idea itself: score, hide,
normalize, average.
"""

from tests.core import checks_of_answers, checks_of_conduct  # which register theirs
from tests.core.check import CHECKS, Check, Needs

__all__ = ["CHECKS", "Check", "Needs", "checks_of_answers", "checks_of_conduct"]
