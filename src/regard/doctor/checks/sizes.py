"""Sizes: every legal one is accepted, and two that happen to be equal change nothing."""

import ast
import re
from collections.abc import Iterator

from regard.doctor.binding.roles import call_role
from regard.doctor.checks.asking import (
    Unanswered,
    check,
    differ,
    differs,
    gap,
    is_self_attention,
    one_length,
    parts,
    percent,
    pick_keys,
    pick_queries,
    pick_samples,
    require,
)
from regard.doctor.checks.learning import unused_parameters
from regard.doctor.examination import Examination
from regard.doctor.findings import Place
from regard.doctor.probe import Answer, Failure, Inputs, Sizes
from regard.doctor.symptoms import NotChecked, Note, Symptom
from regard.doctor.tracing.trace import Event

LONG = 43  # keys: more than any of the probe's other sizes
# A longest length that the caller states is a limit by design; one written into the code is not.
STATED_LIMIT = re.compile(
    r"max_?(seq_?)?(len|pos|src|tgt|T\b)|block_?size|context_?(len|size)|n_ctx"
)
QUERY_WIDTH = re.compile(
    r"^(d_?(s|q|dec)|((dec|decoder|query|q|state|target|tgt)_?\w*(dim|size|d|hid\w*|width|units)))$"
)
KEY_WIDTH = re.compile(
    r"^(d_?(h|k|enc)|((enc|encoder|key|k|memory|source|src|annotation)_?\w*(dim|size|d|hid\w*|width|units)))$"
)


def _accepts(exam: Examination) -> Iterator[Symptom | NotChecked]:
    masked = bool({"mask", "lengths"} & exam.takes)
    for lengths in (False, True) if masked else (False,):
        inputs = exam.inputs(lengths=lengths)
        questions = [("", inputs)]
        if len(inputs.query) > 1:
            questions.append(("a batch of 1", pick_samples(inputs, [0])))
        one_key = pick_keys(inputs, [0])
        if inputs.key is not None and one_length(exam, inputs):
            questions.append(("one query and key", pick_queries(one_key, [0])))
        else:
            questions.append(("one key", one_key))
            if inputs.key is not None and inputs.query.shape[1] > 1:
                questions.append(("one query", pick_queries(inputs, [0])))
        for name, question in questions:
            failure = exam.ask(question).failure
            if failure is not None:
                causes = ("squeeze", "shape-error") if name else ("shape-error", "size-coupling")
                if name == "one key" and _refuses_other_lengths(exam, inputs):
                    causes = ("size-coupling", "shape-error")
                said = f"with {name or _sizes_in_words(question)}{' and a mask' * lengths} "
                yield Symptom(
                    "accepts-legal-sizes", f"{said}the code raises {_raised(failure)}", causes
                )
                return


def _refuses_other_lengths(exam: Examination, inputs: Inputs) -> bool:
    """Whether fewer keys, though more than one, are refused as well."""
    fewer = pick_keys(inputs, range(max(2, inputs.keys.shape[1] - 1)))
    return exam.ask(fewer).failure is not None


def _raised(failure: Failure) -> str:
    first = failure.message.strip().splitlines()
    return f"{failure.kind}: {first[0] if first else ''}"


def _sizes_in_words(inputs: Inputs) -> str:
    query, keys = inputs.query.shape, inputs.keys.shape
    return f"queries {query} and keys {keys}" if inputs.key is not None else f"a sequence {query}"


def _coincide(exam: Examination) -> Iterator[Symptom | NotChecked]:
    masked = bool({"mask", "lengths"} & exam.takes)
    asked, apart = 0, _queries_are_apart(exam)
    for name, sizes in _coincidences(exam):
        full = exam.inputs(sizes=sizes, lengths=masked)
        answer = exam.ask(full)
        for part, index, smaller in _smaller(exam, full):
            if part == "query" and not apart:
                continue
            right = exam.ask(smaller)
            if right.failure is not None:
                continue  # legal sizes that are refused have their own check
            if answer.failure is not None:
                said = f"where {name} the code raises {_raised(answer.failure)}"
                yield Symptom("sizes-may-coincide", said, ("shape-error", "squeeze", "broadcast"))
                return
            asked += 1
            cut = _first(answer, part, index), _first(right, part, index)
            for what, one, other in parts(*cut):
                if differs(one, other):
                    said = (
                        f"where {name} the {differ(what)} by {percent(gap(one, other))} from the "
                        f"same examples in a batch of {len(smaller.query)} with "
                        f"{smaller.query.shape[1]} queries"
                    )
                    causes = ["broadcast", "mask-axis", "batch-mixing", "squeeze", "head-split"]
                    yield Symptom("sizes-may-coincide", said, tuple(causes))
                    return
    require(asked > 0, "no sizes can be made equal")


def _queries_are_apart(exam: Examination) -> bool:
    """Whether few queries are answered as many are, where no sizes coincide.

    In a decoder's layer they are not: its positions attend to one another first.
    """
    inputs = exam.inputs()
    few = range(min(2, inputs.query.shape[1]))
    whole, cut = exam.ask(inputs), exam.ask(pick_queries(inputs, few))
    both = _first(whole, "query", len(few)), cut
    return not any(differs(one, other) for _, one, other in parts(*both))


def _coincidences(exam: Examination) -> Iterator[tuple[str, Sizes]]:
    """Sizes of which some are equal that differ by meaning."""
    base = exam.sizes
    one = len(exam.inputs().query) == 1  # unbatched code is asked one example at a time, maybe
    few = base.query_len == 1
    width = max(base.key_dim, 2)
    if not one:
        yield "batch = 1", base.with_(batch=1)
        yield "batch = key length", base.with_(batch=base.key_len)
        if exam.num_heads > 1:
            yield "batch = heads", base.with_(batch=exam.num_heads)
        if not few:
            yield "batch = query length", base.with_(batch=base.query_len)
    if not few and not one_length(exam, exam.inputs()):
        yield "query length = key length", base.with_(query_len=base.key_len)
        yield "query length = key width", base.with_(query_len=width)
    if few or not one_length(exam, exam.inputs()):
        yield "key length = key width", base.with_(key_len=width)
    every = (
        {"key_len": width}
        | ({} if one else {"batch": width})
        | ({} if few else {"query_len": width})
    )
    yield "batch, lengths and width are equal", base.with_(**every)


def _smaller(exam: Examination, full: Inputs) -> Iterator[tuple[str, int, Inputs]]:
    """Fewer (or repeated) examples, and fewer queries: what both hold must be the same."""
    batch, query_len = full.query.shape[:2]
    taken = {batch, query_len, *full.keys.shape, *full.values.shape, full.query.shape[2]}
    taken |= {exam.num_heads, 1}
    other = next(size for size in (3, 4, 5, 6, 8, 9, 10, 12, 14, 15, 16, 18) if size not in taken)
    if "batch" not in {name for equal in exam.equal for name in equal}:
        yield "batch", min(batch, other), pick_samples(full, [i % batch for i in range(other)])
    if not one_length(exam, full) and query_len > 2 and not full.causal:
        yield "query", 2, pick_queries(full, [0, 1])


def _first(answer: Answer, part: str, count: int) -> Answer:
    weights, context = answer.weights, answer.context
    if part == "batch":
        return Answer(
            weights=None if weights is None else weights[:count],
            context=None if context is None else context[:count],
        )
    return Answer(
        weights=None if weights is None else weights[:, :, :count],
        context=None if context is None else context[:, :count],
    )


def _lengths_free(exam: Examination) -> Iterator[Symptom | NotChecked]:
    coupled = [set(names) for names in exam.unexpected]
    positions = {"batch", "query_len", "key_len", "num_heads"}
    one_sequence = is_self_attention(exam, exam.inputs()) or exam.inputs().causal
    for names in coupled:
        tied = names & positions
        if len(tied) > 1 and not (one_sequence and tied == {"query_len", "key_len"}):
            said = f"the code runs only where {' = '.join(sorted(names))}"
            yield Symptom("lengths-are-free", said, ("broadcast", "size-coupling", "shape-error"))
            return
    plain = exam.inputs()
    if exam.ask(plain).failure is not None:
        raise Unanswered("the code raises on shorter input too")
    sizes = exam.sizes.with_(key_len=LONG)
    sizes = sizes.with_(query_len=LONG) if one_length(exam, plain) else sizes
    failure = exam.ask(exam.inputs(sizes=sizes)).failure
    if failure is None:
        return
    arguments = {name for names in _arguments(exam.source) for name in names}
    if any(STATED_LIMIT.search(name) for name in arguments):
        yield Note(f"{LONG} keys are more than the longest length stated: {_raised(failure)}")
        return
    said = f"with {LONG} keys the code raises {_raised(failure)}"
    yield Symptom("lengths-are-free", said, ("size-coupling", "shape-error"))


def _arguments(source: tuple[str, ...]) -> Iterator[list[str]]:
    """The argument names of each function in the source."""
    try:
        tree = ast.parse("\n".join(source))
    except SyntaxError:
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            yield [a.arg for a in (*node.args.args, *node.args.kwonlyargs)]


def _widths_free(exam: Examination) -> Iterator[Symptom | NotChecked]:
    tied = [names for names in exam.equal if {"query_dim", "key_dim"} <= names]
    if not tied:
        return
    if exam.score not in ("additive", "concat", "general"):
        raise Unanswered("a product of query and key needs equal widths")
    separate = any(
        any(QUERY_WIDTH.match(n) for n in names) and any(KEY_WIDTH.match(n) for n in names)
        for names in _arguments(exam.source)
    )
    said = "the code runs only where query and key are equally wide (d_s = d_h)"
    if separate:
        causes: tuple[str, ...] = ("size-coupling", "score-formula", "shape-error")
        said, event = f"{said}, though it takes both widths", None
        failure = getattr(exam, "coupling_failure", None)
        if failure is not None and failure.line:
            said = f"{said}: {_raised(failure)}"
            causes = ("shape-error", "size-coupling", "score-formula")
            event = Event("raise", (), (), place=_layer(exam, failure))
        unused = unused_parameters(exam)
        if unused:
            said, causes = f"{said}; {', '.join(unused)} is never used", ("score-formula", *causes)
        yield Symptom("widths-are-free", said, tuple(dict.fromkeys(causes)), event)
    else:
        yield Note(said)


def _layer(exam: Examination, failure: Failure) -> Place:
    """The line that makes the layer of the wrong width, where the line that raises calls one."""
    for layer, given in re.findall(r"(self\.\w+)\((\w+)\)", failure.code):
        for number, line in enumerate(exam.source, 1):
            made = re.match(rf"\s*{re.escape(layer)}\s*=\s*[\w.]*Linear\((\w+)", line)
            of_query = made is not None and QUERY_WIDTH.match(made[1]) is not None
            of_key = made is not None and KEY_WIDTH.match(made[1]) is not None
            role = call_role(given)
            if (of_query and role == "key") or (of_key and role == "query"):
                return Place(exam.file, number, line.strip())
    return Place(failure.file, failure.line, failure.code.strip())


CHECKS = (
    check("accepts-legal-sizes", "legal sizes are accepted, 1 among them", _accepts),
    check("sizes-may-coincide", "sizes that happen to be equal change nothing", _coincide),
    check("lengths-are-free", "any number of keys, queries and examples", _lengths_free),
    check("widths-are-free", "query and key may differ in width", _widths_free),
)
