#include "app/window/sidebar/panels.h"

#include <fmt/ranges.h>

#include "app/state/state.h"
#include "app/widgets/controls.h"
#include "core/error.h"
#include "core/tensor.h"

namespace headlight::app {
namespace {

using inference::PlaygroundSettings;

constexpr std::array<const char*, 3> kScales = {"1/\u221Ad_k", "none", "value"};
constexpr std::array<const char*, 2> kMerges = {"concatenate", "without transpose"};
constexpr const char* kMergeExplanation =
    "How the heads' outputs become rows again. Concatenate puts the heads of a token side by side; without transpose is the "
    "slip of notebook 003, where a row mixes tokens of one head.";

/// Returns the next smaller / larger number of heads that divides d_model; the neighbour when d_k is given anyway.
std::uint64_t heads_beside(const PlaygroundSettings& settings, bool is_up) {
  const std::uint64_t last = is_up ? inference::kMaxHeads : 1;
  const bool is_free = settings.d_k != 0 && settings.d_v != 0;
  std::uint64_t heads = settings.heads;
  while (heads != last) {
    heads = is_up ? heads + 1 : heads - 1;
    if (is_free || settings.d_model % heads == 0) return heads;
  }
  return settings.heads;
}

/// Returns the range of d_model, whose steps keep it divisible by the heads, so that stepping never makes a model that can't
/// be.
NumberRange d_model_range(const PlaygroundSettings& settings) {
  const bool is_free = settings.d_k != 0 && settings.d_v != 0;
  const std::uint64_t step = is_free ? 8 : std::max(settings.heads, 1U);
  const std::uint64_t below = settings.d_model > step ? (settings.d_model - 1) / step * step : settings.d_model;
  const std::uint64_t above = (settings.d_model / step + 1) * step;
  return {.low = 1,
          .high = inference::kMaxWidth,
          .below = std::max<std::uint64_t>(below, 1),
          .above = above > inference::kMaxWidth ? settings.d_model : above};
}

NumberRange width_range(std::uint32_t value, const char* hint) {
  return {.low = 0, .high = inference::kMaxWidth, .below = value > 0 ? value - 1U : 0U, .above = value + 1U, .hint = hint};
}

/// Returns another seed for each press by SplitMix64's step, small enough to be read and typed.
std::uint64_t other_seed(std::uint64_t seed) {
  std::uint64_t z = seed + 0x9e3779b97f4a7c15ULL;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return (z ^ (z >> 31)) % 100'000;
}

void draw_seed(Form& form, PlaygroundSettings& settings) {
  form.number("seed", "Seed", settings.seed,
              {.low = 0,
               .high = UINT64_MAX,
               .below = settings.seed > 0 ? settings.seed - 1 : 0,
               .above = settings.seed < UINT64_MAX ? settings.seed + 1 : settings.seed,
               .other = other_seed(settings.seed)},
              "Of torch.manual_seed(): the same seed gives the same weights as in PyTorch.");
}

void draw_scale(Form& form, model::Scale& scale) {
  int choice = static_cast<int>(scale.kind);
  if (form.segments("scale", "Scale", kScales, choice, "What the raw scores are multiplied with before the mask.")) {
    scale.kind = static_cast<model::Scale::Kind>(choice);
  }
  if (scale.kind == model::Scale::Kind::Value) {
    form.decimal("scale_value", "Factor", scale.value, -100.0F, 100.0F, "Drag, or Ctrl and click to type.");
  }
}

void draw_playground(Frame& frame, NumberBeingTyped& typed, const std::string& error, bool& shows_details) {
  PlaygroundSettings& settings = frame.state.playground().settings;
  Form form(frame, typed, "model");
  const std::string automatic = settings.heads > 0 && settings.d_model % settings.heads == 0
                                    ? fmt::format("auto ({})", settings.d_model / settings.heads)
                                    : "auto";
  form.number("d_model", "d_model", settings.d_model, d_model_range(settings), "Width of a token's vector.");
  form.number("heads", "Heads", settings.heads,
              {.low = 1,
               .high = inference::kMaxHeads,
               .below = heads_beside(settings, false),
               .above = heads_beside(settings, true)},
              "Attentions side by side in each layer. Stepping goes through the numbers that divide d_model.");
  // The error is below the sizes, so that the field being typed in stays where it is.
  if (!error.empty()) form.warning(error);
  form.number("layers", "Layers", settings.layers,
              {.low = 1, .high = inference::kMaxLayers, .below = settings.layers - 1U, .above = settings.layers + 1U},
              "More than one add residuals and LayerNorm.");
  draw_seed(form, settings);
  if (!form.fold("details", "Widths, scale, biases", shows_details)) return;
  form.number("d_k", "d_k", settings.d_k, width_range(settings.d_k, automatic.c_str()),
              "Width of a head's queries and keys; empty: d_model / heads.");
  form.number("d_v", "d_v", settings.d_v, width_range(settings.d_v, automatic.c_str()),
              "Width of a head's values; empty: d_model / heads.");
  draw_scale(form, settings.scale);
  int merge = static_cast<int>(settings.merge);
  if (form.choose("merge", "Merge", kMerges, merge, kMergeExplanation))
    settings.merge = static_cast<model::MergeOrder>(merge);
  form.toggle("bias", "Bias", settings.bias, {}, "Of the projections of Q, K, V and the output.");
  form.toggle("output_projection", "Output projection", settings.output_projection, {},
              "W_O after the heads are merged; without it the merged heads are the output.");
  form.toggle("positions", "Positions", settings.positions, {}, "Sinusoidal positions are added to the embedding.");
}

std::string scale_text(const model::Scale& scale, std::uint32_t d_k) {
  if (scale.kind == model::Scale::Kind::None) return "none";
  if (scale.kind == model::Scale::Kind::Value) return fmt::format("{:g}", scale.value);
  return fmt::format("1/\u221A{} = {:.4g}", d_k, scale.factor(d_k));
}

void draw_preset(Frame& frame, NumberBeingTyped& typed, const PresetInfo& preset, const std::string& error,
                 bool& shows_details, PresetEditor& editor) {
  Form form(frame, typed, "model");
  ImGui::PushTextWrapPos(0.0F);
  write_text(frame.ui.fonts().strong, frame.ui.theme().text, preset.title);
  form.note(preset.summary);
  ImGui::PopTextWrapPos();
  if (!error.empty()) form.warning(error);
  ImGui::Spacing();
  draw_preset_editor(frame, form, editor);

  const auto shape = frame.result.shapes.find(frame.state.selection.block);
  const bool is_known = shape != frame.result.shapes.end() && frame.result.network;
  if (is_known && form.fold("details", "Sizes", shows_details)) {
    const inference::BlockShape& block = shape->second;
    const model::AttentionLayer& layer = frame.result.network->layer(shape->first);
    if (block.d_model > 0) form.value("d_model", std::to_string(block.d_model));
    form.value("Heads", std::to_string(block.heads));
    form.value("d_k", std::to_string(block.d_k));
    form.value("d_v", std::to_string(block.d_v));
    form.value("Attentions", std::to_string(frame.result.blocks.size()), "Attention blocks of the whole model.");
    form.value("Scale", scale_text(layer.config.scale, block.d_k));
    form.value("Merge", kMerges[static_cast<std::size_t>(layer.config.merge)], kMergeExplanation);
    if (!layer.weights) form.value("Q, K, V", "given as numbers");
    if (layer.weights) {
      form.value("Bias", layer.weights->query.has_bias() ? "yes" : "no");
      form.value("Projection", layer.weights->output ? "yes" : "no");
    }
  }
  ImGui::Spacing();
  if (form.button("back", "Back to the playground", ImGui::GetContentRegionAvail().x)) select_preset(frame.state, "");
}

}  // namespace

bool draw_model_panel(Frame& frame, NumberBeingTyped& typed, const PresetInfo* preset, const std::string& error,
                      bool& shows_details, PresetEditor& editor) {
  if (preset) {
    draw_preset(frame, typed, *preset, error, shows_details, editor);
    return false;
  }
  draw_playground(frame, typed, error, shows_details);
  ImGui::Spacing();
  Form form(frame, typed, "model");
  return form.button("open", "Open a language model\u2026", ImGui::GetContentRegionAvail().x);
}

}  // namespace headlight::app
