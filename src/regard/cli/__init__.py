"""The command line: one thin file a command."""

from regard.cli.main import main

__all__ = ["main"]
