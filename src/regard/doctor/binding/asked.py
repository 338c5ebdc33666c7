"""One question on its way to the examined code, and the answers of its parts made one."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from regard.doctor.binding.binding import Binding
from regard.doctor.binding.native import Leaves, Part, arguments, parts, visibility
from regard.doctor.binding.outputs import canonical, expected_shape
from regard.doctor.binding.recording import record
from regard.doctor.binding.runner import Returned, call
from regard.doctor.probe import Answer, Array, Failure, Inputs
from regard.doctor.tracing.trace import Trace

if TYPE_CHECKING:
    from regard.doctor.binding.bound import BoundExamination


class Asked:
    """One question on its way: calls part by part, then one answer of them all."""

    def __init__(
        self,
        exam: "BoundExamination",
        inputs: tuple[Inputs, ...],
        train: bool,
        gradients: bool,
        half: bool,
        trace: bool,
    ) -> None:
        self.exam, self.train, self.half, self.trace = exam, train, half, trace
        self.gradients = gradients and exam.framework == "torch"
        self.inputs = tuple(i.with_(extra={**i.extra, "training": train}) for i in inputs)
        dtype = torch.float16 if half else torch.float32
        self.leaves = [
            Leaves(i, exam.framework, dtype, self.gradients and i is self.inputs[-1])
            for i in self.inputs
        ]
        last = self.leaves[-1]
        given = {n: exam.parameters()[n] for n, _ in exam.dims}
        self.parameters = {n: last.make(a, self.gradients) for n, a in given.items()}
        self.owners: list[Any] = []
        self.binding = self._sized()

    def _sized(self) -> Binding:
        """The binding at the sizes of this very input."""
        given = self.inputs[-1]
        sizes = self.exam.binding.sizes.with_(
            batch=given.query.shape[0], query_len=given.query.shape[1], key_len=given.keys.shape[1]
        )
        return replace(self.exam.binding, sizes=sizes)

    def answer(self) -> Answer:
        pieces: dict[str, list[list[Any]]] = {"context": [], "weights": []}
        changed: set[str] = set()
        trace, raw, last_batch = Trace(), None, None
        for number, part in enumerate(parts(self.binding, self.inputs[-1])):
            returned, names, recorded = self._call(part, trace=self.trace and number == 0)
            if number == 0:
                trace, raw = recorded, returned.value
            changed |= names
            if returned.failure is not None:
                return Answer(failure=returned.failure, raw=raw, trace=trace)
            wrong = self._wrong_shape(returned)
            if wrong is not None:
                return Answer(failure=wrong, raw=returned.value, trace=trace)
            for form, (_, array) in zip(self.binding.outputs, returned.found, strict=False):
                if form.role in pieces:
                    if part.batch != last_batch or not pieces[form.role]:
                        pieces[form.role].append([])
                    pieces[form.role][-1].append((form, array))
            last_batch = part.batch
        gradients = self._backward(pieces) if self.gradients else {}
        found = {role: self._joined(rows) for role, rows in pieces.items() if rows}
        return Answer(
            context=found.get("context"),
            weights=found.get("weights"),
            raw=raw,
            trace=trace,
            gradients=gradients,
            changed=tuple(sorted(changed)),
        )

    def _call(self, part: Part, *, trace: bool) -> tuple[Returned, set[str], Trace]:
        exam = self.exam
        try:
            owner = exam.fresh(self.parameters, train=self.train, half=self.half)
        except Exception as error:
            return Returned(failure=Failure(type(error).__name__, str(error))), set(), Trace()
        self.owners.append(owner)
        changed: set[str] = set()
        returned, recorded = Returned(), Trace()
        for inputs, leaves in zip(self.inputs, self.leaves, strict=True):
            by_name, by_role, names = arguments(self.binding, inputs, leaves, part, self.parameters)
            before = {role: _snapshot(value) for role, value in by_role.items()}
            if trace:
                returned, recorded = self._recorded(owner, by_role, names)
            else:
                returned = call(exam.subject, owner, by_name)
            changed |= {role for role, value in by_role.items() if _differs(before[role], value)}
            if returned.failure is not None:
                break
        return returned, changed, recorded

    def _recorded(
        self, owner: Any, by_role: dict[str, Any], names: dict[str, str]
    ) -> tuple[Returned, Trace]:
        module = owner if isinstance(owner, torch.nn.Module) else None
        parameters = dict(module.named_parameters()) if module is not None else {}
        parameters |= self.parameters
        own = self.exam.parameters().keys() - parameters.keys()  # arrays of a class without torch
        parameters |= {name: getattr(owner, name) for name in own}
        return record(self.exam.subject, owner, by_role, names, parameters)

    def _wrong_shape(self, returned: Returned) -> Failure | None:
        """An answer whose shape is not the one that it had at other sizes."""
        forms = [f for f in self.binding.outputs]
        understood = [f for f in forms if f.role != "other"]
        if len(forms) != len(returned.found) and understood:
            return Failure(
                "OutputShape", f"returned {len(returned.found)} arrays, not {len(forms)}"
            )
        for form, (_, array) in zip(forms, returned.found, strict=False):
            if form.role == "other":
                continue
            want, got = expected_shape(form, self.binding), tuple(array.shape)
            if len(want) != len(got) or any(
                w not in (None, g) for w, g in zip(want, got, strict=True)
            ):
                shown = ", ".join("dim" if w is None else str(w) for w in want)
                return Failure(
                    "OutputShape", f"the {form.role} has shape {got} where ({shown}) is right"
                )
        return None

    def _joined(self, rows: list[list[Any]]) -> Any:
        batches = [
            np.concatenate(
                [canonical(_numbers(a), f, self.binding) for f, a in row],
                axis=-2 if row[0][0].role == "weights" else 1,
            )
            for row in rows
        ]
        return np.concatenate(batches, axis=0)

    def _backward(self, pieces: dict[str, list[list[Any]]]) -> dict[str, Array]:
        """Gradients of a fixed random sum of the context (or weights), empty rows left out."""
        role = "context" if pieces["context"] else "weights"
        random, total = np.random.default_rng(7), None
        for row in pieces[role]:
            for form, array in row:
                if not array.requires_grad:
                    continue
                factor = random.standard_normal(tuple(array.shape))
                factor = factor * self._seen(form, tuple(array.shape))
                picked = torch.as_tensor(factor).to(array.dtype)
                term = torch.where(picked != 0, array * picked, torch.zeros_like(array)).sum()
                total = term if total is None else total + term
        named = {n: a for n, a in self.leaves[-1].arrays.items()} | self.parameters
        modules = [o for o in self.owners if isinstance(o, torch.nn.Module)]
        if total is not None:
            total.backward()  # type: ignore[no-untyped-call]
        gradients = {
            n: _numbers(a.grad) for n, a in named.items() if getattr(a, "grad", None) is not None
        }
        for module in modules:
            for name, parameter in module.named_parameters():
                if parameter.grad is not None:
                    gradients[name] = gradients.get(name, 0.0) + _numbers(parameter.grad)
        return gradients

    def _seen(self, form: Any, shape: tuple[int, ...]) -> Any:
        """0 at rows with nothing to attend to, which a loss leaves out; 1 elsewhere."""
        visible = visibility(self.inputs[-1])
        if visible is None or self.binding.loops_batch or "B" not in form.axes:
            return 1.0
        rows = np.asarray(visible.any(axis=-1))
        if self.inputs[-1].causal:
            rows = np.ones_like(rows)
        axes = form.axes
        if "Q" in axes:
            order = rows if axes.index("B") < axes.index("Q") else rows.T
            places = sorted((axes.index("B"), axes.index("Q")))
        else:
            order, places = rows[:, 0], [axes.index("B")]
        wide = [shape[p] if p in places else 1 for p in range(len(shape))]
        return order.reshape(wide).astype(np.float64)


def _numbers(array: Any) -> Any:
    if isinstance(array, torch.Tensor):
        return array.detach().double().cpu().numpy().copy()
    return np.asarray(array, dtype=np.float64)


def _snapshot(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.detach().clone()
    return value.copy() if isinstance(value, np.ndarray) else None


def _differs(before: Any, after: Any) -> bool:
    if isinstance(after, torch.Tensor) and before is not None:
        same = before.shape == after.shape and torch.allclose(
            before.double(), after.detach().double(), rtol=0, atol=0, equal_nan=True
        )
        return not same
    if isinstance(after, np.ndarray) and before is not None:
        return before.shape != after.shape or not np.array_equal(
            before, after, equal_nan=after.dtype.kind == "f"
        )
    return False
