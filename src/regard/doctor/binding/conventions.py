"""Conventions that the code states in words: the score, the layout, what True means in a mask."""

# ruff: noqa: E501  (a pattern reads best on one line)

import re
from collections.abc import Collection
from dataclasses import dataclass

from regard.doctor.binding.roles import is_parameter
from regard.doctor.binding.shapes import without_shapes
from regard.doctor.binding.subject import Subject

_HIDES = (
    r"\b(no|not|never|cannot|can't|may not|must not|isn't|is not|non)\b[^,;.]{0,14}"
    r"(attend|visible|allowed|look|see|real|valid|part|count|exist|there)|\bpad(s|ding|ded)?\b|<pad>|ignor|"
    r"mask(ed|s)?\b|hid(e|es|den|ing)?\b|block|exclu|future|invalid|left? out|leave out|skip|drop(?!out)|"
    r"forbid|unseen|forbidden|disallow"
)
_SHOWS = (
    r"(non-?pad|not?[- ]pad|un-?masked|not (?:be )?(?:masked|hidden|ignored|padding))|\breal\b|\bvalid\b|\bkeep|\battend|"
    r"\bvisible|\ballow|\bpart\b|\bshow|\bseen\b|\bsee\b|\bpresent|\binclu|\blook|\bmay\b|\buse|"
    r"\b(?:that|which) (?:count|exist|are there)|\bactual"
)
_NOT = r"\b(?:not|non|no|never|un|unlike|without|than|instead of|in place of|isn't)"
_ADDED_MASK = r"\badditive (?:\w+[ -]){0,1}\w*(?:mask|bias)|(?:mask|bias)\w*`?(?: is| are|,|:)? (?:an )?additive(?! (?:att|scor|align))"
_THINGS = r"\b(?:tokens?|words?)\b"  # "1 for tokens", but "1 where the token is padding"
_TRUE = r"\b(?:true|ones|(?:a|is|are) one|1s?|non-?zero)\b"
_FALSE = r"\b(?:false|zeros?|0s?)\b"


@dataclass(frozen=True)
class Stated:
    """What words say; "" or None where they say nothing."""

    score: str = ""
    layout: str = ""  # "batch_first" or "length_first"
    mask_true: str = ""  # "attends" or "hides"
    additive_mask: bool = False
    byte_mask: bool = False  # its 0 and 1 are bytes
    convention: str = ""
    causal: bool = False
    layout_given: bool = False  # by a person: no other is tried


def read_conventions(subject: Subject, mask_name: str) -> Stated:
    """Everything that the subject's own words say."""
    docs = re.sub(r"(?m)^\s*(>>>|\.\.\.) .*\n?", "", subject.docs)  # examples state nothing
    words = f"{_spaced(subject.name)}\n{docs}".lower()
    plain = without_shapes(docs)
    added = bool(mask_name) and _is_added(plain, mask_name)
    own = ""
    if mask_name and not added:
        own = _mask_polarity(plain, mask_name) or _polarity_of_name(mask_name)
        own = own or _mask_polarity(plain, "")
    return Stated(
        score=_score(subject, words),
        layout=_layout(words, subject.code),
        mask_true=own,
        additive_mask=added or _is_bias(docs, mask_name, own),
        byte_mask=_is_bytes(plain, mask_name),
        convention=_convention(words),
        causal=_is_causal(subject, words),
    )


def batch_first(subject: Subject) -> bool | None:
    """The switch `batch_first` of an instance, or its default in a constructor."""
    if subject.kind == "class":
        switch = subject.init.get("batch_first")
        return switch.default if switch and isinstance(switch.default, bool) else None
    own = vars(subject.target).get("batch_first") if hasattr(subject.target, "__dict__") else None
    return own if isinstance(own, bool) else None


# A setting's own words for the scores.
_NAMED = {"mlp": "additive", "bahdanau": "additive", "bilinear": "general"}
_NAMED |= {name: name for name in ("dot", "general", "additive", "concat", "scaled_dot")}
_SETTING = r"method|score(_?(type|name|fn|func\w*|mode))?|(attn|attention|align\w*)_?(type|method|func\w*|mode|score)"


def _score_set(subject: Subject) -> str:
    """The score that an instance was built with, or that a constructor builds by default."""
    own = dict(getattr(subject.target, "__dict__", {})) if subject.kind == "instance" else {}
    settings = subject.init if subject.kind == "class" else subject.call
    given = {name: parameter.default for name, parameter in settings.items()}
    for name, value in {**given, **own, **own.get("_modules", {})}.items():
        if re.fullmatch(_SETTING, name):
            word = value if isinstance(value, str) else _spaced(type(value).__name__)
            found = _NAMED.get(re.sub("[- ]", "_", word.lower()), "")
            if found:
                return found
    return ""


def _spaced(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])|_", " ", name)


def _score(subject: Subject, words: str) -> str:
    code, names = subject.code, [*subject.call, *subject.init]
    if found := _score_set(subject):
        return found
    if re.search(r"\b(?:leaky ?)?relu", words):
        return "unknown"
    name = _spaced(subject.name).lower()
    if re.search(r"multi ?-?head|(?<!un)scaled ?dot", name) and "tanh" not in code:
        return "scaled_dot"
    said = re.sub(rf"{_NOT}[ -]?(?:as |the |a |an )?[`'\"]?scaled\b|\bunscaled\b", "", words)
    if re.search(r"\bscaled[ -]?dot\b", said) and not re.search("tanh|relu", code):
        return "scaled_dot"
    general = r"(?<!in )\b(general|bilinear|multiplicative)\b"
    product = r"\b[shq](_\w{1,2})?(\^t|\.t|\^⊤|ᵀ|t)?[ ·@*]{0,3}w(_?a)?[ ·@*]{0,3}[hk](_\w{1,2})?\b"
    if re.search(f"{general}|{product}", words) and _has_matrix(subject):
        return "general"
    if re.search(r"\bconcat\b", words) and "luong" in words:
        return "concat"
    additive = r"bahdanau|\badditive(?!ly)|1409\.0473|\bmlp\b|\bv(_?a)?(\^t|\.t|ᵀ)? ?[*·@]? ?tanh"
    if re.search(additive, re.sub(_ADDED_MASK, "", words)):
        return "additive"
    if re.search(r"\bconcat", words) and "tanh" in code and "torch.cat" in code:
        return "concat"
    if re.search(
        r"\bscaled\b|sqrt ?\(|√|transformer|multi ?-?head|attention is all you need|\bd_k\b|1706\.03762|\bgrouped[- ]?(quer|attention|head|key|multi)",
        said,
    ):
        return "scaled_dot"
    linear = re.search(
        r"self\.(W|W_a|Wa|attn|general|score|linear_in|W_general) *= *nn\.Linear", code
    )
    if "luong" in words and linear and "tanh" not in code:
        return "general"
    weights = [n for n in names if re.fullmatch(r"[WUw](_?\w{1,2})?|W|v_?a?", n)]
    if "luong" in words or re.search(r"\bdot\b|dot-product", words):
        if re.search(r"sqrt|\*\* ?-?0?\.5|scale", code):
            return "scaled_dot"
        return "general" if "W" in names or "W_a" in names else "dot"
    if "tanh" in code or {"U_a", "v_a"} & set(names) or "U" in names:
        return "additive" if "U_a" in weights or "v_a" in weights or "tanh" in code else "unknown"
    if "scaled_dot_product_attention" in code or "MultiheadAttention" in code:
        return "scaled_dot"
    if re.search(r"sqrt|\*\* ?\(?-?0?\.5|rsqrt|scal(?!ar)|heads", code):
        return "scaled_dot"
    return "general" if "W" in names else "unknown"


def _has_matrix(subject: Subject) -> bool:
    """Whether there is anything that W could be: an argument, a layer, a name in the code."""
    named = any(is_parameter(name) for name in subject.call)
    return named or bool(re.search(r"Linear|Bilinear|Parameter|Dense|\bW\w{0,8}\b", subject.code))


def _layout(words: str, code: str) -> str:
    first = re.search(
        r"\b(length|time|seq(uence)?)[- _]?(len\w* )?(first|major)|[\(\[]time, batch|\bseq\w*, b\b|\bt, b, ?[a-z]|\bl, b, ?[a-z]|"
        r"\b(src|seq|tgt|source|max|target)[ _]?\w*len\w*(, ?| ?[x×] ?| )(batch(_?size)?|b|bsz|bs|n)\s*[,x×\)\]]|\(t, ?n, |[\(\[](time ?)?steps, batch",
        re.sub(rf"{_NOT}[ -]?(?:length|time|sequence)[- _]?(?:first|major)", "", words),
    )
    unpacked = re.search(
        r"\b(seq\w*|t|l|src_len|tgt_len|max_len|length), ?(b|bs|bsz|batch\w*|n)\b,?[^=\n]*= ?\w+\.(shape|size)",
        code.lower(),
    )
    if first or unpacked:
        return "length_first"
    if re.search(r"batch[- _]?first|\(b\w*, ?\w+(, ?\w+)+\)|\[b\w*, ?\w+(, ?\w+)+\]", words):
        return "batch_first"
    if re.search(
        r"\b(b|bs|bsz|batch\w*|n), ?(t|l|n|s|seq\w*|\w*len\w*), ?\w+ ?= ?\w+\.(shape|size)",
        code.lower(),
    ):
        return "batch_first"
    moves = re.search(r"batch_first|transpose|permute|swap|movedim|rearrange|\.t\(|\.m?T\b", code)
    return "length_first" if "nn.MultiheadAttention(" in code and not moves else ""


def _mask_polarity(docs: str, mask_name: str) -> str:
    """What True or 1 does, from the passages that speak of this mask, or without a name of any."""
    for passage in _passages(docs, mask_name):
        own = len(re.split(r"\W", passage, maxsplit=1)[0])  # the mask's name, which is no verdict
        for marker, flip in ((_TRUE, False), (_FALSE, True)):
            for match in re.finditer(marker, passage):
                clause = re.split(
                    r"[;.\n]|, (?=false|true|0|1|zero)|,? (?:and|or)? ?\b(?:0|false|zeros?)\b|\b(?:else|otherwise)\b",
                    passage[match.end() :],
                )[0][:70]
                verdict = _verdict(clause) or _verdict(
                    passage[max(own, match.start() - 30) : match.start()]
                    .split(",")[-1]
                    .split(";")[-1]
                )
                if verdict:
                    return (
                        verdict if not flip else {"hides": "attends", "attends": "hides"}[verdict]
                    )
    return ""


def _verdict(clause: str) -> str:
    shows, hides = re.search(_SHOWS, clause), re.search(_HIDES, clause)
    if shows and hides:
        return (
            "attends"
            if shows.start() < hides.start() and shows.start() != hides.start()
            else ("attends" if shows.start() == hides.start() and shows.group(1) else "hides")
        )
    if hides:
        return "hides"
    return "attends" if shows or re.search(_THINGS, clause) else ""


def _passages(docs: str, mask_name: str) -> list[str]:
    """From each mention of the mask to the end of its paragraph, or to the next argument's line."""
    lowered = docs.lower()
    name = rf"(?<!\w){re.escape(mask_name.lower())}(?!\w)" if mask_name else r"\bmask"
    mentions = [m.start() for m in re.finditer(name, lowered)]
    argument = r"(?!true|false|ones?\b|zeros?\b|[01]\b|note|warning)[a-z_]\w*(?: ?\([^)\n]*\))?: "
    ends = rf"\n\n|\n\s*:(?:param|return)|\n\s*{argument}"
    return [re.split(ends, lowered[at : at + 220])[0] for at in mentions]


def _polarity_of_name(name: str) -> str:
    shown = "keep|valid|visible|allowed|attend|real"
    if re.search(
        rf"(?:not?_|non|in|dis|un)({shown})|block|ignor|hid(e|den)|key_padding_mask", name
    ):
        return "hides"
    attends = r"keep|valid|visible|allowed|may_attend|is_real|^attention_mask$|\bno[nt]?_?pad"
    return "attends" if re.search(attends, name) else ""


def _is_added(docs: str, name: str) -> bool:
    """Whether the passages on this mask say that it is added, and nothing of what True does."""
    near = " ".join(_passages(docs, name))
    added = r"\badded (?:on)?to\b|\badditive\b|\badds? to the (?:scores|logits|energies)"
    numbers = r"\b(?:0(?:\.0)?|zeros?)\b[^.\n]{0,40}[-−] ?(?:inf|∞|1e\d)|[-−] ?(?:inf|∞|1e\d)[^.\n]{0,40}\b(?:0(?:\.0)?|zeros?)\b"
    return bool(re.search(f"{added}|{numbers}", near)) and not re.search(_TRUE, near)


def _is_bias(docs: str, name: str, polarity: str) -> bool:
    if re.search(r"bias|additive|alibi", name):
        return True
    near = " ".join([*_passages(docs, name), *_passages(docs, "")]) if name else ""
    return not polarity and bool(re.search(r"-\s?inf|added to|additive|-1e9", near))


def _is_bytes(docs: str, name: str) -> bool:
    passages = _passages(docs, name) if name else []
    return any(re.search(r"\buint8\b|\bbyte ?tensor", passage) for passage in passages)


def _convention(words: str) -> str:
    found = {name for name in ("bahdanau", "luong") if name in words}
    return found.pop() if len(found) == 1 else ""


def _is_causal(subject: Subject, words: str) -> bool:
    flags: Collection[str] = [*subject.call, *subject.init]
    if any(re.search("causal", name) for name in flags):
        return False
    said = re.search(r"\bcausal", re.sub(rf"{_NOT}[ -]?(?:an? |any |the )?causal", "", words))
    done = re.search(r"\btril|\btriu|is_causal ?= ?True|generate_square_subsequent", subject.code)
    return bool(done) or bool(said and "mask" not in flags)
