"""``regard kernels``: which kernel would run, and why the others would not."""

import json
from typing import Annotated

import typer


def kernels(
    score: Annotated[
        str, typer.Option(help="additive, concat, dot, general or scaled_dot.")
    ] = "additive",
    mask: Annotated[str | None, typer.Option(help="Kind of mask: lengths, causal, dense.")] = None,
    dtype: Annotated[str, typer.Option(help="float64, float32, bfloat16 or float16.")] = "float32",
    device: Annotated[str, typer.Option(help="cpu, cuda, ...")] = "cpu",
    batch: Annotated[int, typer.Option(help="Examples.")] = 64,
    query_len: Annotated[int, typer.Option(help="Queries per example.")] = 1,
    key_len: Annotated[int, typer.Option(help="Keys per example.")] = 12,
    dim: Annotated[int, typer.Option(help="Width of query, key and value.")] = 256,
    need_weights: Annotated[
        bool, typer.Option("--need-weights", help="Weights asked for.")
    ] = False,
    dropout: Annotated[
        bool, typer.Option("--dropout", help="With dropout on the weights.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Show the kernels in order of preference: the first that does not refuse runs.

    Example:

      regard kernels --score additive --query-len 64 --key-len 64 --mask lengths
    """
    import torch
    from rich.console import Console
    from rich.table import Table

    from regard.kernels import KERNELS, Request, choose
    from regard.scores import make_score

    dtypes = {
        str(d).removeprefix("torch."): d
        for d in (torch.float64, torch.float32, torch.bfloat16, torch.float16)
    }
    if dtype not in dtypes:
        raise ValueError(f"--dtype {dtype!r} is unknown. Choose one of: {', '.join(dtypes)}.")
    request = Request(
        query_shape=(batch, query_len, dim),
        key_shape=(batch, key_len, dim),
        value_shape=(batch, key_len, dim),
        dtype=dtypes[dtype],
        device=device,
        score=type(make_score(score, query_dim=dim, key_dim=dim)).__name__,
        mask=mask,
        has_dropout=dropout,
        need_weights=need_weights,
    )
    chosen = choose(request)
    rows = [
        {
            "kernel": kernel.name,
            "runs": kernel is chosen,
            "refusals": kernel.refusals(request),
            "tolerance": {
                str(d).removeprefix("torch."): tolerance
                for d, tolerance in kernel.tolerance.items()
            },
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
            kernel.name,
            "[bold green]runs[/]: it refuses nothing here" if row["runs"] else why,
            ", ".join(f"{d} {t:.0e}" for d, t in row["tolerance"].items()),  # type: ignore[attr-defined]
        )
    Console().print(table)
