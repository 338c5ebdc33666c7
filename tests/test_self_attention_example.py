"""The example of self-attention runs, prints what a textbook says, and draws its maps."""

import importlib.util
from pathlib import Path

PATH = Path(__file__).parents[1] / "examples" / "self_attention.py"


def test_it_shows_every_stage_and_draws_the_maps(tmp_path, capsys):
    spec = importlib.util.spec_from_file_location("self_attention_example", PATH)
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    example.main(["time flies like an arrow", "--to", str(tmp_path / "maps.png")])
    lines = capsys.readouterr().out.splitlines()

    def numbers_after(words):
        (line,) = (line for line in lines if words in line)
        return line.split(words)[1].split()[:2]

    assert numbers_after("scores q·k") == ["112.00", "96.00"]
    assert numbers_after("divided by √64 = 8") == ["14.00", "12.00"]
    assert numbers_after("  softmax") == ["0.88", "0.12"]
    for stage, shape in {
        "token ids": (1, 5),
        "embeddings": (1, 5, 512),
        "queries Q W_Q": (1, 8, 5, 64),
        "weights": (1, 8, 5, 5),
        "concatenation": (1, 5, 512),
        "output, W_O": (1, 5, 512),
    }.items():
        assert any(line.startswith(stage) and f" {shape} " in line for line in lines), stage
    assert (tmp_path / "maps.png").read_bytes().startswith(b"\x89PNG")
