"""The trace of a torch call, by a mode that sees every function and method of torch."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.overrides import TorchFunctionMode

from regard.doctor.tracing.op_names import name_settings, plain_name
from regard.doctor.tracing.recorder import Ledger, Recorded, flatten, union
from regard.doctor.tracing.trace import Operand

_ALWAYS = {"__setitem__"}  # returns nothing, and writes


def record_torch(
    call: Callable[[dict[str, Any], dict[str, Any]], Any],
    named: dict[str, Any],
    parameters: dict[str, Any],
    file: str,
) -> Recorded:
    """Run `call(named, parameters)` and note every operation on tensors.

    `named` are the inputs by role, `parameters` the weights by name: the very tensors that the
    call uses. `file` is the user's file, whose lines the events name. What the call raises is
    kept in `error`, with the operation that raised as the trace's last event.
    """
    recorder = _Recorder(file)
    for role, tensor in {**named, **parameters}.items():
        if isinstance(tensor, torch.Tensor):
            recorder.start(role, tensor)
    result, error = None, None
    with recorder:
        try:
            result = call(named, parameters)
        except Exception as raised:
            error = raised
    return Recorded(result, error, recorder.ledger.trace(flatten(result, torch.Tensor)))


class _Recorder(TorchFunctionMode):
    """Sees every call of torch; runs it, and notes what went in and came out."""

    def __init__(self, file: str):
        super().__init__()
        self.ledger = Ledger(file)
        self._places: dict[Any, torch.Tensor] = {}  # the last array made at each place in memory
        self._copies: dict[tuple[int, int], NDArray[Any]] = {}

    def start(self, role: str, tensor: torch.Tensor) -> None:
        known = self.ledger.own.get(id(tensor), frozenset())
        self.ledger.own[id(tensor)] = known | {role}
        self.ledger.add("input", [], [self._operand(tensor)], {"role": role})

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        name = _name(func)
        before = [self._given(t) for t in flatten((args, kwargs), torch.Tensor)]
        try:
            result = func(*args, **kwargs)
        except Exception as error:
            op, settings = _describe(name, args, kwargs)
            self.ledger.add(op, before, [], {**settings, "error": str(error)})
            raise
        outputs = [args[0]] if name in _ALWAYS else flatten(result, torch.Tensor)
        if outputs:
            self._note(name, args, kwargs, before, outputs)
        return result

    def _note(self, name: str, args: Any, kwargs: Any, before: list[Operand], out: Any) -> None:
        op, settings = _describe(name, args, kwargs)
        origins = union(before)
        changed = bool(settings.get("in_place"))
        for tensor in out:
            if changed:
                self.ledger.write(_memory(tensor), origins)
            known = self.ledger.own.get(id(tensor), frozenset())
            self.ledger.own[id(tensor)] = known | origins
        after = [self._operand(tensor) for tensor in out]
        self.ledger.add(op, before, after, settings)

    def _given(self, tensor: torch.Tensor) -> Operand:
        """An operand; one never seen is the array that lies at its place, under another object.

        (The tensors inside an `autograd.Function` are such objects.)
        """
        place = _place(tensor)
        known = self._places.get(place)
        if known is not None and not self.ledger.knows(tensor):
            self.ledger.is_also(tensor, known)
        return self._operand(tensor)

    def _operand(self, tensor: torch.Tensor) -> Operand:
        identity = self.ledger.identity(tensor)
        self._places[_place(tensor)] = tensor
        origins = self.ledger.origins(tensor, _memory(tensor))
        return Operand(identity, tuple(tensor.shape), origins, self._copy(identity, tensor))

    def _copy(self, identity: int, tensor: torch.Tensor) -> NDArray[Any]:
        key = (identity, 0 if tensor.is_inference() else tensor._version)
        if key not in self._copies:
            self._copies[key] = _array(tensor)
        return self._copies[key]


def _array(tensor: torch.Tensor) -> NDArray[Any]:
    with torch._C.DisableTorchFunction():
        plain = tensor.detach()
        if plain.dtype == torch.bfloat16:
            plain = plain.float()
        try:
            return np.array(plain.cpu().resolve_conj().numpy(), copy=True)
        except (RuntimeError, TypeError, NotImplementedError):  # meta, sparse: shape alone
            return np.empty(0)


def _memory(tensor: torch.Tensor) -> int:
    try:
        return tensor.untyped_storage().data_ptr()
    except (RuntimeError, NotImplementedError):
        return -id(tensor)


def _place(tensor: torch.Tensor) -> Any:
    """Where it lies, and how it is read there."""
    with torch._C.DisableTorchFunction():
        if tensor.layout is not torch.strided or tensor.device.type == "meta":
            return id(tensor)
        shape, strides = tuple(tensor.shape), tuple(tensor.stride())
        return (tensor.data_ptr(), shape, strides, tensor.dtype) if tensor.numel() else id(tensor)


def _name(func: Any) -> str:
    name = getattr(func, "__name__", str(func))
    if name == "__get__":  # a property: T, mT, data, shape
        owner = getattr(func, "__self__", None)
        return str(getattr(owner, "__name__", name))
    return str(name)


def _describe(name: str, args: Any, kwargs: Any) -> tuple[str, dict[str, Any]]:
    op, in_place = plain_name(name)
    if op == "setitem":
        positional: list[Any] = [args[1], *(a for a in args[2:] if not flatten(a, torch.Tensor))]
    elif op == "getitem":
        positional = [args[1]]
    else:
        positional = [a for a in args if not flatten(a, torch.Tensor)]
    named = {k: v for k, v in kwargs.items() if not isinstance(v, torch.Tensor)}
    tensors = flatten((args, kwargs), torch.Tensor)
    ndim = tensors[0].dim() if tensors else 0
    settings = name_settings(op, positional, named, ndim)
    if "scalar" in settings and args:
        settings["scalar_side"] = "right" if isinstance(args[0], torch.Tensor) else "left"
    if op in ("rsub", "rdiv"):
        settings["scalar_side"] = "left"
        op = op[1:]
    if in_place or kwargs.get("out") is not None or kwargs.get("inplace") is True:
        settings["in_place"] = True
    _implicit_axis(op, settings, ndim)
    if name == "T" or name == "mT" or name == "t":
        settings.update(dim0=-2, dim1=-1)
    if name == "T" and ndim > 2:
        settings["reversed"] = True
    return op, settings


def _implicit_axis(op: str, settings: dict[str, Any], ndim: int) -> None:
    """The axis that torch takes where softmax is given none."""
    if op in ("softmax", "log_softmax") and settings.get("dim") is None:
        settings["implicit"] = True
        settings["axis"] = 0 if ndim in (0, 1, 3) else 1
