"""See attention while a model runs, and change it: ``record``, ``intervene``, ``Trace``."""

from regard.recording import edits
from regard.recording.context import follow, intervene, record, tap
from regard.recording.edits import Edit
from regard.recording.site import Call, Run, Site
from regard.recording.summary import Summary
from regard.recording.trace import Trace
from regard.recording.verify import RecordingError

__all__ = [
    "Call",
    "Edit",
    "RecordingError",
    "Run",
    "Site",
    "Summary",
    "Trace",
    "edits",
    "follow",
    "intervene",
    "record",
    "tap",
]
