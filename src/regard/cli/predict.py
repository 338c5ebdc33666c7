"""``regard predict``: lines in, lines out."""

import codecs
import queue
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from regard.search import Prediction

_MOST_LINES = 4096


def predict(
    model: Annotated[Path, typer.Argument(metavar="MODEL_DIR", show_default=False)],
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE|-", help="Sources in UTF-8, one a line; - for standard input."
        ),
    ] = "-",
    beam: Annotated[
        int, typer.Option(help="Hypotheses kept at each step; 1 is greedy search.")
    ] = 1,
    n_best: Annotated[
        int, typer.Option(help="Targets for each source, the best first; at most --beam.")
    ] = 1,
    length_penalty: Annotated[
        float,
        typer.Option(help="Above 0 favors longer targets: alpha of Wu et al. 2016. 0.6 is common."),
    ] = 0.0,
    min_length: Annotated[int, typer.Option(help="Fewest tokens of a target.")] = 0,
    max_length: Annotated[
        int | None,
        typer.Option(
            help="Most tokens of a target, its end included. Default: twice its source's and 10."
        ),
    ] = None,
    prefix: Annotated[
        str, typer.Option(help="What every target begins with.", show_default=False)
    ] = "",
    as_json: Annotated[
        bool,
        typer.Option(
            "--json",
            help="A JSON object a line: source, target, log_prob; n_best too if it is above 1.",
        ),
    ] = False,
) -> None:
    """Predict the target of each line, in order. An empty line gives an empty line.

    Lines are answered as they come, many at once where many are waiting. With --n-best, a line
    has the targets with a tab between them; with --json, n_best is a list of target, log_prob and
    score, the log-probability over the length penalty.

    Examples:

      echo attention | regard predict g2p
      regard predict g2p words.txt > pronunciations.txt
      echo attention | regard predict g2p --beam 5 --n-best 3 --json
    """
    import json
    from functools import partial
    from itertools import count

    from regard.cli.unknown import UnknownTokens
    from regard.kernels import Workers
    from regard.models import Translator
    from regard.search import predict as decode
    from regard.search.served import check_sources

    translator = Translator.from_pretrained(model)
    predict_them = partial(
        decode,
        translator,
        beam=beam,
        n_best=n_best,
        length_penalty=length_penalty,
        min_length=min_length,
        max_length=max_length,
        prefix=prefix,
    )
    predict_them([])  # so that a wrong option is told before a line is waited for
    stream = _opened(file)
    if stream.seekable():  # a file, which is there as a whole: no answer before a late error
        start = stream.tell()
        try:
            check_sources(translator, map(_text, stream, count(1)))
        except ValueError:
            stream.close()
            raise
        stream.seek(start)
    unknown = UnknownTokens(translator.source, "source")
    with Workers() as workers:
        for lines in _waiting_lines(stream):
            for prediction in predict_them(lines, workers=workers):
                if as_json:
                    print(json.dumps(_told(prediction, n_best), ensure_ascii=False))
                else:
                    print(*(each.target for each in prediction.hypotheses), sep="\t")
            sys.stdout.flush()
            unknown.see(lines)
    unknown.tell()


def _told(prediction: "Prediction", n_best: int) -> dict[str, object]:
    told: dict[str, object] = {
        "source": prediction.source,
        "target": prediction.target,
        "log_prob": round(prediction.log_prob, 4),
    }
    if n_best > 1:
        told["n_best"] = [
            {
                "target": each.target,
                "log_prob": round(each.log_prob, 4),
                "score": round(each.score, 4),
            }
            for each in prediction.hypotheses
        ]
    return told


def _opened(file: str) -> IO[bytes]:
    if file == "":
        raise ValueError(
            "FILE '' is an empty path. Give the name of a file, or - for sources piped in."
        )
    if file != "-":
        return Path(file).open("rb")
    if sys.stdin is None:
        raise ValueError("predict: standard input is closed. Pipe sources in, or give a FILE.")
    return open(sys.stdin.fileno(), "rb", closefd=False)


def _waiting_lines(stream: IO[bytes]) -> Iterator[list[str]]:
    """All lines that are there, at least one: a slow writer is answered line by line.

    Only the reading thread touches the stream, for closing it from here would wait for a line that
    may never come.
    """
    waiting: queue.Queue[str | Exception | None] = queue.Queue(maxsize=_MOST_LINES)

    def read() -> None:
        try:
            with stream:
                for number, line in enumerate(stream, start=1):
                    waiting.put(_text(line, number))
        except (OSError, ValueError) as error:
            waiting.put(error)
        waiting.put(None)

    threading.Thread(target=read, daemon=True).start()
    while True:
        lines: list[str] = []
        item = waiting.get()
        while item is not None and not isinstance(item, Exception):
            lines.append(item)
            if len(lines) == _MOST_LINES or waiting.empty():
                break
            item = waiting.get()
        if lines:
            yield lines
        if isinstance(item, Exception):
            raise item
        if item is None:
            return


def _text(line: bytes, number: int) -> str:
    if number == 1:
        line = line.removeprefix(codecs.BOM_UTF8)
    try:
        return line.decode("utf-8").rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"predict: byte {error.start + 1} of line {number} is not valid UTF-8. "
            "Convert the input to UTF-8."
        ) from None
