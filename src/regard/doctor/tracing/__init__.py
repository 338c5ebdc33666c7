"""What the examined code did, operation by operation, and where."""
