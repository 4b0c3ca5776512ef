#include "app/commands/model_flags.h"

#include <algorithm>
#include <iostream>
#include <sstream>

#include <fmt/ranges.h>

#include "app/commands/flags.h"
#include "app/commands/usage.h"
#include "app/mask_file.h"
#include "core/atomic_file.h"
#include "inference/notebooks.h"

namespace headlight::app {
namespace {

std::string lines_of(const std::vector<std::string>& texts) { return fmt::format("{}", fmt::join(texts, "\n")); }

/// A file's text, or standard input's for "-".
std::string text_of_file(const std::string& path) {
  if (path != "-") return read_file(path);
  std::ostringstream content;
  content << std::cin.rdbuf();
  return content.str();
}

model::Scale parse_scale(const std::string& flag, const std::string& text) {
  constexpr float kLargest = 1e6f;
  if (text == "1/sqrt(d_k)") return {};
  if (text == "none") return {.kind = model::Scale::Kind::None, .value = 1.0f};
  return {.kind = model::Scale::Kind::Value, .value = parse_number(flag, text, -kLargest, kLargest)};
}

}  // namespace

void ModelFlags::add_to(CLI::App& app, const std::string& score_scale) {
  add_text_flags(app);
  add_model_flags(app, score_scale);
  add_mask_flags(app);
}

void ModelFlags::add_model_flag(CLI::App& app, const std::string& flag, const std::string& value_name,
                                const std::string& help, std::function<Edit(const std::string&)> parse) {
  add_flag(app, flag, value_name, help, "Model", [this, flag, parse = std::move(parse)](const std::string& value) {
    if (first_own_flag_.empty()) first_own_flag_ = flag;
    edits_.push_back(parse(value));
  });
}

void ModelFlags::add_text_flags(CLI::App& app) {
  const auto use_text = [this](const char* flag, std::string text) {
    has_text_ = true;
    if (first_own_flag_.empty()) first_own_flag_ = flag;
    edits_.push_back([text = std::move(text)](State& state) { state.text = text; });
  };
  const auto use_key_text = [this](const char* flag, std::string text) {
    if (first_own_flag_.empty()) first_own_flag_ = flag;
    edits_.push_back([text = std::move(text)](State& state) {
      state.key_text = text;
      state.cross = true;
    });
  };
  add_repeatable_flag(app, "--text", "TEXT",
                      "the sentence; given several times (or with several lines) a batch, padded to the longest", "Text",
                      [=](const std::vector<std::string>& texts) { use_text("--text", lines_of(texts)); });
  add_flag(app, "--text-file", "FILE", "the same from a file, one batch item a line; - reads standard input", "Text",
           [=](const std::string& path) { use_text("--text-file", text_of_file(path)); });
  add_repeatable_flag(app, "--key-text", "TEXT",
                      "a second text to attend to: the first one's tokens become queries, this one's keys and values",
                      "Text", [=](const std::vector<std::string>& texts) { use_key_text("--key-text", lines_of(texts)); });
  std::vector<std::string> presets;
  for (const std::string_view name : inference::notebook_names()) presets.emplace_back(name);
  add_flag(app, "--preset", "NAME",
           "a notebook's exact computation instead of text and model: " + fmt::format("{}", fmt::join(presets, ", ")),
           "Text", [this, presets](const std::string& name) { preset_ = presets[parse_choice("--preset", name, presets)]; });
}

void ModelFlags::add_model_flags(CLI::App& app, const std::string& score_scale) {
  const auto add_size = [&](const std::string& flag, const std::string& help,
                            std::uint32_t inference::PlaygroundSettings::*size, std::uint32_t low, std::uint32_t high) {
    add_model_flag(app, flag, "N", help, [=](const std::string& text) -> Edit {
      const auto value = static_cast<std::uint32_t>(parse_integer(flag, text, low, high));
      return [=](State& state) { state.playground.*size = value; };
    });
  };
  const auto add_switch = [&](const std::string& flag, const std::string& help,
                              bool inference::PlaygroundSettings::*choice) {
    add_model_flag(app, flag, "on|off", help, [=](const std::string& text) -> Edit {
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
  add_model_flag(app, "--seed", "N", "torch.manual_seed of the weights (default 123)", [](const std::string& text) -> Edit {
    const std::uint64_t seed = parse_integer("--seed", text, 0, ~std::uint64_t{0});
    return [seed](State& state) { state.playground.seed = seed; };
  });
  add_model_flag(app, score_scale, "S", "factor of the raw scores: 1/sqrt(d_k), none or a number (default 1/sqrt(d_k))",
                 [flag = score_scale.substr(0, score_scale.find(','))](const std::string& text) -> Edit {
                   const model::Scale scale = parse_scale(flag, text);
                   return [scale](State& state) { state.playground.scale = scale; };
                 });
  add_switch("--bias", "biases of the projections (default on)", &Settings::bias);
  add_switch("--output-projection", "the projection W_O after the merged heads (default on)", &Settings::output_projection);
  add_switch("--positions", "sinusoidal positions added to the token vectors (default on)", &Settings::positions);
  add_model_flag(app, "--merge", "ORDER", "how heads are merged: concatenate or without-transpose (default concatenate)",
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
           "causal+window:4; replaces a preset's own mask (default none)",
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

void ModelFlags::apply(State& state) const {
  if (!preset_.empty() && !first_own_flag_.empty()) {
    throw UsageError("{} and --preset exclude each other: {} brings its own text and model", first_own_flag_, preset_);
  }
  if (!preset_.empty()) select_preset(state, preset_);
  if (!first_own_flag_.empty()) select_preset(state, "");
  for (const Edit& edit : edits_) edit(state);
  for (attention::MaskSpec& mask : state.masks.by_kind) {
    for (const MaskEdit& edit : mask_edits_) edit(mask);
  }
  if (mask_file_.empty()) return;
  const attention::BooleanMask matrix = load_mask(mask_file_);
  for (attention::MaskSpec& mask : state.masks.by_kind) mask.matrix = matrix;
}

}  // namespace headlight::app
