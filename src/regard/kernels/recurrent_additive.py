"""A GRU that queries with s(t−1) by the additive score, over a whole target: one autograd node.

The loop holds only what must follow step by step. What autograd would do at each step, the gradient
of every weight, is one matrix product after the loop, and nothing but a few arrays is kept.

    u = W_a s(t−1)                    a_t = softmax(v · tanh(u + k))       c_t = a_t h
    r, z = σ(x_t + C c_t + U s(t−1))  n = tanh(x_n + C_n c_t + r ∘ (U_n s(t−1) + b))
    s(t) = (1 − z) ∘ n + z ∘ s(t−1)

(Bahdanau et al. 2015, arXiv:1409.0473, appendix A, with torch's GRU.)

``v · tanh(x) = 2v · σ(2x) − Σv``, and a constant leaves the softmax: sigmoid costs a third of tanh.
"""

from typing import Any, NamedTuple

import torch
from torch import Tensor

from regard.core.autocast import without_autocast
from regard.kernels.second_derivatives import differentiable_backward


class Recurrence(NamedTuple):
    """What the recurrence gives, position by position of the target."""

    states: Tensor
    """s(1..T), (batch, target_len, hidden_dim)."""
    contexts: Tensor
    """(batch, target_len, state_dim)."""
    weights: Tensor
    """(batch, target_len, source_len)."""


def recurrent_additive(
    inputs: Tensor,
    initial: Tensor,
    *,
    key: Tensor,
    value: Tensor,
    v: Tensor,
    query_weight: Tensor,
    context_weight: Tensor,
    state_weight: Tensor,
    state_bias: Tensor,
    hidden_positions: Tensor | None = None,
) -> Recurrence:
    """Run the recurrence, in the dtype of the weights, under autocast too.

    Args:
        inputs: ``(batch, target_len, 3 * hidden_dim)``, what the tokens contribute to the gates
            r, z, n.
        initial: s(0), ``(batch, hidden_dim)``.
        key, value: ``(batch, source_len, attn_dim)``, projected, and ``(batch, source_len,
            state_dim)``.
        v, query_weight: of the score, ``(attn_dim,)`` and ``(attn_dim, hidden_dim)``.
        context_weight, state_weight, state_bias: of the cell, ``(3 * hidden_dim, state_dim)``,
            ``(3 * hidden_dim, hidden_dim)``, ``(3 * hidden_dim,)``.
        hidden_positions: ``(batch, source_len)``, True where nobody may attend. Each example needs
            a position that is not.
    """
    hidden_dim = initial.shape[-1]
    gate_bias = torch.cat([state_bias[: 2 * hidden_dim], torch.zeros_like(state_bias[:hidden_dim])])
    inputs, initial, key, value, v = (
        tensor.to(query_weight.dtype) for tensor in (inputs, initial, key, value, v)
    )
    with without_autocast(initial.device):
        states, contexts, weights = _Scan.apply(  # type: ignore[no-untyped-call]
            (inputs + gate_bias).transpose(0, 1).contiguous(),  # time first: a step is one block
            initial,
            2 * key,
            value.contiguous(),
            2 * v,
            torch.cat([2 * query_weight, state_weight]).t().contiguous(),
            context_weight.t().contiguous(),
            state_bias[2 * hidden_dim :],
            hidden_positions,
        )
    return Recurrence(states.transpose(0, 1), contexts.transpose(0, 1), weights.transpose(0, 1))


class _Scan(torch.autograd.Function):
    """Arguments: inputs (T, B, 3H), s0 (B, H), keys (B, S, A), values (B, S, V), v (A,),
    from_state (H, A + 3H), from_context (V, 3H), bias_n (H,), hidden (B, S) or None.
    """

    @staticmethod
    def forward(
        ctx: Any,
        inputs: Tensor,
        s0: Tensor,
        keys: Tensor,
        values: Tensor,
        v: Tensor,
        from_state: Tensor,
        from_context: Tensor,
        bias_n: Tensor,
        hidden: Tensor | None,
    ) -> tuple[Tensor, Tensor, Tensor]:
        (steps, batch, gates_dim), attn_dim = inputs.shape, keys.shape[2]
        dim = gates_dim // 3
        gates, candidates = torch.empty_like(inputs), inputs.new_empty(steps, batch, dim)
        states = inputs.new_empty(steps + 1, batch, dim)
        weights = inputs.new_empty(steps, batch, keys.shape[1])
        contexts = inputs.new_empty(steps, batch, values.shape[2])
        inner = inputs.new_empty(steps, *keys.shape)
        states[0] = s0
        for t in range(steps):
            from_before = states[t] @ from_state
            torch.add(keys, from_before[:, None, :attn_dim], out=inner[t]).sigmoid_()
            scores = inner[t] @ v
            if hidden is not None:
                scores.masked_fill_(hidden, -torch.inf)
            torch.softmax(scores, -1, out=weights[t])
            torch.bmm(weights[t, :, None], values, out=contexts[t, :, None])
            gate = torch.addmm(inputs[t], contexts[t], from_context, out=gates[t])
            gate[:, : 2 * dim].add_(from_before[:, attn_dim : attn_dim + 2 * dim]).sigmoid_()
            torch.add(from_before[:, attn_dim + 2 * dim :], bias_n, out=candidates[t])
            gate[:, 2 * dim :].addcmul_(gate[:, :dim], candidates[t]).tanh_()
            torch.lerp(gate[:, 2 * dim :], states[t], gate[:, dim : 2 * dim], out=states[t + 1])
        ctx.save_for_backward(inputs, s0, keys, values, v, from_state, from_context, bias_n, hidden)
        ctx.kept = (gates, candidates, states, weights, contexts, inner)
        return states[1:].clone(), contexts.clone(), weights.clone()

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        arguments = ctx.saved_tensors
        with without_autocast(grads[0].device):
            if torch.is_grad_enabled():  # gradients of gradients are asked for
                return differentiable_backward(_steps, arguments, grads)
            return _backward(arguments, ctx.kept, grads)


def _backward(
    arguments: tuple[Tensor, ...], kept: tuple[Tensor, ...], grads: tuple[Tensor, ...]
) -> tuple[Tensor | None, ...]:
    _, _, _, values, v, from_state, from_context, _, _ = arguments
    gates, candidates, states, weights, contexts, inner = kept
    steps, batch, dim = candidates.shape
    attn_dim, rows = v.numel(), steps * batch
    d_inputs = torch.empty_like(gates)
    d_before = gates.new_empty(steps, batch, attn_dim + 3 * dim)
    d_contexts, d_scores = torch.empty_like(contexts), torch.empty_like(weights)
    d_keys, d_state = torch.zeros_like(inner[0]), torch.zeros_like(states[0])
    to_state, to_context = from_state.t(), from_context.t()
    for t in reversed(range(steps)):
        d_state = _cell_backward(
            grads[0][t] + d_state,
            gates[t],
            candidates[t],
            states[t],
            d_inputs[t],
            d_before[t, :, attn_dim:],
        )
        torch.addmm(grads[1][t], d_inputs[t], to_context, out=d_contexts[t])
        d_weights = torch.linalg.vecdot(values, d_contexts[t, :, None]).add_(grads[2][t])
        d_weights.mul_(weights[t])
        torch.addcmul(
            d_weights, weights[t], d_weights.sum(-1, keepdim=True), value=-1, out=d_scores[t]
        )
        d_inner = torch.addcmul(inner[t], inner[t], inner[t], value=-1)
        d_inner.mul_(d_scores[t, :, :, None])
        d_keys += d_inner
        torch.sum(d_inner, 1, out=d_before[t, :, :attn_dim]).mul_(v)
        d_state.addmm_(d_before[t], to_state)
    d_before = d_before.view(rows, -1)
    return (
        d_inputs,
        d_state,
        d_keys.mul_(v),
        torch.bmm(weights.permute(1, 2, 0), d_contexts.transpose(0, 1)),
        (d_scores.view(1, -1) @ inner.view(-1, attn_dim))[0],
        states[:-1].reshape(rows, dim).t() @ d_before,
        contexts.view(rows, -1).t() @ d_inputs.view(rows, -1),
        d_before[:, attn_dim + 2 * dim :].sum(0),
        None,
    )


def _cell_backward(
    d_state: Tensor,
    gates: Tensor,
    candidate: Tensor,
    before: Tensor,
    d_gates: Tensor,
    d_recurrent: Tensor,
) -> Tensor:
    """Write the gradients of the gates and of ``U s + b``; return the direct part of s(t−1)'s."""
    dim = before.shape[-1]
    r, z, n = gates.chunk(3, -1)
    d_r, d_z, d_n = d_gates.chunk(3, -1)
    direct = d_state * z
    d_new = d_state - direct
    torch.mul(before - n, d_new, out=d_z).mul_(z)
    torch.addcmul(d_new, d_new * n, n, value=-1, out=d_n)
    torch.mul(d_n, r, out=d_recurrent[:, 2 * dim :])
    gated = d_recurrent[:, 2 * dim :] * candidate
    torch.addcmul(gated, gated, r, value=-1, out=d_r)
    d_recurrent[:, : 2 * dim] = d_gates[:, : 2 * dim]
    return direct


def _steps(
    inputs: Tensor,
    s: Tensor,
    keys: Tensor,
    values: Tensor,
    v: Tensor,
    from_state: Tensor,
    from_context: Tensor,
    bias_n: Tensor,
    hidden: Tensor | None,
) -> tuple[Tensor, Tensor, Tensor]:
    dim, attn_dim = s.shape[1], keys.shape[2]
    outcomes = []
    for step_inputs in inputs:
        from_before = s @ from_state
        scores = torch.sigmoid(keys + from_before[:, None, :attn_dim]) @ v
        if hidden is not None:
            scores = scores.masked_fill(hidden, -torch.inf)
        weights = scores.softmax(-1)
        context = (weights[:, None] @ values).squeeze(1)
        gates = step_inputs + context @ from_context
        recurrent = from_before[:, attn_dim:]
        r, z = torch.sigmoid(gates[:, : 2 * dim] + recurrent[:, : 2 * dim]).chunk(2, 1)
        n = torch.tanh(gates[:, 2 * dim :] + r * (recurrent[:, 2 * dim :] + bias_n))
        s = torch.lerp(n, s, z)
        outcomes.append((s, context, weights))
    states, contexts, all_weights = zip(*outcomes, strict=True)
    return torch.stack(states), torch.stack(contexts), torch.stack(all_weights)
