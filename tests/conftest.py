"""What all tests share: one hypothesis profile, and one thread for torch."""

import torch
from hypothesis import settings

# a loaded machine is not a failing test, and the same code gives the same verdict
settings.register_profile("regard", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("regard")
torch.set_num_threads(1)  # operations are tiny here, and two threads would wait for each other
