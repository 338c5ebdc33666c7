"""Beam search over step functions that are tables, against every sequence written out."""

import math
from typing import NamedTuple

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from regard.search import beam, greedy

PADDING, BEGIN, END = 0, 1, 2
NEVER = (PADDING, BEGIN)
SOURCE_LEN = 4


class Outcome(NamedTuple):
    logits: torch.Tensor
    weights: torch.Tensor | None
    state: torch.Tensor


def make_tables(seed, num_sources, num_states=5, vocab=5, sharpness=2.0):
    """For each source, state and token read: the next state, the logits and the weights."""
    draw = torch.Generator().manual_seed(seed)
    shape = (num_sources, num_states, vocab)
    return (
        torch.randint(num_states, shape, generator=draw),
        sharpness * torch.randn(*shape, vocab, generator=draw),
        torch.rand(*shape, SOURCE_LEN, generator=draw),
    )


def machine(tables):
    """A step whose state is (source, state): what it says hangs on all that it read."""
    next_states, logits, weights = tables

    def step(tokens, state):
        source, at = state.unbind(1)
        where = (source, at, tokens)
        return Outcome(
            logits[where], weights[where], torch.stack([source, next_states[where]], dim=1)
        )

    return step


def start(tables, sources=None):
    sources = torch.tensor(range(len(tables[0])) if sources is None else sources, dtype=torch.long)
    return torch.stack([sources, torch.zeros_like(sources)], dim=1)


def search(tables, num_beams, max_lengths, *, sources=None, **options):
    return beam(
        machine(tables),
        start(tables, sources),
        num_beams=num_beams,
        select=torch.Tensor.__getitem__,
        max_lengths=torch.tensor(max_lengths, dtype=torch.long),
        begin=BEGIN,
        end=END,
        padding=PADDING,
        **({"never": NEVER} | options),
    )


class Sequence(NamedTuple):
    score: float
    log_prob: float
    tokens: tuple[int, ...]
    weights: tuple[tuple[float, ...], ...]


def every_sequence(tables, source, most, *, least=0, prefix=(), alpha=0.0, never=NEVER):
    """Written out by recursion in float64, best first: nothing of a search is in it."""
    next_states, logits, weights = (table[source] for table in tables)
    found = []

    def extend(state, read, tokens, log_prob, rows):
        if len(tokens) == most or (tokens and tokens[-1] == END):
            penalty = ((5 + len(tokens)) / (5 + 1)) ** alpha
            found.append(Sequence(log_prob / penalty, log_prob, tokens, rows))
            return
        log_probs = logits[state, read].double().log_softmax(0)
        for token in range(len(log_probs)):
            if len(tokens) < len(prefix):
                allowed = token == prefix[len(tokens)]
            else:
                allowed = token not in never and (token != END or len(tokens) >= least)
            if allowed:
                extend(
                    int(next_states[state, read]),
                    token,
                    (*tokens, token),
                    log_prob + float(log_probs[token]),
                    (*rows, tuple(weights[state, read].tolist())),
                )

    extend(0, BEGIN, (), 0.0, ())
    return sorted(found, reverse=True)


def read(found, source, place):
    """A hypothesis of the result as a Sequence, its padding cut off."""
    length = int(found.lengths[source, place])
    tokens = found.tokens[source, place].tolist()
    stop = length + (length < len(tokens) and tokens[length] == END)
    assert set(tokens[stop:]) <= {PADDING}
    assert not found.weights[source, place, stop:].any()
    return Sequence(
        float(found.scores[source, place]),
        float(found.log_probs[source, place]),
        tuple(tokens[:stop]),
        tuple(map(tuple, found.weights[source, place, :stop].tolist())),
    )


def assert_same(found, expected):
    assert found.tokens == expected.tokens
    assert found.score == pytest.approx(expected.score, abs=1e-5)
    assert found.log_prob == pytest.approx(expected.log_prob, abs=1e-5)
    assert found.weights == expected.weights


SEEDS = st.integers(0, 10**6)
ALPHAS = st.sampled_from([0.0, 0.6, 1.0, 3.0, -1.0])


@given(SEEDS, ALPHAS, st.lists(st.integers(1, 4), min_size=1, max_size=3), st.data())
def test_with_room_for_all_it_is_exhaustive(seed, alpha, max_lengths, data):
    """3 tokens may come (the end among them): at most 2^3 live on, 2^4 - 1 + 2^4 ends in all."""
    tables = make_tables(seed, len(max_lengths))
    least = [data.draw(st.integers(0, most)) for most in max_lengths]
    forced = [
        tuple(data.draw(st.lists(st.sampled_from([3, 4]), max_size=most))) for most in max_lengths
    ]
    longest = max(map(len, forced))
    found = search(
        tables,
        31,
        max_lengths,
        n_best=31,
        length_penalty=alpha,
        min_lengths=torch.tensor(least),
        prefix=torch.tensor([[*p, *[PADDING] * (longest - len(p))] for p in forced]).long(),
    )
    for source, most in enumerate(max_lengths):
        expected = every_sequence(
            tables, source, most, least=least[source], prefix=forced[source], alpha=alpha
        )
        num_found = int((found.scores[source] > -torch.inf).sum())
        assert num_found == len(expected)
        known = {sequence.tokens: sequence for sequence in expected}
        for place, in_order in enumerate(expected):
            sequence = read(found, source, place)
            assert sequence.score == pytest.approx(in_order.score, abs=1e-5)
            assert_same(sequence, known.pop(sequence.tokens))  # where two are equal, either
        if not forced[source] and not least[source]:  # every sequence, and each once
            total = found.log_probs[source, :num_found].exp().sum()
            share = sum(math.exp(s.log_prob) for s in expected)
            assert float(total) == pytest.approx(share, abs=1e-5)


@given(SEEDS, st.lists(st.integers(0, 9), min_size=1, max_size=4), st.data())
def test_one_beam_is_greedy_search(seed, max_lengths, data):
    tables = make_tables(seed, len(max_lengths), vocab=6)
    least = torch.tensor([data.draw(st.integers(0, most)) for most in max_lengths])
    options = {
        "max_lengths": torch.tensor(max_lengths),
        "min_lengths": least,
        "begin": BEGIN,
        "end": END,
        "padding": PADDING,
        "never": NEVER,
    }
    one = greedy(machine(tables), start(tables), **options)
    found = beam(
        machine(tables), start(tables), num_beams=1, select=torch.Tensor.__getitem__, **options
    )
    assert torch.equal(found.tokens[:, 0], one.tokens)
    assert torch.equal(found.lengths[:, 0], one.lengths)
    assert torch.equal(found.log_probs[:, 0], one.log_probs)
    assert torch.equal(found.scores[:, 0], one.log_probs)
    if one.weights is not None:
        assert torch.equal(found.weights[:, 0], one.weights)


@given(SEEDS, st.integers(1, 4), ALPHAS, st.permutations(range(5)), st.integers(1, 5))
def test_no_source_feels_its_neighbours_or_their_order(seed, num_beams, alpha, order, how_many):
    """To the bit: the tables say the same whatever the batch."""
    tables, most = make_tables(seed, 5, vocab=7), [3, 9, 0, 6, 12]
    options = {"n_best": num_beams, "length_penalty": alpha}
    together = search(
        tables,
        num_beams,
        [most[source] for source in order[:how_many]],
        sources=order[:how_many],
        **options,
    )
    for place, source in enumerate(order[:how_many]):
        alone = search(tables, num_beams, [most[source]], sources=[source], **options)
        length = alone.tokens.shape[2]
        assert torch.equal(together.tokens[place, :, :length], alone.tokens[0])
        assert not together.tokens[place, :, length:].any()
        for part in ("lengths", "log_probs", "scores"):
            assert torch.equal(getattr(together, part)[place], getattr(alone, part)[0])
        if alone.weights is not None:
            assert torch.equal(together.weights[place, :, :length], alone.weights[0])


@given(SEEDS, st.integers(1, 4), ALPHAS)
def test_what_it_finds_is_what_it_says(seed, num_beams, alpha):
    """However narrow the beam: distinct sequences in order, with their own scores and weights."""
    tables = make_tables(seed, 1)
    found = search(tables, num_beams, [5], n_best=num_beams, length_penalty=alpha)
    known = {sequence.tokens: sequence for sequence in every_sequence(tables, 0, 5, alpha=alpha)}
    scores = found.scores[0].tolist()
    assert scores == sorted(scores, reverse=True)
    places = [place for place, score in enumerate(scores) if score > -math.inf]
    sequences = [read(found, 0, place) for place in places]
    assert len({sequence.tokens for sequence in sequences}) == len(sequences) > 0
    for sequence in sequences:
        assert_same(sequence, known[sequence.tokens])


# ---- by hand ------------------------------------------------------------------------------------


def tree(probabilities):
    """A step that knows the next tokens' probabilities after each prefix; a state is its prefix."""

    def step(tokens, state):
        prefixes = [(*prefix, int(token)) for prefix, token in zip(state, tokens, strict=True)]
        rows = [probabilities.get(prefix[1:], {END: 1.0}) for prefix in prefixes]
        logits = torch.tensor([[row.get(id, 0.0) for id in range(6)] for row in rows]).log()
        return Outcome(logits, None, prefixes)

    return step


def search_tree(probabilities, num_beams, most=5, **options):
    found = beam(
        tree(probabilities),
        [()],
        num_beams=num_beams,
        select=lambda prefixes, rows: [prefixes[row] for row in rows],
        max_lengths=torch.tensor([most]),
        begin=BEGIN,
        end=END,
        padding=PADDING,
        **options,
    )
    return [
        ([id for id in tokens if id != PADDING], round(math.exp(log_prob), 4), score)
        for tokens, log_prob, score in zip(
            found.tokens[0].tolist(), found.log_probs[0].tolist(), found.scores[0].tolist(),
            strict=True,
        )
    ]  # fmt: skip


GARDEN_PATH = {
    (): {3: 0.6, 4: 0.4},
    (3,): {3: 0.4, 4: 0.35, END: 0.25},  # the best from here is 0.24
    (4,): {END: 0.9, 3: 0.1},  # and from here 0.36
}


def test_a_second_beam_finds_what_greedy_search_passes_by():
    assert search_tree(GARDEN_PATH, 1)[0][:2] == ([3, 3, END], 0.24)
    assert search_tree(GARDEN_PATH, 2)[0][:2] == ([4, END], 0.36)


def test_the_penalty_of_the_length_is_wus():
    """3 END has 2 tokens: lp = (7/6)^alpha; 4 4 4 END has 4: lp = (9/6)^alpha."""
    probabilities = {
        (): {3: 0.5, 4: 0.45, 5: 0.05},
        (3,): {END: 1.0},
        (4,): {4: 1.0},
        (4, 4): {4: 1.0},
    }
    probabilities |= {(4, 4, 4): {END: 1.0}}
    (plain,) = search_tree(probabilities, 2)
    assert plain[:2] == ([3, END], 0.5)
    best, second = search_tree(probabilities, 2, n_best=2, length_penalty=1.0)
    assert best[0] == [4, 4, 4, END]
    assert best[2] == pytest.approx(math.log(0.45) / 1.5, abs=1e-6)
    assert second[2] == pytest.approx(math.log(0.5) * 6 / 7, abs=1e-6)


def test_a_hypothesis_that_ends_early_does_not_end_the_search():
    """The first to finish has 0.3, the best 0.35: only what can still win is waited for."""
    probabilities = {
        (): {END: 0.3, 3: 0.7},
        (3,): {3: 0.5, 4: 0.5},
        (3, 3): {END: 1.0},
        (3, 4): {END: 0.5, 3: 0.5},
    }
    assert search_tree(probabilities, 2)[0][:2] == ([3, 3, END], 0.35)
    calls = []

    def counted(tokens, state):
        calls.append(len(tokens))
        return tree(probabilities | {(): {END: 0.8, 3: 0.2}})(tokens, state)

    beam(
        counted,
        [()],
        num_beams=2,
        select=lambda prefixes, rows: [prefixes[row] for row in rows],
        max_lengths=torch.tensor([50]),
        begin=BEGIN,
        end=END,
        padding=PADDING,
    )
    assert calls == [1]  # 0.8 cannot be beaten from 0.2


@pytest.mark.parametrize(
    ("alpha", "probabilities", "best"),
    [
        # -log 0.5 = 0.693 for one token; -log 0.45 = 0.799, over 9/6 for four tokens 0.532
        (1.0, {(): {END: 0.5, 3: 0.45, 4: 0.05}, (3,): {3: 1.0}, (3, 3): {3: 1.0}}, [3, 3, 3, END]),
        # -log 0.4 = 0.916 for one token; -log 0.5 = 0.693, times 7/6 for two tokens 0.809
        (-1.0, {(): {END: 0.4, 3: 0.5, 4: 0.1}}, [3, END]),
    ],
)
def test_what_may_still_win_by_its_length_is_waited_for(alpha, probabilities, best):
    assert search_tree(probabilities, 2, length_penalty=alpha)[0][0] == best


def test_what_is_as_long_as_allowed_counts_without_an_end():
    assert search_tree(GARDEN_PATH, 3, most=1, n_best=2) == [
        ([3], 0.6, pytest.approx(math.log(0.6))),
        ([4], 0.4, pytest.approx(math.log(0.4))),
    ]


def test_what_is_missing_has_no_score():
    only = {(): {3: 1.0}, (3,): {END: 1.0}}
    assert search_tree(only, 3, n_best=3)[1:] == [([], 0.0, -math.inf)] * 2


def test_a_prefix_is_forced_even_where_it_is_forbidden_and_counts():
    prefix = torch.tensor([[3, 4]])
    ((tokens, probability, _),) = search_tree(GARDEN_PATH, 2, prefix=prefix, never=(4,))
    assert (tokens, probability) == ([3, 4, END], 0.21)  # 0.6 * 0.35 * 1


def test_a_finished_source_leaves_the_batch():
    rows = []
    tables = make_tables(0, 2)
    step = machine(tables)

    def counted(tokens, state):
        rows.append(state[:, 0].tolist())
        return step(tokens, state)

    beam(
        counted,
        start(tables),
        num_beams=2,
        select=torch.Tensor.__getitem__,
        max_lengths=torch.tensor([2, 4]),
        min_lengths=torch.tensor([2, 4]),
        begin=BEGIN,
        end=END,
        padding=PADDING,
        never=NEVER,
    )
    assert rows == [[0, 1], [0, 0, 1, 1], [1, 1], [1, 1]]


def test_reorder_is_asked_where_only_hypotheses_of_one_source_change_places():
    tables = make_tables(3, 2)
    step, asked = machine(tables), []

    def note(name):
        def ordered(state, rows):
            asked.append((name, len(state), len(rows)))
            assert name == "select" or state[rows][:, 0].tolist() == state[:, 0].tolist()
            return state[rows]

        return ordered

    beam(
        step,
        start(tables),
        num_beams=2,
        select=note("select"),
        reorder=note("reorder"),
        max_lengths=torch.tensor([3, 5]),
        min_lengths=torch.tensor([3, 5]),
        begin=BEGIN,
        end=END,
        padding=PADDING,
        never=NEVER,
    )
    assert asked == [("select", 2, 4), ("reorder", 4, 4), ("select", 4, 2), ("reorder", 2, 2)]


def test_nothing_to_emit_and_an_empty_batch():
    found = search(make_tables(0, 2), 3, [0, 0], n_best=2)
    assert found.tokens.shape == (2, 2, 0)
    assert found.scores.tolist() == [[0.0, -math.inf]] * 2
    found = search(make_tables(0, 1), 3, [], sources=[], n_best=2)
    assert (found.tokens.shape, found.scores.shape) == ((0, 2, 0), (0, 2))


@pytest.mark.usefixtures("as_a_user")
@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"num_beams": 0}, ValueError, "num_beams=0"),
        ({"num_beams": 2.5}, TypeError, "num_beams=2.5"),
        ({"n_best": 3}, ValueError, r"n_best=3 with num_beams=2.*Give num_beams=3 or more"),
        ({"length_penalty": math.inf}, ValueError, "length_penalty=inf.*from -10 to 10"),
        ({"min_lengths": torch.tensor([9])}, ValueError, "min_lengths is above.* at source 0"),
        ({"min_lengths": torch.tensor([1, 1])}, ValueError, r"min_lengths \(2,\).*batch of 1"),
        ({"prefix": torch.full((1, 4), 3)}, ValueError, "prefix has more tokens.*source 0.*Raise"),
        ({"prefix": torch.tensor([[3, END]])}, ValueError, "prefix holds the end token"),
        ({"never": range(6)}, ValueError, r"source 0 has no hypothesis.*Forbid less"),
    ],
)
def test_what_cannot_be_searched_is_refused_in_words(options, error, message):
    given = {"num_beams": 2, "most": 3} | options
    with pytest.raises(error, match=f"^beam: {message}"):
        search_tree(GARDEN_PATH, **given)


def test_logits_that_are_no_numbers_are_refused():
    with pytest.raises(ValueError, match=r"^beam: step 1: .*NaN in 1 of 1 rows.*Look for NaN"):
        search_tree({(): dict.fromkeys(range(6), math.nan)}, 2)
