"""``regard kernels``: which kernel would run, and why the others would not."""

import ast
import json
from typing import Annotated

import typer

DTYPES = ("float64", "float32", "bfloat16", "float16")
MASKS = ("lengths", "causal", "dense", "segments", "window")


def kernels(
    score: Annotated[
        str, typer.Option(help="additive, concat, dot, general or scaled_dot.")
    ] = "additive",
    mask: Annotated[
        str | None,
        typer.Option(
            help="Kind of mask: lengths, causal, dense, segments, window; or several, as in "
            "lengths&causal."
        ),
    ] = None,
    dtype: Annotated[str, typer.Option(help="float64, float32, bfloat16 or float16.")] = "float32",
    device: Annotated[str, typer.Option(help="cpu, cuda, ...")] = "cpu",
    batch: Annotated[int, typer.Option(help="Examples.", min=1)] = 64,
    query_len: Annotated[int, typer.Option(help="Queries per example.", min=1)] = 1,
    key_len: Annotated[int, typer.Option(help="Keys per example.", min=1)] = 12,
    dim: Annotated[
        int, typer.Option(help="Width of query, key, value and inside the score.", min=1)
    ] = 256,
    need_weights: Annotated[
        bool, typer.Option("--need-weights", help="Weights asked for.")
    ] = False,
    need_lse: Annotated[
        bool, typer.Option("--need-lse", help="Logsumexp of the scores asked for.")
    ] = False,
    bias: Annotated[bool, typer.Option("--bias", help="A bias is added to the scores.")] = False,
    dropout: Annotated[
        bool, typer.Option("--dropout", help="With dropout on the weights.")
    ] = False,
    grad: Annotated[
        bool, typer.Option("--grad", help="The call is differentiated, as in training.")
    ] = False,
    prepared: Annotated[
        bool,
        typer.Option("--prepared", help="The key is what score.prepare(key) gave, as in decoding."),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Show the kernels in order of preference: the first that does not refuse runs.

    The options describe one call of attend, without them one that is not differentiated; each
    kernel that will not serve it says why not.

    Examples:

      regard kernels --score additive --query-len 64 --key-len 64 --mask lengths
      regard kernels --mask lengths --prepared --grad
    """
    import torch
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from regard.core.errors import dtype_text
    from regard.kernels import KERNELS, Request, choose
    from regard.scores import make_score

    if dtype not in DTYPES:
        raise ValueError(f"--dtype {dtype!r} is unknown. Choose one of: {', '.join(DTYPES)}.")
    _check_mask(mask)
    _check_device(device)
    made = make_score(score, query_dim=dim, key_dim=dim)
    request = Request(
        query_shape=(batch, query_len, dim),
        key_shape=(batch, key_len, dim),
        value_shape=(batch, key_len, dim),
        dtype=getattr(torch, dtype),
        device=torch.device(device).type,
        score=type(made).__name__,
        mask=mask,
        attn_dim=getattr(made, "attn_dim", None),
        has_bias=bias,
        has_dropout=dropout,
        key_is_prepared=prepared,
        need_weights=need_weights,
        need_lse=need_lse,
        need_grad=grad,
    )
    chosen = choose(request)
    rows = [
        {
            "kernel": kernel.name,
            "runs": kernel is chosen,
            "refusals": kernel.refusals(request),
            "tolerance": {dtype_text(d): tolerance for d, tolerance in kernel.tolerance.items()},
        }
        for kernel in KERNELS
    ]
    if as_json:
        typer.echo(json.dumps({"kernels": rows}))
        return
    table = Table("kernel", "for this request", "largest relative error")
    for kernel, row in zip(KERNELS, rows, strict=True):
        why = "\n".join(row["refusals"]) or "could serve it; one before it does"  # type: ignore[arg-type]
        table.add_row(
            Text(kernel.name),
            Text("runs: it refuses nothing here", "bold green") if row["runs"] else Text(why),
            "\n".join(f"{d} {t:.0e}" for d, t in row["tolerance"].items()),  # type: ignore[attr-defined]
        )
    Console().print(table)


def _check_mask(mask: str | None) -> None:
    if mask is not None and not _is_mask(mask):
        raise ValueError(
            f"--mask {mask!r} is unknown. Choose one of: {', '.join(MASKS)}; or join them with & "
            "and |, in quotation marks."
        )


def _is_mask(text: str) -> bool:
    """Whether it is a kind of mask, or several joined with &, | and ~."""
    joints = (ast.Expression, ast.BinOp, ast.UnaryOp, ast.BitAnd, ast.BitOr, ast.Invert, ast.Load)
    try:
        parts = list(ast.walk(ast.parse(text, mode="eval")))
    except (SyntaxError, ValueError):
        return False
    return all(p.id in MASKS if isinstance(p, ast.Name) else isinstance(p, joints) for p in parts)


def _check_device(device: str) -> None:
    import torch

    try:
        torch.device(device)
    except RuntimeError:
        raise ValueError(
            f"--device {device!r} is unknown. Give cpu, cuda or another kind that torch knows."
        ) from None
