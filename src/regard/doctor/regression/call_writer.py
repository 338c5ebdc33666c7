"""The examined call as source text: canonical arrays in, context and weights out."""

from collections.abc import Mapping
from typing import Any

from regard.doctor.binding.binding import Binding, MaskForm, OutputForm, Slot

ARGUMENTS = '''\
def arguments(given{loops}):
    """What the code is called with, by name."""
    named = {{
{lines}
    }}
{later}    return named'''

RAW = '''\
def raw(given, code):
    """Context and weights as the code gives them, in the order of the axes named above."""
{body}'''


class CannotWrite(ValueError):
    """The call cannot be spelled out in a few lines; the text says why."""


class CallWriter:
    """Writes the call of one binding, for NumPy or torch.

    In the text `given` holds canonical arrays by role, as an examination's `Inputs` does.
    """

    def __init__(
        self, binding: Binding, framework: str, heads: int, defaults: Mapping[str, Any]
    ) -> None:
        self.binding, self.heads, self.defaults = binding, heads, defaults
        self.torch = framework == "torch"
        self.dropped = {"B": "b" if binding.loops_batch else "0", "T": "0", "Q": "t"}
        self.loops = (", b" if binding.loops_batch else "") + (
            ", t" if binding.loops_queries else ""
        )

    # what goes in

    def arguments(self) -> str:
        """The function `arguments`."""
        lines, later = [], ""
        for slot in self.binding.slots:
            written = None if slot.in_init else self._argument(slot)
            if written is None:
                continue
            if slot.role in ("mask", "lengths") and not slot.required:
                later += f'    if given["may_attend"] is not None:\n        named["{slot.name}"] = '
                later += f"{written}\n"
            else:
                lines.append(f'        "{slot.name}": {written},')
        return ARGUMENTS.format(loops=self.loops, lines="\n".join(lines), later=later)

    def _argument(self, slot: Slot) -> str | None:
        role, binding = slot.role, self.binding
        if role in ("query", "key", "value"):
            heads = self.heads if role == "query" else binding.kv_heads or self.heads
            at = {"T": "t"} if role == "query" and binding.loops_queries else {}
            laid = self._laid(f'given["{role}"]', "BTD", slot.axes, heads, at)
            if role == "query" and binding.state_pair:
                return f"({laid}, {self._row(binding.state_pair, slot.axes)})"
            return laid
        if role == "cell":
            query = binding.slot("query")
            return self._row("cell", query.axes if query else "BD")
        if role == "feed" or (role == "token" and not binding.token_ids):
            return self._row(role, slot.axes)
        if role == "token":
            ids = self._examples('given["token"]', slot.axes)
            return f"array({ids}{ {'B': '', 'B1': '[:, None]', '1B': '[None]'}[slot.axes] })"
        if role == "mask":
            return self._mask(binding.mask or MaskForm("BK"))
        if role == "lengths":
            seen = 'given["may_attend"].any(1).sum(1)'
            one = f"{seen}[b]" if binding.loops_batch else f"{seen}[0]"
            forms = {"": f"int({one})", "list": f"{seen}.tolist()"}
            return forms.get(slot.axes, f"array({self._examples(seen, slot.axes)})")
        if role == "query_lengths":
            full = 'np.full(given["query"].shape[:1], given["query"].shape[1])'
            return f"array({self._examples(full, slot.axes)})" if slot.axes else f"int({full}[0])"
        if role == "parameter":
            return f'array(parameters()["{slot.name}"])'
        if role in ("causal", "training"):
            return f'given["{role}"]'
        if not slot.required and self.defaults.get(slot.name) == slot.value:
            return None
        if not isinstance(slot.value, bool | int | float | str | None):
            raise CannotWrite(f"the argument {slot.name} is no plain value")
        return repr(slot.value)

    def _examples(self, name: str, axes: str) -> str:
        """All of the batch, or the one example of this call where it keeps a batch axis of 1."""
        return f"{name}[b : b + 1]" if self.binding.loops_batch and "B" in axes else name

    def _row(self, role: str, axes: str) -> str:
        return self._laid(f'given["{role}"][:, None]', "BTD", axes, 1, {})

    def _laid(self, name: str, letters: str, axes: str, heads: int, at: Mapping[str, str]) -> str:
        """(batch, position, channels) in the order of `axes`."""
        if "L" in axes:
            one = self._laid(name, letters, axes.replace("L", "1"), heads, at)
            return f"layers({one}, {axes.index('L')})"
        name = self._examples(name, axes)
        dropped = self.dropped | dict(at)
        if "H" not in axes and axes.replace("1", "") == _kept(letters, axes):
            return f"array({name}{index(letters, axes, dropped)})"
        kept = _kept(letters, axes)
        taken = f"{name}{index(letters, kept, dropped)}"
        if "H" in axes:
            many = len(kept) > 1
            taken = f"split({taken}, {heads})" if many else f"{taken}.reshape({heads}, -1)"
            kept = f"{kept[:-2]}H{kept[-2:]}" if many else "HD"
        return f"array({taken}{moved(kept, axes.replace('1', ''), '.transpose')}{ones(axes)})"

    def _mask(self, form: MaskForm) -> str:
        seen, letters = self._examples('given["may_attend"]', form.axes), "BQK"
        if "Q" not in form.axes and not self.binding.loops_queries:
            seen, letters = f"{seen}.any(1)", "BK"
        plain = form.axes.replace("1", "").replace("H", "")
        seen = f"{seen}{index(letters, _kept(letters, plain), self.dropped)}"
        seen += moved(_kept(letters, plain), plain, ".transpose")
        if "H" in form.axes:
            axis = form.axes.replace("1", "").index("H")
            seen = f"np.repeat(np.expand_dims({seen}, {axis}), {self.heads}, {axis})"
        seen += ones(form.axes)
        if form.dtype == "bias":
            return f"array(np.where({seen}, 0.0, -np.inf))"
        said = seen if form.attends else f"~{seen}"
        kinds = {
            "bool": said,
            "uint8": f"({said}).astype(np.uint8)",
            "int": f"({said}).astype(np.int64)",
            "float": f"({said}).astype(float)",
        }
        return f"array({kinds[form.dtype]})"

    # what comes out

    def raw(self, returned: Any) -> str:
        """The function `raw`; `returned` is an answer, which shows how to take it apart."""
        binding, indent = self.binding, "    "
        pieces = {
            form.role: self._piece(form, returned)
            for form in binding.outputs
            if form.role in ("context", "weights")
        }
        names = "context, weights"
        one = f"{pieces.get('context', 'None')}, {pieces.get('weights', 'None')}"
        call = f"answer = code(**arguments(given{self.loops}))"
        if not self.loops:
            return RAW.format(body=f"{indent}{call}\n{indent}return {one}")
        lines = ["batch, length = given['query'].shape[:2]".replace("'", '"'), "rows = []"]
        depth = indent
        for wanted, line in (
            (binding.loops_batch, "for b in range(batch):"),
            (binding.loops_queries, "for t in range(length):"),
        ):
            if wanted:
                lines.append(depth[4:] + line)
                depth += indent
        lines += [depth[4:] + call, f"{depth[4:]}rows.append(({one}))"]
        lines.append(f"{names} = zip(*rows)")
        given = [self._stacked(role) if role in pieces else "None" for role in names.split(", ")]
        lines.append(f"return {', '.join(given)}")
        return RAW.format(body="\n".join(indent + line for line in lines))

    def _stacked(self, role: str) -> str:
        """The rows of all calls as one array."""
        binding = self.binding
        stack = "torch.stack" if self.torch else "np.stack"
        if not binding.loops_queries:
            return f"{stack}({role})"
        many = role == "weights" and self._has_heads()
        if not binding.loops_batch:
            return f"{stack}({role}, {2 if many else 1})"
        if many:
            rows = f"{stack}({role}).reshape(batch, length, {self.heads}, -1)"
            return f"{rows}{self._moved('BQHK', 'BHQK')}"
        return f"{stack}({role}).reshape(batch, length, -1)"

    def _has_heads(self) -> bool:
        return any(f.role == "weights" and set("HG") & set(f.axes) for f in self.binding.outputs)

    def _piece(self, form: OutputForm, returned: Any) -> str:
        """One array of an answer, its axes in order and those of size 1 dropped."""
        name, axes = taken(form.label, returned), form.axes
        if form.role == "weights" and "H" not in axes and "G" not in axes:
            axes = {"BKQ": "BQK", "KQ": "QK"}.get(axes, axes)  # the right order is asked for
        drops = [place for place, letter in enumerate(axes) if letter == "1"]
        if drops:
            marks = ["0" if letter == "1" else ":" for letter in axes]
            while marks[-1] == ":":
                marks.pop()
            name = f"{name}[{', '.join(marks)}]"
            axes = axes.replace("1", "")
        if "G" in axes:
            name = f"{name}.reshape(-1, {self.heads}, *{name}.shape[1:])"
            axes = axes.replace("G", "BH")
        wanted = "BHQK" if form.role == "weights" else "BQHD" if "H" in axes else "BQD"
        wanted = "".join(letter for letter in wanted if letter in axes)
        name += self._moved(axes, wanted)
        if form.role == "context" and "H" in axes:
            lead = wanted.index("H")
            name = f"{name}.reshape(*{name}.shape[:{lead}], -1)"
        missing = "Q" if "Q" not in axes and not self.binding.loops_queries else ""
        if missing:
            raise CannotWrite("an answer without its axis of queries")
        return name

    def _moved(self, axes: str, wanted: str) -> str:
        return moved(axes, wanted, ".permute" if self.torch else ".transpose")


def taken(label: str, returned: Any) -> str:
    """How to come at the array of that label: `answer[0]`, `answer.weights`, `code.attention`."""
    if label.startswith("self."):
        return f"code.{label.removeprefix('self.')}"
    text = "answer"
    for part in label.split(".") if label else []:
        if isinstance(returned, Mapping):
            text, returned = f'{text}["{part}"]', returned.get(part)
        elif part.isdigit():
            text, returned = f"{text}[{part}]", returned[int(part)]
        else:
            text, returned = f"{text}.{part}", getattr(returned, part, None)
    return text


def index(letters: str, axes: str, dropped: Mapping[str, str]) -> str:
    """An index that drops letters and puts in axes of size 1, the order being kept."""
    rest, marks = list(axes), []
    for letter in letters:
        if letter not in axes:
            marks.append(dropped[letter])
            continue
        while rest[0] == "1":
            marks.append("None")
            rest.pop(0)
        rest.pop(0)
        marks.append(":")
    marks += ["None"] * len(rest)
    while marks and marks[-1] == ":":
        marks.pop()
    return f"[{', '.join(marks)}]" if marks else ""


def moved(axes: str, wanted: str, how: str) -> str:
    """The call that puts axes in another order; nothing where they are."""
    if axes == wanted:
        return ""
    return f"{how}({', '.join(str(axes.index(letter)) for letter in wanted)})"


def ones(axes: str) -> str:
    """An index that puts in the axes of size 1 of the form."""
    if "1" not in axes:
        return ""
    marks = ["None" if letter == "1" else ":" for letter in axes]
    while marks[-1] == ":":
        marks.pop()
    return f"[{', '.join(marks)}]"


def _kept(letters: str, axes: str) -> str:
    return "".join(letter for letter in letters if letter in axes)
