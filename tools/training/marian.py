"""Encoder–decoder with post-LayerNorm, its modules named as transformers' MarianMTModel names its tensors."""

import dataclasses
import math

import torch
from torch import nn

from .layers import attend, bias_where, drop, merge, split


@dataclasses.dataclass
class Shape:
    layers: int  # of each stack
    heads: int
    d_model: int
    d_ff: int


class Attention(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.heads = shape.heads
        for name in ("q_proj", "k_proj", "v_proj", "out_proj"):
            self.add_module(name, nn.Linear(shape.d_model, shape.d_model))

    def forward(self, x, memory, bias):
        q, k, v = (split(part, self.heads) for part in (self.q_proj(x), self.k_proj(memory), self.v_proj(memory)))
        return self.out_proj(merge(attend(q, k, v, bias)))


class Layer(nn.Module):
    """Each sublayer: dropout, residual, LayerNorm (post-LayerNorm)."""

    def __init__(self, shape, dropout, reads_source):
        super().__init__()
        self.dropout = dropout
        self.self_attn, self.self_attn_layer_norm = Attention(shape), nn.LayerNorm(shape.d_model)
        if reads_source:
            self.encoder_attn, self.encoder_attn_layer_norm = Attention(shape), nn.LayerNorm(shape.d_model)
        self.fc1, self.fc2 = nn.Linear(shape.d_model, shape.d_ff), nn.Linear(shape.d_ff, shape.d_model)
        self.final_layer_norm = nn.LayerNorm(shape.d_model)

    def add(self, x, part, norm):
        return norm(x + drop(part, self.dropout, self.training))

    def forward(self, x, bias, source=None, source_bias=None):
        x = self.add(x, self.self_attn(x, x, bias), self.self_attn_layer_norm)
        if source is not None:
            x = self.add(x, self.encoder_attn(x, source, source_bias), self.encoder_attn_layer_norm)
        return self.add(x, self.fc2(nn.functional.relu(self.fc1(x))), self.final_layer_norm)


class Stack(nn.Module):
    def __init__(self, shape, length, dropout, reads_source):
        super().__init__()
        self.dropout = dropout
        self.embed_positions = nn.Embedding(length, shape.d_model)
        self.layers = nn.ModuleList(Layer(shape, dropout, reads_source) for _ in range(shape.layers))

    def forward(self, tokens, **masks):
        """tokens: vectors already × √d_model"""
        x = drop(tokens + self.embed_positions.weight[:tokens.shape[1]], self.dropout, self.training)
        for layer in self.layers:
            x = layer(x, **masks)
        return x


class Translator(nn.Module):
    """One table of token vectors for both sides and, transposed, for the output (Press & Wolf 2017)."""

    def __init__(self, vocabulary, length, pad, shape, dropout):
        super().__init__()
        self.shape, self.length, self.pad, self.dropout = shape, length, pad, dropout
        self.shared = nn.Embedding(vocabulary, shape.d_model)
        self.encoder = Stack(shape, length, dropout, reads_source=False)
        self.decoder = Stack(shape, length, dropout, reads_source=True)
        self.begin()

    def begin(self):
        """Matrices after Glorot & Bengio 2010, as the notebook's; embeddings so that × √d_model they are unit normal."""
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
                nn.init.zeros_(module.bias)
            elif isinstance(module, nn.Embedding):
                nn.init.normal_(module.weight, std=self.shape.d_model ** -0.5)

    def embed(self, ids):
        return self.shared(ids) * math.sqrt(self.shape.d_model)

    def encode(self, source):
        """ids [batch, source] → states, and the bias that hides padding [batch, 1, 1, source]"""
        bias = bias_where((source == self.pad)[:, None, None, :])
        return self.encoder(self.embed(source), bias=bias), bias

    def forward(self, source, target, chosen):
        """ids [batch, source] and [batch, target] → logits [chosen, vocabulary] of the target's chosen tokens (bool)."""
        states, source_bias = self.encode(source)
        later = torch.ones(target.shape[1], target.shape[1], dtype=torch.bool, device=target.device).triu(1)
        x = self.decoder(self.embed(target), bias=bias_where(later), source=states, source_bias=source_bias)
        return x[chosen] @ self.shared.weight.T

    def tensors(self):
        tensors = {f"model.{name}": tensor for name, tensor in self.state_dict().items()}
        return {**tensors, "final_logits_bias": torch.zeros(1, self.shared.num_embeddings)}

    def config(self, begin, end):
        """config.json of a MarianMTModel; `begin` and `end`: ids of the special tokens."""
        shape = self.shape
        return {
            "architectures": ["MarianMTModel"], "model_type": "marian", "dtype": "float16",
            "vocab_size": self.shared.num_embeddings, "d_model": shape.d_model, "max_position_embeddings": self.length,
            "encoder_layers": shape.layers, "encoder_attention_heads": shape.heads, "encoder_ffn_dim": shape.d_ff,
            "decoder_layers": shape.layers, "decoder_attention_heads": shape.heads, "decoder_ffn_dim": shape.d_ff,
            "activation_function": "relu", "scale_embedding": True, "tie_word_embeddings": True,
            "share_encoder_decoder_embeddings": True, "is_encoder_decoder": True,
            "dropout": self.dropout, "attention_dropout": 0.0, "activation_dropout": 0.0,
            "pad_token_id": self.pad, "bos_token_id": begin, "eos_token_id": end, "decoder_start_token_id": begin,
        }
