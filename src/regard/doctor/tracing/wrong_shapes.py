"""An operation that raised: which operand is wrong, what it should be, the line put right."""

import re
from dataclasses import dataclass

from regard.doctor.findings import Place
from regard.doctor.probe import Sizes
from regard.doctor.tracing.realign import Change, for_elementwise, for_matmul
from regard.doctor.tracing.source_names import Site
from regard.doctor.tracing.symbols import both, in_symbols, symbol
from regard.doctor.tracing.trace import Event, Operand

_ELEMENTWISE = frozenset(
    [
        "add",
        "sub",
        "mul",
        "div",
        "masked_fill",
        "where",
        "logical_and",
        "logical_or",
        "maximum",
        "minimum",
        "lt",
        "gt",
        "le",
        "ge",
        "eq",
        "ne",
        "pow",
        "copy_",
        "logaddexp",
    ]
)


@dataclass(frozen=True)
class Explanation:
    """A raised error in the user's terms. `fix` is the line rewritten where `rewritten`."""

    tensor: str
    rule: str
    seen: str
    fix: str
    place: Place | None
    event: Event | None = None
    rewritten: bool = False


@dataclass(frozen=True)
class WrongShapes:
    """One operation that raised, with its place in the source."""

    event: Event
    where: Site | None
    sizes: Sizes
    framework: str
    message: str

    def explain(self, place: Place | None) -> Explanation:
        op, inputs = self.event.op, self.event.inputs
        tensor, rule, fix = "", "", None
        if op == "linear" and len(inputs) >= 2:
            tensor, rule, fix = self._linear(inputs[0], inputs[1])
        elif op in ("matmul", "bmm", "dot") and len(inputs) == 2:
            tensor, rule, fix = self._matmul(inputs[0], inputs[1])
        elif op in _ELEMENTWISE and len(inputs) >= 2:
            tensor, rule, fix = self._elementwise(inputs)
        elif op == "cat" and inputs:
            tensor, rule, fix = self._cat(inputs)
        elif op in ("view", "reshape") and inputs:
            tensor, rule, fix = self._view(inputs[0])
        elif op == "scaled_dot_product_attention" and len(inputs) == 4:
            tensor, rule, fix = self._fused_mask(inputs)
        elif op == "einsum" and inputs:
            tensor, rule, fix = self._einsum(inputs)
        rewritten = fix is not None
        return Explanation(
            tensor=tensor or self._name(0),
            rule=rule or self._shapes(),
            seen=f"{self.message.splitlines()[0] if self.message else 'it raises'}",
            fix=fix or self._advice(),
            place=place,
            event=self.event,
            rewritten=rewritten,
        )

    def _name(self, index: int) -> str:
        """The user's own word for an operand, or its role."""
        if self.where is not None and index < len(self.where.names):
            return self.where.names[index]
        if index < len(self.event.inputs):
            origins = self.event.inputs[index].origins
            return " and ".join(sorted(origins)) or self.event.op
        return self.event.op

    def _is(self, index: int) -> str:
        operand = self.event.inputs[index]
        return f"`{self._name(index)}` is {both(operand.shape, self.sizes)}"

    def _shapes(self) -> str:
        shapes = ", ".join(self._is(i) for i in range(len(self.event.inputs)))
        return f"{self.event.op} cannot take these shapes: {shapes}."

    def _advice(self) -> str:
        return f"Give {self.event.op} arrays whose axes have the same meaning."

    def _write(self, *wanted: tuple[int, Change]) -> str | None:
        """The line with suffixes put behind operands; None where the line is not known."""
        if self.where is None or not self._spelled_out(max(index for index, _ in wanted)):
            return None
        ordered = sorted(wanted, key=lambda one: -self._column(one[0]))
        line, where = None, self.where
        for index, change in ordered:
            if not change.suffix:
                continue
            node = where.operands[index]
            line = where.with_(node, _behind(where.text(node), change.suffix))
            if line is None:
                return None
            source = list(where.source)
            indent = source[node.lineno - 1][: -len(source[node.lineno - 1].lstrip())]
            source[node.lineno - 1] = indent + line
            where = Site(where.node, where.operands, where.callee, where.target, tuple(source))
        return line

    def _spelled_out(self, last: int) -> bool:
        return self.where is not None and last < len(self.where.operands)

    def _column(self, index: int) -> int:
        assert self.where is not None
        return self.where.operands[index].col_offset

    def _linear(self, x: Operand, weight: Operand) -> tuple[str, str, str | None]:
        takes, given = weight.shape[-1], x.shape[-1]
        layer = self.where.callee if self.where is not None else "the linear layer"
        rule = (
            f"`{layer}` takes {symbol(takes, self.sizes)} = {takes} numbers, but {self._is(0)}: "
            f"its input size should be {symbol(given, self.sizes)} = {given}."
        )
        return layer, rule, self._other_layer(layer, weight, given)

    def _other_layer(self, layer: str, weight: Operand, given: int) -> str | None:
        """The line that makes the layer, with the input size that it needs."""
        if self.where is None:
            return None
        pattern = re.compile(rf"^\s*{re.escape(layer)}\s*=\s*(?:torch\.)?nn\.Linear\((.+)$")
        widths = _widths(self.where.source, self.sizes)
        for line in self.where.source:
            made = pattern.match(line)
            name = widths.get(given)
            if made and name:
                first = made.group(1).split(",")[0]
                if first.strip() != name:
                    return line.strip().replace(f"Linear({first}", f"Linear({name}", 1)
        return None

    def _matmul(self, a: Operand, b: Operand) -> tuple[str, str, str | None]:
        strict = self.event.op == "bmm"
        found = for_matmul(a.shape, b.shape, self.framework, strict=strict)
        if found is None:
            return self._unequal_widths(a, b)
        left, right = found
        wrong = 1 if right.suffix else 0
        needed = right.shape if wrong else left.shape
        rule = (
            f"{self._is(0)} and {self._is(1)}: `{self._name(wrong)}` should be "
            f"{both(needed, self.sizes)} here."
        )
        return self._name(wrong), rule, self._write((0, left), (1, right))

    def _unequal_widths(self, a: Operand, b: Operand) -> tuple[str, str, str | None]:
        inner = b.shape[-2] if len(b.shape) > 1 else b.shape[0] if b.shape else 1
        last = a.shape[-1] if a.shape else 1
        parameter = _is_parameter(b) or _is_parameter(a)
        rule = (
            f"{self._is(0)} and {self._is(1)}: the product sums over {symbol(last, self.sizes)} = "
            f"{last} on the left and {symbol(inner, self.sizes)} = {inner} on the right, which "
            "must be one axis."
        )
        if not parameter:
            rule += " A plain dot product needs d_s = d_h; unequal widths need a matrix W between."
        wrong = 1 if _is_parameter(b) else 0
        return self._name(wrong), rule, None

    def _elementwise(self, inputs: tuple[Operand, ...]) -> tuple[str, str, str | None]:
        numbered = [i for i, o in enumerate(inputs) if o.shape]
        if len(numbered) < 2:
            return "", "", None
        pairs = [(i, j) for i in numbered for j in numbered if i < j]
        i, j = next((p for p in pairs if not _broadcasts(*(inputs[k].shape for k in p))), pairs[0])
        small, large = (i, j) if len(inputs[i].shape) <= len(inputs[j].shape) else (j, i)
        orders = [(small, large)]
        if len(inputs[i].shape) == len(inputs[j].shape):
            ones = [sum(s == 1 for s in inputs[k].shape) for k in (i, j)]
            orders = [(i, j), (j, i)] if ones[0] >= ones[1] else [(j, i), (i, j)]
        for a, b in orders:
            change = for_elementwise(inputs[a].shape, inputs[b].shape, self.framework)
            if change is not None and change.suffix:
                rule = (
                    f"{self._is(a)}, and meets {both(inputs[b].shape, self.sizes)}: it should be "
                    f"{both(change.shape, self.sizes)}."
                )
                return self._name(a), rule, self._write((a, change))
        return self._every_pair(inputs[i], inputs[j], i, j)

    def _every_pair(self, a: Operand, b: Operand, i: int, j: int) -> tuple[str, str, str | None]:
        """Projected queries and keys, to be compared each with each."""
        if _every_with_each(a.shape, b.shape):
            at = len(a.shape) - 2
            word = self.framework == "torch"
            start = ":, " * at
            left = f".unsqueeze({at + 1})" if word else f"[{start}:, None]"
            right = f".unsqueeze({at})" if word else f"[{start}None]"
            one = Change(left, (*a.shape[:-1], 1, a.shape[-1]), 1)
            two = Change(right, (*b.shape[:-2], 1, *b.shape[-2:]), 1)
            rule = (
                f"{self._is(i)} and {self._is(j)}: every query meets every key, as "
                f"{in_symbols(one.shape, self.sizes)} and {in_symbols(two.shape, self.sizes)}."
            )
            return self._name(i), rule, self._write((i, one), (j, two))
        rule = f"{self._is(i)} and {self._is(j)}: axes that meet must have the same meaning."
        return self._name(i), rule, None

    def _fused_mask(self, inputs: tuple[Operand, ...]) -> tuple[str, str, str | None]:
        query, key, _, mask = inputs
        scores = (*query.shape[:-1], *key.shape[-2:-1])
        if _broadcasts(mask.shape, scores) and len(mask.shape) <= len(scores):
            return "", "", None
        change = for_elementwise(mask.shape, scores, self.framework)
        meets = f"{self._is(3)}, and meets scores of {both(scores, self.sizes)}"
        if change is None:
            return self._name(3), f"{meets}: axes that meet must have the same meaning.", None
        rule = f"{meets}: it should be {both(change.shape, self.sizes)}."
        return self._name(3), rule, self._write((3, change))

    def _cat(self, inputs: tuple[Operand, ...]) -> tuple[str, str, str | None]:
        shapes = [operand.shape for operand in inputs]
        listed = ", ".join(self._is(i) for i in range(len(inputs)))
        if len({len(shape) for shape in shapes}) == 1:
            differ = [k for k, axis in enumerate(zip(*shapes, strict=True)) if len({*axis}) > 1]
            if len(differ) == 1:
                axis = differ[0] - len(shapes[0])
                rule = f"{listed}: they differ in axis {axis} alone, the one to join."
                return self._name(0), rule, self._with_dim(axis)
            rule = f"{listed}: all axes but the joined one must be equal."
            return self._name(0), rule, None
        longest = max(len(shape) for shape in shapes)
        odd = next(i for i, shape in enumerate(shapes) if len(shape) == longest)
        if longest == min(map(len, shapes)) + 1 and shapes[odd].count(1) == 1:
            axis = shapes[odd].index(1)
            dropped = (*shapes[odd][:axis], *shapes[odd][axis + 1 :])
            change = Change(f".squeeze({axis})", dropped, 1)
            rule = f"{listed}: all must have {longest - 1} axes."
            return self._name(odd), rule, self._write((odd, change))
        return self._name(odd), f"{listed}: all must have the same number of axes.", None

    def _with_dim(self, axis: int) -> str | None:
        if self.where is None or self.event.place is None:
            return None
        line = self.where.source[self.event.place.line - 1].strip()
        changed, count = re.subn(r"\b(dim|axis)\s*=\s*-?\d+", rf"\1={axis}", line, count=1)
        if not count:
            changed, count = re.subn(r"([\])]\s*,\s*)-?\d+\s*\)", rf"\g<1>{axis})", line, count=1)
        return changed if count and changed != line else None

    def _view(self, x: Operand) -> tuple[str, str, str | None]:
        if "not compatible" in self.message:
            rule = f"{self._is(0)}, its axes were swapped, so that a view cannot merge them."
            line = self.event.place.code if self.event.place is not None else ""
            return self._name(0), rule, line.replace(".view(", ".reshape(") or None
        wanted = self.event.settings.get("shape")
        rule = f"{self._is(0)}, and cannot be seen as {wanted}: the number of elements differs."
        return self._name(0), rule, None

    def _einsum(self, inputs: tuple[Operand, ...]) -> tuple[str, str, str | None]:
        equation = str(self.event.settings.get("equation", ""))
        letters: dict[str, int] = {}
        terms = equation.replace(" ", "").split("->")[0].split(",")
        for index, (term, operand) in enumerate(zip(terms, inputs, strict=False)):
            if len(term) != len(operand.shape):
                rule = f'{self._is(index)}, but "{equation}" names {len(term)} axes of it.'
                return self._name(index), rule, None
            for letter, size in zip(term, operand.shape, strict=True):
                if letters.setdefault(letter, size) != size:
                    a, b = (f"{symbol(n, self.sizes)} = {n}" for n in (letters[letter], size))
                    rule = f'{self._is(index)}: in "{equation}" {letter} is {a} and {b}.'
                    return self._name(index), rule, None
        return "", "", None


def _behind(text: str, suffix: str) -> str:
    """A suffix behind an expression, in brackets where it binds less than a dot."""
    return (
        text + suffix if re.fullmatch(r"[\w.]+|[\w.]+[\[(].*[\])]", text) else f"({text}){suffix}"
    )


def _every_with_each(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    return len(a) == len(b) >= 2 and a[-1] == b[-1] and a[:-2] == b[:-2] and a[-2] != b[-2]


def _broadcasts(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    return all(x == y or 1 in (x, y) for x, y in zip(a[::-1], b[::-1], strict=False))


def _is_parameter(operand: Operand) -> bool:
    return bool(operand.origins) and not operand.origins & {"query", "key", "value"}


_WORDS = (
    ("query_dim", r"dec\w*|query\w*|q_\w*|d_s|s_dim|state\w*|hidden\w*"),
    ("key_dim", r"enc\w*|key\w*|k_\w*|d_h|h_dim|mem\w*"),
    ("value_dim", r"val\w*|v_\w*"),
    ("attn_dim", r"attn\w*|att\w*|d_attn|num_hiddens"),
)


def _widths(source: tuple[str, ...], sizes: Sizes) -> dict[int, str]:
    """The constructor's own names of widths, by the size that each stands for."""
    heads = re.findall(r"def __init__\(self,([^)]*)\)", "\n".join(source))
    names = [part.split(":")[0].split("=")[0].strip() for h in heads for part in h.split(",")]
    found: dict[int, str] = {}
    for size, pattern in _WORDS:
        for name in names:
            if re.fullmatch(pattern, name) and getattr(sizes, size) not in found:
                found[getattr(sizes, size)] = name
    return found
