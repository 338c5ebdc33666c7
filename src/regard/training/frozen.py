"""Training all but the scores, so that what attention looks at stays as it was drawn."""

from torch import nn

from regard.core.scores import Score


def freeze_scores(network: nn.Module) -> None:
    """Take the parameters of every score out of training.

    Raises:
        ValueError: no score of the network has any.
    """
    scores = [module for module in network.modules() if isinstance(module, Score)]
    if not any(True for score in scores for _ in score.parameters()):
        found = ", ".join(sorted({type(score).__name__ for score in scores})) or "no attention"
        raise ValueError(
            f"frozen_scores: the model has {found}, without parameters in its scores. There is "
            "nothing to leave untrained. Leave frozen_scores out, or choose attention='additive', "
            "'general' or 'concat'."
        )
    for score in scores:
        score.requires_grad_(False)
