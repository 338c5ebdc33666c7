"""Lines of a score put right: one tanh around a sum, and W the other way round."""

import ast
import re

_SHAPING = ("unsqueeze", "expand", "reshape", "view", "transpose", "repeat", "swapaxes")
_ATOMS = (ast.Name, ast.Call, ast.Attribute, ast.Subscript, ast.Constant)


def tanh_of_sum(code: str) -> str | None:
    """`tanh(q)[:, None] + tanh(k)` as `tanh(q[:, None] + k)`, where the line has one such sum."""
    if not code.isascii():
        return None
    try:
        tree = ast.parse(code)
    except SyntaxError:
        return None
    sums = [n for n in ast.walk(tree) if isinstance(n, ast.BinOp) and isinstance(n.op, ast.Add)]
    if len(sums) != 1:
        return None
    (whole,) = sums
    called, bare = [], []
    for side in (whole.left, whole.right):
        call = _tanh(side)
        text = _text(code, side)
        if call is not None:
            called.append(_text(code, call.func))
            start = call.col_offset - side.col_offset
            end = (call.end_col_offset or 0) - side.col_offset
            inner = _text(code, call.args[0])
            wrapped = call is not side and not isinstance(call.args[0], _ATOMS)
            text = text[:start] + (f"({inner})" if wrapped else inner) + text[end:]
        bare.append(text)
    if not called:
        return None
    made = f"{called[0]}({bare[0]} + {bare[1]})"
    return code[: whole.col_offset] + made + code[whole.end_col_offset :]


def _tanh(node: ast.expr) -> ast.Call | None:
    """The call of tanh whose result only changes its shape on the way to this expression."""
    while True:
        if isinstance(node, ast.Subscript):
            node = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr == "tanh":
                return node if len(node.args) == 1 else None
            if node.func.attr not in _SHAPING:
                return None
            node = node.func.value
        else:
            named = isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
            if named and isinstance(node, ast.Call) and _is_tanh(node):
                return node
            return None


def _is_tanh(node: ast.Call) -> bool:
    return isinstance(node.func, ast.Name) and node.func.id == "tanh" and len(node.args) == 1


def _text(code: str, node: ast.expr) -> str:
    return code[node.col_offset : node.end_col_offset]


def turned(code: str, matrix: str) -> str | None:
    """The line with one matrix transposed, or no longer; None where it does not stand there once.

    `matrix` is the name of an argument or of a parameter of the module.
    """
    name = re.escape(matrix.rpartition(".")[2])
    pattern = rf"(?<![\w.])((?:self\.)?{name})(\.m?T\b|\.t\(\)|\.transpose\(\))?(?![\w(\[.=])"
    found = list(re.finditer(pattern, code))
    if len(found) != 1 or len(re.findall(rf"\b{name}\b", code)) != 1:
        return None
    start, end = found[0].span()
    return code[:start] + found[0][1] + ("" if found[0][2] else ".T") + code[end:]
