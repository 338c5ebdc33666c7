"""Which checks each fault breaks besides its own: they are folded into it."""
# ruff: noqa: E501  (one sentence a line reads best in tables)

_SUM = {"weights-sum-to-one", "context-is-weights-times-value", "hidden-get-no-weight"}
_WEIGHTS = {"shift-invariance", "values-alone-are-averaged", "lengths-are-free"}
_MIXING = {
    "samples-independent",
    "queries-permute",
    "keys-permute",
    "sizes-may-coincide",
    "padding-changes-nothing",
}
_MASK = {
    "hidden-get-no-weight",
    "hidden-do-not-matter",
    "padding-changes-nothing",
    "empty-row",
    "causal-alignment",
    "half-agrees",
    "gradients-finite",
}
# A mask that hides what is visible is felt where nothing is hidden, too.
_ALWAYS_ON = {
    "weights-sum-to-one",
    "keys-permute",
    "query-moves-weights",
    "keys-move-weights",
    "shift-invariance",
    "values-alone-are-averaged",
    "large-scores-finite",
    "fill-hides",
}
_BROKEN = {"accepts-legal-sizes", "sizes-may-coincide", "lengths-are-free", "widths-are-free"}

EXPLAINS: dict[str, frozenset[str]] = {
    fault: frozenset(checks)
    for fault, checks in {
        "softmax-axis": _SUM
        | _WEIGHTS
        | _MIXING
        | _MASK
        | {"query-moves-weights", "keys-move-weights", "gradients-reach", "large-scores-finite"},
        "mask-polarity": _MASK | _ALWAYS_ON,
        "mask-dropped": _MASK | {"cached-equals-uncached", "masks-are-used"},
        "mask-after-softmax": _MASK | _SUM | {"large-scores-finite"},
        "mask-axis": _MASK | _MIXING | _BROKEN | _ALWAYS_ON,
        "mask-value": _MASK | _ALWAYS_ON,
        "empty-row": {
            "hidden-get-no-weight",
            "hidden-do-not-matter",
            "padding-changes-nothing",
            "empty-row",
            "gradients-finite",
            "causal-alignment",
            "weights-sum-to-one",
            "half-agrees",
        },
        "causal-alignment": _MASK
        | {"weights-sum-to-one", "cached-equals-uncached", "queries-permute", "lengths-are-free"},
        "scale": {"half-agrees", "large-scores-finite"},
        "score-formula": {
            "shift-invariance",
            "query-moves-weights",
            "keys-move-weights",
            "gradients-reach",
            "large-scores-finite",
            "half-agrees",
            "values-alone-are-averaged",
            "widths-are-free",
        },
        "head-split": _MIXING
        | _MASK
        | {
            "query-moves-weights",
            "keys-move-weights",
            "context-is-weights-times-value",
            "values-alone-are-averaged",
        },
        "reshape-for-transpose": _MIXING
        | _MASK
        | {"context-is-weights-times-value", "values-alone-are-averaged"},
        "batch-mixing": _MIXING
        | _MASK
        | _BROKEN
        | {
            "context-is-weights-times-value",
            "weights-sum-to-one",
            "query-moves-weights",
            "values-alone-are-averaged",
        },
        "context-source": {
            "context-is-weights-times-value",
            "values-alone-are-averaged",
            "keys-permute",
            "gradients-reach",
            "hidden-do-not-matter",
            "padding-changes-nothing",
            "queries-permute",
            "lengths-are-free",
            "shift-invariance",
            "sizes-may-coincide",
            "widths-are-free",
        },
        "broadcast": _MIXING
        | _BROKEN
        | _MASK
        | {"query-moves-weights", "weights-sum-to-one", "context-is-weights-times-value"},
        "squeeze": _BROKEN
        | _MIXING
        | {"weights-sum-to-one", "query-moves-weights", "hidden-get-no-weight"},
        "size-coupling": _BROKEN,
        "query-ignored": {
            "query-moves-weights",
            "gradients-reach",
            "shift-invariance",
            "queries-permute",
            "widths-are-free",
        },
        "key-ignored": {
            "keys-move-weights",
            "query-moves-weights",
            "gradients-reach",
            "shift-invariance",
            "keys-permute",
            "widths-are-free",
        },
        "decoder-timing": {"decoder-timing"},
        "stale-cache": {"second-call-is-fresh", "samples-independent", "eval-is-deterministic"},
        "in-place": {"inputs-unchanged", "second-call-is-fresh"},
        "dropout": {
            "eval-is-deterministic",
            "weights-before-dropout",
            "weights-sum-to-one",
            *_MIXING,
            *_WEIGHTS,
            *_MASK,
            "context-is-weights-times-value",
            "second-call-is-fresh",
        },
        "returned-weights": {
            "weights-before-dropout",
            "context-is-weights-times-value",
            "weights-sum-to-one",
            "hidden-get-no-weight",
            "causal-alignment",
        },
        "overflow": {
            "weights-sum-to-one",
            "large-scores-finite",
            "half-agrees",
            "gradients-finite",
        },
        "gradient": {"gradients-finite", "gradients-reach"},
        "uninitialized": {"parameters-finite", "eval-is-deterministic", "gradients-finite"},
        "shape-error": _BROKEN,
    }.items()
}

RULES: dict[str, str] = {
    "softmax-axis": "weights sum to 1 over the key axis T_enc",
    "mask-polarity": "the mask hides padding, and shows the rest",
    "mask-dropped": "hidden keys have weight 0",
    "mask-after-softmax": "scores are hidden before the softmax, so that the rest sums to 1",
    "mask-axis": "a (batch, T_enc) mask is laid over the keys: (batch, 1, T_enc)",
    "mask-value": "hidden scores are -inf before the softmax",
    "empty-row": "a row with nothing to attend to has weights 0 and context 0",
    "causal-alignment": "query i sees keys 0 to i, itself included and nothing later",
    "scale": "scaled dot products are divided by sqrt(d_k)",
    "score-formula": "the score is the one that the code names",
    "head-split": "heads are cut by view(batch, T, heads, d).transpose(1, 2), and joined back alike",
    "reshape-for-transpose": "a view only relabels memory: axes change places by a transpose",
    "batch-mixing": "sample i never feels sample j",
    "context-source": "context = Σ_j weights[i, j] · value[j], summed over the keys",
    "broadcast": "no axis is stretched over an unrelated one",
    "squeeze": "squeeze names its axis, so that batch 1 and length 1 keep theirs",
    "size-coupling": "widths and lengths that have different meanings may differ",
    "query-ignored": "two queries give two weightings",
    "key-ignored": "the encoder states move the weights",
    "decoder-timing": "Bahdanau scores with s(t-1), before the step; Luong with s(t), after it",
    "stale-cache": "a second call sees its own keys and mask",
    "in-place": "the caller's tensors stay as they are",
    "dropout": "dropout acts in training only, and on the weights",
    "returned-weights": "the weights returned are those of the average, before dropout",
    "overflow": "large finite scores give finite weights",
    "gradient": "gradients are finite and reach every parameter",
    "uninitialized": "every parameter is filled when it is made",
    "shape-error": "every legal size is accepted",
}

# What a check that holds rules out as the cause of another's failure.
DISPROVES: dict[str, frozenset[str]] = {
    "weights-sum-to-one": frozenset({"softmax-axis", "mask-after-softmax"}),
    "query-moves-weights": frozenset({"query-ignored"}),
    "keys-move-weights": frozenset({"key-ignored"}),
    "context-is-weights-times-value": frozenset({"context-source"}),
    "samples-independent": frozenset({"batch-mixing"}),
    "large-scores-finite": frozenset({"overflow"}),
    "parameters-finite": frozenset({"uninitialized"}),
    "hidden-do-not-matter": frozenset({"mask-dropped", "mask-polarity"}),
}

# Of faults that are equally sure, the one that spoils every answer is told before the one that
# spoils some.
GRAVEST_FIRST = (
    "softmax-axis",
    "key-ignored",
    "query-ignored",
    "batch-mixing",
    "head-split",
    "reshape-for-transpose",
    "score-formula",
    "context-source",
    "broadcast",
    "scale",
    "mask-polarity",
    "mask-dropped",
    "mask-axis",
    "mask-after-softmax",
    "mask-value",
    "causal-alignment",
    "decoder-timing",
    "stale-cache",
    "dropout",
    "in-place",
    "uninitialized",
    "returned-weights",
    "gradient",
    "empty-row",
    "overflow",
    "shape-error",
    "squeeze",
    "size-coupling",
)

ADVICE: dict[str, str] = {
    "softmax-axis": "Normalize over the key axis: softmax(scores, dim=-1) for scores (batch, T_dec, T_enc).",
    "mask-polarity": "Invert the mask where it is applied: ~mask.",
    "mask-dropped": "Apply the mask to the scores before the softmax, and keep the result.",
    "mask-after-softmax": 'Mask the scores before the softmax: scores.masked_fill(~visible, float("-inf")).',
    "mask-axis": "Lay the mask over the keys: mask[:, None, :], of shape (batch, 1, T_enc).",
    "mask-value": 'Fill hidden scores with float("-inf").',
    "empty-row": "Set the weights of rows without keys to 0: weights.masked_fill(~visible, 0.0).",
    "causal-alignment": "Use visible = tril(ones(T_dec, T_enc)), and hide the rest.",
    "scale": "Divide the scores by sqrt(d_k).",
    "score-formula": "Write the score as it is named: v · tanh(W s + U h), s^T W h or s · h.",
    "head-split": "Cut heads with .view(batch, T, heads, d).transpose(1, 2).",
    "reshape-for-transpose": "Use transpose in place of view or reshape.",
    "batch-mixing": "Keep the batch axis first and apart: transpose(0, 1) where the code is length-first.",
    "context-source": "Average the values with the weights: weights @ value.",
    "broadcast": "Give both arrays the same axes, with unsqueeze where one is missing.",
    "squeeze": "Name the axis: squeeze(-1).",
    "size-coupling": "Take each width from its own argument.",
    "query-ignored": "Let the query enter the scores.",
    "key-ignored": "Let the encoder states enter the scores.",
    "decoder-timing": "Score with the state before the step (Bahdanau) or after it (Luong), as the name says.",
    "stale-cache": "Keep nothing of one call for the next: compute from this call's keys.",
    "in-place": "Work on a copy: clone() first, or the out-of-place operation.",
    "dropout": "Use F.dropout(weights, p, training=self.training) on the weights alone.",
    "returned-weights": "Return the weights before dropout, those that make the context.",
    "overflow": "Subtract the largest score before exp, and scale the query before the product.",
    "gradient": "Leave out detach and no_grad on the way from the scores to the context.",
    "uninitialized": "Fill the parameter when it is made: nn.init.xavier_uniform_ or zeros.",
    "shape-error": "Mend the line that raises.",
}
