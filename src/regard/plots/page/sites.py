"""What the page holds of each recorded site, checked."""

import base64
import zlib
from typing import NamedTuple

import numpy as np
from jaxtyping import Float32

from regard.plots._grid import ROUNDING, visible
from regard.recording.site import Run, Site
from regard.recording.tokens import Tokens
from regard.recording.trace import Trace

NO_TOKEN = "(no token)"


class Example(NamedTuple):
    """The labels of one example; weights of positions beyond them are not shown."""

    queries: list[str]
    keys: list[str]
    left_out: str  # what that leaves out, as a sentence, or nothing


class Shown(NamedTuple):
    """A site as the page holds it."""

    name: str
    weights: Float32[np.ndarray, "batch heads query_len key_len"]
    examples: list[Example]


def shown(trace: Trace, caller: str) -> list[Shown]:
    """Return every run of every site, its weights as 32-bit numbers, with labels."""
    return [
        _shown(site, run, f", run {place}" if len(site.runs) > 1 else "", caller)
        for site in trace
        for place, run in enumerate(site.runs)
    ]


def packed(weights: Float32[np.ndarray, "batch heads query_len key_len"]) -> str:
    """Write weights as text: base64 of zlib of their bytes, every number's first byte first.

    The first bytes hold the exponents, which are alike, so that they shrink; of weights that were
    recorded in half precision the last bytes are zeros, which shrink to nothing.

    >>> len(packed(np.zeros((1, 8, 64, 64), np.float32)))
    200
    """
    planes = np.ascontiguousarray(weights, "<f4").reshape(-1, 1).view(np.uint8).T
    return base64.b64encode(zlib.compress(planes.tobytes(), level=6)).decode()


def _shown(site: Site, run: Run, which: str, caller: str) -> Shown:
    if not isinstance(site.name, str):
        raise TypeError(
            f"{caller}: a site is named {site.name!r:.40}, {type(site.name).__name__}. Names are "
            "strings. Pass one, as in Trace.of_weights('decoder', weights)."
        )
    name = visible(site.name) + which
    where = f"{caller}: site {name!r}"
    weights = _checked(run, where)
    batch, _, query_len, key_len = weights.shape
    queries = _labels(site.query_tokens, "query_tokens", batch, query_len, where)
    keys = _labels(site.key_tokens, "key_tokens", batch, key_len, where)
    examples = [_example(weights[place], queries[place], keys[place]) for place in range(batch)]
    return Shown(name, weights, examples)


def _checked(run: Run, where: str) -> Float32[np.ndarray, "batch heads query_len key_len"]:
    if run.weights.is_complex():
        raise TypeError(
            f"{where} has weights of {run.weights.dtype}. Weights are real numbers in 0..1. Pass "
            "them after normalizing."
        )
    weights: np.ndarray = run.weights.detach().cpu().float().numpy()
    if weights.size == 0:
        raise ValueError(
            f"{where} has weights of shape {weights.shape}, without a cell. The page shows at "
            "least one. Leave empty recordings out, as in trace.select(sites=[...])."
        )
    wrong = ~((weights >= 0) & (weights <= 1 + ROUNDING))  # NaN is neither
    if wrong.any():
        place = tuple(int(axis) for axis in np.argwhere(wrong)[0])
        raise ValueError(
            f"{where} has weights[{', '.join(map(str, place))}] = {weights[place]:.4g} "
            f"({int(wrong.sum())} of {weights.size} cells are like it). Weights lie in 0..1. Pass "
            "them after normalizing, not scores; of a NaN, find where it arose."
        )
    return weights


def _labels(
    given: Tokens | None, name: str, batch: int, length: int, where: str
) -> list[list[str]]:
    """The tokens as they are written; of positions without tokens, their numbers."""
    if given is None:
        return [[str(position) for position in range(length)]] * batch
    lengths = [len(tokens) for tokens in given]
    if len(given) != batch or max(lengths) > length:
        raise ValueError(
            f"{where} has {name} of lengths {lengths}, but weights of {batch} examples with "
            f"{length} such positions. Each example has its own list, with no token that has no "
            "position. Label it with trace.label(query_tokens, key_tokens)."
        )
    for place, tokens in enumerate(given):
        if not_text := [token for token in tokens if not isinstance(token, str)]:
            raise TypeError(
                f"{where} has the token {not_text[0]!r} of type {type(not_text[0]).__name__} in "
                f"{name}[{place}]. Tokens are strings. Decode token ids first."
            )
    return [[visible(token) for token in tokens] for tokens in given]


def _example(
    weights: Float32[np.ndarray, "heads query_len key_len"], queries: list[str], keys: list[str]
) -> Example:
    """Leave padding out: queries without a token, keys without a token that have no weight."""
    _, query_len, key_len = weights.shape
    queries = queries or [NO_TOKEN]
    # Weight on a key without a token is a fault, which has to be seen.
    weighed = np.flatnonzero(weights[:, : len(queries)].any(axis=(0, 1)))
    last = max(len(keys), 1, *(weighed[-1:] + 1).tolist())
    keys = keys + [NO_TOKEN] * (last - len(keys))
    counts = ((query_len - len(queries), "query", "queries"), (key_len - last, "key", "keys"))
    named = " and ".join(
        f"{count} {one if count == 1 else many}" for count, one, many in counts if count
    )
    return Example(
        queries,
        keys,
        f"Left out, as padding (no token, no weight on it): {named}." if named else "",
    )
