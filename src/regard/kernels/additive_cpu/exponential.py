"""How loops are compiled, and an e^x that they vectorize.

numba alone calls the C library, once a number.
"""

import math
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload

_OPTIONS: Any = {
    # never nnan or ninf: with them an empty row gives NaN, and NaN is not seen
    "fastmath": {"reassoc", "contract", "arcp", "nsz"},
    # "python" would check each division for 0, which no vector survives
    "error_model": "numpy",
}


def jit(function: Callable[..., Any]) -> Any:
    """Compile at the first call, and keep the machine code on disk where that can be written."""
    try:
        return numba.njit(**_OPTIONS, nogil=True, cache=True)(function)
    except RuntimeError:  # there is nowhere to write, so that every process compiles anew
        return numba.njit(**_OPTIONS, nogil=True)(function)


def inlined(function: Callable[..., Any]) -> Any:
    """For a part of a loop, which then knows its caller's constants."""
    return numba.njit(**_OPTIONS, inline="always")(function)


_LOG2_E = np.float32(1.44269504)
# ln 2 in two parts, so that n ln 2 is exact in the first
_LN2_HIGH, _LN2_LOW = np.float32(0.693359375), np.float32(-2.12194440e-4)
_HALF, _ONE = np.float32(0.5), np.float32(1.0)
# (e^r - 1 - r) / r², r within ±ln 2 / 2 (Moshier's Cephes, expf)
_P0, _P1 = np.float32(1.9875691500e-4), np.float32(1.3981999507e-3)
_P2, _P3 = np.float32(8.3334519073e-3), np.float32(4.1665795894e-2)
_P4, _P5 = np.float32(1.6666665459e-1), np.float32(5.0000001201e-1)


def exponential(x: Any) -> Any:
    """e^x of -87 <= x <= 88 (float64: of any x), to 3e-7 of it in float32; in loops alone."""
    raise NotImplementedError


@overload(exponential, jit_options=_OPTIONS, inline="always")
def _exponential(x: Any) -> Any:
    return _of_float32 if x == types.float32 else _of_float64


def _of_float64(x: Any) -> Any:
    return math.exp(x)


def _of_float32(x: Any) -> Any:
    n = np.floor(x * _LOG2_E + _HALF)
    r = x - n * _LN2_HIGH
    r = r - n * _LN2_LOW
    p = ((((_P0 * r + _P1) * r + _P2) * r + _P3) * r + _P4) * r + _P5
    power_of_2 = _as_float32((np.int32(n) + np.int32(127)) << np.int32(23))
    return (p * (r * r) + r + _ONE) * power_of_2


def _reinterpret(typing_context: Any, bits: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.FloatType())

    return types.float32(types.int32), generate


_as_float32: Any = intrinsic(_reinterpret)
"""The float32 that these 32 bits are."""


@inlined
def clipped(x: Any, limit: Any) -> Any:
    """Within ±limit; NaN stays NaN."""
    return limit if x > limit else (-limit if x < -limit else x)


def tangent(x: Any) -> Any:
    """tanh x, to 3e-7 of it in float32; in loops alone."""
    raise NotImplementedError


@overload(tangent, jit_options=_OPTIONS, inline="always")
def _tangent(x: Any) -> Any:
    return _tangent_of_float32 if x == types.float32 else _tangent_of_float64


def _tangent_of_float64(x: Any) -> Any:
    return math.tanh(x)


# of x, x³ .. x⁹ in tanh's series at 0
_T1, _T3, _T5 = np.float32(1.0), np.float32(-1 / 3), np.float32(2 / 15)
_T7, _T9 = np.float32(-17 / 315), np.float32(62 / 2835)
_NEAR_0, _TWO, _FAR = np.float32(0.3**2), np.float32(2.0), np.float32(80.0)


def _tangent_of_float32(x: Any) -> Any:
    square = x * x
    near_0 = x * (_T1 + square * (_T3 + square * (_T5 + square * (_T7 + square * _T9))))
    elsewhere = _ONE - _TWO / (_ONE + exponential(clipped(_TWO * x, _FAR)))
    return near_0 if square < _NEAR_0 else elsewhere
