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
                                .feed_forward = kBertFeedForward,
                                .distances = "encoder.layer.{}.attention.self.distance_embedding"};

constexpr StackNames with_projection(StackNames names, Names projection) {
  names.projection = projection;
  return names;
}

/// Norms before the branches and after the last layer, none after the embedding.
constexpr StackNames before_branches(Names attention_norm, Names feed_forward_norm, Names final_norm) {
  StackNames names = kBertStack;
  names.embedding_norm = "";
  names.self.norm = attention_norm;
  names.feed_forward.norm = feed_forward_norm;
  names.final_norm = final_norm;
  return names;
}

constexpr HeadNames kBertHead{.linear = "cls.predictions.decoder",
                              .bias = "cls.predictions.decoder.bias|cls.predictions.bias",
                              .transform = "cls.predictions.transform.dense",
                              .norm = "cls.predictions.transform.LayerNorm"};
constexpr HeadNames kRobertaHead{.linear = "lm_head.decoder",
                                 .bias = "lm_head.decoder.bias|lm_head.bias",
                                 .transform = "lm_head.dense",
                                 .norm = "lm_head.layer_norm"};

constexpr Names kEncoderSizes =
    "hidden_size|num_hidden_layers|num_attention_heads|intermediate_size|max_position_embeddings|type_vocab_size|hidden_act|"
    "layer_norm_eps|position_embedding_type";
constexpr Names kAsDecoder = "is_decoder|add_cross_attention";

constexpr Family bert() {
  return {.name = "BERT",
          .types = "bert",
          .prefixes = "bert.|",
          .kind = StackKind::Encoder,
          .reads = {kEncoderSizes, kAsDecoder},
          .encoder = kBertStack,
          .head = kBertHead,
          .ignored = "cls.predictions.bias|cls.seq_relationship.*|*pooler.*",
          .epsilon = 1e-12f,
          .norm_position = NormPosition::After,
          .head_activation = "="};
}

constexpr Family ernie() {
  Family family = bert();
  family.name = "ERNIE";
  family.types = "ernie";
  family.prefixes = "ernie.|";
  family.reads[2] = "use_task_id|task_type_vocab_size";
  family.encoder.task_types = "embeddings.task_type_embeddings";
  return family;
}

constexpr Family megatron_bert() {
  Family family = bert();
  family.name = "Megatron-BERT";
  family.types = "megatron-bert";
  family.encoder = before_branches("attention.ln", "ln", "encoder.ln");
  family.norm_position = NormPosition::Before;
  return family;
}

/// Positions count from one after the padding's id on.
constexpr Family roberta() {
  Family family = bert();
  family.name = "RoBERTa";
  family.types = "roberta|camembert|xlm-roberta";
  family.prefixes = "roberta.|";
  family.reads[2] = "pad_token_id";
  family.head = kRobertaHead;
  family.ignored = "lm_head.bias|*pooler.*";
  family.head_activation = "gelu";
  family.position_offset = 2;
  family.counts_offset = true;
  return family;
}

constexpr Family data2vec_text() {
  Family family = roberta();
  family.name = "Data2Vec";
  family.types = "data2vec-text";
  family.prefixes = "data2vec_text.|";
  return family;
}

constexpr Family roberta_pre_norm() {
  Family family = roberta();
  family.name = "RoBERTa-PreLayerNorm";
  family.types = "roberta-prelayernorm";
  family.prefixes = "roberta_prelayernorm.|";
  family.encoder = before_branches("attention.LayerNorm", "intermediate.LayerNorm", "LayerNorm");
  family.encoder.embedding_norm = kBertStack.embedding_norm;
  family.norm_position = NormPosition::Before;
  return family;
}

constexpr Family xlm_roberta_xl() {
  Family family = roberta();
  family.name = "XLM-R XL";
  family.types = "xlm-roberta-xl";
  family.defaults = R"({"type_vocab_size": 1})";
  family.encoder = before_branches("attention.self_attn_layer_norm", "LayerNorm", "encoder.LayerNorm");
  family.epsilon = 1e-5f;
  family.norm_position = NormPosition::Before;
  return family;
}

constexpr Family mpnet() {
  Family family = roberta();
  family.name = "MPNet";
  family.types = "mpnet";
  family.prefixes = "mpnet.|";
  family.reads = {"hidden_size|num_hidden_layers|num_attention_heads|intermediate_size|max_position_embeddings|hidden_act",
                  "layer_norm_eps|relative_attention_num_buckets"};
  StackNames& names = family.encoder;
  names.types = "";
  names.self = {.query = "attention.attn.q",
                .key = "attention.attn.k",
                .value = "attention.attn.v",
                .output = "attention.attn.o",
                .norm = "attention.LayerNorm"};
  names.position_bias = "encoder.relative_attention_bias";
  names.distances = "";
  family.buckets = 32;
  return family;
}

/// Scores are sums of products of content and of distances, by the layer's own projections of both.
constexpr Family deberta() {
  Family family = bert();
  family.name = "DeBERTa";
  family.types = "deberta-v2";
  family.prefixes = "deberta.|";
  family.reads = {"hidden_size|num_hidden_layers|num_attention_heads|attention_head_size|intermediate_size|hidden_act",
                  "max_position_embeddings|type_vocab_size|layer_norm_eps|embedding_size|conv_kernel_size",
                  "relative_attention|max_relative_positions|position_buckets|position_biased_input|pos_att_type",
                  "share_att_key|norm_rel_ebd"};
  family.keys.head_size = "attention_head_size";
  StackNames& names = family.encoder;
  names.self.query = "attention.self.query_proj";
  names.self.key = "attention.self.key_proj";
  names.self.value = "attention.self.value_proj";
  names.self.position_query = "attention.self.pos_query_proj";
  names.self.position_key = "attention.self.pos_key_proj";
  names.distances = "encoder.rel_embeddings";
  names.distance_norm = "encoder.LayerNorm";
  family.head = {.linear = "cls.predictions.decoder",
                 .bias = "cls.predictions.decoder.bias|cls.predictions.bias|lm_predictions.lm_head.bias",
                 .transform = "cls.predictions.transform.dense|lm_predictions.lm_head.dense",
                 .norm = "cls.predictions.transform.LayerNorm|lm_predictions.lm_head.LayerNorm"};
  family.ignored = "cls.predictions.bias|*pooler.*|lm_predictions.*|mask_predictions.*";
  family.defaults = R"({"type_vocab_size": 0})";
  family.epsilon = 1e-7f;
  return family;
}

/// Protein language models. Queries are scaled before RoPE, which gives the same scores as scaling these.
constexpr Family esm() {
  Family family = roberta();
  family.name = "ESM";
  family.types = "esm";
  family.prefixes = "esm.|";
  family.reads = {
      "hidden_size|num_hidden_layers|num_attention_heads|intermediate_size|max_position_embeddings|layer_norm_eps",
      "is_decoder|add_cross_attention|is_folding_model|position_embedding_type|rope_theta|pad_token_id",
      "emb_layer_norm_before|token_dropout|mask_token_id"};
  family.encoder = before_branches("attention.LayerNorm", "LayerNorm", "encoder.emb_layer_norm_after");
  family.encoder.types = family.encoder.distances = "";
  family.encoder.embedding_norm = "embeddings.layer_norm";
  family.encoder.frequencies =
      "rotary_embeddings.inv_freq|encoder.layer.0.attention.self.rotary_embeddings.inv_freq|"
      "encoder.layer.*.attention.self.rotary_embeddings.inv_freq";
  family.ignored =
      "*contact_head.*|*pooler.*|lm_head.decoder.bias|*rotary_embeddings.inv_freq|*embeddings.position_embeddings.weight";
  family.head.bias = "lm_head.bias";
  family.norm_position = NormPosition::Before;
  family.is_rotary_optional = true;
  return family;
}

/// Under transformers' names and, after '|', those of Nomic's own files.
constexpr Family nomic_bert() {
  Family family = bert();
  family.name = "Nomic BERT";
  family.types = "nomic_bert";
  family.prefixes = "nomic_bert.|bert.|";
  family.reads = {
      "hidden_size|n_embd|num_hidden_layers|n_layer|num_attention_heads|n_head|intermediate_size|n_inner|head_dim|hidden_"
      "act",
      "activation_function|layer_norm_eps|layer_norm_epsilon|type_vocab_size|max_position_embeddings|rope_parameters",
      "rope_scaling|rope_theta|rotary_emb_base|rotary_emb_fraction|rotary_emb_interleaved|original_max_position_embeddings",
      "prenorm|use_rms_norm|qkv_proj_bias|mlp_fc1_bias|mlp_fc2_bias"};
  family.keys.activation = "hidden_act|activation_function";
  StackNames& names = family.encoder;
  names.positions = names.distances = "";
  names.embedding_norm = "embeddings.LayerNorm|emb_ln";
  names.layer = "layers.{}.|encoder.layers.{}.";
  names.self = {.query = "self_attn.q_proj",
                .key = "self_attn.k_proj",
                .value = "self_attn.v_proj",
                .fused = "attn.Wqkv",
                .output = "self_attn.o_proj|attn.out_proj",
                .norm = "post_attention_layernorm|norm1"};
  names.feed_forward = {.in = "mlp.up_proj|mlp.fc11",
                        .out = "mlp.down_proj|mlp.fc2",
                        .gate = "mlp.gate_proj|mlp.fc12",
                        .norm = "post_mlp_layernorm|norm2"};
  family.head.norm = "cls.predictions.transform.layer_norm|cls.predictions.transform.LayerNorm";
  family.biases = {.projections = false, .output = false, .feed_forward = false};
  family.is_gated = true;
  family.activation = "silu";
  family.positions = Positions::Rotary;
  family.rope_theta = 1000.0;
  return family;
}

constexpr Family kModernBert{
    .name = "ModernBERT",
    .types = "modernbert",
    .prefixes = "model.|",
    .kind = StackKind::Encoder,
    .reads =
        {"hidden_size|num_hidden_layers|num_attention_heads|intermediate_size|max_position_embeddings|hidden_activation",
         "norm_eps|norm_bias|attention_bias|mlp_bias|decoder_bias|classifier_bias|classifier_activation",
         "local_attention|global_attn_every_n_layers|layer_types",
         "rope_parameters|rope_scaling|global_rope_theta|local_rope_theta|original_max_position_embeddings"},
    .keys = {.epsilon = "norm_eps"},
    .encoder = {.table = "embeddings.tok_embeddings",
                .embedding_norm = "embeddings.norm",
                .layer = "layers.{}.",
                .self = {.fused = "attn.Wqkv", .output = "attn.Wo", .norm = "attn_norm"},
                .feed_forward = {.out = "mlp.Wo", .gate_and_in = "mlp.Wi", .norm = "mlp_norm"},
                .final_norm = "final_norm"},
    .head = {.linear = "decoder", .bias = "decoder.bias", .transform = "head.dense", .norm = "head.norm"},
    .ignored = "*.inv_freq",
    .skips_first_norm = true,
    .biases = {.projections = false,
               .output = false,
               .feed_forward = false,
               .norms = false,
               .attention_key = "attention_bias",
               .feed_forward_key = "mlp_bias",
               .norm_key = "norm_bias"},
    .is_gated = true,
    .head_activation = "gelu",
    .head_activation_key = "classifier_activation",
    .positions = Positions::Rotary,
    .max_length = 8'192,
    .rope_theta = 160'000.0,
    .local_rope_theta = 10'000.0,
    .scales_local_rope = true,
    .window = 128,
    .window_period = 3,
    .begins_without_window = true,
    .is_window_of_both_sides = true};

constexpr std::array kEncoderFamilies{
    bert(),
    ernie(),
    megatron_bert(),
    roberta(),
    data2vec_text(),
    roberta_pre_norm(),
    xlm_roberta_xl(),
    mpnet(),
    deberta(),
    esm(),
    nomic_bert(),
    kModernBert,
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
