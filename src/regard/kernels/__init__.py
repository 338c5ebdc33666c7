"""The same answer, faster. Each kernel says what it refuses; the reference refuses nothing."""

from regard.kernels.dispatch import KERNELS, attend, choose
from regard.kernels.kernel import Kernel
from regard.kernels.request import Request
from regard.kernels.workers import Workers

__all__ = ["KERNELS", "Kernel", "Request", "Workers", "attend", "choose"]
