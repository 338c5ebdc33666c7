"""Canonical input to the examined code's own arguments: layout, mask convention, dtype."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from regard.doctor.binding.binding import Binding, MaskForm, Slot
from regard.doctor.probe import Inputs


@dataclass(frozen=True)
class Part:
    """The examples and queries that one call of the code is given."""

    batch: slice
    queries: slice


def parts(binding: Binding, inputs: Inputs) -> list[Part]:
    """One part for the whole question, or one an example or a query where the code takes one."""
    batch, query_len = inputs.query.shape[:2]
    batches = [slice(b, b + 1) for b in range(batch)] if binding.loops_batch else [slice(None)]
    queries = (
        [slice(q, q + 1) for q in range(query_len)] if binding.loops_queries else [slice(None)]
    )
    return [Part(b, q) for b in batches for q in queries]


class Leaves:
    """The canonical arrays as the framework's own, made once, so that gradients meet in them."""

    def __init__(self, inputs: Inputs, framework: str, dtype: Any, gradients: bool = False) -> None:
        self.framework, self.dtype = framework, dtype
        given = {"query": inputs.query, "key": inputs.key, "value": inputs.value}
        given |= {n: a for n, a in inputs.extra.items() if isinstance(a, np.ndarray)}
        self.arrays = {name: self.make(a, gradients) for name, a in given.items() if a is not None}

    def make(self, array: Any, gradients: bool = False) -> Any:
        array = np.asarray(array)
        if self.framework == "numpy":
            return array.copy()
        tensor = torch.from_numpy(array.copy())
        if array.dtype.kind != "f":
            return tensor
        return tensor.to(self.dtype).requires_grad_(gradients)


def arguments(
    binding: Binding, inputs: Inputs, leaves: Leaves, part: Part, parameters: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, Any], dict[str, str]]:
    """The call's arguments by name, the same by role, and each role's name."""
    by_name: dict[str, Any] = {}
    by_role: dict[str, Any] = {}
    names: dict[str, str] = {}
    for slot in binding.slots:
        if slot.in_init:
            continue
        value = _argument(slot, binding, inputs, leaves, part, parameters)
        if value is None and not slot.required:
            continue
        by_name[slot.name] = value
        role = slot.name if slot.role == "parameter" else slot.role
        by_role[role], names[role] = value, slot.name
    return by_name, by_role, names


def _argument(
    slot: Slot,
    binding: Binding,
    inputs: Inputs,
    leaves: Leaves,
    part: Part,
    parameters: dict[str, Any],
) -> Any:
    role = slot.role
    if role in ("query", "key", "value"):
        heads = binding.num_heads if role == "query" else binding.kv_heads or binding.num_heads
        array = leaves.arrays[role][part.batch]
        array = array[:, part.queries] if role == "query" and "T" not in slot.axes else array
        laid = lay_out(array, slot.axes, heads)
        if role == "query" and binding.state_pair:
            second = leaves.arrays[binding.state_pair][part.batch][:, None]
            return (laid, lay_out(second, slot.axes, heads))
        return laid
    if role == "cell":
        query = binding.slot("query")
        return lay_out(leaves.arrays["cell"][part.batch][:, None], query.axes if query else "BD", 1)
    if role == "feed":
        return lay_out(leaves.arrays["feed"][part.batch][:, None], slot.axes, 1)
    if role == "token":
        array = leaves.arrays["token"][part.batch]
        if not binding.token_ids:
            return lay_out(array[:, None], slot.axes, 1)
        return {"B": array, "B1": array[:, None], "1B": array[None]}[slot.axes]
    if role == "mask":
        visible = visibility(inputs)
        if visible is None and not slot.required:
            return None
        return _mask(visible, binding, inputs, leaves, part, slot.required)
    if role == "lengths":
        return _lengths(slot, inputs, leaves, part)
    if role == "query_lengths":
        full = np.full(inputs.query.shape[0], inputs.query.shape[1], dtype=np.int64)[part.batch]
        return leaves.make(full) if slot.axes else int(full[0])
    if role == "parameter":
        return parameters[slot.name]
    if role == "causal":
        return inputs.causal
    if role == "training":
        return bool(inputs.extra.get("training", False))
    return slot.value


def lay_out(array: Any, axes: str, heads: int) -> Any:
    """(batch, position, channels) in the order of `axes`, contiguous as a user's own would be."""
    if not axes:
        return array
    letters = "BTD"
    if "H" in axes:
        batch, length, width = array.shape
        array, letters = array.reshape(batch, length, heads, width // heads), "BTHD"
    for name in letters:
        if name not in axes:
            array = array[(slice(None),) * letters.index(name) + (0,)]
            letters = letters.replace(name, "")
    order = tuple(letters.index(a) for a in axes if a not in "1L")
    array = array.transpose(order) if isinstance(array, np.ndarray) else array.permute(order)
    for place, name in enumerate(axes):
        if name in "1L":
            array = array[(slice(None),) * place + (None,)]
    if "L" in axes:  # two layers: the last one is the query, the first its channels reversed
        array = torch.cat([array.flip(-1), array], dim=axes.index("L"))
    if isinstance(array, np.ndarray):
        return array.copy()
    return array.contiguous().clone()


def visibility(inputs: Inputs) -> NDArray[Any] | None:
    """(batch, query_len, key_len) of what the code's mask is to say, None for no mask."""
    if inputs.may_attend is not None or inputs.lengths is None:
        return inputs.may_attend
    shape = (inputs.query.shape[0], inputs.query.shape[1], inputs.keys.shape[1])
    row = np.arange(shape[2]) < np.asarray(inputs.lengths)[:, None]
    return np.broadcast_to(row[:, None, :], shape)


def _mask(
    visible: NDArray[Any] | None,
    binding: Binding,
    inputs: Inputs,
    leaves: Leaves,
    part: Part,
    required: bool,
) -> Any:
    form = binding.mask or MaskForm("BK")
    if visible is None:
        shape = (inputs.query.shape[0], inputs.query.shape[1], inputs.keys.shape[1])
        visible = np.full(shape, True)
    visible = np.asarray(visible[part.batch][:, part.queries])
    letters = "BQK"
    axes = form.axes
    if "H" in axes:
        visible = np.repeat(visible[:, None], binding.num_heads, axis=1)
        letters = "BHQK"
    for name in letters:
        if name not in axes:
            at = letters.index(name)
            first = (slice(None),) * at + (0,)
            visible = np.asarray(visible.any(axis=at) if name == "Q" else visible[first])
            letters = letters.replace(name, "")
    visible = visible.transpose([letters.index(a) for a in axes if a != "1"])
    for place, name in enumerate(axes):
        if name == "1":
            visible = np.expand_dims(visible, place)
    visible = np.ascontiguousarray(visible)
    if form.dtype == "bias":
        return leaves.make(np.where(visible, 0.0, -np.inf))
    said = visible if form.attends else ~visible
    kinds = {"bool": bool, "uint8": np.uint8, "int": np.int64, "float": np.float64}
    return leaves.make(said.astype(kinds[form.dtype]))


def _lengths(slot: Slot, inputs: Inputs, leaves: Leaves, part: Part) -> Any:
    visible = visibility(inputs)
    if inputs.lengths is not None:
        lengths = np.asarray(inputs.lengths, dtype=np.int64)
    elif visible is not None:
        lengths = visible.any(axis=1).sum(axis=-1).astype(np.int64)
    elif not slot.required:
        return None
    else:
        lengths = np.full(inputs.query.shape[0], inputs.keys.shape[1], dtype=np.int64)
    lengths = lengths[part.batch]
    if slot.axes == "":
        return int(lengths[0])
    if slot.axes == "list":
        return [int(n) for n in lengths]
    return leaves.make(lengths)
