"""The code's numbers beside those of the right model and of its known faults."""
