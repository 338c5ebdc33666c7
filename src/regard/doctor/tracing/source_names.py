"""The names in the user's line: which expression is which operand of an event."""

import ast
import functools
from dataclasses import dataclass

from regard.doctor.tracing.op_names import plain_name
from regard.doctor.tracing.trace import Event, Trace

_MODULES = {"torch", "F", "np", "numpy", "nn", "functional", "math", "linalg", "special"}
_BINARY: dict[type[ast.AST], str] = {
    ast.MatMult: "matmul",
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "div",
    ast.Invert: "logical_not",
    ast.USub: "neg",
    ast.BitAnd: "logical_and",
    ast.BitOr: "logical_or",
    ast.Lt: "lt",
    ast.Gt: "gt",
    ast.LtE: "le",
    ast.GtE: "ge",
}
_CALLS = {"linear", "gru", "lstm", "gru_cell", "lstm_cell", "embedding", "softmax", "dropout"}


@dataclass(frozen=True)
class Site:
    """The expression of an event in the user's file. `target` is the name it is assigned to."""

    node: ast.expr
    operands: tuple[ast.expr, ...]
    callee: str  # what is called: `torch.bmm`, `self.W`, "" for an operator
    target: str
    source: tuple[str, ...]

    def text(self, node: ast.AST) -> str:
        """An expression as the user wrote it."""
        return ast.get_source_segment("\n".join(self.source), node) or ast.unparse(node)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.text(operand) for operand in self.operands)

    def with_(self, old: ast.expr, new: str) -> str | None:
        """The line with one expression replaced, or None where it spans several lines."""
        if old.lineno != old.end_lineno or old.end_col_offset is None:
            return None
        line = self.source[old.lineno - 1].encode()
        changed = line[: old.col_offset] + new.encode() + line[old.end_col_offset :]
        return changed.decode().strip()


def site(event: Event, trace: Trace, source: tuple[str, ...]) -> Site | None:
    """The expression that made this event, or None where the line does not show it."""
    if event.place is None:
        return None
    tree = _parsed(source)
    if tree is None:
        return None
    statement = _statement(tree, event.place.line)
    if statement is None:
        return None
    writes = bool(event.settings.get("in_place"))
    if (
        writes
        and isinstance(statement, ast.AugAssign)
        and _BINARY.get(type(statement.op)) == event.op
    ):
        parts = (statement.target, statement.value)
        return Site(statement.value, parts, "", _target(statement, source), source)
    nodes = [node for node in _in_order(statement) if _op(node) == event.op]
    nodes = [node for node in nodes if _covers(node, event.place.line)]
    if not nodes:
        nodes = [n for n in _in_order(statement) if isinstance(n, ast.Call) and _hidden(n, event)]
        nodes = [node for node in nodes if _covers(node, event.place.line)]
    if not nodes:
        return None
    same = [e for e in trace.events if e.op == event.op and e.place == event.place]
    number = next((i for i, e in enumerate(same) if e is event), 0)
    node = nodes[number % len(nodes)]
    operands, callee = _operands(node, source)
    return Site(node, operands, callee, _target(statement, source), source)


@functools.lru_cache(maxsize=8)
def _parsed(source: tuple[str, ...]) -> ast.Module | None:
    try:
        return ast.parse("\n".join(source))
    except SyntaxError:
        return None


def _statement(tree: ast.Module, line: int) -> ast.stmt | None:
    best: ast.stmt | None = None
    for node in ast.walk(tree):
        if not isinstance(node, ast.stmt) or not _covers(node, line):
            continue
        if best is None or node.lineno >= best.lineno:
            best = node
    return best


def _covers(node: ast.AST, line: int) -> bool:
    first, last = getattr(node, "lineno", 0), getattr(node, "end_lineno", None) or 0
    return first <= line <= last


def _in_order(node: ast.AST) -> list[ast.expr]:
    """The expressions of a statement in the order in which they are run."""
    found = [below for child in ast.iter_child_nodes(node) for below in _in_order(child)]
    return [*found, node] if isinstance(node, ast.expr) else found


def _op(node: ast.AST) -> str:
    if isinstance(node, (ast.BinOp, ast.UnaryOp)):
        return _BINARY.get(type(node.op), "")
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        return _BINARY.get(type(node.ops[0]), "")
    if isinstance(node, ast.Call):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        name = node.func.id if isinstance(node.func, ast.Name) else name
        if name == "repeat" and _is_module(node.func):
            return "repeat_interleave"
        return plain_name(name)[0]
    if isinstance(node, ast.Attribute):
        return "transpose" if node.attr in ("T", "mT") else ""
    if isinstance(node, ast.Subscript):
        return "getitem" if isinstance(node.ctx, ast.Load) else ""
    return ""


def _hidden(node: ast.Call, event: Event) -> bool:
    """A call such as `self.W(x)`, whose name says nothing of the operation inside."""
    return event.op in _CALLS and not _is_module(node.func) and bool(node.args)


def _is_module(func: ast.expr) -> bool:
    base = func.value if isinstance(func, ast.Attribute) else None
    while isinstance(base, ast.Attribute):
        if base.attr in _MODULES:
            return True
        base = base.value
    return isinstance(base, ast.Name) and base.id in _MODULES


def _operands(node: ast.AST, source: tuple[str, ...]) -> tuple[tuple[ast.expr, ...], str]:
    if isinstance(node, ast.BinOp):
        return (node.left, node.right), ""
    if isinstance(node, ast.UnaryOp):
        return (node.operand,), ""
    if isinstance(node, ast.Compare):
        return (node.left, node.comparators[0]), ""
    if isinstance(node, (ast.Attribute, ast.Subscript)):
        return (node.value,), ""
    if isinstance(node, ast.Call):
        callee = ast.get_source_segment("\n".join(source), node.func) or ""
        args = list(node.args) + [k.value for k in node.keywords if k.arg not in _SETTINGS]
        if args and isinstance(args[0], ast.Constant) and isinstance(args[0].value, str):
            args = args[1:]  # an einsum's equation
        if args and isinstance(args[0], (ast.List, ast.Tuple)):
            args = [*args[0].elts, *args[1:]]
        is_method = isinstance(node.func, ast.Attribute) and not _is_module(node.func)
        if is_method and isinstance(node.func, ast.Attribute) and _op(node) in _KNOWN:
            args = [node.func.value, *args]
        return tuple(args), callee
    return (), ""


_SETTINGS = {"dim", "axis", "keepdim", "keepdims", "dtype", "fill", "value", "p", "training"}
_KNOWN = frozenset(
    [
        "matmul",
        "bmm",
        "add",
        "sub",
        "mul",
        "div",
        "masked_fill",
        "where",
        "view",
        "reshape",
        "transpose",
        "permute",
        "squeeze",
        "unsqueeze",
        "expand",
        "repeat",
        "repeat_interleave",
        "sum",
        "mean",
        "max",
        "softmax",
        "log_softmax",
        "exp",
        "tanh",
        "detach",
        "clone",
        "to",
        "contiguous",
        "logical_not",
        "getitem",
        "lt",
        "gt",
        "le",
        "ge",
        "eq",
        "ne",
        "dot",
        "index_select",
        "baddbmm",
        "split",
        "chunk",
    ]
)


def _target(statement: ast.stmt, source: tuple[str, ...]) -> str:
    if isinstance(statement, ast.Assign):
        return ast.get_source_segment("\n".join(source), statement.targets[0]) or ""
    if isinstance(statement, (ast.AugAssign, ast.AnnAssign)):
        return ast.get_source_segment("\n".join(source), statement.target) or ""
    return ""
