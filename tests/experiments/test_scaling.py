"""Scaling: the task, what is measured of the weights, and a tiny run."""

import csv
import json
import math
from importlib import import_module

import pytest
import torch

from regard.experiments import Scaling, recalling, scaling
from regard.experiments.cells import Cell
from regard.experiments.recall import Recall, questions

MODULE = import_module("regard.experiments.scaling")  # the package gives its name to a function
TINY = MODULE.Budget(
    embed_dim=6, num_symbols=9, key_len=4, updates=7, batch_size=5, num_test=11, evaluate_every=3
)


def test_the_answer_is_the_symbol_of_the_name_asked_for():
    drawn = questions(50, key_len=4, num_symbols=9, generator=torch.Generator().manual_seed(1))
    for asked, names, symbols, answer in zip(*(part.tolist() for part in drawn), strict=True):
        assert len(set(names)) == 4
        assert symbols[names.index(asked)] == answer
    assert len(drawn.answer.unique()) == len(drawn.asked.unique()) == 9


def test_scores_begin_with_the_variance_that_the_scaling_is_about():
    torch.manual_seed(1)
    for key_dim in (16, 256):
        network = Recall("dot", key_dim=key_dim, embed_dim=64, num_symbols=64)
        names = network.names(torch.arange(64))
        scores = network.to_query(names) @ network.to_key(names).T
        assert scores.std().item() == pytest.approx(math.sqrt(key_dim), rel=0.25)


def test_entropy_and_slope_by_hand_and_by_the_jacobian():
    weights = torch.tensor([[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [1 / 3, 1 / 3, 1 / 3]])
    torch.testing.assert_close(
        recalling._entropy(weights), torch.tensor([0.0, math.log(2), math.log(3)])
    )
    # [[1/4, -1/4], [-1/4, 1/4]] has norm 1/2
    torch.testing.assert_close(
        recalling._slope(weights), torch.tensor([0.0, 0.5, math.sqrt(2) / 3])
    )
    scores = torch.tensor([0.3, -1.2, 2.0, 0.7])
    jacobian = torch.autograd.functional.jacobian(lambda s: s.softmax(-1), scores)
    torch.testing.assert_close(recalling._slope(scores.softmax(-1)[None])[0], jacobian.norm())


def test_the_gradient_norm_is_the_steepest_slope_of_the_loss():
    torch.manual_seed(2)
    network = Recall("scaled_dot", key_dim=5, embed_dim=6, num_symbols=9).double()
    test = questions(11, key_len=4, num_symbols=9, generator=torch.Generator().manual_seed(3))
    norm = recalling.look_at_start(network, test).gradient_norm
    projections = [network.to_query.weight, network.to_key.weight]
    directions = [part.grad / norm for part in projections]
    losses = []
    for step in (1e-5, -1e-5):
        with torch.no_grad():
            for part, direction in zip(projections, directions, strict=True):
                part += step * direction
            losses.append(recalling._loss(network, test).item())
            for part, direction in zip(projections, directions, strict=True):
                part -= step * direction
    assert (losses[0] - losses[1]) / 2e-5 == pytest.approx(norm, rel=1e-5)


def test_it_learns_to_recall_and_says_when(tmp_path):
    budget = MODULE.Budget(
        embed_dim=16, num_symbols=8, key_len=3, updates=160, learning_rate=0.02, num_test=200
    )
    experiment = Scaling(key_dims=[8], seeds=1, budget=budget)
    settings = experiment.cells()["dim-8-scaled_dot-seed-1"]
    measured = recalling.measure_recall(settings, lambda share: None)
    assert sum(measured["right"]) > 190
    assert 0 < measured["updates_to_reach"] < 160
    assert measured["updates_to_reach"] % 20 == 0


def test_the_tables_agree_and_finished_cells_are_kept(tmp_path, monkeypatch):
    experiment = Scaling(key_dims=[12, 3], seeds=2, budget=TINY)
    table = scaling(experiment, to=tmp_path)
    assert [(row["key_dim"], row["score"]) for row in table.rows] == [
        (key_dim, score) for key_dim in (3, 12) for score in ("dot", "scaled_dot", "additive")
    ]
    assert json.loads((tmp_path / "scaling.json").read_text())["rows"] == table.rows
    with (tmp_path / "scaling.csv").open(newline="") as file:
        assert [row["accuracy"] for row in csv.DictReader(file)] == [
            str(row["accuracy"]) for row in table.rows
        ]
    assert (tmp_path / "scaling.png").read_bytes().startswith(b"\x89PNG")

    def measured_again(settings, tell):
        raise AssertionError

    monkeypatch.setattr(MODULE, "measure_recall", measured_again)
    assert scaling(experiment, to=tmp_path) == table


def test_the_same_seed_measures_the_same():
    settings = Scaling(key_dims=[3], budget=TINY).cells()["dim-3-additive-seed-2"]
    state = torch.random.get_rng_state()
    first, second = (recalling.measure_recall(settings, lambda share: None) for _ in range(2))
    assert torch.equal(torch.random.get_rng_state(), state)  # nor is anyone's generator moved
    del first["seconds"], second["seconds"]
    assert first == second


def test_rows_count_the_seeds_that_reached_it():
    def cell(seed, reached):
        at_start = {"entropy": 1.0 * seed, "slope": 0.2, "gradient_norm": 0.1}
        measured = {
            "right": [1, 0, 1, 1],
            "updates_to_reach": reached,
            "at_start": at_start,
            "seconds": 1.0,
        }
        return Cell({"seed": seed, "updates": 7}, measured)

    row = MODULE._row(8, "dot", [cell(1, 40), cell(2, None), cell(3, 60)])
    assert (row["accuracy"], row["updates_to_reach"], row["seeds_that_reached"]) == (0.75, 50.0, 2)
    assert row["entropy_at_start"] == 2.0
    assert MODULE._row(8, "dot", [cell(1, None)])["updates_to_reach"] is None


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"key_dims": [8, 1]}, "key_dims=8,1 cannot be compared. Give whole numbers from 2 to"),
        ({"key_dims": [8, 8]}, "each once"),
        ({"seeds": 101}, "seeds=101. Give a whole number from 1 to 100"),
    ],
)
def test_what_cannot_be_compared_is_said(given, said):
    with pytest.raises(ValueError, match=said):
        Scaling(**given)
