"""Recording equals not recording: the largest difference seen, for every kind of model.

    python -m benchmarks.recording

Each model runs twice in float32, recorded and not (``record(..., verify=True)``); the difference is
that of its outputs, beside the largest output. Weights must sum to 1, or to 0, in every row. The
models of Hugging Face transformers need it installed; they are random, and nothing is downloaded.
"""

import warnings
from collections.abc import Callable, Iterator

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard import Mask, layers, record, scores
from regard.models import Side, Translator

warnings.filterwarnings("ignore", "The PyTorch API of nested tensors")
BATCH, QUERIES, KEYS, WIDTH, HEADS = 8, 30, 40, 64, 4
LENGTHS = torch.tensor([40, 31, 22, 40, 7, 1, 18, 33])
HIDDEN = torch.arange(KEYS) >= LENGTHS[:, None]


class Fused(nn.Module):
    def forward(self, query: Tensor, key: Tensor) -> Tensor:
        query, key = (x.unflatten(-1, (HEADS, -1)).transpose(1, 2) for x in (query, key))
        return F.scaled_dot_product_attention(query, key, key, attn_mask=~HIDDEN[:, None, None])


Case = tuple[str, nn.Module, Callable[[nn.Module], object]]


def ours() -> Iterator[Case]:
    query, key = torch.randn(BATCH, QUERIES, WIDTH), torch.randn(BATCH, KEYS, WIDTH)
    for name in scores.NAMES:
        layer = layers.MultiHeadAttention(WIDTH, HEADS, score=name)
        yield (
            f"regard MultiHeadAttention, {name}",
            layer,
            lambda model: model(query, key, key, may_attend=Mask.lengths(LENGTHS)),
        )
    ids, target = torch.randint(4, 30, (BATCH, KEYS)), torch.randint(4, 30, (BATCH, QUERIES))
    side = Side.build("characters", ["abcdefghijklmnopqrstuvwxyz"])
    for choices in (
        {},
        {"attention": "general", "cell": "lstm", "decoder_layers": 2},
        {"decoder": "luong", "attention": "dot"},
        {"decoder": "luong", "attention": "concat", "input_feeding": True},
    ):
        network = Translator.fresh(side, side, **choices).network
        named = ", ".join(str(choice) for choice in choices.values()) or "bahdanau, additive"
        yield (
            f"regard Seq2Seq, {named}",
            network,
            lambda model: model(ids, LENGTHS, target).logits,
        )


def torchs() -> Iterator[Case]:
    query, key = torch.randn(BATCH, QUERIES, WIDTH), torch.randn(BATCH, KEYS, WIDTH)
    mha = nn.MultiheadAttention(WIDTH, HEADS, batch_first=True)
    for weights in (True, False):
        yield (
            f"nn.MultiheadAttention, need_weights={weights}",
            mha,
            lambda model, weights=weights: model(
                query, key, key, key_padding_mask=HIDDEN, need_weights=weights
            ),
        )
    encoder = nn.TransformerEncoderLayer(WIDTH, HEADS, 128, batch_first=True)
    yield "nn.TransformerEncoder", nn.TransformerEncoder(encoder, 3), lambda model: model(key)
    yield (
        "nn.TransformerEncoder, padded",
        nn.TransformerEncoder(encoder, 3),
        lambda model: model(key, src_key_padding_mask=HIDDEN),
    )
    causal = nn.Transformer.generate_square_subsequent_mask(QUERIES)
    yield (
        "nn.TransformerDecoder",
        nn.TransformerDecoder(nn.TransformerDecoderLayer(WIDTH, HEADS, 128, batch_first=True), 3),
        lambda model: model(query, key, tgt_mask=causal, tgt_is_causal=True),
    )
    yield "scaled_dot_product_attention", Fused(), lambda model: model(query, key)


def transformers() -> Iterator[Case]:
    try:
        import transformers as library
    except ImportError:
        print("transformers is not installed: its models are left out")
        return
    ids = torch.randint(5, 100, (BATCH, KEYS))
    seen = (~HIDDEN).long()
    for kind in ("sdpa", "eager"):
        bert = library.BertConfig(
            vocab_size=100, hidden_size=WIDTH, num_hidden_layers=3, num_attention_heads=HEADS,
            intermediate_size=128,
        )  # fmt: skip
        gpt2 = library.GPT2Config(vocab_size=100, n_embd=WIDTH, n_layer=3, n_head=HEADS)
        bart = library.BartConfig(
            vocab_size=100, d_model=WIDTH, encoder_layers=2, decoder_layers=2,
            encoder_attention_heads=HEADS, decoder_attention_heads=HEADS, encoder_ffn_dim=128,
            decoder_ffn_dim=128,
        )  # fmt: skip
        for model, config in (
            (library.BertModel, bert),
            (library.GPT2Model, gpt2),
            (library.BartModel, bart),
        ):
            yield (
                f"transformers {model.__name__}, {kind}",
                model._from_config(config, attn_implementation=kind),
                lambda made: made(ids, attention_mask=seen)[0],
            )


def main() -> None:
    torch.manual_seed(1)
    print(f"{'model':48} {'sites':>5} {'largest difference':>18} {'rows off 0 or 1':>15}")
    for cases in (ours(), torchs(), transformers()):
        for name, model, run in cases:
            with torch.inference_mode(), record(model.eval(), verify=True) as trace:
                run(model)
            off = max(
                float(torch.minimum((total - 1.0).abs(), total.abs()).max())
                for site in trace
                for total in [site.weights.sum(-1)]
            )
            print(f"{name:48} {len(trace):5} {trace.largest_difference:18.2e} {off:15.2e}")


if __name__ == "__main__":
    main()
