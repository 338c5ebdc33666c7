"""The additive score in numba loops; numba is loaded at the first call."""

from regard.kernels.additive_cpu.kernel import ADDITIVE_CPU

__all__ = ["ADDITIVE_CPU"]
