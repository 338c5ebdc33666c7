"""What multi-head attention refuses, each with what was given, the rule, and the fix.

Of the collection of known faults: 40 (a mask that could be of batch or of queries), 45 (a batch of
one is not stretched), 54 (heads must divide the width).
"""

import pytest
import torch

from regard import Mask, scores
from regard.layers import MultiHeadAttention

LAYER = MultiHeadAttention(8, 2, key_dim=5, value_dim=6)
Q, K, V = torch.ones(2, 3, 8), torch.ones(2, 4, 5), torch.ones(2, 4, 6)

REFUSED = {
    "a width that the heads do not divide": (
        lambda: MultiHeadAttention(100, 8),
        ValueError,
        "embed_dim=100 and num_heads=8. Each head is an equal part.*Take embed_dim=96, for example",
    ),
    "fewer channels than heads": (
        lambda: MultiHeadAttention(3, 8),
        ValueError,
        "embed_dim=3 and num_heads=8.*Take embed_dim=8",
    ),
    "no heads": (lambda: MultiHeadAttention(8, 0), ValueError, "num_heads=0.*at least 1"),
    "no width": (lambda: MultiHeadAttention(0, 2), ValueError, "embed_dim=0.*at least 1"),
    "certain dropout": (
        lambda: MultiHeadAttention(8, 2, dropout=1.0),
        ValueError,
        "MultiHeadAttention: dropout=1.0.*Use 0.0",
    ),
    "an unknown score": (
        lambda: MultiHeadAttention(8, 2, score="cosine"),
        ValueError,
        "score 'cosine' is unknown. Choose one of: additive, concat, dot",
    ),
    "a class for a score": (
        lambda: MultiHeadAttention(8, 2, score=scores.Dot),
        TypeError,
        "score is a _?[A-Za-z]+. It must be the name of a score or a Score. Write score='additive'",
    ),
    "a score of another width": (
        lambda: MultiHeadAttention(8, 2, score=scores.Bilinear(query_dim=8, key_dim=8)),
        ValueError,
        r"score is Bilinear\(query_dim=8, key_dim=8, num_heads=None\), for 2 heads of width 4. "
        r"A score compares.*Build it with query_dim=4, key_dim=4, num_heads=2",
    ),
    "a score of another number of heads": (
        lambda: MultiHeadAttention(
            8, 2, score=scores.Bilinear(query_dim=4, key_dim=4, num_heads=8)
        ),
        ValueError,
        "num_heads=8.*for 2 heads of width 4",
    ),
    "a key without its value": (
        lambda: LAYER(Q, K, None),
        TypeError,
        r"MultiHeadAttention: value is a NoneType. It must be a torch tensor \(batch, position, "
        r"dim\).*layer\(query, key, key\)",
    ),
    "an array": (lambda: LAYER(Q.numpy(), K, V), TypeError, "query is a ndarray"),
    "one step without its axis": (
        lambda: LAYER(Q[:, 0], K, V),
        ValueError,
        r"query \(2, 8\), key \(2, 4, 5\), value \(2, 4, 6\). All three must be "
        r"\(batch, position, dim\).*query\[:, None\]",
    ),
    "no batch": (lambda: LAYER(Q[0], K[0], V[0]), ValueError, r"a single example as x\[None\]"),
    "heads of their own": (lambda: LAYER(Q[None], K[None], V[None]), ValueError, "All three must"),
    "a batch of one query": (
        lambda: LAYER(Q[:1], K, V),
        ValueError,
        r"MultiHeadAttention: the batch axis is 1 in query, 2 in key and 2 in value.*\.expand",
    ),
    "length first": (
        lambda: LAYER(Q.transpose(0, 1), K.transpose(0, 1), V.transpose(0, 1)),
        ValueError,
        r"^MultiHeadAttention: the batch axis is 3 in query, 4 in key",
    ),
    "values of other positions": (
        lambda: LAYER(Q, K, V[:, :3]),
        ValueError,
        "^MultiHeadAttention: key has 4 positions but value has 3",
    ),
    "keys and values in the wrong order": (
        lambda: LAYER(Q, V, K),
        ValueError,
        r"key \(2, 4, 6\) has dim 6, but the layer was built for key_dim=5. Build it with key_dim=6"
        r".*layer\(query, key, value\)",
    ),
    "a query of another width": (lambda: LAYER(K, K, V), ValueError, "built for query_dim=8"),
    "two dtypes": (lambda: LAYER(Q.double(), K, V), TypeError, "query is float64, key float32"),
    "another dtype than the layer's": (
        lambda: LAYER(Q.double(), K.double(), V.double()),
        TypeError,
        r"query, key and value are float64, but the layer's parameters are float32.*"
        r"layer.to\(torch.float64\)",
    ),
    "a mask of numbers": (
        lambda: LAYER(Q, K, V, may_attend=torch.ones(2, 3, 4)),
        TypeError,
        "A mask must be bool, True meaning 'may attend'",
    ),
    "a list of lengths": (
        lambda: LAYER(Q, K, V, may_attend=[4, 2]),
        TypeError,
        r"may_attend is a list.*Mask.lengths",
    ),
    "a mask of one row per example": (
        lambda: LAYER(Q, K, V, may_attend=torch.ones(2, 4, dtype=torch.bool)),
        ValueError,
        r"could be \(batch, key\) or \(query, key\).*may_attend\[:, None, :\]",
    ),
    "a mask of heads and examples folded into one": (
        lambda: LAYER(Q, K, V, may_attend=torch.ones(4, 3, 4, dtype=torch.bool)),
        ValueError,
        "its batch axis is 4 where 2 is needed",
    ),
    "lengths of the queries": (
        lambda: LAYER(Q, K, V, may_attend=Mask.lengths([8, 2])),
        ValueError,
        "longer than the key axis, 4",
    ),
    "causal of unequal lengths": (
        lambda: LAYER(Q, K, V, may_attend=Mask.causal()),
        ValueError,
        r"Write Mask.causal\('start'\)",
    ),
}


@pytest.mark.usefixtures("as_a_user")
@pytest.mark.parametrize("what", REFUSED)
def test_is_refused(what: str) -> None:
    call, kind, text = REFUSED[what]
    with pytest.raises(kind, match=text):
        call()


def test_a_width_that_the_heads_do_not_divide_is_no_hindrance_to_an_input() -> None:
    """The fix in the message works: inputs of 100 into 8 heads of 12."""
    x = torch.ones(2, 3, 100)
    layer = MultiHeadAttention(96, 8, query_dim=100, key_dim=100, value_dim=100, output_dim=100)
    assert layer(x, x, x).output.shape == (2, 3, 100)
