"""What the fields of plain data may hold, each type and each rule."""

from dataclasses import dataclass
from typing import Annotated

import pytest

from regard.core.fields import SHARE, above_zero, between, check_fields


@dataclass
class Choices:
    layers: Annotated[int, between(1, 64)] = 2
    rate: Annotated[float, above_zero(1)] = 0.5
    dropout: Annotated[float, SHARE] = 0.0
    both_ways: bool = True
    name: str = "gru"
    width: Annotated[int, between(1, 9)] | None = None


@pytest.mark.parametrize(
    "given",
    [{}, {"layers": 1}, {"layers": 64}, {"rate": 1}, {"dropout": 0.999}, {"width": 9}],
    ids=str,
)
def test_what_fits_passes(given):
    check_fields(Choices(**given))


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"layers": 0}, ValueError, "layers=0. Give a whole number from 1 to 64."),
        ({"layers": 65}, ValueError, "layers=65. Give a whole number from 1 to 64."),
        ({"layers": 2.0}, TypeError, "layers=2.0. Give a whole number from 1 to 64."),
        ({"layers": True}, TypeError, "layers=True. Give a whole number from 1 to 64."),
        ({"layers": None}, TypeError, "layers=None. Give a whole number from 1 to 64."),
        ({"rate": 0.0}, ValueError, "rate=0.0. Give a number above 0, at most 1."),
        ({"rate": float("inf")}, ValueError, "rate=inf. Give a number above 0, at most 1."),
        ({"rate": float("nan")}, ValueError, "rate=nan. Give a number above 0, at most 1."),
        ({"dropout": 1.0}, ValueError, "dropout=1.0. Give a number at least 0 and below 1."),
        ({"dropout": "x"}, TypeError, "dropout='x'. Give a number at least 0 and below 1."),
        ({"both_ways": "no"}, TypeError, "both_ways='no'. Give True or False."),
        ({"both_ways": 3}, TypeError, "both_ways=3. Give True or False."),
        ({"both_ways": None}, TypeError, "both_ways=None. Give True or False."),
        ({"name": ["gru"]}, TypeError, "name=['gru']. Give a string."),
        ({"width": 10}, ValueError, "width=10. Give a whole number from 1 to 9."),
    ],
    ids=str,
)
def test_what_does_not_fit_is_named_with_what_would(given, error, message):
    with pytest.raises(error) as caught:
        check_fields(Choices(**given))
    assert str(caught.value) == message
