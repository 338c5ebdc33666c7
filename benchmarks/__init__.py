"""Speed, measured beside named peers in the same run. ``python -m benchmarks`` runs all of it."""
