"""The reference as a kernel: last in the list, refusing nothing."""

import torch

from regard.core.attend import attend_reference
from regard.kernels.kernel import Kernel

REFERENCE = Kernel(
    name="reference",
    run=attend_reference,
    tolerance={
        torch.float64: 1e-12,
        torch.float32: 1e-5,
        torch.bfloat16: 1e-2,
        torch.float16: 2e-3,
    },
)
