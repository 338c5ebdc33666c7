"""The gradient of a batch does not depend on how its rows are shared out."""

import pytest
import torch
from torch import nn

from regard.kernels import Workers
from regard.models import Seq2Seq, Seq2SeqConfig
from regard.text import Vocabulary, collate
from regard.training.gradients import GradientWorkers

EXAMPLES = [([4, 5, 6], [4, 5]), ([7, 8, 4], [6, 7, 8, 4]), ([5, 5, 5], [4]), ([8, 4], [5, 5, 5])]


def make_network():
    torch.manual_seed(0)
    config = Seq2SeqConfig(
        source_vocab_size=9, target_vocab_size=9, hidden_dim=8, embed_dim=4, dropout=0.0
    )
    return Seq2Seq(config).double()


@pytest.mark.parametrize("num_workers", [1, 2, 3, 7])
@pytest.mark.parametrize("label_smoothing", [0.0, 0.1])
def test_it_is_the_gradient_of_the_mean_loss_over_real_tokens(num_workers, label_smoothing):
    network, batch = make_network(), collate(EXAMPLES)
    logits = network(batch.source, batch.source_lengths, batch.target_in).logits
    log_probs = logits.log_softmax(-1)
    picked = log_probs.gather(-1, batch.target_out[..., None]).squeeze(-1)
    smoothed = (1 - label_smoothing) * picked + label_smoothing * log_probs.mean(-1)
    real = batch.target_out != Vocabulary.PADDING
    loss = -(smoothed * real).sum() / real.sum()
    expected = torch.autograd.grad(loss, list(network.parameters()))

    with Workers(num_workers) as workers:
        gradients = GradientWorkers(
            lambda *inputs: network(*inputs).logits.double(),
            list(network.parameters()),
            workers=workers,
            label_smoothing=label_smoothing,
            seed=1,
        )
        value = gradients(batch)
    assert value == pytest.approx(loss.item(), rel=1e-5)
    for (name, parameter), right in zip(network.named_parameters(), expected, strict=True):
        torch.testing.assert_close(parameter.grad, right, rtol=1e-4, atol=1e-7, msg=name)


def test_workers_restore_torchs_threads_even_after_an_error():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    with pytest.raises(ZeroDivisionError), Workers(2) as workers:
        workers.map(lambda x: 1 / x, [1, 0])
    assert torch.get_num_threads() == 2
    torch.set_num_threads(before)


def test_every_worker_uses_one_thread_and_keeps_order():
    with Workers(3) as workers:
        assert workers.map(lambda x: (x, torch.get_num_threads()), [3, 1, 2]) == [
            (3, 1),
            (1, 1),
            (2, 1),
        ]


def test_dropout_of_a_worker_does_not_touch_torchs_generator():
    network, batch = make_network(), collate(EXAMPLES)
    dropout = nn.Dropout(0.5)
    assert dropout.training
    with Workers(2) as workers:
        gradients = GradientWorkers(
            lambda *inputs: network(*inputs).logits,
            list(network.parameters()),
            workers=workers,
            label_smoothing=0.0,
            seed=1,
        )
        before = torch.get_rng_state()
        gradients(batch)
    assert torch.equal(before, torch.get_rng_state())
