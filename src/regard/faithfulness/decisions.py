"""What is tested: decisions of a model, each with the weights it was made with."""

from typing import Protocol, runtime_checkable

from jaxtyping import Bool, Float, Int
from torch import Tensor


@runtime_checkable
class Decisions(Protocol):
    """Decisions side by side, one a row, and the ways to ask what another look would have given.

    A row is one decision: an output token of a sequence-to-sequence model, or a classifier's label.
    The tests of this package know nothing else of the model. Every row can attend to at least two
    positions: with one, its weight is 1 whatever the model learned.
    """

    @property
    def weights(self) -> Float[Tensor, "rows keys"]:
        """The model's own weights, 0 where a row may not attend."""

    @property
    def may_attend(self) -> Bool[Tensor, "rows keys"]:
        """The real positions of each row."""

    @property
    def examples(self) -> Int[Tensor, " rows"]:
        """The example each row is from. Rows of one example are no independent evidence."""

    @property
    def by_position(self) -> Float[Tensor, "rows keys"]:
        """An importance that reads nothing but positions: the baseline that weights must beat."""

    @property
    def interventions(self) -> tuple[str, ...]:
        """The ways in which `respond_without` can remove an input; the first is the main one."""

    def respond(self, weights: Float[Tensor, "rows keys"]) -> Float[Tensor, "rows classes"]:
        """Log-probabilities with these weights and all else fixed; differentiable in them."""

    def respond_without(
        self, keep: Bool[Tensor, "rows keys"], how: str
    ) -> Float[Tensor, "rows classes"]:
        """Log-probabilities when the inputs not kept are removed and the rest is read again."""

    def input_gradient(self) -> Float[Tensor, "rows keys"]:
        r"""``|Σ_d ∂P_y/∂e_{j,d} · e_{j,d}|`` of the decision y, with the weights held fixed.

        Normalized to sum 1. (Jain & Wallace 2019, arXiv:1902.10186, section 4.1. Summed over all
        the classes of a softmax the derivative is 0, so it is that of the decided class.)
        """
