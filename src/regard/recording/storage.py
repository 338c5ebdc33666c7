"""A trace in one safetensors file: numbers by their places, the rest as JSON in its header.

Nothing in it is executed. A part can be read without the rest, by any program that reads
safetensors: tensors are called ``site/run/call/part``.
"""

from __future__ import annotations

import json
from os import PathLike
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from regard.core.files import write_atomically
from regard.recording.site import Call, Run, Site
from regard.recording.summary import Summary
from regard.recording.trace import Trace

FORMAT = "regard.trace.v1"
_PARTS = ("weights", "visible", "scores", "value")


def save(trace: Trace, path: str | PathLike[str]) -> None:
    """Write the file, whole or not at all."""
    from safetensors.torch import save as to_bytes

    tensors: dict[str, Tensor] = {}
    for place, site in enumerate(trace):
        for r, run in enumerate(site.runs):
            for c, call in enumerate(run.calls):
                for part in _PARTS:
                    if (numbers := getattr(call, part)) is not None:
                        tensors[f"{place}/{r}/{c}/{part}"] = numbers.contiguous().clone()
    for name, summary in trace.summaries.items():
        tensors[f"summary/{name}"] = torch.stack(list(summary))
    told = {
        "format": FORMAT,
        "largest_difference": trace.largest_difference,
        "sites": [
            {
                "name": site.name,
                "calls_in_runs": [len(run.calls) for run in site.runs],
                "query_tokens": site.query_tokens,
                "key_tokens": site.key_tokens,
            }
            for site in trace
        ],
        "summaries": list(trace.summaries),
    }
    write_atomically(
        Path(path), to_bytes(tensors, {"regard": json.dumps(told, ensure_ascii=False)})
    )


def load(path: str | PathLike[str]) -> Trace:
    """Read the file.

    Raises:
        ValueError: it is missing, damaged, or no trace.
    """
    from safetensors import SafetensorError, safe_open

    if not Path(path).is_file():
        raise ValueError(
            f"Trace.load: {str(path)!r} is no file. A trace is one file, as trace.save(path) wrote "
            "it. Give its path."
        )
    try:
        with safe_open(path, framework="pt") as file:
            told = json.loads((file.metadata() or {}).get("regard", "{}"))
            if told.get("format") != FORMAT:
                raise ValueError(f"its header does not say format {FORMAT!r}")
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        return _trace(told, tensors)
    except (SafetensorError, ValueError, KeyError, TypeError) as error:
        raise ValueError(
            f"Trace.load: {str(path)!r} cannot be read: {' '.join(str(error).split())[:200]}. It "
            "is damaged or no trace of regard. Save it again, or restore a copy."
        ) from None


def _trace(told: dict[str, Any], tensors: dict[str, Tensor]) -> Trace:
    trace = Trace()
    trace.largest_difference = float(told["largest_difference"])
    for place, about in enumerate(told["sites"]):
        runs = [
            Run([_call(tensors, f"{place}/{r}/{c}") for c in range(num_calls)])
            for r, num_calls in enumerate(about["calls_in_runs"])
        ]
        trace.add(Site(about["name"], runs, about["query_tokens"], about["key_tokens"]))
    for name in told["summaries"]:
        trace.summaries[name] = Summary(*tensors[f"summary/{name}"])
    return trace


def _call(tensors: dict[str, Tensor], where: str) -> Call:
    found = {part: tensors.get(f"{where}/{part}") for part in _PARTS}
    if found["weights"] is None or found["visible"] is None:
        raise ValueError(f"{where} has no weights")
    return Call(**found)  # type: ignore[arg-type]
