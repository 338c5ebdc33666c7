"""The transformer against torch's with the same weights, and read step by step.

Expected numbers are those of ``nn.TransformerEncoder`` and ``nn.TransformerDecoder`` in float64, on
embeddings and sinusoidal positions that NumPy adds up.
"""

import copy

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from regard import Mask, record
from regard.layers import (
    AddAndNorm,
    MultiHeadAttention,
    RecurrentEncoder,
    TransformerDecoder,
    TransformerDecoderLayer,
    TransformerEncoded,
    TransformerEncoder,
    TransformerEncoderLayer,
)
from regard.scores import NAMES

DIM, HEADS, FF = 12, 3, 20
SIZES = {"embed_dim": DIM, "num_heads": HEADS, "ff_dim": FF}
SOURCE, LENGTHS = torch.tensor([[5, 6, 7, 8, 9], [9, 8, 7, 0, 0]]), torch.tensor([5, 3])
TARGET = torch.tensor([[2, 4, 5, 6], [2, 7, 8, 4]])
PADDING = torch.arange(5) >= LENGTHS[:, None]
VARIANTS = [
    (norm, positions) for norm in ("pre", "post") for positions in ("sinusoidal", "learned")
]


def randomized(module: nn.Module, seed: int = 0) -> nn.Module:
    """Biases and norms too, which begin at 0 and 1."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(0.2 * torch.randn(parameter.shape, generator=generator))
    return module.double().eval()


def made_encoder(**options: object) -> TransformerEncoder:
    torch.manual_seed(1)
    return randomized(TransformerEncoder(vocab_size=12, **SIZES | {"num_layers": 2} | options))


def made_decoder(**options: object) -> TransformerDecoder:
    torch.manual_seed(2)
    return randomized(TransformerDecoder(vocab_size=9, **SIZES | {"num_layers": 2} | options))


def encoded(lengths: Tensor = LENGTHS, **options: object) -> TransformerEncoded:
    return made_encoder(**options)(SOURCE, lengths)


# ---- torch's, with the same weights -----------------------------------------------------


def torchs_layer(kind: type[nn.Module], norm: str, seed: int = 3) -> nn.Module:
    torch.manual_seed(seed)
    layer = kind(DIM, HEADS, FF, dropout=0.0, batch_first=True, norm_first=norm == "pre")
    return randomized(layer, seed).train()  # its fast path gives zeros at padding


def taken_over(theirs: nn.Module, norm: str) -> TransformerEncoderLayer | TransformerDecoderLayer:
    is_decoder = isinstance(theirs, nn.TransformerDecoderLayer)
    kind = TransformerDecoderLayer if is_decoder else TransformerEncoderLayer
    ours = kind(DIM, HEADS, ff_dim=FF, norm=norm).double().eval()
    attentions = {"self_attention": theirs.self_attn}
    if is_decoder:
        attentions["cross_attention"] = theirs.multihead_attn
    for index, (name, layer) in enumerate(attentions.items(), start=1):
        setattr(ours, name, MultiHeadAttention.from_torch(layer))
        norm_of = getattr(ours, f"around_{name}").norm
        norm_of.load_state_dict(getattr(theirs, f"norm{index}").state_dict())
    last = getattr(theirs, f"norm{len(attentions) + 1}")
    ours.around_feed_forward.norm.load_state_dict(last.state_dict())
    ours.feed_forward.widen.load_state_dict(theirs.linear1.state_dict())
    ours.feed_forward.narrow.load_state_dict(theirs.linear2.state_dict())
    return ours


def numbers(*shape: int, seed: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator, dtype=torch.float64)


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_an_encoder_layer_is_torchs(norm: str) -> None:
    theirs = torchs_layer(nn.TransformerEncoderLayer, norm)
    ours, x = taken_over(theirs, norm), numbers(2, 5, DIM, seed=4)
    assert_close(ours(x), theirs(x))
    found = ours(x, Mask.lengths(LENGTHS))
    expected = theirs(x, src_key_padding_mask=PADDING)
    assert_close(found[~PADDING], expected[~PADDING])


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_a_decoder_layer_is_torchs(norm: str) -> None:
    theirs = torchs_layer(nn.TransformerDecoderLayer, norm)
    ours, x, source = (
        taken_over(theirs, norm),
        numbers(2, 4, DIM, seed=4),
        numbers(2, 5, DIM, seed=5),
    )
    expected = theirs(
        x,
        source,
        tgt_mask=nn.Transformer.generate_square_subsequent_mask(4, dtype=torch.float64),
        memory_key_padding_mask=PADDING,
    )
    may_attend = Mask.lengths(LENGTHS)
    prepared = ours.cross_attention.prepare(source, source, may_attend=may_attend)
    assert_close(ours(x, None, prepared).output, expected)


def with_positions(embedded: Tensor) -> Tensor:
    places, pairs = np.arange(embedded.shape[1])[:, None], np.arange(DIM // 2)
    angles = places / 10_000 ** (2 * pairs / DIM)
    table = np.empty((embedded.shape[1], DIM))
    table[:, 0::2], table[:, 1::2] = np.sin(angles), np.cos(angles)
    return embedded + torch.from_numpy(table)


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_encoder_and_decoder_are_torchs_on_embeddings_and_positions(norm: str) -> None:
    encoder, decoder = made_encoder(norm=norm), made_decoder(norm=norm)
    layers = [torchs_layer(nn.TransformerEncoderLayer, norm, seed) for seed in (3, 4)]
    stack = nn.TransformerEncoder(
        layers[0], 2, copy.deepcopy(encoder.final_norm), enable_nested_tensor=False
    )
    stack.layers = nn.ModuleList(layers)
    encoder.layers = nn.ModuleList(taken_over(layer, norm) for layer in layers)
    embedded = with_positions(encoder.embedding.tables[0](SOURCE))
    states = stack(embedded, src_key_padding_mask=PADDING)
    found = encoder(SOURCE, LENGTHS)
    assert_close(found.states[~PADDING], states[~PADDING])
    assert found.states[PADDING].abs().max() == 0

    layers = [torchs_layer(nn.TransformerDecoderLayer, norm, seed) for seed in (5, 6)]
    stack = nn.TransformerDecoder(layers[0], 2, copy.deepcopy(decoder.final_norm))
    stack.layers = nn.ModuleList(layers)
    decoder.layers = nn.ModuleList(taken_over(layer, norm) for layer in layers)
    output = stack(
        with_positions(decoder.embedding(TARGET)),
        states,
        tgt_mask=nn.Transformer.generate_square_subsequent_mask(4, dtype=torch.float64),
        memory_key_padding_mask=PADDING,
    )
    assert_close(decoder(found, TARGET).logits, decoder.to_logits(output))


def test_pre_norm_leaves_a_path_that_nothing_normalizes() -> None:
    x, change = 1000 * numbers(2, 3, DIM, seed=1), numbers(2, 3, DIM, seed=2)
    assert_close(AddAndNorm(DIM, norm="pre", dropout=0.0).double().after(x, change), x + change)
    after = AddAndNorm(DIM, norm="post", dropout=0.0).double().after(x, change)
    assert_close(after.mean(-1), torch.zeros(2, 3).double(), atol=1e-9, rtol=0)


# ---- step by step -----------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("norm", "positions"), VARIANTS)
def test_step_by_step_equals_the_whole(name: str, norm: str, positions: str) -> None:
    options = {"norm": norm, "positions": positions, "score": name, "max_len": 6}
    source, decoder = encoded(**options), made_decoder(**options)
    whole = decoder(source, TARGET, need_weights=True)
    state = decoder.begin(source)
    for t in range(4):
        step = decoder.step(TARGET[:, t], state, need_weights=True)
        assert_close(step.logits, whole.logits[:, t])
        assert_close(step.weights, whole.weights[:, t])
        unseen = decoder.step(TARGET[:, t], state)
        assert unseen.weights is None
        assert_close(unseen.logits, step.logits)
        state = step.state
        assert state.num_tokens == t + 1


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_a_later_token_changes_nothing_before(norm: str) -> None:
    source, decoder = encoded(), made_decoder(norm=norm)
    plain = decoder(source, TARGET, need_weights=True)
    for t in range(4):
        other = TARGET.clone()
        other[:, t] = 3
        found = decoder(source, other, need_weights=True)
        assert_close(found.logits[:, :t], plain.logits[:, :t], rtol=0, atol=0)
        assert_close(found.weights[:, :t], plain.weights[:, :t], rtol=0, atol=0)
        for moved in (found.logits[:, t:] - plain.logits[:, t:]).abs().amax(-1).flatten():
            assert moved > 1e-6


def test_padding_changes_nothing() -> None:
    encoder, decoder = made_encoder(), made_decoder()
    both = encoder(SOURCE, LENGTHS)
    alone = encoder(SOURCE[1:, :3], LENGTHS[1:])
    assert alone.may_attend is None
    assert_close(both.states[1:, :3], alone.states)
    padded, plain = (
        decoder(s, t, need_weights=True) for s, t in ((both, TARGET), (alone, TARGET[1:]))
    )
    assert_close(padded.logits[1:], plain.logits)
    assert_close(padded.weights[1:, :, :3], plain.weights)
    assert padded.weights[1:, :, 3:].abs().max() == 0
    other = SOURCE.masked_fill(PADDING, 11)
    assert_close(encoder(other, LENGTHS).states, both.states, rtol=0, atol=0)


@pytest.mark.parametrize("rows", [[1, 1, 0], [0], [1, 0]], ids=str)
def test_states_of_selected_rows_go_on_as_those_rows(rows: list[int]) -> None:
    decoder, source, rows = made_decoder(), encoded(), torch.tensor(rows)
    state = decoder.step(TARGET[:, 0], decoder.begin(source)).state
    plain = decoder.step(TARGET[:, 1], state, need_weights=True)
    found = decoder.step(TARGET[rows, 1], state.index_select(rows), need_weights=True)
    assert_close(found.logits, plain.logits[rows])
    assert_close(found.weights, plain.weights[rows])
    begun = decoder.begin(source).index_select(rows)
    first = decoder.step(TARGET[rows, 0], begun).logits
    assert_close(first, decoder.step(TARGET[:, 0], decoder.begin(source)).logits[rows])


def test_reordered_rows_of_one_source_keep_what_belongs_to_it() -> None:
    decoder = made_decoder()
    source = made_encoder()(SOURCE[[0, 0, 1, 1]], LENGTHS[[0, 0, 1, 1]])
    state = decoder.step(torch.tensor([2, 3, 4, 5]), decoder.begin(source)).state
    parents, tokens = torch.tensor([1, 1, 3, 2]), torch.tensor([4, 5, 6, 7])
    reordered = state.reorder(parents)
    assert all(one is other for one, other in zip(reordered.sources, state.sources, strict=True))
    found = decoder.step(tokens, reordered, need_weights=True)
    expected = decoder.step(tokens, state.index_select(parents), need_weights=True)
    assert_close(found.logits, expected.logits)
    assert_close(found.weights, expected.weights)


# ---- what is returned and recorded ------------------------------------------------------


class Both(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder, self.decoder = made_encoder(), made_decoder()

    def forward(self) -> Tensor:
        return self.decoder(self.encoder(SOURCE, LENGTHS), TARGET).logits


SITES = {
    *("encoder.layers.0.self_attention", "encoder.layers.1.self_attention"),
    *("decoder.layers.0.self_attention", "decoder.layers.1.self_attention"),
    *("decoder.layers.0.cross_attention", "decoder.layers.1.cross_attention"),
}


def test_a_recording_of_steps_is_one_run_equal_to_that_of_the_whole() -> None:
    model = Both()
    plain = model()
    with record(model) as whole:
        assert_close(model(), plain)
    assert {site.name for site in whole} == SITES
    with record(model) as steps:
        state = model.decoder.begin(model.encoder(SOURCE, LENGTHS))
        for t in range(4):
            state = model.decoder.step(TARGET[:, t], state).state
    assert {site.name for site in steps} == SITES
    for site in whole:
        assert len(steps[site.name].runs) == 1
        assert_close(steps[site.name].weights, site.weights)
        shape = {"encod": (5, 5), "self": (4, 4), "cross": (4, 5)}
        kind = "encod" if "encoder" in site.name else site.name.split(".")[3].split("_")[0]
        assert site.weights.shape == (2, HEADS, *shape[kind])


def test_weights_are_the_mean_over_heads_of_the_last_cross_attention() -> None:
    model = Both()
    with record(model) as trace:
        found = model.decoder(model.encoder(SOURCE, LENGTHS), TARGET, need_weights=True)
    assert_close(found.weights, trace["decoder.layers.1.cross_attention"].weights.mean(dim=1))
    again = model.decoder(model.encoder(SOURCE, LENGTHS), TARGET, need_weights=True)
    assert_close(found, again)
    assert_close(again.weights.sum(-1), torch.ones(2, 4).double())


def test_every_parameter_gets_a_finite_gradient_and_dropout_moves_what_it_should() -> None:
    for options in ({"positions": "learned"}, {"score": "additive", "norm": "post"}):
        encoder, decoder = made_encoder(**options), made_decoder(**options)
        decoder(encoder(SOURCE, LENGTHS), TARGET).logits.logsumexp(-1).sum().backward()
        for name, parameter in [*encoder.named_parameters(), *decoder.named_parameters()]:
            if "norm" not in name and "key" not in name:
                assert parameter.grad.abs().max() > 0, name
            assert parameter.grad.isfinite().all(), name
    dropping = TransformerEncoder(vocab_size=12, **SIZES, dropout=0.5)
    states = [dropping(SOURCE, LENGTHS).states for _ in range(2)]
    assert (states[0] - states[1]).abs().max() > 0.1
    dropping.eval()
    assert_close(*(dropping(SOURCE, LENGTHS).states for _ in range(2)), rtol=0, atol=0)


# ---- what is refused --------------------------------------------------------------------

ENCODER, DECODER = (
    TransformerEncoder(vocab_size=12, **SIZES),
    TransformerDecoder(vocab_size=9, **SIZES),
)
NARROW = TransformerEncoder(vocab_size=12, embed_dim=6, num_heads=3, ff_dim=4)
RECURRENT = RecurrentEncoder(vocab_size=12, embed_dim=4, hidden_dim=6)
STATE = DECODER.begin(ENCODER(SOURCE, LENGTHS))
SHORT = {"positions": "learned", "max_len": 3}

REFUSED = {
    "an empty source": (
        lambda: ENCODER(SOURCE, torch.tensor([5, 0])),
        ValueError,
        r"TransformerEncoder: lengths\[1\] is 0, tokens \(2, 5\).*at least one token.*Leave empty",
    ),
    "a length beyond the source": (
        lambda: ENCODER(SOURCE, torch.tensor([5, 6])),
        ValueError,
        r"lengths\[1\] is 6.*at most source_len=5",
    ),
    "an id beyond the vocabulary": (
        lambda: ENCODER(SOURCE + 5, LENGTHS),
        ValueError,
        r"tokens\[0, 2\] is 12.*0 to 11",
    ),
    "a source longer than its positions": (
        lambda: TransformerEncoder(vocab_size=12, **SIZES, **SHORT)(SOURCE, LENGTHS),
        ValueError,
        "positions 0 to 4 .* max_len=3",
    ),
    "a target longer than its positions": (
        lambda: TransformerDecoder(vocab_size=9, **SIZES, **SHORT)(
            ENCODER(SOURCE, LENGTHS), TARGET
        ),
        ValueError,
        "positions 0 to 3 .* max_len=3",
    ),
    "a target id beyond the vocabulary": (
        lambda: DECODER.step(torch.tensor([3, 9]), STATE),
        ValueError,
        r"TransformerDecoder: tokens\[1, 0\] is 9.*0 to 8",
    ),
    "an empty target": (
        lambda: DECODER(ENCODER(SOURCE, LENGTHS), TARGET[:, :0]),
        ValueError,
        "Put the begin token first",
    ),
    "a target for another batch": (
        lambda: DECODER(ENCODER(SOURCE, LENGTHS), TARGET[:1]),
        ValueError,
        "as many targets as sources.*Give a batch of 2",
    ),
    "a step for another batch": (
        lambda: DECODER.step(torch.tensor([3]), STATE),
        ValueError,
        r"tokens \(1,\) with a state of 2 examples.*Give a batch of 2",
    ),
    "what a recurrent encoder made": (
        lambda: DECODER(RECURRENT(SOURCE, LENGTHS), TARGET),
        TypeError,
        r"encoded is a Encoded. It must be the TransformerEncoded.*decoder\(encoder\(source",
    ),
    "states of another width": (
        lambda: DECODER(NARROW(SOURCE, LENGTHS), TARGET),
        ValueError,
        r"states \(2, 5, 6\). It must be .*embed_dim=12.*one embed_dim",
    ),
    "no state": (
        lambda: DECODER.step(torch.tensor([3, 4]), None),
        TypeError,
        "state is a NoneType",
    ),
    "an unknown norm": (
        lambda: TransformerEncoder(vocab_size=12, **SIZES, norm="rms"),
        ValueError,
        "TransformerEncoder: norm='rms' is unknown. Choose one of: pre, post",
    ),
    "unknown positions": (
        lambda: TransformerDecoder(vocab_size=12, **SIZES, positions="rotary"),
        ValueError,
        "TransformerDecoder: positions='rotary' is unknown. Choose one of: sinusoidal, learned",
    ),
    "heads that do not divide": (
        lambda: TransformerDecoder(vocab_size=12, embed_dim=10, num_heads=3, ff_dim=4),
        ValueError,
        "embed_dim=10 and num_heads=3",
    ),
    "a window without a middle": (
        lambda: TransformerEncoder(vocab_size=12, **SIZES, window=2),
        ValueError,
        "window=2",
    ),
    "no layers": (
        lambda: TransformerEncoder(vocab_size=12, **SIZES, num_layers=0),
        ValueError,
        "num_layers=0",
    ),
    "certain dropout": (
        lambda: TransformerEncoder(vocab_size=12, **SIZES, dropout=1.0),
        ValueError,
        "dropout=1.0",
    ),
}


@pytest.mark.usefixtures("as_a_user")
@pytest.mark.parametrize("what", REFUSED)
def test_is_refused(what: str) -> None:
    call, kind, text = REFUSED[what]
    with pytest.raises(kind, match=text):
        call()
