"""Strings in, strings out: a network with the tokenizers and vocabularies it was trained with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from os import PathLike
from typing import Any, NamedTuple, TypeAlias

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from regard.core.errors import shape_text
from regard.models import folder
from regard.models.config import Seq2SeqConfig
from regard.models.families import config_from_json, make_config
from regard.models.seq2seq import Seq2Seq
from regard.models.transformer_config import TransformerConfig
from regard.text import BpeTokenizer, Tokenizer, Vocabulary, tokenizer

_Config: TypeAlias = Seq2SeqConfig | TransformerConfig


class Side(NamedTuple):
    """How one side's strings become ids and back."""

    tokenizer: Tokenizer
    vocabulary: Vocabulary

    @classmethod
    def build(
        cls, tokenizer_name: str, texts: Iterable[str], *, num_pieces: int | None = None
    ) -> Side:
        """The side whose vocabulary is every token of the texts; with ``"bpe"`` every piece.

        Args:
            tokenizer_name: one of :data:`regard.text.TOKENIZERS`.
            texts: the texts to learn from.
            num_pieces: of ``"bpe"``; None for 4000.

        Raises:
            ValueError: an unknown name, or a number of pieces that cannot be or has no use.
        """
        if tokenizer_name == BpeTokenizer.name:
            chosen = {} if num_pieces is None else {"num_pieces": num_pieces}
            learned = BpeTokenizer.learn(texts, **chosen)
            return cls(learned, Vocabulary(learned.pieces))
        if num_pieces is not None:
            raise ValueError(
                f"num_pieces={num_pieces} with {tokenizer_name}. Only bpe learns pieces. Leave it "
                "out, or choose bpe."
            )
        cutter = tokenizer(tokenizer_name)
        return cls(cutter, Vocabulary.build(cutter.tokenize(text) for text in texts))

    def to_json(self) -> dict[str, Any]:
        """Plain data that :meth:`from_json` reads again."""
        told = {"tokenizer": self.tokenizer.name, "vocabulary": self.vocabulary.to_json()}
        if isinstance(self.tokenizer, BpeTokenizer):
            told |= self.tokenizer.to_json()
        return told

    @classmethod
    def from_json(cls, data: object) -> Side:
        """The side that :meth:`to_json` told of.

        Raises:
            ValueError: anything else.
        """
        match data:
            case {"tokenizer": BpeTokenizer.name, "vocabulary": vocabulary}:
                learned, known = BpeTokenizer.from_json(data), Vocabulary.from_json(vocabulary)
                if known.tokens != learned.pieces:
                    raise ValueError("its vocabulary is not the pieces that its merges make.")
                return cls(learned, known)
            case {"tokenizer": str(name), "vocabulary": vocabulary}:
                return cls(tokenizer(name), Vocabulary.from_json(vocabulary))
        raise ValueError("a side is a dict with tokenizer, a name, and vocabulary.")

    def encode(self, text: str) -> list[int]:
        """Ids of a string's tokens."""
        return self.vocabulary.encode(self.tokenizer.tokenize(text))

    def decode(self, ids: Iterable[int]) -> str:
        """The string of some ids."""
        return self.tokenizer.join(self.vocabulary.decode(ids))


class Translator:
    """A trained (or fresh) encoder-decoder over strings.

    ``regard.search.predict(translator, sources)`` decodes; :meth:`align` aligns a known target;
    :meth:`save_pretrained` writes a folder of ``config.json``, ``tokenizer.json`` and
    ``model.safetensors`` that :meth:`from_pretrained` reads.

    >>> source = Side.build("characters", ["abc"])
    >>> target = Side.build("whitespace", ["AE B K"])
    >>> translator = Translator.fresh(source, target, hidden_dim=8)
    >>> translator.align("cab", "K AE B").shape
    torch.Size([3, 3])
    """

    def __init__(
        self, network: Seq2Seq, source: Side, target: Side, *, frozen_scores: bool = False
    ) -> None:
        self.network, self.source, self.target = network, source, target
        self.frozen_scores = frozen_scores
        """Whether it was trained with its scores left as they were drawn."""

    @classmethod
    def fresh(
        cls, source: Side, target: Side, *, model: str = "rnn", **choices: object
    ) -> Translator:
        """An untrained one.

        Args:
            source, target: how strings become ids.
            model: ``"rnn"`` or ``"transformer"``.
            choices: those of :class:`Seq2SeqConfig`, or of :class:`TransformerConfig`.

        Raises:
            TypeError: a choice of another type.
            ValueError: a choice that the model does not have, or a wrong one.
        """
        config = make_config(
            model,
            source_vocab_size=len(source.vocabulary),
            target_vocab_size=len(target.vocabulary),
            **choices,
        )
        return cls(Seq2Seq(config), source, target)

    def with_network(self, network: nn.Module) -> Translator:
        """The same tokenizers and vocabularies around another network of the same config."""
        assert isinstance(network, Seq2Seq)
        return Translator(network, self.source, self.target, frozen_scores=self.frozen_scores)

    @torch.inference_mode()
    def align(self, source: str, target: str) -> Float[Tensor, "target_len source_len"]:
        """The weights with which a known target attends to its source, a row per target token.

        Raises:
            ValueError: the model has no attention, a string has no tokens, or a weight is not
                finite.
        """
        if self.network.config.attention == "none":
            raise ValueError(
                "align: this model was trained with attention 'none', so it has no weights. "
                "Train one with attention."
            )
        source_ids, target_ids = self.source.encode(source), self.target.encode(target)
        for name, ids, text in (("source", source_ids, source), ("target", target_ids, target)):
            if not ids:
                raise ValueError(
                    f"align: the {name} {text!r} has no tokens. Give at least one token."
                )
        self.network.eval()
        decoded = self.network(
            torch.tensor([source_ids]),
            torch.tensor([len(source_ids)]),
            torch.tensor([[Vocabulary.BEGIN, *target_ids[:-1]]]),
            need_weights=True,
        )
        weights: Tensor = decoded.weights[0]
        if not weights.isfinite().all():
            raise ValueError(
                "align: the model's weights for this pair are not finite numbers (NaN or infinite)"
                ". Nothing is aligned by them. Find where they arise: look at the parameters first."
            )
        return weights

    def save_pretrained(self, path: str | PathLike[str]) -> None:
        """Write the model's folder; existing files of a model are replaced."""
        folder.save(
            path,
            config=self.network.config.to_json(),
            training={"frozen_scores": self.frozen_scores},
            tokenizers={
                name: side.to_json()
                for name, side in (("source", self.source), ("target", self.target))
            },
            weights=self.network.state_dict(),
        )

    @classmethod
    def from_pretrained(cls, path: str | PathLike[str]) -> Translator:
        """Read a model's folder. Nothing in it is executed.

        Raises:
            TypeError: ``path`` is no path.
            ModelFolderError: the folder is missing, damaged, or not a model of this library.
        """
        saved = folder.load(path)
        with folder.errors_as_damage(path):
            config = config_from_json(saved.config)
            source, target = (_side(saved.tokenizers, name) for name in ("source", "target"))
            _check_sizes(config, source, target)
            with torch.device("meta"), _NothingDrawn():  # takes no memory, whatever the sizes
                network = Seq2Seq(config)
            _check_weights(config, network.state_dict(), saved.weights)
            weights = {
                name: part.to(torch.float32, copy=True) for name, part in saved.weights.items()
            }
            _check_finite(weights)
            network.load_state_dict(weights, assign=True)
            frozen_scores = saved.training.get("frozen_scores", False)
            if not isinstance(frozen_scores, bool):
                raise ValueError(
                    f"config.json says frozen_scores {frozen_scores!r:.40}, which is neither true "
                    "nor false."
                )
        return cls(network.eval(), source, target, frozen_scores=frozen_scores)


class _NothingDrawn(TorchFunctionMode):
    """Random numbers for no memory would cost the import of torch's compiler, two seconds."""

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        given = kwargs or {}
        if func in (torch.Tensor.normal_, nn.init.normal_, nn.init.orthogonal_):
            return args[0] if args else given["tensor"]
        return func(*args, **given)


def _side(tokenizers: dict[str, object], name: str) -> Side:
    try:
        return Side.from_json(tokenizers.get(name))
    except ValueError as error:
        raise ValueError(f"tokenizer.json says nothing usable about the {name}: {error}") from None


def _check_sizes(config: _Config, source: Side, target: Side) -> None:
    for name, side, size in (
        ("source", source, config.source_vocab_size),
        ("target", target, config.target_vocab_size),
    ):
        if len(side.vocabulary) != size:
            raise ValueError(
                f"the {name} vocabulary has {len(side.vocabulary)} ids but config.json says {size}."
            )


def _check_weights(
    config: _Config, expected: Mapping[str, Tensor], saved: Mapping[str, Tensor]
) -> None:
    """Refuse weights that are not those of the config, by the first tensor that tells."""
    apart = "model.safetensors and config.json do not belong together"
    for name in sorted(expected.keys() ^ saved.keys()):
        has, lacks = "the file", "the config makes none"
        if name in expected:
            has, lacks = "the config", "the file has none"
        raise ValueError(f"{apart}: {name} is in {has}, {lacks}.")
    for name, part in saved.items():
        if not part.is_floating_point():
            raise ValueError(
                f"{apart}: {name} holds {str(part.dtype).removeprefix('torch.')} in the file, not "
                "floating-point numbers."
            )
    wrong = [name for name in expected if expected[name].shape != saved[name].shape]
    if wrong:
        first = wrong[0]
        raise ValueError(
            f"{apart}: {first} is {shape_text(saved[first].shape)} in the file, "
            f"{shape_text(expected[first].shape)} by the config."
            f"{_suspects(config, expected, saved)}"
        )


def _check_finite(weights: Mapping[str, Tensor]) -> None:
    """One NaN, and every prediction may be NaN: refused here, where it can be named."""
    for name, part in sorted(weights.items()):
        num_wrong = int((~part.isfinite()).sum())
        if num_wrong:
            raise ValueError(
                f"{num_wrong} of the {part.numel()} numbers of {name} in model.safetensors are NaN "
                "or infinite."
            )


def _suspects(config: _Config, expected: Mapping[str, Tensor], saved: Mapping[str, Tensor]) -> str:
    """The fields of the config whose value is the size of an axis that is wrong."""
    sizes = {
        by_config
        for name, tensor in expected.items()
        if tensor.dim() == saved[name].dim()
        for by_config, in_file in zip(tensor.shape, saved[name].shape, strict=True)
        if by_config != in_file
    }
    fields = [
        f"{name}={value}"
        for name, value in config.to_json().items()
        if name.endswith(("_dim", "_size")) and value in sizes
    ]
    return f" Look at {' and '.join(fields)} in config.json." if fields else ""
