#include "model/linear_lens.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "core/error.h"
#include "core/utf8.h"
#include "model/checkpoint.h"

namespace headlight::model {
namespace {

/// What stands before a layer's number. The weights are the same in all of them: what is added to the state.
constexpr std::array<std::string_view, 4> kLensPrefixes = {"", "layer_translators.", "translators.", "lens."};
/// A whole lens that was saved has the model's unembedding beside its translators.
constexpr std::string_view kUnembedding = "unembed.";

void expect_finite(const Parameter& parameter, std::string_view name, const std::filesystem::path& path) {
  constexpr std::uint32_t kRows = 64;
  const std::size_t width = parameter.shape().size() < 2 ? 1 : parameter.axis(1);
  std::vector<float> some(kRows * width);
  for (std::uint32_t first = 0; first < parameter.axis(0); first += kRows) {
    const std::uint32_t count = std::min(kRows, parameter.axis(0) - first);
    const auto numbers = std::span(some).first(count * width);
    parameter.read(first, count, numbers);
    if (std::ranges::all_of(numbers, [](float one) { return std::isfinite(one); })) continue;
    throw Error("{}: {} has numbers that aren't finite", utf8(path), name);
  }
  parameter.release_pages();
}

}  // namespace

LinearLens open_linear_lens(const std::filesystem::path& path, std::uint32_t layers, std::uint32_t d_model) {
  std::error_code failure;
  Checkpoint file(std::filesystem::is_directory(path, failure) ? path / "params.pt" : path);
  const auto* prefix = std::ranges::find_if(
      kLensPrefixes, [&](std::string_view before) { return file.has(fmt::format("{}0.weight", before)); });
  if (prefix == kLensPrefixes.end()) {
    throw Error("{} holds no linear lens: it has no tensor 0.weight; expected a matrix and a bias for each layer",
                utf8(path));
  }
  LinearLens lens;
  for (std::uint32_t layer = 0; file.has(fmt::format("{}{}.weight", *prefix, layer)); ++layer) {
    if (layer == layers) throw Error("{}: the lens is of more layers than the model, which has {}", utf8(path), layers);
    const std::string weight = fmt::format("{}{}.weight", *prefix, layer), bias = fmt::format("{}{}.bias", *prefix, layer);
    Linear& translator = lens.translators.emplace_back();
    translator.weight = file.find(weight, {d_model, d_model});
    expect_finite(translator.weight, weight, path);
    if (!file.has(bias)) continue;
    translator.bias = file.find(bias, {d_model});
    expect_finite(translator.bias, bias, path);
  }
  if (lens.translators.size() < layers) {
    throw Error("{}: the lens is of {} layers, the model has {}", utf8(path), lens.translators.size(), layers);
  }
  for (const std::string& name : file.unasked()) {
    if (!name.starts_with(kUnembedding)) throw Error("{}: {} belongs to no linear lens", utf8(path), printable(name));
  }
  return lens;
}

}  // namespace headlight::model
