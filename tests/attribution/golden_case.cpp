#include "attribution/golden_case.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <span>

#include "support/golden_model.h"

namespace headlight::test {
namespace {

/// Rows [first, first + count) of the matrices' rows counted through.
std::vector<float> rows(const model::reference::Array& array, std::size_t first, std::size_t count) {
  const std::size_t width = array.shape.back();
  const auto some = std::span(array.values).subspan(first * width, count * width);
  return {some.begin(), some.end()};
}

}  // namespace

AttributionCase::AttributionCase(const std::string& name) : loaded(model::load_network(golden_model_path(name))) {
  std::ifstream(std::string(HEADLIGHT_GOLDEN_DIR) + "/attribution/" + name + ".json") >> golden;
  const std::vector<GoldenCase> cases = load_golden_cases(name);
  const auto found = std::ranges::find(cases, golden.at("case").get<std::string>(), &GoldenCase::name);
  run = model::reference::run(loaded.network, found->input, trained_mask(loaded.description, *found),
                              -std::numeric_limits<double>::infinity());
  tokens = found->input.source.length;
  last = tokens - 1;
}

std::vector<float> AttributionCase::state(std::uint32_t after, std::uint32_t token) const {
  return rows(run.encoder_hidden.at(after), token, 1);
}

std::vector<float> AttributionCase::written(std::uint32_t layer, std::uint32_t token) const {
  return rows(run.stages.at(layer)[attention::Stage::Output], token, 1);
}

std::vector<float> AttributionCase::merged(std::uint32_t layer, std::uint32_t token) const {
  return rows(run.stages.at(layer)[attention::Stage::Merged], token, 1);
}

std::vector<float> AttributionCase::weights(std::uint32_t layer, std::uint32_t head, std::uint32_t query) const {
  return rows(run.stages.at(layer)[attention::Stage::Weights], std::size_t{head} * tokens + query, 1);
}

std::vector<float> AttributionCase::values(std::uint32_t number, std::uint32_t head) const {
  const model::AttentionConfig& config = layer(number).config;
  const std::size_t kv_head = head / (config.heads / config.kv_head_count());
  return rows(run.stages.at(number)[attention::Stage::V], kv_head * tokens, tokens);
}

}  // namespace headlight::test
