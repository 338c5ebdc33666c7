"""A test for each check, as source text over `draw`, `attend` and `assert_same`.

`Rules.of(name)` gives candidates, the plainest first: the first that fails on the broken code is
written. Constants in the text (BATCH, T_DEC, T_ENC, LENGTHS) are the file's.
"""

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Rules:
    """What the code takes and gives, as far as a test depends on it."""

    is_self: bool
    has_value: bool
    has_weights: bool
    has_context: bool
    has_heads: bool
    has_mask: bool
    many_queries: bool
    convention: str
    missing: tuple[str, ...] = ()  # parameters that got no gradient
    has_parameters: bool = True  # of its own, as a module has
    is_torch_function: bool = False

    def of(self, check: str) -> Iterator[str]:
        """Bodies of tests, without `def`."""
        written = getattr(self, "_" + check.replace("-", "_"), None)
        if written is not None:
            yield from (textwrap.dedent(text).strip() for text in written())

    @property
    def _sides(self) -> tuple[str, ...]:
        return ("query",) if self.is_self else ("key", "value") if self.has_value else ("key",)

    def _each(self, what: str) -> str:
        return "given | {" + ", ".join(f'"{n}": {what.format(name=n)}' for n in self._sides) + "}"

    @property
    def _lifted(self) -> str:
        return "[:, None]" if self.has_heads else ""

    def _weights_sum_to_one(self) -> Iterator[str]:
        if not self.has_weights:
            return
        yield """
            context, weights = attend(draw())
            np.testing.assert_allclose(weights.sum(-1), 1, atol=1e-4)  # over the keys
            """
        if self.has_mask:
            yield """
                context, weights = attend(hide(draw(), LENGTHS))
                np.testing.assert_allclose(weights.sum(-1), 1, atol=1e-4)  # over the keys
                """

    def _query_moves_weights(self) -> Iterator[str]:
        if self.has_weights and not self.is_self:
            yield """
                given = draw()
                other = given | {"query": draw(seed=1)["query"]}
                assert not np.allclose(attend(given)[1], attend(other)[1], rtol=1e-3)
                """
            if self.many_queries:
                yield """
                    context, weights = attend(draw())
                    assert not np.allclose(weights[..., :1, :], weights[..., 1:2, :], rtol=1e-3)
                    """

    def _keys_move_weights(self) -> Iterator[str]:
        if self.has_weights and not self.is_self:
            yield """
                given = draw()
                other = given | {"key": draw(seed=1)["key"]}
                assert not np.allclose(attend(given)[1], attend(other)[1], rtol=1e-3)
                """

    def _keys_permute(self) -> Iterator[str]:
        rows = "context[:, order]" if self.is_self else "context"
        turned = "weights[..., order, :][..., order]" if self.is_self else "weights[..., order]"
        none = "" if self.has_weights else "weights if weights is None else "
        rows = rows if self.has_context else "context"
        yield f"""
            given = draw()
            order = np.random.default_rng(3).permutation(T_ENC)
            context, weights = attend(given)
            moved = {self._each('given["{name}"][:, order]')}
            assert_same(attend(moved), ({rows}, {none}{turned}))
            """

    def _queries_permute(self) -> Iterator[str]:
        turned = "weights[..., order, :]" if self.has_weights else "weights"
        rows = "context[:, order]" if self.has_context else "context"
        yield f"""
            given = draw()
            order = np.random.default_rng(4).permutation(T_DEC)
            context, weights = attend(given)
            moved = given | {{"query": given["query"][:, order]}}
            assert_same(attend(moved), ({rows}, {turned}))
            """

    def _samples_independent(self) -> Iterator[str]:
        for drawn in (
            "draw(seed={})",
            *(("hide(draw(seed={}), LENGTHS)",) if self.has_mask else ()),
        ):
            yield f"""
                given, other = {drawn.format(0)}, {drawn.format(1)}
                for changed in range(BATCH):
                    mixed = swap_example(given, other, changed)
                    rest = [i for i in range(BATCH) if i != changed]
                    assert_same(*(examples(attend(x), rest) for x in (given, mixed)))
                """

    def _hidden_get_no_weight(self) -> Iterator[str]:
        if not self.has_weights:
            return
        yield f"""
            given = hide(draw(), LENGTHS)
            seen = given["may_attend"]{self._lifted}
            context, weights = attend(given)
            assert np.abs(np.where(seen, 0, weights)).max() < 1e-6
            np.testing.assert_allclose(weights.sum(-1), 1, atol=1e-4)
            """
        yield f"""
            given = draw()
            hidden = hide(given, LENGTHS)
            kept = np.where(hidden["may_attend"]{self._lifted}, attend(given)[1], 0)
            right = kept / kept.sum(-1, keepdims=True)
            assert_same((None, attend(hidden)[1]), (None, right))
            """
        yield f"""
            given = hide(draw(), SHORT)
            given |= {{name: 120 * given[name] for name in ("query", "key") if name in given}}
            context, weights = attend(given)  # scores near -1e4, below a fill that is too weak
            assert np.abs(np.where(given["may_attend"]{self._lifted}, 0, weights)).max() < 1e-6
            """

    def _hidden_do_not_matter(self) -> Iterator[str]:
        rows = "real" if self.is_self else "every"
        for size in ("1.0", "1e4"):
            filled = f'np.where(hidden, {size} * other["{{name}}"], given["{{name}}"])'
            yield f"""
                given = hide(draw(), LENGTHS)
                hidden = ~given["may_attend"].any(1)[:, :, None]
                other = draw(seed=1)
                filled = {self._each(filled)}
                assert_same(*({rows}_rows(attend(x), LENGTHS) for x in (filled, given)))
                """

    def _padding_changes_nothing(self) -> Iterator[str]:
        rows = ":length, :length" if self.is_self else ":, :length"
        context = "context[[i], :length]" if self.is_self else "context[[i]]"
        context = context if self.has_context else "context"
        weights = f"weights[[i]][..., {rows}]" if self.has_weights else "weights"
        yield f"""
            given = draw()
            context, weights = attend(hide(given, LENGTHS))
            for i, length in enumerate(LENGTHS):
                alone = first_keys(given, i, length)
                assert_same(({context}, {weights}), attend(alone))
            """

    def _empty_row(self) -> Iterator[str]:
        for what in ("assert np.isfinite(result).all()",):
            yield f"""
                given = hide(draw(), [*LENGTHS[:-1], 0])  # the last is empty
                for result in attend(given):
                    if result is not None:
                        {what}
                """
        if self.has_weights:
            yield """
                given = hide(draw(), [*LENGTHS[:-1], 0])  # the last is empty
                context, weights = attend(given)
                np.testing.assert_allclose(weights[-1], 0, atol=1e-6)
                """

    def _causal_alignment(self) -> Iterator[str]:
        if self.has_weights:
            yield """
                given = draw() | {"causal": True}
                given |= {"query": 0.1 * given["query"]}  # so that no visible weight is near 0
                context, weights = attend(given)
                seen = np.abs(np.nan_to_num(weights, nan=1.0)) > 1e-6
                start, end = np.tri(T_DEC, T_ENC), np.tri(T_DEC, T_ENC, T_ENC - T_DEC)
                assert (seen == start).all() or (seen == end).all()  # itself and the past
                """
        elif self.is_self:
            yield """
                given, other = draw() | {"causal": True}, draw(seed=1)
                context, _ = attend(given)
                for position in range(T_ENC):
                    later = np.arange(T_ENC)[:, None] >= position
                    moved = given | {"query": np.where(later, other["query"], given["query"])}
                    changed = np.abs(attend(moved)[0] - context).max((0, 2)) > 1e-4
                    assert not changed[:position].any()  # the future is not seen
                    assert changed[position:].all()  # what is past and present is
                """
            yield """
                given, other = draw() | {"causal": True}, draw(seed=1)
                context, _ = attend(given)
                for position in range(T_ENC):
                    here = np.arange(T_ENC)[:, None] == position
                    moved = given | {"query": np.where(here, other["query"], given["query"])}
                    changed = np.abs(attend(moved)[0] - context).max((0, 2)) > 1e-6
                    assert (changed == (np.arange(T_ENC) >= position)).all()
                """

    def _context_is_weights_times_value(self) -> Iterator[str]:
        if self.has_weights and not self.has_heads:
            name = self._sides[-1]
            yield f"""
                given = draw()
                context, weights = attend(given)
                assert_same((context, None), (weights @ given["{name}"], None))
                """
            if self.has_mask:
                yield f"""
                    given = hide(draw(), LENGTHS)
                    context, weights = attend(given)
                    assert_same((context, None), (weights @ given["{name}"], None))
                    """

    _values_alone_are_averaged = _context_is_weights_times_value

    def _large_scores_finite(self) -> Iterator[str]:
        for factor in ("1e2", "1e4"):
            yield f"""
                given = draw()
                given |= {{"query": {factor} * given["query"]}}
                context, weights = attend(given)
                for result in (context, weights):
                    assert result is None or np.isfinite(result).all()
                """

    _shift_invariance = _large_scores_finite

    def _eval_is_deterministic(self) -> Iterator[str]:
        yield """
            code = build()
            assert_same(attend(draw(), code), attend(draw(), code))
            """

    def _weights_before_dropout(self) -> Iterator[str]:
        yield """
            right = attend(draw())[1]
            for _ in range(8):  # little dropout on few weights may drop nothing once
                training = build()
                training = training.train() if hasattr(training, "train") else training
                context, weights = attend(draw() | {"training": True}, training)
                np.testing.assert_allclose(weights, right, rtol=1e-4, atol=1e-5)
            """

    def _inputs_unchanged(self) -> Iterator[str]:
        for drawn in ("draw()", *(("hide(draw(), LENGTHS)",) if self.has_mask else ())):
            yield f"""
                given = call_arguments({drawn})
                before = copy.deepcopy(given)
                build()(**given)
                for name in given:
                    np.testing.assert_array_equal(np.asarray(given[name]), np.asarray(before[name]))
                """

    def _second_call_is_fresh(self) -> Iterator[str]:
        yield """
            code = build()
            attend(draw(seed=2), code)  # must leave nothing behind
            assert_same(attend(draw(seed=1), code), attend(draw(seed=1)))
            """
        if self.has_mask:
            yield """
                code = build()
                attend(hide(draw(seed=2), LENGTHS[::-1]), code)  # must leave nothing behind
                second = hide(draw(seed=1), LENGTHS)
                assert_same(attend(second, code), attend(second))
                """

    def _gradients_finite(self) -> Iterator[str]:
        if not (self.has_parameters or self.is_torch_function):
            return
        for drawn in ("draw()", *(("hide(draw(), [*LENGTHS[:-1], 0])",) if self.has_mask else ())):
            if self.is_torch_function:
                yield f"""
                    code, leaves = build(), []

                    def watched(**named):
                        for x in named.values():
                            if torch.is_tensor(x) and x.is_floating_point():
                                leaves.append(x.requires_grad_())
                        return code(**named)

                    context, weights = raw({drawn}, watched)
                    (context if context is not None else weights).square().sum().backward()
                    assert all(x.grad is None or x.grad.isfinite().all() for x in leaves)
                    """
                continue
            yield f"""
                code = build()
                context, weights = raw({drawn}, code)
                (context if context is not None else weights)[0].square().sum().backward()
                for name, parameter in code.named_parameters():
                    assert parameter.grad is None or parameter.grad.isfinite().all(), name
                """

    def _gradients_reach(self) -> Iterator[str]:
        if self.missing and all(name not in ("query", "key", "value") for name in self.missing):
            yield f"""
                code = build()
                context, weights = raw(draw(), code)
                (context if context is not None else weights).square().sum().backward()
                parameters = dict(code.named_parameters())
                for name in {self.missing!r}:
                    assert parameters[name].grad is not None, name
                    assert parameters[name].grad.abs().max() > 0, name
                """

    def _sizes_may_coincide(self) -> Iterator[str]:
        for sizes in ("batch=1", "batch=T_ENC", "batch=2", "batch=T_DEC"):
            for hidden in ("", *(("hidden",) if self.has_mask else ())):
                drawn = f"draw({sizes})"
                masked = "[max(1, T_ENC - 2 * i) for i in range(len(given['query']))]".replace(
                    "'", '"'
                )
                line = f"given = hide(given, {masked})" if hidden else ""
                yield f"""
                    given = {drawn}
                    {line or "# the same example, alone and in its batch"}
                    together = attend(given)
                    for i in range(len(given["query"])):
                        thrice = attend(pick(given, [i, i, i]))
                        assert_same(examples(together, [i]), examples(thrice, [0]))
                    """
        if self.many_queries and not self.is_self:
            yield """
                given = draw(t_dec=T_ENC)
                context, weights = attend(given)
                assert_same(attend(first_queries(given, 2)), (context[:, :2], None))
                """

    def _lengths_are_free(self) -> Iterator[str]:
        rows = "t_dec=43, t_enc=43" if self.is_self else "t_enc=43"
        yield f"""
            for result in attend(draw({rows})):
                assert result is None or np.isfinite(result).all()
            """
        if not self.is_self and self.many_queries:
            yield """
                for result in attend(draw(t_dec=43)):
                    assert result is None or np.isfinite(result).all()
                """

    def _accepts_legal_sizes(self) -> Iterator[str]:
        lengths = "t_dec=1, t_enc=1" if self.is_self else "t_enc=1"
        questions = [
            "batch=1",
            lengths,
            *(("t_dec=1",) if self.many_queries and not self.is_self else ()),
        ]
        for sizes in questions:
            for drawn in (
                f"draw({sizes})",
                *((f"all_visible(draw({sizes}))",) if self.has_mask else ()),
            ):
                yield f"""
                    given = {drawn}
                    batch, length = given["query"].shape[:2]
                    context, weights = attend(given)
                    for result in (context, weights):
                        assert result is None or len(result) == batch
                    if context is not None:
                        assert context.shape[:2] == (batch, length)
                    """

    def _decoder_timing(self) -> Iterator[str]:
        part = 1 if self.has_weights else 0
        must = {"bahdanau": "", "luong": "not "}.get(self.convention)
        if must is not None:
            state = "s(t-1), which has not seen" if not must else "s(t), which has seen"
            yield f"""
                given = draw()
                other = given | {{"token": draw(seed=1)["token"]}}
                # scored with {state} the token of this step
                one, two = attend(given)[{part}], attend(other)[{part}]
                assert {must}np.allclose(one, two, rtol=1e-4, atol=1e-5)
                """
