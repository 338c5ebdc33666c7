"""What decoders refuse, in words."""

from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.core.errors import shape_text, shapes_text
from regard.core.scores import Score
from regard.layers.borders import check_whole_ids, unknown_id_text
from regard.layers.decoders.decoder import DecoderState
from regard.layers.encoder import Encoded
from regard.layers.transformer_encoder import TransformerEncoded


def check_score(score: object, *, hidden_dim: int, state_dim: int, caller: str) -> None:
    """A score that compares the decoder's states with the encoder's.

    Raises:
        TypeError: not a score.
        ValueError: one for other widths, or for several heads.
    """
    fix = f"make_score('general', query_dim={hidden_dim}, key_dim={state_dim})"
    if not isinstance(score, Score):
        raise TypeError(
            f"{caller}: score={score!r} is a {type(score).__name__}. It must be a Score, which "
            f"holds its own parameters. Write score=scores.{fix}, for example."
        )
    query_dim = hidden_dim if score.query_dim is None else score.query_dim
    key_dim = query_dim if score.key_dim is None else score.key_dim
    if (query_dim, key_dim) != (hidden_dim, state_dim) or score.num_heads is not None:
        raise ValueError(
            f"{caller}: score is {score!r}, with hidden_dim={hidden_dim} and "
            f"state_dim={state_dim}. Its queries are the decoder's states, hidden_dim wide, its "
            "keys the encoder's, state_dim wide, and there are no heads; a dot product needs both "
            f"of one width. Write score=scores.{fix}, for example."
        )


def check_encoded(encoded: object, *, state_dim: int, caller: str) -> None:
    """A source as an encoder returned it, as wide as the decoder was built for.

    Raises:
        TypeError: not an ``Encoded``.
        ValueError: other widths.
    """
    if not isinstance(encoded, Encoded):
        raise TypeError(
            f"{caller}: encoded is a {type(encoded).__name__}. It must be the Encoded that an "
            "encoder returned, whole. Write decoder(encoder(source, lengths), tokens)."
        )
    states, final = encoded.states, encoded.final
    if states.shape[-1] != state_dim or final.shape[-1] != state_dim:
        raise ValueError(
            f"{caller}: encoded has {shapes_text(states=states, final=final)}, but the decoder was "
            f"built for state_dim={state_dim}. Build it with state_dim=encoder.state_dim."
        )
    if states.dim() != 3 or final.dim() != 3 or states.shape[0] != final.shape[1]:
        raise ValueError(
            f"{caller}: encoded has {shapes_text(states=states, final=final)}. They must be "
            "(batch, source_len, state_dim) and (num_layers, batch, state_dim). "
            "Pass what the encoder returned."
        )


def check_step(tokens: object, state: object, *, caller: str) -> None:
    """One token for each example of the state.

    Raises:
        TypeError: not a state, or not tokens.
        ValueError: shapes that do not fit.
    """
    if not isinstance(state, DecoderState):
        raise TypeError(
            f"{caller}: state is a {type(state).__name__}. It must be a DecoderState, from "
            "decoder.begin(encoded) or the step before. Write decoder.step(tokens, state)."
        )
    check_whole_ids(tokens, caller=caller, name="tokens", axes="(batch,)")
    assert isinstance(tokens, Tensor)
    _check_batch(tokens, state.value, caller=caller)


def check_target(tokens: object, encoded: Encoded | TransformerEncoded, *, caller: str) -> None:
    """A target for each source, with its begin token at least.

    Raises:
        TypeError: not tokens.
        ValueError: shapes that do not fit, or empty targets.
    """
    check_whole_ids(tokens, caller=caller, name="tokens", axes="(batch, target_len)")
    assert isinstance(tokens, Tensor)
    _check_batch(tokens, encoded.states, caller=caller)
    if tokens.shape[1] == 0:
        raise ValueError(
            f"{caller}: tokens {shape_text(tokens.shape)} are empty. A target is shifted right, so "
            "it has its begin token at least. Put the begin token first."
        )


def embed(
    embedding: nn.Embedding, tokens: Int[Tensor, "*batch"], *, caller: str
) -> Float[Tensor, "*batch embed_dim"]:
    """The embedding of each token.

    Raises:
        ValueError: an id that is not the vocabulary's. On a GPU it is torch that stops, later.
    """
    try:
        return embedding(tokens)
    except IndexError:  # costs nothing while all is well, unlike a look at every id
        vocab_size = embedding.num_embeddings
        wrong = (tokens < 0) | (tokens >= vocab_size)
        message = unknown_id_text(tokens, wrong, vocab_size=vocab_size, caller=caller)
    raise ValueError(message)


def _check_batch(tokens: Tensor, states: Tensor, *, caller: str) -> None:
    if tokens.shape[0] != states.shape[0]:
        raise ValueError(
            f"{caller}: {shapes_text(tokens=tokens, states=states)}. There must be as many targets "
            f"as sources: no axis is stretched silently. Give a batch of {states.shape[0]}."
        )
