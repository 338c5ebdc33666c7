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

from regard.core.errors import shape_text
from regard.core.files import write_atomically
from regard.recording.site import Call, Run, Site
from regard.recording.summary import Summary
from regard.recording.tokens import check_counts, check_text
from regard.recording.trace import Trace

FORMAT = "regard.trace.v1"
_PARTS = ("weights", "visible", "scores", "value")


def save(trace: Trace, path: str | PathLike[str]) -> None:
    """Write the file, whole or not at all.

    Raises:
        ValueError: it cannot be written there.
    """
    from safetensors.torch import save as to_bytes

    target = _path(path, "save")
    if target.is_dir() or not target.parent.is_dir():
        wrong = "is a folder" if target.is_dir() else "is in a folder that is not there"
        raise ValueError(
            f"Trace.save: {str(path)!r} {wrong}. A trace is one file in a folder that is there. "
            "Give another path, or make the folder first."
        )
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
    content = to_bytes(tensors, {"regard": json.dumps(told, ensure_ascii=False)})
    try:
        write_atomically(target, content)
    except OSError as error:
        raise ValueError(
            f"Trace.save: {str(path)!r} cannot be written: {error.strerror}. Give a path that can."
        ) from None


def load(path: str | PathLike[str]) -> Trace:
    """Read the file.

    Raises:
        ValueError: it is missing, damaged, or no trace.
    """
    from safetensors import SafetensorError, safe_open

    if not _path(path, "load").is_file():
        raise ValueError(
            f"Trace.load: {str(path)!r} is no file. A trace is one file, as trace.save(path) wrote "
            "it. Give its path."
        )
    try:
        with safe_open(path, framework="pt") as file:
            told = json.loads((file.metadata() or {}).get("regard", "{}"))
            if not isinstance(told, dict) or told.get("format") != FORMAT:
                raise ValueError(f"its header does not say format {FORMAT!r}")
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        return _trace(told, tensors)
    except (SafetensorError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise ValueError(
            f"Trace.load: {str(path)!r} cannot be read: {' '.join(str(error).split())[:200]}. It "
            "is damaged or no trace of regard. Save it again, or restore a copy."
        ) from None


def _path(given: object, name: str) -> Path:
    if not isinstance(given, str | PathLike):
        raise TypeError(
            f"Trace.{name}: path is a {type(given).__name__}. It must be a str or a pathlib.Path. "
            "Give the name of a file."
        )
    return Path(given)


def _trace(told: dict[str, Any], tensors: dict[str, Tensor]) -> Trace:
    trace = Trace()
    trace.largest_difference = float(told["largest_difference"])
    for place, about in enumerate(told["sites"]):
        runs = [
            Run([_call(tensors, f"{place}/{r}/{c}") for c in range(num_calls)])
            for r, num_calls in enumerate(about["calls_in_runs"])
        ]
        site = Site(about["name"], runs, about["query_tokens"], about["key_tokens"])
        _check(site)
        trace.add(site)
    for name in told["summaries"]:
        trace.summaries[name] = Summary(*tensors[f"summary/{name}"])
    return trace


def _check(site: Site) -> None:
    if not isinstance(site.name, str):
        raise ValueError(f"a site's name is {site.name!r}")
    if not site.runs or not all(run.calls for run in site.runs):
        raise ValueError(f"site {site.name!r} has a run without a call")
    for name, tokens in (("query", site.query_tokens), ("key", site.key_tokens)):
        if tokens is None:
            continue
        try:
            check_text(name, tokens)
            if len(site.runs) == 1:
                check_counts(site, name, tokens)
        except (TypeError, ValueError):
            raise ValueError(f"the {name}_tokens of site {site.name!r} do not fit it") from None


def _call(tensors: dict[str, Tensor], where: str) -> Call:
    found = {part: tensors.get(f"{where}/{part}") for part in _PARTS}
    weights, visible = found["weights"], found["visible"]
    if weights is None or visible is None:
        raise ValueError(f"{where} has no weights")
    if weights.dim() != 4 or not weights.is_floating_point():
        raise ValueError(f"{where} has weights of shape {shape_text(weights.shape)}, not 4 axes")
    for part in ("visible", "scores"):
        grid = found[part]
        if grid is not None and grid.shape != weights.shape:
            raise ValueError(
                f"{where} has weights of shape {shape_text(weights.shape)}, but {part} of shape "
                f"{shape_text(grid.shape)}"
            )
    if visible.dtype != torch.bool:
        raise ValueError(f"{where} has visible of {visible.dtype}")
    return Call(**found)  # type: ignore[arg-type]
