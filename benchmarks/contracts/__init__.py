"""The same questions put to attention libraries and to ours; ``python -m benchmarks.contracts``."""
