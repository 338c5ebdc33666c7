"""What a mask adds to scores is made once, and never where that could be wrong later."""

import threading

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from regard import Mask, attend

CPU = torch.device("cpu")
SHAPE = (2, 3, 4)
GRID = torch.tensor([[1, 1, 0, 0]] * 3 + [[1, 1, 1, 1]] * 3).view(SHAPE).bool()


def hiding(mask: Mask, shape: tuple[int, ...] = SHAPE, dtype: torch.dtype = torch.float32):
    return mask.hiding_for(shape, CPU, dtype)


def test_hidden_positions_have_minus_infinity_and_the_others_zero() -> None:
    added, unseen = hiding(Mask.lengths([2, 4]))
    assert added.tolist() == [[[0.0, 0.0, -torch.inf, -torch.inf]], [[0.0] * 4]]
    assert unseen.int().tolist() == [[0, 0, 1, 1], [0, 0, 0, 0]]


def test_it_is_made_once_for_a_mask_and_a_shape() -> None:
    mask = Mask.lengths([2, 4]) & Mask.causal("start")
    assert hiding(mask) is hiding(mask)
    assert hiding(mask, (2, 1, 4)).added.shape == (2, 1, 4)
    assert hiding(mask, dtype=torch.float64).added.dtype == torch.float64
    assert hiding(mask).added.dtype == torch.float32


def test_a_mask_that_no_longer_fits_is_still_refused() -> None:
    mask = Mask.lengths([2, 4])
    hiding(mask)
    with pytest.raises(ValueError, match="longer than the key axis, 3"):
        hiding(mask, (2, 3, 3))


@pytest.mark.parametrize("wrap", [lambda m: m, lambda m: m & Mask.causal("start"), lambda m: ~m])
def test_a_tensor_that_its_owner_may_change_is_read_each_time(wrap) -> None:
    cells = GRID.clone()
    mask = wrap(Mask.dense(cells))
    before = hiding(mask).added.clone()
    cells[0, 0, 0] = False
    assert not torch.equal(before, hiding(mask).added)


def test_large_ones_are_not_kept() -> None:
    mask = Mask.causal()
    assert hiding(mask, (300, 300)) is not hiding(mask, (300, 300))


def test_one_made_in_inference_mode_does_not_spoil_training() -> None:
    mask, query = Mask.lengths([2, 4]), torch.randn(2, 3, 5, requires_grad=True)
    key = torch.randn(2, 4, 5)
    with torch.inference_mode():
        attend(query, key, key, may_attend=mask)
    attend(query, key, key, may_attend=mask).context.sum().backward()
    assert query.grad is not None


def test_one_made_under_vmap_does_not_leave_it() -> None:
    mask = Mask.lengths([2, 4])

    def added(bias: Tensor) -> Tensor:
        return hiding(mask).added + bias

    batched = torch.vmap(added)(torch.zeros(5))
    assert_close(batched, hiding(mask).added.expand(5, 2, 1, 4))


def test_threads_that_ask_for_different_shapes_each_get_their_own() -> None:
    mask, wrong = Mask.causal("end"), []

    def ask(queries: int) -> None:
        for _ in range(300):
            if hiding(mask, (queries, 6)).added.shape != (queries, 6):
                wrong.append(queries)

    threads = [threading.Thread(target=ask, args=(queries,)) for queries in (1, 2, 3, 4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
