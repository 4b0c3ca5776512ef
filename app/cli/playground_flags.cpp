#include <string>
#include <utility>
#include <vector>

#include "app/cli/flags.h"
#include "app/cli/model_flags.h"
#include "app/state/usage.h"

namespace headlight::app {
namespace {

model::Scale parse_scale(const std::string& flag, const std::string& text) {
  constexpr float kLargest = 1e6f;
  if (text == "1/sqrt(d_k)") return {};
  if (text == "none") return {.kind = model::Scale::Kind::None, .value = 1.0f};
  return {.kind = model::Scale::Kind::Value, .value = parse_number(flag, text, -kLargest, kLargest)};
}

}  // namespace

void ModelFlags::add_playground_flag(CLI::App& app, const std::string& flag, const std::string& value_name,
                                     const std::string& help, std::function<Edit(const std::string&)> parse) {
  add_flag(app, flag, value_name, help, "Playground", [this, flag, parse = std::move(parse)](const std::string& value) {
    if (first_playground_flag_.empty()) first_playground_flag_ = flag;
    playground_edits_.push_back(parse(value));
  });
}

void ModelFlags::add_playground_flags(CLI::App& app, const std::string& score_scale) {
  const auto add_size = [&](const std::string& flag, const std::string& help,
                            std::uint32_t inference::PlaygroundSettings::*size, std::uint32_t low, std::uint32_t high) {
    add_playground_flag(app, flag, "N", help, [=](const std::string& text) -> Edit {
      const auto value = static_cast<std::uint32_t>(parse_integer(flag, text, low, high));
      return [=](State& state) { state.playground.*size = value; };
    });
  };
  const auto add_switch = [&](const std::string& flag, const std::string& help,
                              bool inference::PlaygroundSettings::*choice) {
    add_playground_flag(app, flag, "on|off", help, [=](const std::string& text) -> Edit {
      const bool is_on = parse_switch(flag, text);
      return [=](State& state) { state.playground.*choice = is_on; };
    });
  };
  using Settings = inference::PlaygroundSettings;
  add_size("--d-model", "width of the token vectors, 1 to 8192 (default 64)", &Settings::d_model, 1, inference::kMaxWidth);
  add_size("--heads", "heads of each layer, 1 to 64 (default 8)", &Settings::heads, 1, inference::kMaxHeads);
  add_size("--d-k", "width of a head's queries and keys (default 0: d_model / heads)", &Settings::d_k, 0,
           inference::kMaxWidth);
  add_size("--d-v", "width of a head's values (default 0: d_model / heads)", &Settings::d_v, 0, inference::kMaxWidth);
  add_size("--layers", "attention layers, 1 to 6 (default 2)", &Settings::layers, 1, inference::kMaxLayers);
  add_playground_flag(app, "--seed", "N", "torch.manual_seed of the weights (default 123)",
                      [](const std::string& text) -> Edit {
                        const std::uint64_t seed = parse_integer("--seed", text, 0, ~std::uint64_t{0});
                        return [seed](State& state) { state.playground.seed = seed; };
                      });
  add_playground_flag(app, score_scale, "S", "factor of the raw scores: 1/sqrt(d_k), none or a number (default 1/sqrt(d_k))",
                      [flag = score_scale.substr(0, score_scale.find(','))](const std::string& text) -> Edit {
                        const model::Scale scale = parse_scale(flag, text);
                        return [scale](State& state) { state.playground.scale = scale; };
                      });
  add_switch("--bias", "biases of the projections (default on)", &Settings::bias);
  add_switch("--output-projection", "the projection W_O after the merged heads (default on)", &Settings::output_projection);
  add_switch("--positions", "sinusoidal positions added to the token vectors (default on)", &Settings::positions);
  add_playground_flag(app, "--merge", "ORDER",
                      "how heads are merged: concatenate or without-transpose (default concatenate)",
                      [](const std::string& text) -> Edit {
                        static const std::vector<std::string> kNames = {"concatenate", "without-transpose"};
                        const bool is_slip = parse_choice("--merge", text, kNames) == 1;
                        const auto order = is_slip ? model::MergeOrder::WithoutTranspose : model::MergeOrder::Concatenate;
                        return [order](State& state) { state.playground.merge = order; };
                      });
}

void ModelFlags::add_mask_flags(CLI::App& app) {
  add_flag(app, "--mask", "RULE",
           "none, causal, window:N (N tokens to each side, itself included), prefix:N, or several joined by +, as "
           "causal+window:4; replaces a preset's own mask and joins a model's (default none)",
           "Mask", [this](const std::string& text) {
             const Result<attention::MaskRule> rule = attention::parse_rule(text);
             if (!rule) throw UsageError("--mask: {}", rule.error());
             mask_edits_.push_back([rule = *rule](attention::MaskSpec& mask) {
               const bool key_padding = mask.rule.key_padding;
               mask.rule = rule;
               mask.rule.key_padding = key_padding;
               mask.matrix.reset();
               mask.painted.clear();
             });
           });
  add_flag(app, "--padding", "on|off", "mask padded keys (default on)", "Mask", [this](const std::string& text) {
    const bool is_on = parse_switch("--padding", text);
    mask_edits_.push_back([is_on](attention::MaskSpec& mask) { mask.rule.key_padding = is_on; });
  });
  add_flag(app, "--fill", "VALUE",
           "what a masked score becomes: -inf, -1e9 or -1e10; a fully masked row has no weights under -inf and is uniform "
           "under the others, as in PyTorch (default -inf)",
           "Mask", [this](const std::string& text) {
             const Result<attention::MaskFill> fill = attention::parse_fill(text);
             if (!fill) throw UsageError("--fill: {}", fill.error());
             mask_edits_.push_back([fill = *fill](attention::MaskSpec& mask) { mask.fill = fill; });
           });
  add_flag(
      app, "--mask-file", "FILE",
      "a boolean matrix from a .json (nested lists) or .npy file, true keeps: [queries, keys], [batch, queries, keys] or "
      "[batch, heads, queries, keys]; combined with the rule",
      "Mask", [this](const std::string& path) { mask_file_ = path; });
}

}  // namespace headlight::app
