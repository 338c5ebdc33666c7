"""Tests that fail on the code as it is and pass once it is fixed."""
