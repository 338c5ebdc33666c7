"""`python -m regard.doctor.worker FOLDER`: answers the request that lies in the folder.

The code that is examined runs in this process and nowhere else.
"""

import json
import sys
from pathlib import Path

from regard.doctor.isolate import answer, tell_where_when_asked
from regard.doctor.load import load
from regard.doctor.look import look
from regard.doctor.options import Options
from regard.doctor.report.as_json import to_json


def main(folder: str) -> None:
    """Read `request.json`, load and examine, write `answer.json`."""
    exchange = Path(folder)
    request = json.loads((exchange / "request.json").read_text(encoding="utf-8"))
    tell_where_when_asked()
    try:
        found = load(Path(request["file"]), request["name"])
        report = look(found, Options.from_json(request["options"]), request["target"])
    except ValueError as error:  # look keeps those of the examined code
        answer(exchange, {"error": str(error)})
        return
    answer(exchange, {"report": to_json(report)})


if __name__ == "__main__":
    main(sys.argv[1])
