"""The HTML file: template, style and script joined, under a policy that allows only these."""

import base64
import hashlib
import html
import json
from importlib.resources import files
from string import Template
from urllib.parse import quote

from regard.plots._colour import ink_on, paper_and_ink, scale, scale_on_dark
from regard.plots.page.sites import Shown, packed

# In the order in which they build on each other: each file sees the names of those before it.
_SCRIPTS = ("trace.js", "numbers.js", "grid.js", "detail.js", "export.js", "page.js")


def document(sites: list[Shown], title: str) -> str:
    """Return the whole file as text."""
    style = _read("page.css")
    script = "\n".join(_read(name) for name in _SCRIPTS)
    return Template(_read("template.html")).substitute(
        title=html.escape(title),
        policy=_policy(script, style),
        icon=_icon(),
        style=style,
        script=script,
        trace=_json(_told(sites, title)),
        weights="\n".join(
            f'<script type="text/plain" id="weights-{place}">{packed(site.weights)}</script>'
            for place, site in enumerate(sites)
        ),
    )


def _read(name: str) -> str:
    return files("regard.plots.page").joinpath(name).read_text("utf-8")


def _policy(script: str, style: str) -> str:
    """Allow this one script and this one style, and the icon, which is in the file; no request."""
    return (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _told(sites: list[Shown], title: str) -> dict[str, object]:
    return {
        "title": title,
        "colours": {
            page: [["#" + paper.tobytes().hex(), ink_on(paper)] for paper in papers]
            for page, papers in (("light", scale()), ("dark", scale_on_dark()))
        },
        "sites": [
            {
                "name": site.name,
                "heads": site.weights.shape[1],
                "query_len": site.weights.shape[2],
                "key_len": site.weights.shape[3],
                "examples": [example._asdict() for example in site.examples],
            }
            for site in sites
        ],
    }


def _json(told: dict[str, object]) -> str:
    # "</script>" in a token would end the element.
    return json.dumps(told, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")


def _icon() -> str:
    """Three cells of an alignment."""
    cells = zip((0.95, 0.7, 0.45), (0, 6, 11), strict=True)
    squares = "".join(
        f'<rect x="{at}" y="{at}" width="5" height="5" fill="{paper_and_ink(weight)[0]}"/>'
        for weight, at in cells
    )
    drawing = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16">{squares}</svg>'
    return f"data:image/svg+xml,{quote(drawing)}"
