"""A trace as an object: labels, slices, and a file that holds all of it."""

import json

import pytest
import torch
from safetensors.torch import save
from torch.testing import assert_close

from regard import layers, plots
from regard.recording import Trace, record
from tests.recording.test_record import numbers, translator


def recorded():
    layer, x = layers.MultiHeadAttention(12, 3), numbers(2, 5, 12)
    with record(layer, scores=True, values=True) as trace:
        layer(x, numbers(2, 7, 12), numbers(2, 7, 12))
    trace.label([list("abcde"), list("fg")], [list("hijklmn"), list("opq")])
    return trace


def test_sites_by_name_by_place_and_in_order():
    trace = recorded()
    (site,) = trace
    assert trace[0] is trace["MultiHeadAttention"] is site
    assert "MultiHeadAttention" in trace
    assert trace.names == [site.name]
    assert torch.equal(site[1, :, -1], site.weights[1, :, -1])
    with pytest.raises(KeyError, match=r"no site 'decoder'. It has: MultiHeadAttention"):
        _ = trace["decoder"]
    assert repr(trace).splitlines() == [
        "Trace of 1 site",
        "  MultiHeadAttention: (batch, heads, query, key) = (2, 3, 5, 7)",
    ]


def test_a_selection_keeps_the_labels_of_its_examples():
    whole = recorded()
    part = whole.select(examples=[1], heads=[2, 0])
    assert torch.equal(part[0].weights, whole[0].weights[[1]][:, [2, 0]])
    assert torch.equal(part[0].scores, whole[0].scores[[1]][:, [2, 0]])
    assert part[0].query_tokens == [["f", "g"]]
    assert part[0].key_tokens == [["o", "p", "q"]]
    assert whole[0].weights.shape == (2, 3, 5, 7)
    assert len(whole.select(sites=[])) == 0


def test_labels_that_do_not_fit_are_refused():
    trace = recorded()
    with pytest.raises(ValueError, match=r"query_tokens has 1 lists, of 2 to 2 tokens"):
        trace.label([["a", "b"]])
    with pytest.raises(ValueError, match=r"of at most 7 tokens"):
        trace.label(None, [["a"] * 8, ["b"]])


def test_weights_that_are_there_already_make_a_trace():
    for shape in ((3, 4), (1, 3, 4), (1, 1, 3, 4)):
        trace = Trace.of_weights("own", torch.full(shape, 0.25), [list("abc")], [list("wxyz")])
        assert trace["own"].weights.shape == (1, 1, 3, 4)
    with pytest.raises(ValueError, match=r"weights \(4,\)"):
        Trace.of_weights("own", torch.ones(4))


@pytest.mark.usefixtures("as_a_user")
def test_rows_that_sum_to_neither_1_nor_0_are_refused_unless_that_is_meant():
    nothing = torch.tensor([[0.0, 0.0], [0.25, 0.75]])
    for dtype in (torch.float64, torch.float32, torch.float16, torch.bfloat16):
        Trace.of_weights("own", numbers(2, 3, 50).softmax(-1).to(dtype))
        Trace.of_weights("own", nothing.to(dtype))
    Trace.of_weights("own", torch.tensor([[torch.nan, torch.nan]]))  # of torch, for nothing
    sigmoid = torch.tensor([[[0.5, 0.5], [0.9, 0.8]]])
    with pytest.raises(ValueError, match=r"row \(0, 1\) sums to 1.7.*the last.*normalized=False"):
        Trace.of_weights("own", sigmoid)
    trace = Trace.of_weights("own", sigmoid, normalized=False)
    assert torch.equal(trace["own"].weights[0], sigmoid)
    sigmoid.zero_()
    assert trace["own"].weights.sum() > 0.0
    for weights, message in (
        (torch.eye(2).long(), "have dtype int64.*weights.float"),
        (torch.eye(2) * 1j, "have dtype complex64"),
        (torch.eye(2).to_sparse(), "layout.*to_dense"),
    ):
        with pytest.raises(TypeError, match=message):
            Trace.of_weights("own", weights)
    with pytest.raises(TypeError, match="name is a int"):
        Trace.of_weights(5, torch.eye(2))


@pytest.mark.usefixtures("as_a_user")
def test_tokens_that_are_no_lists_of_text_are_refused():
    trace = recorded()
    for tokens, kind, message in (
        ("ab", TypeError, "holds 'ab' for an example"),
        ([1, 2], TypeError, "holds 1 for an example"),
        (["ab", "cd"], TypeError, "holds 'ab' for an example"),
        ([None, ["a"]], TypeError, "holds None for an example.*has \\[\\]"),
        (torch.ones(2, 2), TypeError, "holds tensor"),
        ([[1], [2]], TypeError, r"holds 1, a int. Tokens are text. Write str\(token\)"),
        ([["\ud800"], ["a"]], ValueError, "half of a character"),
    ):
        with pytest.raises(kind, match=message):
            trace.label(tokens)
        with pytest.raises(kind, match=message):
            trace.label(None, tokens)
    assert trace[0].query_tokens == [list("abcde"), list("fg")]
    trace.label((("x",), ("y", "z")))
    assert trace[0].query_tokens == [["x"], ["y", "z"]]


@pytest.mark.usefixtures("as_a_user")
def test_what_a_trace_does_not_have_is_said():
    trace = recorded()
    for asked, kind, message in (
        (lambda: trace[3], IndexError, "no site 3. It has 1: MultiHeadAttention"),
        (lambda: trace[0:1], TypeError, "select"),
        (lambda: trace.select(sites="MultiHeadAttention"), TypeError, "Write sites=\\['Multi"),
        (lambda: trace.select(examples=[9]), IndexError, r"examples \[9\] of site .* has 2"),
        (lambda: trace.select(heads=[0, 3]), IndexError, r"heads \[3\] of site .* 0 to 2"),
        (lambda: trace.select(examples=0), TypeError, r"examples=0. .*examples=\[0, 2\]"),
        (lambda: trace.select(heads=["a"]), TypeError, "list of whole numbers"),
        (lambda: trace.select(heads=[True]), TypeError, "list of whole numbers"),
    ):
        with pytest.raises(kind, match=message):
            asked()
    part = trace.select(examples=torch.tensor([1]))
    assert torch.equal(part[0].weights, trace[0].weights[1:])


@pytest.mark.usefixtures("as_a_user")
def test_what_is_no_tensor_or_no_trace_is_refused(tmp_path):
    with pytest.raises(TypeError, match=r"weights is a list. .* torch.as_tensor\(weights\)"):
        Trace.of_weights("own", [[1.0]])
    with pytest.raises(TypeError, match=r"trace is a Tensor. It must be a Trace"):
        plots.page(torch.ones(2, 2), tmp_path / "a.html")


def test_a_file_gives_back_everything(tmp_path):
    trace = recorded()
    trace.save(tmp_path / "trace.safetensors")
    again = Trace.load(tmp_path / "trace.safetensors")
    for part in ("weights", "scores", "visible", "value"):
        assert torch.equal(getattr(again[0], part), getattr(trace[0], part))
    assert again[0].query_tokens == trace[0].query_tokens
    assert again[0].key_tokens == trace[0].key_tokens
    assert repr(again) == repr(trace)

    network = translator().network  # steps, and runs of different lengths
    with record(network) as steps:
        for length in (3, 4):
            network(torch.full((2, 4), 5), torch.tensor([length, 4]), torch.full((2, length), 4))
    steps.save(tmp_path / "steps")
    again = Trace.load(tmp_path / "steps")
    for one, other in zip(again["decoder"], steps["decoder"], strict=True):
        assert torch.equal(one.weights, other.weights)

    with record(network, keep="summary") as summed:
        network(torch.full((2, 4), 5), torch.tensor([3, 4]), torch.full((2, 3), 4))
    summed.save(tmp_path / "sums")
    assert_close(Trace.load(tmp_path / "sums").summaries, summed.summaries)


def test_a_file_that_is_no_trace_says_so(tmp_path):
    with pytest.raises(ValueError, match="is no file"):
        Trace.load(tmp_path / "nowhere")
    (tmp_path / "text").write_text("weights")
    with pytest.raises(ValueError, match=r"text' cannot be read: .* no trace of regard"):
        Trace.load(tmp_path / "text")
    translator().save_pretrained(tmp_path / "model")
    with pytest.raises(ValueError, match="does not say format"):
        Trace.load(tmp_path / "model" / "model.safetensors")
    trace = recorded()
    trace.save(tmp_path / "torn")
    content = (tmp_path / "torn").read_bytes()
    (tmp_path / "torn").write_bytes(content[: len(content) // 2])
    with pytest.raises(ValueError, match="damaged"):
        Trace.load(tmp_path / "torn")


def test_a_place_that_no_file_can_have_is_said_before_anything_is_written(tmp_path):
    trace = recorded()
    with pytest.raises(ValueError, match=r"is a folder\. A trace is one file"):
        trace.save(tmp_path)
    with pytest.raises(ValueError, match=r"a\.st' is in a folder that is not there"):
        trace.save(tmp_path / "missing" / "a.st")
    assert not list(tmp_path.iterdir())


def headed(change, **tensors):
    """A file as one of one site is, with something changed."""
    site = {"name": "d", "calls_in_runs": [1], "query_tokens": None, "key_tokens": None}
    told = {"format": "regard.trace.v1", "largest_difference": 0, "summaries": []}
    told = change({**told, "sites": [site]}, site)
    grid = torch.full((1, 1, 2, 2), 0.5)
    parts = {"weights": grid, "visible": grid > 0.0, **tensors}
    return save(
        {f"0/0/0/{name}": part for name, part in parts.items()}, {"regard": json.dumps(told)}
    )


@pytest.mark.usefixtures("as_a_user")
@pytest.mark.parametrize(
    ("content", "message"),
    [
        (headed(lambda told, site: [told]), "does not say format"),
        (headed(lambda told, site: {**told, "sites": [5]}), "damaged or no trace"),
        (headed(lambda told, site: {**told, "sites": [{**site, "calls_in_runs": [0]}]}), "without"),
        (headed(lambda told, site: {**told, "sites": [{**site, "calls_in_runs": []}]}), "without"),
        (
            headed(lambda told, site: {**told, "sites": [{**site, "query_tokens": 5}]}),
            "query_tokens of site 'd' do not fit it",
        ),
        (headed(lambda told, site: {**told, "sites": [{**site, "name": 5}]}), "name is 5"),
        (headed(lambda told, site: told, weights=torch.ones(2, 2)), r"shape \(2, 2\), not 4 axes"),
        (
            headed(lambda told, site: told, visible=torch.ones(1, 1, 1, 1).bool()),
            r"\(1, 1, 2, 2\), but visible of shape \(1, 1, 1, 1\)",
        ),
        (headed(lambda told, site: told, visible=torch.ones(1, 1, 2, 2)), "visible of torch"),
    ],
)
def test_a_file_whose_parts_do_not_fit_is_refused(tmp_path, content, message):
    (tmp_path / "whole").write_bytes(headed(lambda told, site: told))
    assert Trace.load(tmp_path / "whole")["d"].weights.shape == (1, 1, 2, 2)
    (tmp_path / "changed").write_bytes(content)
    with pytest.raises(ValueError, match=message):
        Trace.load(tmp_path / "changed")
