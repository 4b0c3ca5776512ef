#include <array>

#include "model/architectures/families.h"

namespace headlight::model {
namespace {

constexpr AttentionNames kBertAttention{.query = "attention.self.query",
                                        .key = "attention.self.key",
                                        .value = "attention.self.value",
                                        .output = "attention.output.dense",
                                        .norm = "attention.output.LayerNorm"};
constexpr FeedForwardNames kBertFeedForward{.in = "intermediate.dense", .out = "output.dense", .norm = "output.LayerNorm"};
constexpr StackNames kBertStack{.table = "embeddings.word_embeddings",
                                .positions = "embeddings.position_embeddings",
                                .types = "embeddings.token_type_embeddings",
                                .embedding_norm = "embeddings.LayerNorm",
                                .layer = "encoder.layer.{}.",
                                .self = kBertAttention,
                                .feed_forward = kBertFeedForward};

constexpr StackNames with_projection(StackNames names, Names projection) {
  names.projection = projection;
  return names;
}

constexpr Names kEncoderSizes =
    "hidden_size|num_hidden_layers|num_attention_heads|intermediate_size|max_position_embeddings|type_vocab_size|hidden_act|"
    "layer_norm_eps|position_embedding_type";
constexpr Names kAsDecoder = "is_decoder|add_cross_attention";

constexpr std::array kEncoderFamilies{
    Family{.name = "BERT",
           .types = "bert",
           .prefixes = "bert.|",
           .kind = StackKind::Encoder,
           .reads = {kEncoderSizes, kAsDecoder},
           .encoder = kBertStack,
           .head = {.linear = "cls.predictions.decoder",
                    .bias = "cls.predictions.decoder.bias|cls.predictions.bias",
                    .transform = "cls.predictions.transform.dense",
                    .norm = "cls.predictions.transform.LayerNorm"},
           .ignored = "cls.predictions.bias|cls.seq_relationship.*|*pooler.*",
           .epsilon = 1e-12f,
           .norm_position = NormPosition::After,
           .head_activation = "="},
    Family{.name = "RoBERTa",
           .types = "roberta|camembert|xlm-roberta",
           .prefixes = "roberta.|",
           .kind = StackKind::Encoder,
           .reads = {kEncoderSizes, kAsDecoder, "pad_token_id"},
           .encoder = kBertStack,
           .head = {.linear = "lm_head.decoder",
                    .bias = "lm_head.decoder.bias|lm_head.bias",
                    .transform = "lm_head.dense",
                    .norm = "lm_head.layer_norm"},
           .ignored = "lm_head.bias|*pooler.*",
           .epsilon = 1e-12f,
           .norm_position = NormPosition::After,
           .head_activation = "gelu",
           .position_offset = 2,
           .counts_offset = true},
    Family{.name = "DistilBERT",
           .types = "distilbert",
           .prefixes = "distilbert.|",
           .kind = StackKind::Encoder,
           .reads = {"hidden_size|dim|num_hidden_layers|n_layers|num_attention_heads|n_heads|hidden_dim|activation",
                     "max_position_embeddings"},
           .encoder = {.table = "embeddings.word_embeddings",
                       .positions = "embeddings.position_embeddings",
                       .embedding_norm = "embeddings.LayerNorm",
                       .layer = "transformer.layer.{}.",
                       .self = {.query = "attention.q_lin",
                                .key = "attention.k_lin",
                                .value = "attention.v_lin",
                                .output = "attention.out_lin",
                                .norm = "sa_layer_norm"},
                       .feed_forward = {.in = "ffn.lin1", .out = "ffn.lin2", .norm = "output_layer_norm"}},
           .head = {.linear = "vocab_projector",
                    .bias = "vocab_projector.bias",
                    .transform = "vocab_transform",
                    .norm = "vocab_layer_norm"},
           .epsilon = 1e-12f,
           .norm_position = NormPosition::After,
           .head_activation = "="},
    Family{.name = "ALBERT",
           .types = "albert",
           .prefixes = "albert.|",
           .kind = StackKind::Encoder,
           .reads = {kEncoderSizes, "embedding_size|num_hidden_groups|inner_group_num"},
           .encoder = {.table = "embeddings.word_embeddings",
                       .positions = "embeddings.position_embeddings",
                       .types = "embeddings.token_type_embeddings",
                       .embedding_norm = "embeddings.LayerNorm",
                       .projection = "encoder.embedding_hidden_mapping_in",
                       .layer = "encoder.albert_layer_groups.{}.albert_layers.0.",
                       .self = {.query = "attention.query",
                                .key = "attention.key",
                                .value = "attention.value",
                                .output = "attention.dense",
                                .norm = "attention.LayerNorm"},
                       .feed_forward = {.in = "ffn", .out = "ffn_output", .norm = "full_layer_layer_norm"}},
           .head = {.linear = "predictions.decoder",
                    .bias = "predictions.decoder.bias|predictions.bias",
                    .transform = "predictions.dense",
                    .norm = "predictions.LayerNorm"},
           .ignored = "predictions.bias|*pooler.*|sop_classifier.*",
           .defaults = R"({"embedding_size": 128, "num_hidden_groups": 1})",
           .epsilon = 1e-12f,
           .norm_position = NormPosition::After,
           .activation = "gelu_new",
           .head_activation = "="},
    Family{.name = "ELECTRA",
           .types = "electra",
           .prefixes = "electra.|",
           .kind = StackKind::Encoder,
           .reads = {kEncoderSizes, kAsDecoder, "embedding_size"},
           .encoder = with_projection(kBertStack, "embeddings_project"),
           .head = {.linear = "generator_lm_head",
                    .bias = "generator_lm_head.bias",
                    .transform = "generator_predictions.dense",
                    .norm = "generator_predictions.LayerNorm"},
           .ignored = "discriminator_predictions.*",
           .defaults = R"({"embedding_size": 128})",
           .epsilon = 1e-12f,
           .norm_position = NormPosition::After,
           .head_activation = "gelu"},
};

}  // namespace

std::span<const Family> encoder_families() { return kEncoderFamilies; }

}  // namespace headlight::model
