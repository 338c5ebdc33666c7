"""One plain name for every spelling of an operation, and names for its settings."""

_SAME = {
    "add": "iadd radd",
    "sub": "isub subtract",
    "rsub": "",
    "mul": "imul rmul multiply",
    "div": "itruediv truediv true_divide divide idiv",
    "rdiv": "rtruediv",
    "pow": "power float_power ipow",
    "neg": "negative",
    "matmul": "mm mv dot inner imatmul rmatmul vecdot",
    "transpose": "T mT H mH t swapaxes swapdims adjoint matrix_transpose",
    "permute": "movedim moveaxis rollaxis",
    "view": "view_as unflatten",
    "reshape": "reshape_as flatten ravel",
    "expand": "expand_as broadcast_to",
    "unsqueeze": "expand_dims",
    "cat": "concat concatenate hstack vstack column_stack",
    "logical_not": "invert bitwise_not",
    "logical_and": "and bitwise_and iand rand",
    "logical_or": "or bitwise_or ior ror",
    "logical_xor": "xor bitwise_xor ixor",
    "lt": "less",
    "gt": "greater",
    "le": "less_equal",
    "ge": "greater_equal",
    "eq": "equal",
    "ne": "not_equal",
    "max": "amax maximum_reduce",
    "min": "amin",
    "clone": "copy",
    "to": "astype float double half type type_as bool long int",
    "detach": "data",
    "index_select": "take",
    "clamp": "clip",
    "scaled_dot_product_attention": "",
}
_PLAIN = {other: plain for plain, others in _SAME.items() for other in others.split()}

# Settings given by position, after the arrays.
_POSITIONAL: dict[str, tuple[str, ...]] = {
    "softmax": ("dim",),
    "log_softmax": ("dim",),
    "logsumexp": ("dim",),
    "sum": ("dim",),
    "mean": ("dim",),
    "max": ("dim",),
    "min": ("dim",),
    "argmax": ("dim",),
    "cumsum": ("dim",),
    "norm": ("p", "dim"),
    "unsqueeze": ("dim",),
    "squeeze": ("dim",),
    "cat": ("dim",),
    "stack": ("dim",),
    "unbind": ("dim",),
    "chunk": ("chunks", "dim"),
    "split": ("split", "dim"),
    "transpose": ("dim0", "dim1"),
    "permute": ("dims",),
    "masked_fill": ("fill",),
    "tril": ("diagonal",),
    "triu": ("diagonal",),
    "einsum": ("equation",),
    "repeat_interleave": ("repeats", "dim"),
    "clamp": ("min", "max"),
    "dropout": ("p", "training"),
    "scaled_dot_product_attention": ("attn_mask", "dropout_p", "is_causal"),
}
_RENAMED = {"axis": "dim", "value": "fill", "size": "shape", "newshape": "shape", "sizes": "shape"}
_SHAPED = {"view", "reshape", "expand", "repeat"}
_SCALAR = {"add", "sub", "rsub", "mul", "div", "rdiv", "pow", "where", "maximum", "minimum"}
_SCALAR |= {"lt", "gt", "le", "ge", "eq", "ne"}
_REDUCING = {"softmax", "log_softmax", "logsumexp", "sum", "mean", "max", "min", "cat", "argmax"}
_REDUCING |= {"stack", "unsqueeze", "squeeze", "cumsum"}


def plain_name(name: str) -> tuple[str, bool]:
    """The plain name of `__iadd__`, `add_`, `np.add` ... and whether it writes in place."""
    if name == "copy_":
        return name, True
    bare = name.strip("_")
    dunder = name.startswith("__") and name.endswith("__")
    in_place = (not dunder and name.endswith("_")) or (dunder and bare in _IN_PLACE)
    return _PLAIN.get(bare, bare), in_place


_IN_PLACE = {"iadd", "isub", "imul", "itruediv", "idiv", "ipow", "iand", "ior", "ixor"}
_IN_PLACE |= {"setitem"}


def name_settings(
    op: str, positional: list[object], named: dict[str, object], first_ndim: int
) -> dict[str, object]:
    """The settings of one call by name; `positional` are its arguments that are no arrays.

    `axis` is the axis meant by `dim`, counted from 0 in an array of `first_ndim` axes.
    """
    settings = {_RENAMED.get(name, name): value for name, value in named.items()}
    if op in _SHAPED and positional:
        shape = positional[0] if isinstance(positional[0], (tuple, list)) else positional
        settings["shape"] = tuple(shape) if isinstance(shape, (tuple, list)) else shape
    elif op == "permute" and positional and not isinstance(positional[0], (tuple, list)):
        settings["dims"] = tuple(positional)
    elif op in _SCALAR:
        if positional:
            settings["scalar"] = positional[0]
    elif op == "getitem" or op == "setitem":
        settings["index"] = positional[0] if positional else None
        if op == "setitem" and len(positional) > 1:
            settings["fill"] = positional[1]
    else:
        settings.update(zip(_POSITIONAL.get(op, ()), positional, strict=False))
    dim = settings.get("dim")
    if op == "cat" or op == "stack":
        dim = 0 if dim is None else dim
    if op in _REDUCING and isinstance(dim, int) and not isinstance(dim, bool):
        total = first_ndim + (1 if op in ("stack", "unsqueeze") else 0)
        settings["axis"] = dim % total if total else 0
    return settings
