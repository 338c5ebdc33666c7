"""The same answer, faster. Each kernel says what it refuses; the reference refuses nothing."""

from regard.kernels.dispatch import KERNELS, attend, choose
from regard.kernels.kernel import Kernel
from regard.kernels.request import Request

__all__ = ["KERNELS", "Kernel", "Request", "attend", "choose"]
