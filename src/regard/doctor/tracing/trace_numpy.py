"""The trace of a NumPy call, by an array that notes every operation on itself."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from regard.doctor.tracing.op_names import name_settings, plain_name
from regard.doctor.tracing.recorder import Ledger, Recorded, flatten, union
from regard.doctor.tracing.trace import Operand


def record_numpy(
    call: Callable[[dict[str, Any], dict[str, Any]], Any],
    named: dict[str, Any],
    parameters: dict[str, Any],
    file: str,
) -> Recorded:
    """Run `call(named, parameters)` and note every operation on arrays.

    `call` gets both dictionaries back with the same memory as traced arrays, and hands those to
    the user's code. What it raises is kept in `error`, with the operation that raised as the
    trace's last event. The result comes back as plain arrays.
    """
    ledger = Ledger(file)
    traced = {name: _start(ledger, name, value) for name, value in {**named, **parameters}.items()}
    result, error = None, None
    with _creating(ledger):
        try:
            result = call(
                {name: traced[name] for name in named}, {name: traced[name] for name in parameters}
            )
        except Exception as raised:
            error = raised
    return Recorded(plain(result), error, ledger.trace(flatten(result, Traced)))


def plain(thing: Any) -> Any:
    """The same with plain arrays in place of traced ones."""
    if isinstance(thing, Traced):
        return thing.view(np.ndarray)
    if isinstance(thing, tuple):
        parts = [plain(part) for part in thing]
        return type(thing)(*parts) if hasattr(thing, "_fields") else tuple(parts)
    if isinstance(thing, list):
        return [plain(part) for part in thing]
    if isinstance(thing, dict):
        return {name: plain(part) for name, part in thing.items()}
    if isinstance(thing, slice):
        return slice(plain(thing.start), plain(thing.stop), plain(thing.step))
    return thing


def _start(ledger: Ledger, name: str, value: Any) -> Any:
    if not isinstance(value, np.ndarray):
        return value
    array = _wrap(ledger, value, frozenset({name}))
    ledger.add("input", [], [_operand(ledger, array)], {"role": name})
    return array


class Traced(np.ndarray):
    """An array that notes what is done with it. Views keep the origins of what they view."""

    ledger: Ledger | None = None

    def __array_finalize__(self, source: Any) -> None:
        if isinstance(source, Traced) and source.ledger is not None:
            self.ledger = source.ledger
            self.ledger.own[id(self)] = source.ledger.own.get(id(source), frozenset())
            self.ledger.identity(self)  # keeps it, and so its id

    def __array_ufunc__(
        self, ufunc: np.ufunc, method: str, *args: Any, out: Any = None, **kwargs: Any
    ) -> Any:
        name = ufunc.__name__ if method == "__call__" else _METHODS.get((ufunc.__name__, method))
        name = name or f"{ufunc.__name__}_{method}"
        function = getattr(ufunc, method)
        if out is not None:
            kwargs["out"] = out
        return _run(name, function, args, kwargs, in_place=out)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return _run(func.__name__, func, args, kwargs, in_place=kwargs.get("out"))

    def __getitem__(self, index: Any) -> Any:
        return _run("__getitem__", np.ndarray.__getitem__, (self, index), {})

    def __setitem__(self, index: Any, value: Any) -> None:
        _run("__setitem__", np.ndarray.__setitem__, (self, index, value), {}, in_place=self)

    def __iter__(self) -> Iterator[Any]:
        return iter([self[i] for i in range(len(self))])

    def __iadd__(self, other: Any) -> Any:  # type: ignore[misc]
        return self + other if self.ndim == 0 else np.add(self, other, out=(self,))

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(self.item())

    @property
    def T(self) -> Any:
        return _run("T", np.ndarray.transpose, (self,), {})

    @property
    def mT(self) -> Any:
        return _run("mT", np.matrix_transpose, (self,), {})


_METHODS = {
    ("add", "reduce"): "sum",
    ("multiply", "reduce"): "prod",
    ("maximum", "reduce"): "max",
    ("minimum", "reduce"): "min",
    ("logical_and", "reduce"): "all",
    ("logical_or", "reduce"): "any",
    ("add", "accumulate"): "cumsum",
}
_OWN_METHODS = [
    "reshape",
    "transpose",
    "swapaxes",
    "squeeze",
    "flatten",
    "ravel",
    "sum",
    "mean",
    "max",
    "min",
    "argmax",
    "dot",
    "repeat",
    "astype",
    "copy",
    "take",
    "clip",
    "cumsum",
    "prod",
    "std",
    "var",
    "diagonal",
    "all",
    "any",
]


def _method(name: str) -> Any:
    function = getattr(np.ndarray, name)

    def method(self: Traced, *args: Any, **kwargs: Any) -> Any:
        return _run(name, function, (self, *args), kwargs)

    return method


for _name in _OWN_METHODS:
    setattr(Traced, _name, _method(_name))


def _run(name: str, function: Any, args: Any, kwargs: Any, *, in_place: Any = None) -> Any:
    traced = flatten((args, kwargs), Traced)
    ledger = next((array.ledger for array in traced if array.ledger is not None), None)
    if ledger is None:
        return function(*plain(args), **plain(kwargs))
    before = [_operand(ledger, a) for a in flatten(args, np.ndarray)]
    before += [_operand(ledger, a) for n, a in kwargs.items() if n != "out" and _is_array(a)]
    op, settings = _describe(name, args, kwargs)
    try:
        result = function(*plain(args), **plain(kwargs))
    except Exception as error:
        ledger.add(op, before, [], {**settings, "error": str(error)})
        raise
    origins = union(before)
    targets = flatten(in_place, Traced)
    if targets:
        settings["in_place"] = True
        for target in targets:
            ledger.write(_memory(target), origins)
        ledger.add(op, before, [_operand(ledger, target) for target in targets], settings)
        return targets[0] if len(targets) == 1 else tuple(targets)
    wrapped = _wrap_all(ledger, result, origins)
    after = [_operand(ledger, array) for array in flatten(wrapped, Traced)]
    if after:
        ledger.add(op, before, after, settings)
    return wrapped


def _is_array(thing: Any) -> bool:
    return isinstance(thing, np.ndarray)


def _wrap_all(ledger: Ledger, result: Any, origins: frozenset[str]) -> Any:
    if isinstance(result, (np.ndarray, np.generic)):
        return _wrap(ledger, _asarray(result), origins)
    if isinstance(result, (tuple, list)):
        parts = [_wrap_all(ledger, part, origins) for part in result]
        return parts if isinstance(result, list) else tuple(parts)
    return result


def _wrap(ledger: Ledger, array: Any, origins: frozenset[str]) -> Traced:
    if array.dtype == object:
        return array
    wrapped: Traced = array.view(Traced)
    wrapped.ledger = ledger
    ledger.identity(wrapped)
    ledger.own[id(wrapped)] = origins
    return wrapped


def _operand(ledger: Ledger, array: Any) -> Operand:
    value = _array(array.view(np.ndarray), copy=True)
    origins = ledger.origins(array, _memory(array))
    return Operand(ledger.identity(array), array.shape, origins, value)


def _memory(array: Any) -> int:
    owner = array
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    return id(owner)


def _describe(name: str, args: Any, kwargs: Any) -> tuple[str, dict[str, Any]]:
    arrays = flatten(args, np.ndarray)
    ndim = arrays[0].ndim if arrays else 0
    if name == "repeat":
        op, in_place = "repeat_interleave", False
    elif name == "tile":
        op, in_place = "repeat", False
    elif name == "transpose" and len(args) > 1 and args[1] is not None:
        op, in_place = "permute", False
    elif name == "dot" and len(arrays) == 2 and arrays[1].ndim > 2:
        op, in_place = "dot", False
    else:
        op, in_place = plain_name(name)
    if op == "setitem":
        positional = [args[1], *(a for a in args[2:] if not flatten(a, np.ndarray))]
    elif op == "getitem":
        positional = [args[1]]
    else:
        positional = [a for a in args if not flatten(a, np.ndarray)]
    if op == "permute" and not positional and "axes" in kwargs:
        positional = [kwargs["axes"]]
    named = {k: v for k, v in kwargs.items() if not flatten(v, np.ndarray) and k != "out"}
    settings = name_settings(op, positional, named, ndim)
    if "scalar" in settings:
        settings["scalar_side"] = "right" if _is_array(args[0]) else "left"
        settings["scalar"] = _number(settings["scalar"])
    if op == "transpose" and "dim0" not in settings:
        settings.update({"dim0": -2, "dim1": -1} if ndim == 2 else {"reversed": name != "mT"})
    if in_place:
        settings["in_place"] = True
    return op, settings


def _number(scalar: Any) -> Any:
    return scalar.item() if isinstance(scalar, np.generic) else scalar


_HERE = str(Path(__file__).parent)
_NUMPY = str(Path(np.__file__).parent)
_WRAPPERS = 8  # frames of a type checker's wrappers, at most, between the line and here
_array, _asarray = np.array, np.asarray  # the ones that are not noted

# Makers of arrays that NumPy does not ask the arguments about. Their results are noted where the
# user's own lines call them.
_MAKERS = [
    "array",
    "asarray",
    "zeros",
    "ones",
    "full",
    "empty",
    "arange",
    "eye",
    "tri",
    "linspace",
    "identity",
]


def _called_from(file: str) -> bool:
    """Whether the user's own line calls, and not NumPy or the doctor inside such a call."""
    frame = sys._getframe(1)
    for _ in range(_WRAPPERS):
        if frame.f_back is None:
            return False
        frame = frame.f_back
        name = frame.f_code.co_filename
        if name == file:
            return True
        if name.startswith(_NUMPY) or (name != __file__ and name.startswith(_HERE)):
            return False
    return False


@contextmanager
def _creating(ledger: Ledger) -> Iterator[None]:
    kept = {name: getattr(np, name) for name in _MAKERS}

    def maker(name: str, make: Any) -> Any:
        def made(*args: Any, **kwargs: Any) -> Any:
            if not _called_from(ledger.file):
                return make(*args, **kwargs)
            parts = flatten((args, kwargs), np.ndarray)
            before = [_operand(ledger, part) for part in parts]
            wrapped = _wrap_all(ledger, make(*plain(args), **plain(kwargs)), union(before))
            if isinstance(wrapped, Traced):
                ledger.add(name, before, [_operand(ledger, wrapped)], {})
            return wrapped

        return made

    try:
        for name, make in kept.items():
            setattr(np, name, maker(name, make))
        yield
    finally:
        for name, make in kept.items():
            setattr(np, name, make)
