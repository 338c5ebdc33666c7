"""A trace as an object: labels, slices, and a file that holds all of it."""

import pytest
import torch
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
