"""BLEU and chrF of several systems' translations, by source length, as tables."""

import numpy as np

from regard.training.bootstrap import Estimate, bootstrap
from regard.training.report import Part, report
from regard.training.translation import bleu, chrf

NAMES = {"attention": "regard", "none": "regard, no attention", "joeynmt": "JoeyNMT"}


def measure(found: dict[str, dict], by_source: dict[str, list[str]]) -> None:
    """Add scores to each result: of all sources, by their length, and beside the first model."""
    right, scores = list(by_source.values()), {}
    words = [len(source.split()) for source in by_source]
    for result in found.values():
        texts = result.pop("translations")
        tokens, allowed = [t.split() for t in texts], [[t.split() for t in ts] for ts in right]
        measured = report(words, tokens, allowed, texts, right, 0.0)
        result["scores"] = [as_json(part) for part in (*measured.by_length, measured.all)]
        result["signatures"] = measured.signatures
        for metric, score in (("bleu", bleu), ("chrf", chrf)):
            mine = score(texts, right)
            first = scores.setdefault(metric, mine)
            both, width = np.hstack([mine.counts, first.counts]), mine.counts.shape[1]
            gap = bootstrap(both, lambda x, n=width, of=mine.of: of(x[:n]) - of(x[n:]))
            result[f"{metric}_beside_first"] = gap._asdict()


def as_json(part: Part) -> dict:
    estimates = {"wrong": part.wer, "bleu": part.bleu, "chrf": part.chrf}
    sizes = {"sources": part.num_words, "shortest": part.shortest, "longest": part.longest}
    return sizes | {name: each._asdict() for name, each in estimates.items() if each}


def tables(found: dict[str, dict]) -> str:
    """In Markdown."""
    rows = [["model", "parameters", "updates", "epochs", "minutes"]]
    for name, of in found.items():
        numbers = (f"{of['parameters']:,}", f"{of['updates']:,}", f"{of['epochs']:.1f}")
        rows.append([NAMES[name], *numbers, f"{of['seconds'] / 60:.1f}"])
    text, first = _table(rows), next(iter(found.values()))
    for metric, title in (("bleu", "BLEU"), ("chrf", "chrF")):
        rows = [[f"{title}, by source words", "sources", *(NAMES[name] for name in found)]]
        for place, part in enumerate(first["scores"]):
            cells = [_cell(of["scores"][place][metric]) for of in found.values()]
            lengths = dict.fromkeys((part["shortest"], part["longest"]))
            rows.append([" to ".join(map(str, lengths)), str(part["sources"]), *cells])
        rows[-1][0] = "all"
        gaps = [_cell(of[f"{metric}_beside_first"], "+") for of in found.values()]
        if len(found) > 1:
            rows.append(["all, beside the first", rows[-1][1], "", *gaps[1:]])
        text += "\n" + _table(rows)
    return text


def _cell(estimate: dict, sign: str = "") -> str:
    value, low, high = Estimate(**estimate)
    return f"{value:{sign}.1f} [{low:{sign}.1f}, {high:{sign}.1f}]"


def _table(rows: list[list[str]]) -> str:
    lines = [
        " | ".join(["", *row, ""]).strip() for row in (rows[0], ["---"] * len(rows[0]), *rows[1:])
    ]
    return "\n".join(lines) + "\n"
