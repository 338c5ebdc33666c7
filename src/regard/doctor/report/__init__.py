"""The report for people and for programs."""
