"""Decoder with LayerNorm inside the branches, its modules named as transformers' GPT2LMHeadModel names its tensors."""

import dataclasses

import torch
from torch import nn

from .layers import attend, bias_where, drop, merge, split


@dataclasses.dataclass
class Shape:
    layers: int
    heads: int
    d_model: int
    d_ff: int


class Linear(nn.Module):
    """GPT-2 keeps its matrices as [in, out]."""

    def __init__(self, inputs, outputs, std):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(inputs, outputs) * std)
        self.bias = nn.Parameter(torch.zeros(outputs))

    def forward(self, x):
        return x @ self.weight + self.bias


class Attention(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.heads = shape.heads
        self.c_attn = Linear(shape.d_model, 3 * shape.d_model, 0.02)
        self.c_proj = Linear(shape.d_model, shape.d_model, 0.02 * (2 * shape.layers) ** -0.5)

    def forward(self, x, bias):
        q, k, v = (split(part, self.heads) for part in self.c_attn(x).chunk(3, dim=-1))
        return self.c_proj(merge(attend(q, k, v, bias)))

    def weights(self, x, bias):
        """[batch, head, query, key]: attending to the identity gives the weights themselves."""
        q, k, _ = (split(part, self.heads) for part in self.c_attn(x).chunk(3, dim=-1))
        return attend(q, k, torch.eye(k.shape[2], dtype=k.dtype, device=k.device), bias)


class FeedForward(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.c_fc = Linear(shape.d_model, shape.d_ff, 0.02)
        self.c_proj = Linear(shape.d_ff, shape.d_model, 0.02 * (2 * shape.layers) ** -0.5)

    def forward(self, x):
        return self.c_proj(nn.functional.gelu(self.c_fc(x), approximate="tanh"))


class Block(nn.Module):
    def __init__(self, shape, dropout):
        super().__init__()
        self.dropout = dropout
        self.ln_1, self.attn = nn.LayerNorm(shape.d_model), Attention(shape)
        self.ln_2, self.mlp = nn.LayerNorm(shape.d_model), FeedForward(shape)

    def forward(self, x, bias):
        x = x + drop(self.attn(self.ln_1(x), bias), self.dropout, self.training)
        return x + drop(self.mlp(self.ln_2(x)), self.dropout, self.training)


def sinusoids(length, width, longest=40.0):
    """[position, width], sines, then cosines (Vaswani et al. 2017), wavelengths from 2π to 2π · `longest`."""
    angles = torch.arange(length)[:, None] * longest ** (-torch.arange(width // 2) / (width // 2))
    return torch.cat([angles.sin(), angles.cos()], dim=-1)


class CaptionWriter(nn.Module):
    def __init__(self, vocabulary, length, end, shape, dropout):
        """end: id of the token between texts."""
        super().__init__()
        self.shape, self.length, self.end, self.dropout = shape, length, end, dropout
        self.wte, self.wpe = nn.Embedding(vocabulary, shape.d_model), nn.Embedding(length, shape.d_model)
        nn.init.normal_(self.wte.weight, std=0.02)
        with torch.no_grad():  # initial values: the previous position is a rotation away, and louder than the token itself
            self.wpe.weight.copy_(sinusoids(length, shape.d_model) * 0.05 * 2 ** 0.5)
        self.h = nn.ModuleList(Block(shape, dropout) for _ in range(shape.layers))
        self.ln_f = nn.LayerNorm(shape.d_model)

    def embed(self, ids):
        """ids [batch, token] → vectors, and the bias that hides later tokens [token, token]"""
        tokens = ids.shape[1]
        later = torch.ones(tokens, tokens, dtype=torch.bool, device=ids.device).triu(1)
        x = self.wte(ids) + self.wpe.weight[:tokens]
        return drop(x, self.dropout, self.training), bias_where(later)

    def forward(self, ids, chosen):
        """→ logits [chosen, vocabulary] of the chosen tokens (bool [batch, token])"""
        x, bias = self.embed(ids)
        for block in self.h:
            x = block(x, bias)
        return self.ln_f(x)[chosen] @ self.wte.weight.T

    def weights(self, ids):
        """[layer][batch, head, query, key]"""
        x, bias = self.embed(ids)
        found = []
        for block in self.h:
            found.append(block.attn.weights(block.ln_1(x), bias))
            x = block(x, bias)
        return found

    def tensors(self):
        return {f"transformer.{name}": tensor for name, tensor in self.state_dict().items()}

    def config(self):
        """config.json of a GPT2LMHeadModel"""
        shape = self.shape
        return {
            "architectures": ["GPT2LMHeadModel"], "model_type": "gpt2", "dtype": "float16",
            "vocab_size": self.wte.num_embeddings, "n_positions": self.length, "n_embd": shape.d_model,
            "n_layer": shape.layers, "n_head": shape.heads, "n_inner": shape.d_ff, "activation_function": "gelu_new",
            "layer_norm_epsilon": 1e-5, "resid_pdrop": self.dropout, "embd_pdrop": self.dropout, "attn_pdrop": 0.0,
            "bos_token_id": self.end, "eos_token_id": self.end, "tie_word_embeddings": True,
        }
