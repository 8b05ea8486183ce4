"""A Llama whose fresh weights copy already: heads that look back by few tokens, and heads that go on as once before.

Copying what a prompt says takes two heads in line, one that tells each position which token came before, and one that
looks for positions after the same token and copies what stands there ("induction": Olsson et al. 2022, "In-context
Learning and Induction Heads"). A small model from random weights finds them only after many millions of tokens, since
neither half helps without the other. Here they are set in its fresh weights, in the spirit of Trockman & Kolter 2023,
"Mimetic Initialization of Self-Attention Layers"; everything is trained from there.

Shapes: D dimensions of the model, H of a head, of which the pair (i, i + H/2) turns by theta^(-2i/H) a token (RoPE).
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

_LOOK = 6.5  # norm of each pair of a bias: about 98 % of the attention goes to one place
_MATCH = 2.2  # of queries and keys that compare tokens
_EMBEDDED = 0.15  # standard deviation of the embeddings: large, for them to keep what is set here
_BACK = 1.4  # what looking back writes, relative to the embeddings
_COPY = 3.0  # what copying writes, likewise


@torch.no_grad()
def start_copying(model: Any, layers: int = 2, heads: int = 2) -> None:
    """Set the heads of the first layer, and `heads` of each of the last `layers`, of a Llama with `attention_bias`."""
    config = model.config
    size = config.head_dim
    theta = config.rope_parameters["rope_theta"]
    turns = theta ** (-torch.arange(0, size, 2) / size)  # radians a token, fastest first
    basis = torch.linalg.qr(torch.randn(config.hidden_size, config.hidden_size)).Q
    place = torch.linalg.qr(torch.randn(config.hidden_size, config.hidden_size)).Q
    token = basis[:size]  # what is told of a token [H, D]
    model.model.embed_tokens.weight.normal_(std=_EMBEDDED)
    for layer in model.model.layers:
        layer.self_attn.o_proj.weight.zero_()
        layer.mlp.down_proj.weight.zero_()
    first = model.model.layers[0].self_attn
    for projection in (first.q_proj, first.k_proj):
        projection.weight.zero_()
    for head in range(config.num_attention_heads):
        own = slice(head * size, (head + 1) * size)
        back = (head + 1) * turns
        first.k_proj.bias[own] = _LOOK * torch.cat([torch.ones_like(back), torch.zeros_like(back)])
        first.q_proj.bias[own] = _LOOK * torch.cat([back.cos(), -back.sin()])
        first.v_proj.weight[own] = token
        first.o_proj.weight[:, own] = _BACK * _EMBEDDED * place[:, own]
    slow = torch.arange(size // 4, size // 2)
    slow = torch.cat([slow, slow + size // 2])  # dimensions that compare alike over hundreds of tokens
    copied = 0
    for layer in model.model.layers[1:][-layers:]:
        for head in range(heads):
            own = slice(head * size, (head + 1) * size)
            query, key = torch.zeros(size, config.hidden_size), torch.zeros(size, config.hidden_size)
            query[slow], key[slow] = _MATCH * token[slow], _MATCH * place[:, :size].T[slow]
            layer.self_attn.q_proj.weight[own], layer.self_attn.k_proj.weight[own] = query, key
            value: Tensor = basis[copied : copied + size]
            layer.self_attn.v_proj.weight[own] = value
            layer.self_attn.o_proj.weight[:, own] = _COPY * _EMBEDDED * value.T
            copied = (copied + size) % config.hidden_size
