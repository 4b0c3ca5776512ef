#include <array>

#include "model/architectures/families.h"

namespace headlight::model {
namespace {

constexpr AttentionNames bart_attention(Names query, Names key, Names value, Names output, Names norm) {
  return {.query = query, .key = key, .value = value, .output = output, .norm = norm};
}

constexpr AttentionNames kBartSelf =
    bart_attention("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.out_proj", "self_attn_layer_norm");
constexpr AttentionNames kBartCross = bart_attention("encoder_attn.q_proj", "encoder_attn.k_proj", "encoder_attn.v_proj",
                                                     "encoder_attn.out_proj", "encoder_attn_layer_norm");
constexpr FeedForwardNames kBartFeedForward{.in = "fc1", .out = "fc2", .norm = "final_layer_norm"};
/// A stack's own table takes precedence: shared.weight is then unused.
constexpr StackNames kBartEncoder{.table = "encoder.embed_tokens|shared|decoder.embed_tokens",
                                  .positions = "encoder.embed_positions",
                                  .embedding_norm = "encoder.layernorm_embedding",
                                  .layer = "encoder.layers.{}.",
                                  .self = kBartSelf,
                                  .feed_forward = kBartFeedForward};
constexpr StackNames kBartDecoder{.table = "decoder.embed_tokens|shared|encoder.embed_tokens",
                                  .positions = "decoder.embed_positions",
                                  .embedding_norm = "decoder.layernorm_embedding",
                                  .layer = "decoder.layers.{}.",
                                  .self = kBartSelf,
                                  .cross = kBartCross,
                                  .feed_forward = kBartFeedForward};
constexpr Keys kBartKeys{
    .encoder = {.layers = "num_hidden_layers|encoder_layers",
                .heads = "num_attention_heads|encoder_attention_heads",
                .d_ff = "encoder_ffn_dim"},
    .decoder = {.layers = "decoder_layers", .heads = "decoder_attention_heads", .d_ff = "decoder_ffn_dim"},
    .d_model = "hidden_size|d_model",
    .activation = "activation_function"};
constexpr std::array<Names, 5> kBartReads{
    "hidden_size|d_model|num_hidden_layers|encoder_layers|num_attention_heads|encoder_attention_heads|encoder_ffn_dim",
    "decoder_layers|decoder_attention_heads|decoder_ffn_dim",
    "max_position_embeddings|activation_function|scale_embedding|is_causal"};

constexpr Family bart() {
  return {.name = "BART",
          .types = "bart",
          .prefixes = "model.|",
          .kind = StackKind::EncoderDecoder,
          .reads = kBartReads,
          .keys = kBartKeys,
          .encoder = kBartEncoder,
          .decoder = kBartDecoder,
          .head = {.linear = "lm_head", .bias = "final_logits_bias"},
          .ignored = "*shared.weight|classification_head.*",
          .norm_position = NormPosition::After,
          .position_offset = 2};
}

constexpr Family mbart() {
  Family family = bart();
  family.name = "mBART";
  family.types = "mbart";
  family.encoder.final_norm = "encoder.layer_norm";
  family.decoder.final_norm = "decoder.layer_norm";
  family.norm_position = NormPosition::Before;
  return family;
}

constexpr Family with_sines(Family family) {
  family.encoder.embedding_norm = family.decoder.embedding_norm = "";
  family.positions = Positions::Sinusoidal;
  family.position_offset = 0;
  return family;
}

constexpr Family marian() {
  Family family = with_sines(bart());
  family.name = "Marian";
  family.types = "marian";
  family.reads[3] = "decoder_vocab_size";
  family.activation = "gelu";
  return family;
}

constexpr Family pegasus() {
  Family family = with_sines(mbart());
  family.name = "Pegasus";
  family.types = "pegasus";
  return family;
}

/// Norms before the branches, as in mBART, sines from position 2 on.
constexpr Family m2m_100() {
  Family family = with_sines(mbart());
  family.name = "M2M-100";
  family.types = "m2m_100";
  family.encoder.positions = family.decoder.positions = "";
  family.ignored = "*shared.weight|*embed_positions.weights";
  family.activation = "relu";
  family.position_offset = 2;
  family.is_sinusoid_closed = true;
  family.scales_embedding = true;
  return family;
}

constexpr Family blenderbot() {
  Family family = mbart();
  family.name = "Blenderbot";
  family.types = "blenderbot";
  family.encoder.embedding_norm = family.decoder.embedding_norm = "";
  family.position_offset = 0;
  return family;
}

constexpr Family blenderbot_small() {
  Family family = bart();
  family.name = "Blenderbot Small";
  family.types = "blenderbot-small";
  family.decoder.adds_positions_last = true;
  family.position_offset = 0;
  return family;
}

/// Without global attention, as transformers computes where no token is named for it.
constexpr Family led() {
  Family family = bart();
  family.name = "LED";
  family.types = "led";
  family.prefixes = "led.|model.|";
  family.reads[2] =
      "max_encoder_position_embeddings|max_decoder_position_embeddings|activation_function|attention_window|is_causal";
  family.keys.encoder.max_length = "max_encoder_position_embeddings";
  family.keys.decoder.max_length = "max_decoder_position_embeddings";
  AttentionNames& self = family.encoder.self;
  self.query = "self_attn.longformer_self_attn.query";
  self.key = "self_attn.longformer_self_attn.key";
  self.value = "self_attn.longformer_self_attn.value";
  self.output = "self_attn.output";
  family.ignored = "*shared.weight|classification_head.*|*.longformer_self_attn.*_global.*";
  family.position_offset = 0;
  family.window = 512;
  family.is_window_of_both_sides = true;
  return family;
}

constexpr AttentionNames kT5Self{.query = "layer.0.SelfAttention.q",
                                 .key = "layer.0.SelfAttention.k",
                                 .value = "layer.0.SelfAttention.v",
                                 .output = "layer.0.SelfAttention.o",
                                 .norm = "layer.0.layer_norm"};
constexpr AttentionNames kT5Cross{.query = "layer.1.EncDecAttention.q",
                                  .key = "layer.1.EncDecAttention.k",
                                  .value = "layer.1.EncDecAttention.v",
                                  .output = "layer.1.EncDecAttention.o",
                                  .norm = "layer.1.layer_norm"};

constexpr Family kT5{
    .name = "T5",
    .types = "t5",
    .prefixes = "|transformer.",
    .kind = StackKind::EncoderDecoder,
    .reads = {"hidden_size|d_model|num_hidden_layers|num_layers|num_decoder_layers|num_attention_heads|num_heads|d_ff",
              "head_dim|d_kv|n_positions|layer_norm_epsilon|is_causal|feed_forward_proj|dense_act_fn|is_gated_act",
              "relative_attention_num_buckets|relative_attention_max_distance", "scale_decoder_outputs"},
    .keys = {.encoder = {.layers = "num_hidden_layers|num_layers", .heads = "num_attention_heads|num_heads", .d_ff = "d_ff"},
             .decoder = {.layers = "num_decoder_layers|num_layers",
                         .heads = "num_attention_heads|num_heads",
                         .d_ff = "d_ff"},
             .d_model = "hidden_size|d_model",
             .max_length = "n_positions",
             .epsilon = "layer_norm_epsilon",
             .head_size = "head_dim|d_kv"},
    .encoder = {.table = "shared|encoder.embed_tokens|decoder.embed_tokens",
                .layer = "encoder.block.{}.",
                .self = kT5Self,
                .feed_forward = {.in = "layer.1.DenseReluDense.wi|layer.1.DenseReluDense.wi_1",
                                 .out = "layer.1.DenseReluDense.wo",
                                 .gate = "layer.1.DenseReluDense.wi_0",
                                 .norm = "layer.1.layer_norm"},
                .final_norm = "encoder.final_layer_norm",
                .position_bias = "encoder.block.0.layer.0.SelfAttention.relative_attention_bias"},
    .decoder = {.table = "shared|decoder.embed_tokens|encoder.embed_tokens",
                .layer = "decoder.block.{}.",
                .self = kT5Self,
                .cross = kT5Cross,
                .feed_forward = {.in = "layer.2.DenseReluDense.wi|layer.2.DenseReluDense.wi_1",
                                 .out = "layer.2.DenseReluDense.wo",
                                 .gate = "layer.2.DenseReluDense.wi_0",
                                 .norm = "layer.2.layer_norm"},
                .final_norm = "decoder.final_layer_norm",
                .position_bias = "decoder.block.0.layer.0.SelfAttention.relative_attention_bias"},
    .head = {.linear = "lm_head"},
    .ignored =
        "*encoder.embed_tokens.weight|*decoder.embed_tokens.weight|*.EncDecAttention.relative_attention_bias.weight|"
        "classification_head.*",
    .norm = Norm::Kind::RootMeanSquare,
    .defaults = R"({"d_kv": 64})",
    .epsilon = 1e-6f,
    .biases = {.projections = false, .output = false, .feed_forward = false},
    .positions = Positions::Buckets,
    .scales_attention = false,
    .scales_head = true};

constexpr Family mt5() {
  Family family = kT5;
  family.name = "mT5";
  family.types = "mt5";
  family.reads[3] = "";
  family.defaults = R"({"d_kv": 64, "feed_forward_proj": "gated-gelu"})";
  family.scales_head = false;
  return family;
}

/// A table of position biases in each layer.
constexpr Family umt5() {
  Family family = kT5;
  family.name = "UMT5";
  family.types = "umt5";
  family.defaults = R"({"d_kv": 64, "feed_forward_proj": "gated-gelu"})";
  family.encoder.position_bias = "encoder.block.{}.layer.0.SelfAttention.relative_attention_bias";
  family.decoder.position_bias = "decoder.block.{}.layer.0.SelfAttention.relative_attention_bias";
  return family;
}

constexpr std::array kEncoderDecoderFamilies{
    bart(), mbart(), marian(), pegasus(), m2m_100(), blenderbot(), blenderbot_small(), led(), kT5, mt5(), umt5()};

}  // namespace

std::span<const Family> encoder_decoder_families() { return kEncoderDecoderFamilies; }

}  // namespace headlight::model
