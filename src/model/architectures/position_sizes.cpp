#include <optional>
#include <string>

#include "core/error.h"
#include "model/architectures/families.h"
#include "model/architectures/sizes.h"

namespace headlight::model {
namespace {

constexpr std::uint32_t kMaxSinusoid = 1u << 16;  // these rows are computed, not stored
constexpr std::uint32_t kMaxTypes = 1024;

/// BERT's relative_key and relative_key_query: a row for each distance up to max_position_embeddings.
DistanceVectors bert_distances(const Settings& settings, const Family& family, bool has_queries, Sizes& sizes) {
  const std::uint32_t length = settings.count(family.keys.max_length, kMaxLength);
  sizes.distance_rows = 2 * length - 1;
  sizes.has_content_position = true;
  sizes.has_position_content = has_queries;
  return {.origin = length - 1};
}

/// DeBERTa's.
std::optional<DistanceVectors> deberta_distances(const Settings& settings, const Family& family, Sizes& sizes) {
  constexpr Names kTypes = "pos_att_type";
  if (!settings.flag("relative_attention", false)) return std::nullopt;
  DistanceVectors distances{.is_projected = true};
  for (const std::string& type : settings.texts(kTypes)) {
    sizes.has_content_position = sizes.has_content_position || type == "c2p";
    sizes.has_position_content = sizes.has_position_content || type == "p2c";
  }
  sizes.shares_projections = settings.flag("share_att_key", false);
  double reach = settings.number("max_relative_positions", -1.0, -1.0, kMaxLength);
  if (reach < 1.0) reach = settings.count(family.keys.max_length, kMaxLength);
  const double buckets = settings.number("position_buckets", -1.0, -1.0, kMaxLength);
  if (buckets > 0.0) {
    distances.buckets = static_cast<std::uint32_t>(buckets);
    distances.max_distance = static_cast<std::uint32_t>(reach);
    if (distances.buckets < 4 || distances.max_distance < distances.buckets)
      settings.refuse("position_buckets", fmt::format("from 4 to {}", distances.max_distance));
  }
  distances.origin = static_cast<std::uint32_t>(buckets > 0.0 ? buckets : reach);
  sizes.distance_rows = 2 * distances.origin;
  sizes.norms_distances = settings.text("norm_rel_ebd", "none").find("layer_norm") != std::string::npos;
  return distances;
}

}  // namespace

void read_positions(const Settings& settings, const Family& family, Sizes& sizes) {
  constexpr Names kType = "position_embedding_type";
  const std::string type = settings.text(kType, "absolute");
  const bool is_relative = type == "relative_key" || type == "relative_key_query";
  if (settings.is_null(kType) || (type != "absolute" && !(type == "rotary" && family.is_rotary_optional) &&
                                  !(is_relative && !family.encoder.distances.empty()))) {
    settings.refuse_network(kType, family.is_rotary_optional          ? "absolute or rotary"
                                   : family.encoder.distances.empty() ? "absolute"
                                                                      : "absolute, relative_key or relative_key_query");
  }
  sizes.positions = type == "rotary"                ? Positions::Rotary
                    : settings.flag("alibi", false) ? Positions::Alibi
                                                    : family.positions;
  if (is_relative || !settings.flag("position_biased_input", true)) sizes.positions = Positions::Distances;
  if (is_relative) sizes.distances = bert_distances(settings, family, type == "relative_key_query", sizes);
  if (reads(family, "relative_attention")) sizes.distances = deberta_distances(settings, family, sizes);
  const std::uint32_t fallback = sizes.positions == Positions::Rotary ? family.max_length : 512;
  const bool is_limit = sizes.positions == Positions::Learned || sizes.positions == Positions::Sinusoidal || is_relative;
  sizes.is_length_limited = is_limit;
  const std::uint32_t largest = sizes.positions == Positions::Sinusoidal ? kMaxSinusoid : kMaxLength;
  sizes.position_offset = family.position_offset;
  const auto length = [&](Names keys) {
    std::uint32_t count = is_limit ? settings.count(keys, largest) : settings.count(keys, fallback, largest);
    if (!family.counts_offset || sizes.positions != Positions::Learned) return count;
    sizes.position_offset = settings.count("pad_token_id", family.position_offset - 1, kMaxVocabulary, 0) + 1;
    if (count <= sizes.position_offset) settings.refuse(keys, fmt::format("more than {}", sizes.position_offset));
    return count - sizes.position_offset;
  };
  const auto length_keys = [&](const StackKeys& keys) {
    return keys.max_length.empty() ? family.keys.max_length : keys.max_length;
  };
  sizes.encoder.max_length = length(length_keys(family.keys.encoder));
  if (sizes.kind == StackKind::EncoderDecoder) sizes.decoder.max_length = length(length_keys(family.keys.decoder));
  if (!family.encoder.types.empty()) sizes.types = settings.count("type_vocab_size", 2, kMaxTypes, 0);
  if (settings.flag("use_task_id", false)) sizes.task_types = settings.count("task_type_vocab_size", 3, kMaxTypes);
  if (settings.flag("token_dropout", false)) {
    sizes.dropped_id = settings.count("mask_token_id", kMaxVocabulary, kMaxVocabulary, 0);
  }
}

}  // namespace headlight::model
