#include "support/golden_model.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "model/safetensors.h"
#include "support/deviation.h"

namespace headlight::test {
namespace {

std::vector<std::uint32_t> unsigned_integers(const model::SafetensorsFile& file, const std::string& name) {
  std::vector<std::uint32_t> values;
  if (!file.has(name)) return values;
  for (const std::int64_t value : file.integers(name)) values.push_back(static_cast<std::uint32_t>(value));
  return values;
}

model::TokenBatch read_tokens(const model::SafetensorsFile& file, const std::string& prefix, const std::string& side) {
  const Shape shape = file.shape(prefix + side + "ids");
  model::TokenBatch tokens{.batch = shape.at(0), .length = shape.at(1)};
  tokens.ids = unsigned_integers(file, prefix + side + "ids");
  const std::vector<std::uint32_t> mask = unsigned_integers(file, prefix + side + "mask");
  for (std::uint32_t item = 0; item < tokens.batch; ++item) {
    const auto row = mask.begin() + static_cast<std::ptrdiff_t>(std::size_t{item} * tokens.length);
    const auto end = row + tokens.length;
    tokens.lengths.push_back(static_cast<std::uint32_t>(std::count(row, end, 1u)));
    tokens.starts.push_back(static_cast<std::uint32_t>(std::find(row, end, 1u) - row));
  }
  if (side.empty()) {
    tokens.positions = unsigned_integers(file, prefix + "positions");
    tokens.types = unsigned_integers(file, prefix + "types");
  }
  return tokens;
}

Tensor read_tensor(const model::SafetensorsFile& file, const std::string& name) {
  return file.has(name) ? file.tensor(name) : Tensor();
}

bool is_real(const model::TokenBatch& tokens, std::uint32_t item, std::uint32_t token) {
  return token >= tokens.start(item) && token < tokens.start(item) + tokens.lengths[item];
}

template <typename Number>
RowDeviation compare_rows(const Shape& shape, std::span<const Number> found, std::span<const float> expected,
                          const model::TokenBatch& tokens) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const std::size_t count = element_count(shape);
  if (found.size() != count || expected.size() != count || shape.front() != tokens.batch ||
      shape.at(shape.size() - 2) != tokens.length) {
    return {kInfinity, 0.0};
  }
  const std::size_t width = shape.back();
  const std::size_t rows_of_item = count / width / tokens.batch;
  RowDeviation deviation;
  double squares = 0.0, numbers = 0.0;
  for (std::size_t row = 0; row < count / width; ++row) {
    const auto item = static_cast<std::uint32_t>(row / rows_of_item);
    if (!is_real(tokens, item, static_cast<std::uint32_t>(row % tokens.length))) continue;
    for (std::size_t i = row * width; i < (row + 1) * width; ++i) {
      const auto wanted = static_cast<double>(expected[i]);
      widen(deviation.largest, static_cast<double>(found[i]), wanted);
      squares += wanted * wanted;
      numbers += 1.0;
    }
  }
  deviation.root_square = std::sqrt(squares / numbers);
  return deviation;
}

}  // namespace

std::filesystem::path golden_model_path(std::string_view name) {
  return std::filesystem::path(HEADLIGHT_GOLDEN_DIR) / "models" / name;
}

std::vector<std::string> golden_models() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(golden_model_path(""))) {
    const bool is_model = exists(entry.path() / "config.json") && exists(entry.path() / "reference.safetensors");
    if (is_model) names.push_back(entry.path().filename().string());
  }
  std::ranges::sort(names);
  return names;
}

std::vector<std::string> golden_gguf_files() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(golden_model_path("gguf"))) {
    std::filesystem::path reference = entry.path();
    if (entry.path().extension() == ".gguf" && exists(reference.replace_extension(".reference.safetensors")))
      names.push_back(entry.path().stem().string());
  }
  std::ranges::sort(names);
  return names;
}

std::vector<GoldenCase> load_golden_cases(std::string_view name) {
  return read_golden_cases(golden_model_path(name) / "reference.safetensors");
}

std::vector<GoldenCase> read_golden_cases(const std::filesystem::path& path) {
  const model::SafetensorsFile file(path);
  std::set<std::string> names;
  for (const model::StoredTensor& tensor : file.tensors().all()) names.insert(tensor.name.substr(0, tensor.name.find('.')));
  std::vector<GoldenCase> cases;
  for (const std::string& name : names) {
    const std::string prefix = name + ".";
    GoldenCase golden{.name = name};
    golden.input.source = read_tokens(file, prefix, "");
    if (file.has(prefix + "target_ids")) golden.input.target = read_tokens(file, prefix, "target_");
    for (const auto& [tensor, what] : {std::pair{&golden.attentions, "attentions"},
                                       {&golden.hidden, "hidden"},
                                       {&golden.logits, "logits"},
                                       {&golden.projected, "projected"},
                                       {&golden.encoder_attentions, "encoder_attentions"},
                                       {&golden.decoder_attentions, "decoder_attentions"},
                                       {&golden.cross_attentions, "cross_attentions"},
                                       {&golden.encoder_hidden, "encoder_hidden"},
                                       {&golden.decoder_hidden, "decoder_hidden"}}) {
      *tensor = read_tensor(file, prefix + what);
    }
    if (file.has(prefix + "visible")) {
      golden.visible = Tensor(file.shape(prefix + "visible"));
      std::ranges::transform(file.integers(prefix + "visible"), golden.visible.values.begin(),
                             [](std::int64_t value) { return static_cast<float>(value); });
    }
    cases.push_back(std::move(golden));
  }
  return cases;
}

bool is_causal(const model::ModelDescription& description, model::BlockKind kind) {
  if (description.is_encoder_decoder) return kind == model::BlockKind::DecoderSelf;
  return description.is_causal;
}

model::reference::Visibility trained_mask(const model::ModelDescription& description, const GoldenCase& golden) {
  return [&description, &golden](model::BlockRef block, std::uint32_t item, std::uint32_t, std::uint32_t query,
                                 std::uint32_t key) {
    if (!golden.visible.is_empty()) return golden.visible.at({query, key}) > 0.0f;
    if (is_causal(description, block.kind) && key > query) return false;
    return is_real(golden.input.keys(block.kind), item, key);
  };
}

RowDeviation row_deviation(const Shape& shape, std::span<const double> found, std::span<const float> expected,
                           const model::TokenBatch& tokens) {
  return compare_rows(shape, found, expected, tokens);
}

RowDeviation row_deviation(const Shape& shape, std::span<const float> found, std::span<const float> expected,
                           const model::TokenBatch& tokens) {
  return compare_rows(shape, found, expected, tokens);
}

std::span<const float> part_of(const Tensor& tensor, std::size_t index) {
  const std::size_t size = tensor.values.size() / tensor.axis(0);
  return std::span(tensor.values).subspan(index * size, size);
}

}  // namespace headlight::test
