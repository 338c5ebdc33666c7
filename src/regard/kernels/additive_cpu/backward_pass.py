"""Gradients of attention piece by piece; weights that were not kept are computed again."""

import torch
from torch import Tensor

from regard.kernels.additive_cpu import backward, forward, one_query
from regard.kernels.additive_cpu.forward_pass import dropped, examples_shape, seen_keys
from regard.kernels.additive_cpu.given import Given, as_given, examples
from regard.kernels.additive_cpu.regions import Region, at_once, pieces


def gradients(
    given: Given, weights: Tensor, context_grad: Tensor, weights_grad: Tensor, lse_grad: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Of query, key, v and value. What is not kept, or not given, is an empty tensor."""
    query, key, v, value = given[:4]
    if 0 in given.scores_shape:
        zeros = [torch.zeros_like(tensor) for tensor in (query, key, v, value)]
        return zeros[0], zeros[1], zeros[2], zeros[3]
    num, query_len, key_len = examples_shape(given)
    arrays, values, pulls = given.arrays(), examples(value), examples(context_grad)
    kept = examples(weights) if weights.numel() else None
    weights_pulls = examples(weights_grad) if weights_grad.numel() else None
    lse_pulls = examples(lse_grad) if lse_grad.numel() else query.new_zeros(num, query_len)
    lse = query.new_empty(num, query_len)  # comes with the weights where they are computed again

    shared = pieces(num, query_len, 2 * given.work)
    # pieces of the same examples, in one list, add each to its own
    own_sums = {some: part for row in shared for part, some in enumerate(row)}
    to_query = query.new_empty(arrays.query.shape)
    to_key = key.new_empty(len(shared[0]), *arrays.key.shape)
    to_value = value.new_empty(len(shared[0]), *values.shape)
    to_v = v.new_zeros(len(shared[0]), num, arrays.v.shape[1])

    def weighed(region: Region) -> Tensor:
        if kept is not None:
            return kept[region.place]
        part = query.new_empty(*region.shape, key_len)
        forward.weigh(*arrays, *region, part.numpy(), lse.numpy())
        return part

    def slopes(part: Tensor, grads: Tensor, region: Region) -> Tensor:
        """Gradients of the scores, from those of the dropped weights."""
        grads = dropped(grads, region, given)
        if weights_pulls is not None:
            grads += weights_pulls[region.place]
        backward.slopes(part.numpy(), grads.numpy(), lse_pulls[region.place].numpy())
        return grads

    def piece(some: Region) -> None:
        sums = own_sums[some]
        for total in (to_key, to_value):
            total[sums, some.place[0]] = 0.0
        for region in some.within_scratch(key_len):
            some_examples, rows = region.place
            part = weighed(region)
            kept_part, grads = dropped(part, region, given), torch.zeros_like(part)
            for own_examples, own, keys in seen_keys(arrays.seen, region, value):
                pulled = pulls[own_examples, rows]
                torch.bmm(pulled, values[own_examples, keys].mT, out=grads[own, :, keys])
                to_value[sums, own_examples, keys].baddbmm_(kept_part[own, :, keys].mT, pulled)
            grads = slopes(part, grads, region)
            outs = (to[sums, some_examples].numpy() for to in (to_key, to_v))
            backward.pull(*arrays, *region, grads.numpy(), to_query.numpy(), *outs)

    def piece_of_one_query(some: Region) -> None:
        for region in some.within_scratch(key_len):
            start = region.examples[0]
            part = weighed(region)
            kept_part, grads = dropped(part, region, given), torch.empty_like(part)
            one_query.pull_values(
                kept_part.numpy(), values.numpy(), pulls.numpy(), start, grads.numpy(),
                to_value[0].numpy(),
            )  # fmt: skip
            grads = slopes(part, grads, region)
            outs = to_query.numpy(), to_key[0].numpy(), to_v[0].numpy()
            one_query.pull(*arrays, region.examples, grads.numpy(), *outs)

    at_once(piece_of_one_query if given.is_of_one_query else piece, list(own_sums))
    of_heads = as_given(_sum(to_v), query)[..., : v.shape[1]]
    of_heads = of_heads.sum(0 if v.shape[0] > 1 else (0, 1)).view(v.shape)
    return (
        as_given(to_query, query),
        as_given(_sum(to_key), query),
        of_heads,
        as_given(_sum(to_value), query),
    )


def _sum(parts: Tensor) -> Tensor:
    return parts[0] if len(parts) == 1 else parts.sum(0)
