"""The lines of a file that belong to the examined code: its own, and those of what it names."""

import ast

_Definition = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def own_part(source: tuple[str, ...], name: str) -> tuple[str, ...]:
    """The file with every definition left empty that this one does not name, nor what it names.

    What other classes of the file do, or say of themselves, is no matter of the examined one. All
    of it stays where there is no such definition at the top level.
    """
    try:
        body = ast.parse("\n".join(source)).body
    except SyntaxError:
        return source
    defined = {node.name: node for node in body if isinstance(node, _Definition)}
    if name not in defined:
        return source
    tables = {n: node for node in body if isinstance(node, ast.Assign) for n in _targets(node)}
    known: dict[str, ast.AST] = {**tables, **defined}
    wanted, todo = {name}, [name]
    while todo:
        for other in _names(known[todo.pop()]) & known.keys() - wanted:
            wanted.add(other)
            todo.append(other)
    lines = list(source)
    for node in (node for other, node in defined.items() if other not in wanted):
        first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
        end = node.end_lineno or node.lineno
        lines[first - 1 : end] = [""] * (end - first + 1)
    return tuple(lines)


def _targets(node: ast.Assign) -> list[str]:
    return [target.id for target in node.targets if isinstance(target, ast.Name)]


def _names(node: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
