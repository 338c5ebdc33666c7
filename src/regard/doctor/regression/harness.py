"""The part of a test file that all its tests share, and the trial of one test on the code."""

import contextlib
import io
import textwrap
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from regard.doctor.binding.bound import BoundExamination
from regard.doctor.binding.building import SEED
from regard.doctor.binding.construct import Construction, constructions, free_sizes
from regard.doctor.binding.parameters import size
from regard.doctor.findings import Finding
from regard.doctor.probe import Answer
from regard.doctor.regression import written_file as parts
from regard.doctor.regression.call_writer import CallWriter, CannotWrite

_NAMES = {
    "batch": "BATCH",
    "query_len": "T_DEC",
    "key_len": "T_ENC",
    "query_dim": "D_S",
    "key_dim": "D_H",
    "value_dim": "D_V",
}


class Harness:
    """Loading, input, call and answer as text, for one bound examination."""

    def __init__(self, exam: BoundExamination, file: str, name: str, *, is_factory: bool) -> None:
        self.exam, self.code_file, self.name, self.is_factory = exam, file, name, is_factory
        self.binding = exam.binding
        self.arguments = dict(exam._found.construction.arguments)
        if exam.unexpected:
            self._uncouple()
        elif not (exam.parameters() or self.binding.self_attention or self.binding.kv_heads):
            sizes = self.binding.sizes  # what compares query and key as they are needs one width
            self.binding = replace(self.binding, sizes=sizes.with_(query_dim=sizes.key_dim))
        self.torch = exam.framework == "torch"
        self.has_heads = any(
            f.role == "weights" and set("HG") & set(f.axes) for f in self.binding.outputs
        )
        self._answer = self._asked()
        defaults = {n: p.default for n, p in exam.subject.call.items()}
        self._writer = CallWriter(self.binding, exam.framework, self.binding.num_heads, defaults)
        method = exam.subject.method
        module = isinstance(exam._attempt.made, torch.nn.Module)
        plain = method in ("", "__call__") or (module and method == "forward")
        self._entry = "" if plain else f".{method}"

    def _uncouple(self) -> None:
        """Sizes that only the code makes equal are made different."""
        exam = self.exam
        kept = exam.equal - exam.unexpected
        step = any(slot.role == "token" for slot in self.binding.slots)
        options = (
            constructions(exam.subject, step=step)
            if exam.subject.kind == "class"
            else free_sizes(self.binding.num_heads, apart=exam.unexpected)
        )
        fits = (c for c in options if not c.unexpected and not (exam.unexpected & c.equal))
        found: Construction | None = next(fits, None)
        if found is None:
            return
        sizes = found.sizes
        for pair in kept:  # that the roles force
            first, second = sorted(pair, reverse=True)
            sizes = sizes.with_(**{first: getattr(sizes, second)})
        if self.binding.loops_queries:
            sizes = sizes.with_(query_len=1)
        self.arguments = dict(found.arguments)
        self.binding = replace(self.binding, sizes=sizes, num_heads=self.binding.num_heads)

    def _asked(self) -> Answer:
        sizes = None if self.exam.unexpected else self.binding.sizes
        return self.exam.ask(self.exam.inputs(sizes=sizes))

    # the text

    def file(self, tests: list[str], formula: str = "") -> str:
        """The whole file."""
        calls = self._writer.arguments()
        understood = bool(self.exam.gives) and self._answer.failure is None
        if understood:
            calls = parts.joined((calls, self._writer.raw(self._answer.raw), self._attend()))
        body = parts.joined((self._build(), self._draw(), calls, self._numbers(), formula, *tests))
        for code in ("code", "build()"):
            body = body.replace(f"{code}(**", f"{code}{self._entry}(**")
        first = ", 0" * (self.binding.loops_batch + self.binding.loops_queries)
        filled = {
            "array": parts.TORCH_ARRAY if self.torch else parts.HELPERS["array"],
            "call_arguments": parts.HELPERS["call_arguments"].format(first=first),
        }
        body = parts.joined((parts.helpers(body, filled), body))
        head = parts.HEAD.format(
            name=self.name,
            file=self.code_file,
            imports="{imports}",
            sizes=self._sizes(body),
            load=self._load(),
        )
        text = parts.joined((head, body))
        return text.replace("{imports}", parts.imports(text), 1)

    def _sizes(self, body: str) -> str:
        sizes = self.binding.sizes
        told = {name: getattr(sizes, size_name) for size_name, name in _NAMES.items()}
        lines = [f"{name} = {told[name]}" for name in told if name in body]
        if self.has_heads:
            lines.append(f"HEADS = {self.binding.num_heads}")
        lengths = self.exam.inputs(lengths=True).lengths or ()
        form = self.binding.mask
        shared = form is not None and "B" not in form.axes and not self.binding.loops_batch
        if not lengths or len(lengths) != sizes.batch or shared:
            lengths = (max(1, sizes.key_len - 2),) * sizes.batch
        if "LENGTHS" in body:
            lines.append(f"LENGTHS = {list(lengths)}")
        if "SHORT" in body:
            short = [sizes.key_len, *(1 + i % 2 for i in range(sizes.batch - 1))]
            lines.append(f"SHORT = {short}")
        return "\n".join(lines)

    def _load(self) -> str:
        file = Path(self.code_file).resolve()
        root, dotted = file.parent, [file.stem]
        while (root / "__init__.py").exists():
            root, dotted = root.parent, [root.name, *dotted]
        how = parts.FROM_FILE
        if len(dotted) > 1:
            how = parts.FROM_PACKAGE.format(module=".".join(dotted))
        text = parts.IMPORT.format(root="ROOT", how=how, name=self.name)
        up = ".parent" * len(dotted)
        return text.replace("'ROOT'", f"str(FILE{up})")

    def _build(self) -> str:
        exam, lines = self.exam, []
        kind = exam.subject.kind
        made = "examined()()" if self.is_factory else "examined()"
        module = isinstance(exam._attempt.made, torch.nn.Module)
        if kind == "function":
            lines.append(f"return {made}")
        elif kind == "class":
            given = [f"{name}={value!r}" for name, value in self.arguments.items()]
            given += [
                f'{s.name}=array(parameters()["{s.name}"])' for s in self.binding.slots if s.in_init
            ]
            plain = (bool, int, float, str, type(None))
            if not all(isinstance(value, plain) for value in self.arguments.values()):
                raise CannotWrite("a constructor's argument is no plain value")
            lines.append("torch.manual_seed(0)" if self.torch else "np.random.seed(0)")
            lines.append(f"code = examined()({', '.join(given)})")
        else:
            lines.append(f"code = {made if self.is_factory else f'copy.deepcopy({made})'}")
        if kind != "function":
            if module:
                lines += [
                    f"generator = torch.Generator().manual_seed({SEED})",
                    "with torch.no_grad():",
                    "    for parameter in code.parameters():  # so that no bias of zeros hides",
                    "        if parameter.ndim:",
                    "            drawn = torch.randn(parameter.shape, generator=generator)",
                    "            parameter.copy_(0.5 * drawn)",
                    "code = code.float().eval()",
                ]
            lines.append("return code")
        text = 'def build():\n    """The code, ready to be called."""\n' + "\n".join(
            "    " + line for line in lines
        )
        return parts.joined((self._parameters(), text))

    def _parameters(self) -> str:
        dims = dict(self.exam._attempt.dims)
        if not dims:
            return ""
        sizes = self.binding.sizes
        lines = [
            "def parameters():",
            '    """The weights that the code is given."""',
            "    normal = np.random.default_rng(1).standard_normal",
            "    return {",
        ]
        for name, axes in dims.items():
            shape = tuple(size(axis, sizes) for axis in axes)
            lines.append(f'        "{name}": 0.5 * normal({shape}),')
        return "\n".join([*lines, "    }"])

    def _draw(self) -> str:
        binding, sizes = self.binding, self.binding.sizes
        roles = {slot.role for slot in binding.slots}
        own = binding.self_attention
        lines = [
            "def draw(seed=0, batch=BATCH, t_dec=T_DEC, t_enc=T_ENC):",
            '    """Standard normal input by role, (batch, position, dim)."""',
            "    random = np.random.default_rng(seed)",
            "    normal = random.standard_normal",
            '    given = {"query": normal((batch, t_dec, D_S))}',
        ]
        if "token" in roles:
            ids = f"random.integers(1, {max(2, sizes.vocab)}, batch)"
            drawn = ids if binding.token_ids else f"normal((batch, {sizes.embed_dim}))"
            lines.append(f'    given["token"] = {drawn}')
        if "cell" in roles or binding.state_pair == "cell":
            lines.append('    given["cell"] = normal((batch, D_S))')
        if "feed" in roles or binding.state_pair == "feed":
            lines.append('    given["feed"] = normal((batch, D_V))')
        if not own:
            lines.append('    given["key"] = normal((batch, t_enc, D_H))')
        if "value" in roles:
            lines.append('    given["value"] = normal((batch, t_enc, D_V))')
        masks = [slot for slot in binding.slots if slot.role in ("mask", "lengths")]
        needed = any(slot.required for slot in masks)
        seen = "np.ones((batch, t_dec, t_enc), bool)" if needed else "None"
        lines.append(f'    masks = {{"may_attend": {seen}, "causal": {self.exam.always_causal}}}')
        lines.append('    return given | masks | {"training": False}')
        return "\n".join(lines)

    def _attend(self) -> str:
        axes = "batch, heads, T_dec, T_enc" if self.has_heads else "batch, T_dec, T_enc"
        return parts.ATTEND.format(axes=axes)

    def _numbers(self) -> str:
        detached = ".detach().numpy()" if self.torch else ""
        return parts.NUMBERS.format(detached=detached)

    # tests that every file has, or may have

    def shapes(self, faults: set[str]) -> str:
        """Shapes and sums, whatever the fault."""
        lines = ["context, weights = attend(draw())"]
        if "context" in self.exam.gives and self._answer.context is not None:
            width = self._answer.context.shape[-1]
            if width == self.binding.sizes.value_dim:
                lines.append("assert context.shape == (BATCH, T_DEC, D_V)")
            elif "context-source" in faults:
                lines.append("assert context.shape[:2] == (BATCH, T_DEC)")
            else:
                lines.append(f"assert context.shape == (BATCH, T_DEC, {width})")
        if "weights" in self.exam.gives:
            heads = "HEADS, " if self.has_heads else ""
            lines.append(f"assert weights.shape == (BATCH, {heads}T_DEC, T_ENC)")
            lines.append(
                "np.testing.assert_allclose(weights.sum(-1), 1, atol=1e-4)  # over the keys"
            )
        return parts.function("shapes_and_sums", "\n".join(lines))

    def runs(self) -> str:
        """That the call succeeds at all, with shapes and sums read off what is returned."""
        own = self.binding.self_attention
        lead = ([] if self.binding.loops_batch else ["BATCH"]) + (
            [] if self.binding.loops_queries else ["T_DEC"]
        )
        leading = ", ".join(lead)
        return textwrap.dedent(f"""\
            results = arrays_of(build()(**call_arguments(draw())))
            assert results
            for result in results:
                assert all(size in result.shape for size in [{leading}])
                if result.shape.count(T_ENC) == {2 if own else 1}:  # weights
                    axis = result.ndim - 1 - result.shape[::-1].index(T_ENC)
                    np.testing.assert_allclose(result.sum(axis), 1, atol=1e-4)
            """).strip()

    def by_doctor(self, finding: Finding) -> str:
        """The doctor's own check, where no few lines show the fault."""
        stated = {
            "convention": self.exam.convention or None,
            "score": None if self.exam.score == "unknown" else self.exam.score,
        }
        told = "".join(f", {name}={value!r}" for name, value in stated.items() if value)
        only = sorted({finding.fault, *finding.checks})
        return f'assert_sound(f"{{FILE}}:{self.name}", only={only!r}{told})'

    # trials

    def fails(self, test: str, formula: str = "") -> bool:
        """Whether the test fails on the code as it is."""
        namespace = self.run(test, formula)
        candidate = namespace["test_candidate"]
        try:
            _quietly(candidate)
        except Exception:
            return True
        return False

    def run(self, test: str, formula: str = "") -> dict[str, Any]:
        """The names of a file with this one test."""
        text = self.file([test], formula)
        namespace: dict[str, Any] = {"__name__": "regard_written_test", "__file__": "test.py"}
        exec(compile(text, "<written test>", "exec"), namespace)
        return namespace

    def check(self) -> None:
        """The written call gives what the examination got.

        Raises:
            CannotWrite: it does not.
        """
        if self.exam.unexpected:
            return
        first, again = self._answer, self._asked()
        try:
            namespace = self.run(parts.function("nothing", "attend(draw())"))
            context, weights = _quietly(lambda: namespace["attend"](namespace["draw"]()))
        except Exception as error:
            raise CannotWrite(
                f"the call could not be spelled out ({type(error).__name__}: {error})"
            ) from None
        mine = (context, weights if weights is None or self.has_heads else weights[:, None])
        for own, theirs, twice in zip(
            mine,
            (first.context, first.weights),
            (again.context, again.weights),
            strict=True,
        ):
            if theirs is None or own is None or twice is None:
                continue
            steady = np.allclose(theirs, twice, equal_nan=True)
            like = own.shape == theirs.shape
            if steady and like and not np.allclose(own, theirs, 1e-3, 1e-4, equal_nan=True):
                raise CannotWrite("the call spelled out gives other numbers")


def _quietly(call: Any) -> Any:
    import warnings

    with (
        contextlib.redirect_stdout(io.StringIO()),
        warnings.catch_warnings(),
        np.errstate(all="ignore"),
    ):
        warnings.simplefilter("ignore")
        return call()
