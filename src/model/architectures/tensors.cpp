#include "model/architectures/tensors.h"

#include <algorithm>
#include <array>

#include "core/error.h"
#include "model/architectures/families.h"

namespace headlight::model {
namespace {

/// Buffers and heads of other tasks that checkpoints include.
constexpr Names kHarmless =
    "*position_ids|*embeddings.position_embeddings.weight|*embeddings.token_type_ids|*pooler.*|classifier.*|score.*|qa_"
    "outputs.*|pre_classifier.*|summary.*";

/// Prefixes that programs leave around a model: DataParallel, PEFT, a module that has it as `model`, and `transformer`,
/// under which transformers' classes for answering questions have a decoder.
constexpr std::array<std::string_view, 4> kWrappers{"module.", "base_model.model.", "model.", "transformer."};

/// Does `name` match a pattern in which '*' matches anything? What follows a star is looked for from left to right; where it
/// doesn't fit, the last star takes one character more.
bool fits(std::string_view name, std::string_view pattern) {
  std::size_t at = 0, in_pattern = 0, begin = 0, star = std::string_view::npos;
  while (at < name.size()) {
    if (in_pattern < pattern.size() && pattern[in_pattern] == '*') {
      star = in_pattern++;
      begin = at;
    } else if (in_pattern < pattern.size() && pattern[in_pattern] == name[at]) {
      ++at;
      ++in_pattern;
    } else if (star != std::string_view::npos) {
      in_pattern = star + 1;
      at = ++begin;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', in_pattern) == std::string_view::npos;
}

bool fits_any(std::string_view name, Names patterns) {
  bool is_fitting = false;
  for_each_name(patterns, [&](std::string_view pattern) { is_fitting = is_fitting || fits(name, pattern); });
  return is_fitting;
}

/// Older checkpoints call a LayerNorm's weight and bias gamma and beta.
std::string_view older(std::string_view suffix) { return suffix == ".weight" ? ".gamma" : ".beta"; }

}  // namespace

FamilyTensors::FamilyTensors(Checkpoint checkpoint, const Family& family)
    : checkpoint_(std::move(checkpoint)), family_(family), is_transposed_(family.is_transposed) {
  constexpr int kMaxWrappers = 3;
  // A file may have the head alone, of two tied tensors.
  if (!unwrap(kMaxWrappers) && !(has_table_in_head_ = family.is_tied, find_prefix())) {
    has_table_in_head_ = false;
    prefix_ = family.prefixes.substr(0, family.prefixes.find('|'));
    constexpr std::string_view kMeta = "layers.0.attention.wq.weight";
    if (checkpoint_.has(kMeta)) {
      throw Error(
          "{}: its tensors have Meta's names ('{}'), not those of transformers: download the converted model, or convert it",
          utf8(checkpoint_.path()), kMeta);
    }
  }
  // nanoGPT's linear layers are PyTorch's: shapes that aren't square say so.
  const auto is_tall = [&](Names names) {
    const std::string name = find(prefix_ + "h.0.", names, ".weight");
    return !name.empty() && checkpoint_.shape(name).size() == 2 && checkpoint_.shape(name)[0] > checkpoint_.shape(name)[1];
  };
  if (is_tall(family.encoder.self.fused) && is_tall(family.encoder.feed_forward.in)) is_transposed_ = false;
}

bool FamilyTensors::unwrap(int wrappers) {
  if (find_prefix()) return true;
  const Checkpoint whole = checkpoint_;
  const std::vector<std::string> names = wrappers > 0 ? whole.names() : std::vector<std::string>();
  for (const std::string_view wrapper : kWrappers) {
    if (std::ranges::none_of(names, [&](const std::string& name) { return name.starts_with(wrapper); })) continue;
    checkpoint_ = whole.without_prefix(wrapper);
    if (unwrap(wrappers - 1)) return true;
  }
  checkpoint_ = whole;
  return false;
}

bool FamilyTensors::find_prefix() {
  bool is_found = false;
  const auto look = [&] {
    for_each_name(family_.prefixes, [&](std::string_view prefix) {
      if (is_found || find(prefix, family_.encoder.table, ".weight").empty()) return;
      prefix_ = prefix;
      is_found = true;
    });
  };
  look();
  is_bare_encoder_ = !is_found && family_.kind == StackKind::EncoderDecoder;
  if (is_bare_encoder_) look();
  is_bare_encoder_ = is_bare_encoder_ && is_found;
  return is_found;
}

std::string FamilyTensors::find(std::string_view prefix, Names names, std::string_view suffix) const {
  std::string found;
  for_each_name(names, [&](std::string_view name) {
    constexpr std::string_view kEncoder = "encoder.";
    if (!found.empty() || name.empty()) return;
    if (is_bare_encoder_ && name.starts_with(kEncoder)) name.remove_prefix(kEncoder.size());
    std::string whole = fmt::format("{}{}{}", prefix, name, suffix);
    if (checkpoint_.has(whole)) found = std::move(whole);
  });
  if (found.empty() && has_table_in_head_ && names == family_.encoder.table) return find("", family_.head.linear, suffix);
  return found;
}

Parameter FamilyTensors::take(std::string_view prefix, Names names, std::string_view suffix, const Shape& shape) {
  std::string name = find(prefix, names, suffix);
  if (name.empty()) name = fmt::format("{}{}{}", prefix, names.substr(0, names.find('|')), suffix);
  return checkpoint_.find(name, shape);
}

Linear FamilyTensors::linear(std::string_view prefix, Names names, const Shape& shape, bool has_bias) {
  Linear linear{.weight = is_transposed_ ? take(prefix, names, ".weight", {shape[1], shape[0]}).transposed()
                                         : take(prefix, names, ".weight", shape)};
  if (has_bias) linear.bias = take(prefix, names, ".bias", {shape[0]});
  return linear;
}

Norm FamilyTensors::norm(std::string_view prefix, Names names, std::uint32_t width, const Sizes& sizes, bool has_bias) {
  if (family_.is_norm_plain) {
    return {.weight = Tensor(Shape{width}, std::vector<float>(width, 1.0f)),
            .epsilon = sizes.epsilon,
            .kind = family_.norm,
            .is_plain = true};
  }
  const bool is_older = find(prefix, names, ".weight").empty() && !find(prefix, names, ".gamma").empty();
  const auto part = [&](std::string_view suffix) { return take(prefix, names, is_older ? older(suffix) : suffix, {width}); };
  Norm norm{.weight = part(".weight"), .epsilon = sizes.epsilon, .kind = family_.norm, .weight_offset = family_.norm_offset};
  if (family_.norm == Norm::Kind::Layer && has_bias) norm.bias = part(".bias");
  return norm;
}

Norm FamilyTensors::head_norm(Names names, std::uint32_t heads, std::uint32_t d_k, const Sizes& sizes) {
  const bool has_bias = family_.biases.head_norms && family_.norm == Norm::Kind::Layer;
  if (family_.head_norms != HeadNorms::Own) {
    const bool spans_heads = family_.head_norms == HeadNorms::Whole;
    Norm norm = this->norm(prefix_, names, spans_heads ? heads * d_k : d_k, sizes, has_bias);
    norm.spans_heads = spans_heads;
    return norm;
  }
  Norm norm{.weight = {}, .epsilon = sizes.epsilon, .kind = family_.norm, .weight_offset = family_.norm_offset};
  const std::size_t hole = names.find("{}");
  const auto of_heads = [&](std::string_view suffix) -> Parameter {
    std::vector<float> values;
    const auto add = [&](const Parameter& some) {
      const Tensor tensor = some.tensor();
      values.insert(values.end(), tensor.values.begin(), tensor.values.end());
    };
    if (hole == Names::npos) add(take(prefix_, names, suffix, {heads, d_k}));
    for (std::uint32_t head = 0; head < heads && hole != Names::npos; ++head) {
      const std::string name = fmt::format("{}{}{}", names.substr(0, hole), head, names.substr(hole + 2));
      add(take(prefix_, name, suffix, {d_k}));
    }
    return Tensor(Shape{heads * d_k}, std::move(values));
  };
  norm.weight = of_heads(".weight");
  if (has_bias) norm.bias = of_heads(".bias");
  return norm;
}

Parameter FamilyTensors::weight(Names names, const Shape& shape) { return take(prefix_, names, ".weight", shape); }

Linear FamilyTensors::linear(Names names, std::uint32_t out, std::uint32_t in, bool has_bias) {
  return linear(prefix_, names, {out, in}, has_bias);
}

std::optional<Parameter> FamilyTensors::expert_weights(Names names, std::uint32_t count, std::uint32_t out,
                                                       std::uint32_t in) {
  for (const std::string_view suffix : {".weight", ""}) {
    if (!find(prefix_, names, suffix).empty()) return take(prefix_, names, suffix, {count, out, in});
  }
  return std::nullopt;
}

Linear FamilyTensors::single_output(Names names, std::uint32_t in) {
  const std::string name = find(prefix_, names, ".weight");
  if (name.empty() || checkpoint_.shape(name).size() != 1) return linear(names, 1, in, false);
  return {.weight = Tensor(Shape{1, in}, checkpoint_.find(name, {in}).tensor().values)};
}

Norm FamilyTensors::norm(Names names, std::uint32_t width, const Sizes& sizes) {
  return norm(prefix_, names, width, sizes, sizes.biases.norms);
}

std::optional<Parameter> FamilyTensors::frequencies(Names names, std::uint32_t count) {
  if (find(prefix_, names, "").empty()) return std::nullopt;
  return take(prefix_, names, "", {count});
}

std::uint32_t FamilyTensors::table_rows() const {
  const std::string name = find(prefix_, family_.encoder.table, ".weight");
  return name.empty() || checkpoint_.shape(name).empty() ? 0 : checkpoint_.shape(name).front();
}

Parameter FamilyTensors::tied_table(Names names, const Parameter& table) const {
  return checkpoint_.before_adapter(find(prefix_, names, ".weight")).value_or(table);
}

Linear FamilyTensors::head_linear(Names names, std::uint32_t out, std::uint32_t in, bool has_bias) {
  Linear linear{.weight = take("", names, ".weight", {out, in})};
  if (has_bias) linear.bias = take("", names, ".bias", {out});
  return linear;
}

Norm FamilyTensors::unembedding_norm(Names names, std::uint32_t width, const Sizes& sizes) {
  return norm("", names, width, sizes, sizes.biases.norms);
}

Parameter FamilyTensors::head_bias(Names names, std::uint32_t out, bool is_needed) {
  const std::string name = find("", names, "");
  if (name.empty() && !is_needed) return {};
  if (name.empty() || checkpoint_.shape(name).size() != 2) return take("", names, "", {out});
  return Parameter(Tensor(Shape{out}, checkpoint_.find(name, {1, out}).tensor().values));
}

std::vector<std::string> FamilyTensors::leftovers() {
  std::vector<std::string> names;
  for (const std::string& name : checkpoint_.unasked()) {
    if (fits_any(name, family_.ignored) || fits_any(name, kHarmless)) continue;
    if (name.starts_with(prefix_)) {
      throw Error("{}: tensor '{}' of shape {} is no part of the {} that its config describes: {}", utf8(checkpoint_.path()),
                  printable(name), headlight::to_string(checkpoint_.shape(name)), family_.name, checkpoint_.mismatch());
    }
    names.push_back(name);
  }
  return names;
}

}  // namespace headlight::model
