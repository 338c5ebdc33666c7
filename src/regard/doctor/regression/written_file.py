"""The text of a test file: the examined object, its input, its call, and the tests over them."""

import ast
import os
import re
from collections.abc import Iterable
from pathlib import Path

HEAD = '''\
"""Regression tests for {name}, written by `regard doctor`.

Each failed on the code as it was examined, and passes once that is put right.
"""

{imports}

FILE = Path({file!r})
{sizes}


{load}
'''

IMPORT = '''\
def examined():
    """The object under test, from its file."""
    sys.path.insert(0, {root!r})
{how}
    return module.{name}'''

FROM_FILE = """\
    spec = importlib.util.spec_from_file_location(FILE.stem, FILE)
    module = importlib.util.module_from_spec(spec)
    sys.modules[FILE.stem] = module
    spec.loader.exec_module(module)"""

FROM_PACKAGE = "    module = importlib.import_module({module!r})"

ATTEND = '''\
def attend(given, code=None):
    """Context (batch, T_dec, d) and weights ({axes}); None for what is not given."""
    return tuple(map(numbers, raw(given, build() if code is None else code)))'''

NUMBERS = '''\
def numbers(result):
    """As a NumPy array."""
    return result{detached} if result is not None else None'''

TORCH_ARRAY = '''\
def array(numbers):
    """As the code takes it."""
    tensor = torch.from_numpy(np.array(numbers, order="C"))
    return tensor.float() if tensor.is_floating_point() else tensor'''

HELPERS = {
    "array": '''\
def array(numbers):
    """As the code takes it."""
    return np.array(numbers, order="C")''',
    "split": '''\
def split(x, heads):
    """(..., length, heads * dim) to (batch, heads, length, dim), or the same without a batch."""
    return np.moveaxis(x.reshape(*x.shape[:-1], heads, -1), -2, x.ndim - 2)''',
    "layers": '''\
def layers(state, axis):
    """The state of two layers: the last is the query, the first its channels reversed."""
    return torch.cat([state.flip(-1), state], axis)''',
    "hide": '''\
def hide(given, lengths):
    """The same input, keys past each example's length hidden."""
    key_len = given.get("key", given["query"]).shape[1]
    seen = np.arange(key_len) < np.asarray(lengths)[:, None]
    return given | {"may_attend": np.repeat(seen[:, None], given["query"].shape[1], 1)}''',
    "all_visible": '''\
def all_visible(given):
    """The same input under a mask that hides nothing."""
    key_len = given.get("key", given["query"]).shape[1]
    return hide(given, [key_len] * len(given["query"]))''',
    "assert_same": '''\
def assert_same(one, other):
    """Equal contexts and equal weights, where both are given."""
    for left, right in zip(one, other, strict=True):
        if left is not None and right is not None:
            np.testing.assert_allclose(left, right, rtol=1e-3, atol=1e-4)''',
    "examples": '''\
def examples(results, chosen):
    """Some examples of the results."""
    return tuple(None if result is None else result[chosen] for result in results)''',
    "pick": '''\
def pick(given, chosen):
    """Some examples of the input."""
    arrays = {n: a[chosen] for n, a in given.items() if isinstance(a, np.ndarray)}
    return given | arrays''',
    "swap_example": '''\
def swap_example(given, other, i):
    """The input with one example taken from another."""
    mixed = {n: a.copy() for n, a in given.items() if isinstance(a, np.ndarray)}
    for name in mixed:
        if name != "may_attend":
            mixed[name][i] = other[name][i]
    return given | mixed''',
    "first_keys": '''\
def first_keys(given, i, length):
    """One example, cut to its first keys (and queries, where they are the same)."""
    names = [name for name in ("key", "value") if name in given] or ["query"]
    one = pick(given, [i])
    cut = {name: one[name][:, :length] for name in names}
    seen = None if one["may_attend"] is None else one["may_attend"][..., :length]
    seen = seen if seen is None or "key" in given else seen[:, :length]
    return one | cut | {"may_attend": seen}''',
    "first_queries": '''\
def first_queries(given, length):
    """The input, cut to its first queries."""
    seen = None if given["may_attend"] is None else given["may_attend"][:, :length]
    return given | {"query": given["query"][:, :length], "may_attend": seen}''',
    "every_rows": '''\
def every_rows(results, lengths):
    """All rows."""
    return results''',
    "real_rows": '''\
def real_rows(results, lengths):
    """The rows of real positions: the queries past a length are hidden too."""
    context, weights = results
    real = np.arange(T_DEC) < np.asarray(lengths)[:, None]
    if weights is not None:
        lifted = real[:, None, :, None] if weights.ndim == 4 else real[:, :, None]
        weights = np.where(lifted, weights, 0)
    return None if context is None else np.where(real[:, :, None], context, 0), weights''',
    "named_numbers": '''\
def named_numbers(code):
    """The module's parameters in float64."""
    return {name: p.detach().double().numpy() for name, p in code.named_parameters()}''',
    "call_arguments": '''\
def call_arguments(given):
    """What the code is called with first."""
    return arguments(given{first})''',
    "arrays_of": '''\
def arrays_of(answer):
    """Every array that is returned."""
    if hasattr(answer, "shape"):
        return [numbers(answer)]
    parts = answer.values() if isinstance(answer, dict) else answer
    return [a for part in parts for a in arrays_of(part)] if isinstance(parts, Iterable) else []''',
}
"""Each with its text; the order is that of the file."""


def helpers(text: str, filled: dict[str, str]) -> str:
    """Those helpers that a text calls, and those that they call."""
    wanted: set[str] = set()
    todo = [text]
    while todo:
        looked = todo.pop()
        for name, own in HELPERS.items():
            if f"{name}(" in looked and name not in wanted:
                wanted.add(name)
                todo.append(own)
    found = (filled.get(name, HELPERS[name]) for name in HELPERS if name in wanted)
    return "\n\n\n".join(found)


def imports(text: str) -> str:
    """The import lines that a text needs."""
    own = {"copy.": "import copy", "importlib.util": "import importlib.util", "sys.": "import sys"}
    lines = [line for mark, line in own.items() if mark in text]
    if "importlib.import_module" in text:
        lines.append("import importlib")
    if "Iterable" in text:
        lines.append("from collections.abc import Iterable")
    lines.append("from pathlib import Path")
    theirs = ["import numpy as np"] if "np." in text else []
    theirs += ["import torch"] if "torch." in text else []
    ours = ["from regard.doctor import assert_sound"] if "assert_sound(" in text else []
    plain = sorted(lines, key=lambda line: (line.startswith("from"), line))
    return "\n\n".join("\n".join(part) for part in (plain, theirs, ours) if part)


def function(name: str, body: str) -> str:
    """A test."""
    indented = "\n".join(f"    {line}" if line.strip() else "" for line in body.splitlines())
    return f"def test_{name}():\n{indented}"


def joined(parts: Iterable[str]) -> str:
    """Definitions with two blank lines between, and a line's end."""
    return "\n\n\n".join(part.strip("\n") for part in parts if part.strip()) + "\n"


def placed(text: str, path: Path) -> str:
    """The file as it lies at `path`: it finds the examined one from there, wherever both move."""

    def relative(found: re.Match[str]) -> str:
        file = os.path.relpath(ast.literal_eval(found[1]), path.resolve().parent)
        return f"FILE = (Path(__file__).parent / {Path(file).as_posix()!r}).resolve()"

    return re.sub(r"^FILE = Path\((.+)\)$", relative, text, count=1, flags=re.MULTILINE)
