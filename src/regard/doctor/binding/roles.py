"""Roles by name: what people call a query, a key, a mask, a projection, a width."""

# ruff: noqa: E501  (a pattern reads best on one line)

import inspect
import re
from collections.abc import Mapping

from regard.doctor.binding.binding import Slot

_ENC = r"(enc|encoder|src|source|encoded|context)"
_DEC = r"(dec|decoder|tgt|target)"

# The first pattern that matches wins.
_CALL: tuple[tuple[str, str], ...] = (
    ("query_lengths", r"(tgt|target|trg|query|q|dec|decoder)_?(len|lens|length|lengths)"),
    ("lengths", r"(valid|src|source|enc|encoder|key|memory|input|x|seq|context)?_?(len|lens|length|lengths|lengh?ts?)|valid_?lens?|num_valid|n_valid|sizes"),
    ("causal", r"(is_)?causal|use_causal_mask|autoregressive"),
    ("flag", r"(need|return|output|with|get)_?\w*(weight|weights|attn|attention|attentions|alpha|alphas|scores)\w*"),
    ("training", r"(is_)?train(ing)?"),
    ("pair_mask", r"(attn|attention|pair|causal|score|look_?ahead|tgt|self_attn|dec|decoder)_?(mask|bias)|bias|attn_bias|additive_mask|alibi|mask_2d|position_bias|rel_pos_bias"),
    ("mask", r"\w*mask\w*|keep|valid|visible|allowed|may_attend|\w*pad(ding|s|ded)?\w*|block(ed)?|ignore|hide|hidden_keys|is_real"),
    ("cell", r"c|cell|cell_state|c_?(t|prev|tm1|n)|(dec|decoder)_?cell|prev_cell"),
    ("feed", r"(prev(ious)?|last|input)_?(context|att|attn|attention|attentional|feed|att_vector|ctx)\w*|(context|ctx)_?(prev|vec|vector)?|input_feed|h_?tilde|attentional(_state)?|ctx"),
    ("token", r"token|tokens|word|(input|target|tgt|dec|prev|y|current|last|decoder|trg)_?(ids?|tokens?|words?|step|input|x|seq|y|embed\w*)|input|inp|inputs|y|y_?(t|prev|tm1|in)|emb|embed|embedded|embedding|word_emb\w*|x_t|trg|tgt|prev_y"),
    ("key", rf"k|ks|key|keys|memory|memories|mem|memory_bank|h|hs|H|h_?j|{_ENC}|{_ENC}_?(out|outs|output|outputs|state|states|h|hs|hidden|hiddens|hidden_states|annotations|seq|sequence|feats|features|steps|memory)|annotations?|{_ENC}s|k_states|key_states|kv|keys_values|context_vectors|states|all_states|candidates|bank|items|features|encodings?|proj(ected)?_keys?|key_proj\w*"),
    ("value", r"v|vs|val|vals|value|values|value_states|v_states|memory_values|contents?"),
    ("query", rf"q|qs|query|queries|s|S|s_?(t|i|prev|tm1|t_1|t_minus_1)|state|hidden|hid|hiddens|h_?(t|dec|prev|s|tm1)|{_DEC}|{_DEC}_?(out|output|outputs|state|states|h|hid|hidden|hiddens|hidden_states?|query)|(prev|previous|current|last|rnn|lstm|gru)_?(state|hidden|s|h|output|out)|ht|st|q_states|query_states|target_states|cell_output|summary|probe|z|lstm_out"),
    ("x", r"x|xs|X|seq|sequence|sequences|hidden_states|embeddings|embs|inputs?|input_seq|tokens_emb|feats|token_embeddings|data|batch|h_in"),
    ("scale", r"scale|scaling|temperature|tau|factor|sm_scale|softmax_scale"),
    ("heads", r"(n|num|nb|number_of|no_of)_?(attention_?|attn_?|q_?|query_?)?heads?|heads|nhead|h_num|n_h"),
    ("dropout", r"\w*(dropout|drop|p_drop)\w*"),
)  # fmt: skip

_PARAMETER = re.compile(
    r"[WUwu](\d|_\w{1,5}|[a-z]?|_?(query|key|value|out|state|score|hidden|attn|dec|enc|decoder|encoder))"
    r"|[bv]_?(a|att|attn|w|1|2|out|t|s|score|weight|vec)|(bias|weight)_\w+|\w+_(weight|bias|matrix)"
    r"|M|proj_\w+|v_\w{1,4}|b"
)

_INIT: tuple[tuple[str, str], ...] = (
    ("dropout", r"\w*(dropout|drop|p_drop)\w*|p"),
    ("kv_heads", r"(n|num)_?(kv|key_value)_?heads|num_key_value_heads|kv_heads"),
    ("num_heads", r"heads?_(count|num)|(n|num|nb|number_of)_?(attention_?|attn_?|q_?|query_?)?heads?|heads|nhead|n_h|h"),
    ("head_dim", r"(d|dim)_?(head|per_head)|head_?(dim|size|width)|dim_head|d_k|d_v|dk|dv"),
    ("vocab", r"\w*(vocab|ntoken|num_embeddings)\w*|(n|num)_(tokens?|chars?|characters|symbols|words|classes|types|ids)|output_(size|dim)|out_(size|voc)|num_words"),
    ("embed_dim", r"(emb|embed|embedding|word|emb_?d|input|in|inp|x)_?(dim|size|d|dims|features|channels)?|(d|dim|n|num|c|ch)_(emb|embed|embedding|word|input|inp|in)"),
    ("max_len", r"(max|maximum|block|context|ctx)_?(len|length|size|seq_len|src_len|positions?|window)\w*|max_\w*len\w*|T|n_ctx|seq_len"),
    ("window", r"window(_size)?|radius|(half|band|window)_?width"),
    ("layers", r"(n|num)_?layers"),
    ("value_dim", r"(v|value|values)_?(dim|size|width|d|dims|features|hidden)|d_?val(ue)?|dim_v(alue)?|vdim|(n|num|c|ch)_(val|value|values)"),
    ("key_dim", rf"(k|key|keys|memory|mem|kv|{_ENC}|annotation|context|ctx)_?(hid(den)?_?)?(dim|size|width|d|dims|features|units|hidden|hid)|(d|dim)_?(k|key|enc|encoder|h|memory|mem|src|kv|context)|(d|dim|n|num|c|ch|size)_(key|keys|enc|encoder|memory|mem|src|source|ctx|context|annotation)|kdim|enc_hid|h_dim|d_h|{_ENC}_(hid|hidden|h)_(dim|size)|states_dim"),
    ("query_dim", rf"(q|query|queries|{_DEC}|state|s)_?(hid(den)?_?)?(dim|size|width|d|dims|features|units|hidden|hid)|(d|dim)_?(q|query|dec|decoder|s|state|tgt)|(d|dim|n|num|c|ch|size)_(query|queries|dec|decoder|state|tgt|target|trg)|qdim|dec_hid|{_DEC}_(hid|hidden|h|state)_(dim|size)"),
    ("attn_dim", r"(a|attn|att|attention|align(ment)?|score|proj|projection|inner|mid|alignment_hidden|energy|common|joint)_?(hid(den)?_?)?(dim|size|width|d|dims|units|features|hidden)|(d|dim)_?(a|att|attn|attention|align)|(d|dim|n|num|c|ch|size)_(att|attn|attention|align|score|proj|inner|mid)|units|num_hiddens|attn_units|n_att"),
    ("width", r"(d|dim|n)_?(model|hid|hidden|embd?)|hid(den)?_?(dim|size|d|units|features)?|width|dim|d|hidden_size|n_embd|channels|embed_dim|model_dim|feature_?(dim|size)|size|features?|feats?|units|num_units|n_hidden|n_units|(n|num|d|dim)_?(feat|feats|feature|features|channels|units)|d_hidden|channels?|H|D"),
)  # fmt: skip


# Names that mean another thing beside a clearer one.
_WEAK = re.compile(
    r"states|source|src|context|enc|h|H|items|features|hidden|x|z|h_?j|bank|context_vectors"
)


def call_role(name: str) -> str:
    """The role that a name of the call suggests, "" where it suggests none."""
    for role, pattern in _CALL:
        if re.fullmatch(pattern, name) or re.fullmatch(pattern, name.lower()):
            return role
    return ""


def is_parameter(name: str) -> bool:
    """Whether it is called as weights are: W_a, U, v_a, b, attn_weight."""
    return _PARAMETER.fullmatch(name) is not None


def is_prepared(name: str) -> bool:
    """Whether a key's name says that it was projected before the call."""
    return (
        re.fullmatch(
            r"(proj|prepared|projected|cached|pre)_?\w*|keys?_proj\w*|\w*_(proj|features)",
            name.lower(),
        )
        is not None
    )


def init_role(name: str) -> str:
    """The role that a constructor's argument plays, "" where the name suggests none."""
    if name in ("d_k", "dk", "d_v", "dv"):
        return "head_dim"
    for role, pattern in _INIT:
        if re.fullmatch(pattern, name) or re.fullmatch(pattern, name.lower()):
            return role
    return ""


def assign(
    call: Mapping[str, inspect.Parameter],
    bind: Mapping[str, str],
    *,
    has_embedding: bool,
    described: Mapping[str, str] | None = None,
) -> list[Slot]:
    """A slot for every argument of the call, by its name and by its neighbours' names.

    `described` are the roles that the code's words give to names.
    """
    stated = {name: "key" if role == "prepared_key" else role for role, name in bind.items()}
    names = list(call)
    described = described or {}
    guesses = {
        name: stated.get(name) or _guess(name, names) or described.get(name, "") for name in names
    }
    guesses.update(dict.fromkeys(_biases(call) - stated.keys(), "pair_mask"))
    numbers = {name for name, role in guesses.items() if role == "mask" and _is_number(call[name])}
    guesses.update(dict.fromkeys(numbers - stated.keys(), ""))  # block=64 is a size
    _give_way(guesses, names, stated)
    unnamed = {name for name, role in guesses.items() if not role}
    _settle(guesses, call, stated, has_embedding)
    guesses = {n: "mask" if r == "pair_mask" else r for n, r in guesses.items()}
    return [
        Slot(
            name,
            role or "unknown",
            value=_default(call[name]),
            required=_required(call[name]),
            guessed=name in unnamed,
            stated=name in stated,
        )
        for name, role in guesses.items()
    ]


def _biases(call: Mapping[str, inspect.Parameter]) -> set[str]:
    """`attn_bias=None` and its like, which are a mask to be added; beside W_a it is a weight."""
    optional = {n for n, p in call.items() if p.default is None and call_role(n) == "pair_mask"}
    weights = any(is_parameter(name) for name in call.keys() - optional)
    return set() if weights else optional


def _give_way(guesses: dict[str, str], names: list[str], stated: Mapping[str, str]) -> None:
    """What a statement puts out of its role takes the one that the stated argument had by name."""
    for name, role in stated.items():
        if role == "mask":  # several may be taken
            continue
        left = _guess(name, names)
        displaced = [n for n in names if guesses[n] == role and n not in stated]
        for other in displaced:
            guesses[other] = left if left not in guesses.values() else ""


def _guess(name: str, names: list[str]) -> str:
    lowered = {n.lower() for n in names}
    spelled = _letter(name)
    plain = len(name) == 1  # beside q and k, v_a is a weight
    letters = bool(spelled) and {"q", "k"} <= {_letter(n) for n in names if (len(n) == 1) == plain}
    if is_prepared(name) and "key" in name.lower() and {"values", "value", "memory"} & lowered:
        return "key"
    if not letters and is_parameter(name) and name not in ("v", "b", "u"):
        return "parameter"
    if name == "v" and not letters:
        others = [n for n in names if n != name and is_parameter(n)]
        return "parameter" if others else "value"
    if name in ("b", "u"):
        return "parameter"
    if letters:
        return {"q": "query", "k": "key", "v": "value"}[spelled]
    return call_role(name)


def _letter(name: str) -> str:
    """q, k or v where a name is that letter, maybe with a word: q_new, k_all; never a weight."""
    weight = r"a|att|attn|w|b|score|proj|weight|bias|lin|mask|len|pad|dim|size|scale"
    found = re.fullmatch(rf"([qkv])(?!_({weight})(_|s?$))(_\w+)?", name.lower())
    return found.group(1) if found else ""


def _settle(
    guesses: dict[str, str],
    call: Mapping[str, inspect.Parameter],
    stated: Mapping[str, str],
    has_embedding: bool,
) -> None:
    """Each sequence role once; what names leave open goes by position."""
    free = [n for n in guesses if n not in stated]
    roles = set(guesses.values())
    step = has_embedding or {"query", "key", "token"} <= roles
    for name in free:
        role = guesses[name]
        if role == "token" and not step:
            guesses[name] = "x" if re.match(r"inp|emb|x", name) else "query"
        if role == "x" and "key" in roles:
            guesses[name] = "token" if "query" in roles else "query"
        if role == "cell" and not ({"query"} <= roles and ("token" in roles or step)):
            guesses[name] = "key" if "key" not in roles else ""
        if role == "feed" and not step:
            guesses[name] = "key" if "key" not in roles or name == "context" else ""
        if role == "query" and name.lower() in ("hidden", "h_t") and "query" in roles - {role}:
            guesses[name] = ""
    for role in ("query", "key", "value", "token", "x"):
        taken = [n for n in guesses if guesses[n] == role]
        exact = [n for n in taken if n in stated]
        exact = exact or [n for n in taken if n.lower() in (role, role[0], role + "s")]
        strong = [n for n in taken if not _WEAK.fullmatch(n)]
        if not any(_required(call[n]) for n in taken):  # of optional ones the first is the usual
            strong = []
        keep = (exact or strong or taken)[:1]
        for name in taken:
            if name not in keep:
                guesses[name] = ""
    settled = set(guesses.values())
    left = [n for n in free if not guesses[n] and _required(call[n]) and not is_parameter(n)]
    if stated and left:
        settled.add("key")  # one that no name explains is left for it
    if {"query", "value"} <= settled and not {"key", "x"} & settled:  # what is averaged is compared
        guesses.update({n: "key" for n in free if guesses[n] == "value"})
    order = [r for r in ("query", "key", "value") if r not in guesses.values()]
    if "x" in guesses.values() and "key" not in guesses.values():
        order = []  # self-attention
    if "query" in guesses.values() and "key" not in guesses.values():
        order = ["key"]
    elif "key" in guesses.values() and "query" not in guesses.values():
        order = ["query"]
    else:
        order = order[:2] if len(order) == 3 else []
    for name in free:
        unnamed = guesses[name] == "" and _required(call[name]) and not is_parameter(name)
        if unnamed and order:
            guesses[name] = order.pop(0)
    for name in free:
        if guesses[name] == "x":
            guesses[name] = "query"


def _required(parameter: inspect.Parameter) -> bool:
    return parameter.default is inspect.Parameter.empty


def _default(parameter: inspect.Parameter) -> object:
    return None if _required(parameter) else parameter.default


def _is_number(parameter: inspect.Parameter) -> bool:
    return type(parameter.default) in (int, float) or parameter.annotation in (int, float, "int")
