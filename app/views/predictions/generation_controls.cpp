#include "app/views/predictions/generation_controls.h"

#include <array>

#include <fmt/format.h>

#include "app/widgets/ink.h"
#include "app/widgets/motion_speed.h"

namespace headlight::app {
namespace {

using inference::SamplingMethod;

constexpr std::array<const char*, 2> kMethods = {"likeliest", "random"};
constexpr std::uint32_t kTokenStep = 10;

void draw_sampling(Form& form, inference::SamplingSettings& sampling) {
  form.decimal("temperature", "Temperature", sampling.temperature, kLeastTemperature, kMostTemperature,
               "Logits are divided by it: below 1 the likely become likelier. Drag, or Ctrl and click to type.");
  form.number("top_k", "Top k", sampling.top_k,
              {.low = 0,
               .high = kMostTopK,
               .below = sampling.top_k > 0 ? sampling.top_k - 1U : 0U,
               .above = sampling.top_k + 1U,
               .hint = "all"},
              "Only the k likeliest tokens are drawn from.");
  form.decimal("top_p", "Top p", sampling.top_p, 0.0F, 1.0F,
               "Only the likeliest tokens that together reach this probability are drawn from; 1: all.");
  form.number("seed", "Seed", sampling.seed,
              {.low = 0,
               .high = UINT64_MAX,
               .below = sampling.seed > 0 ? sampling.seed - 1 : 0,
               .above = sampling.seed < UINT64_MAX ? sampling.seed + 1 : sampling.seed},
              "The same seed draws the same tokens.");
}

}  // namespace

float generation_controls_height(const Frame& frame) {
  const bool is_random = frame.state.generation.sampling.method == SamplingMethod::Random;
  const float row = ImGui::GetFrameHeight() + ImGui::GetStyle().ItemSpacing.y;
  return row * (is_random ? 7.0F : 3.0F) + 8.0F;
}

bool is_generating(const Frame& frame) { return frame.generation && frame.generation->is_running(); }

void draw_generation_controls(Frame& frame, NumberBeingTyped& typed) {
  Form form(frame, typed, "generate");
  GenerationChoices& choices = frame.state.generation;
  const bool is_running = is_generating(frame);
  form.set_read_only(is_running);
  int method = static_cast<int>(choices.sampling.method);
  if (form.segments("method", "Next token", kMethods, method, "Always the likeliest one, or drawn from the distribution.")) {
    choices.sampling.method = static_cast<SamplingMethod>(method);
  }
  if (choices.sampling.method == SamplingMethod::Random) draw_sampling(form, choices.sampling);
  form.number("tokens", "At most", choices.tokens,
              {.low = 1,
               .high = kMostGeneratedTokens,
               .below = choices.tokens > kTokenStep ? choices.tokens - kTokenStep : 1U,
               .above = choices.tokens + kTokenStep},
              "Tokens.");
  form.set_read_only(false);
  const shell::Theme& theme = frame.ui.theme();
  ImGui::PushStyleColor(ImGuiCol_Button, theme.accent);
  ImGui::PushStyleColor(ImGuiCol_ButtonHovered, theme.accent_hover);
  ImGui::PushStyleColor(ImGuiCol_ButtonActive, theme.accent_hover);
  ImGui::PushStyleColor(ImGuiCol_Text, theme.text_on_accent);
  if (is_running) {
    if (form.button("stop", "Stop", 120.0F)) frame.start_command("generation.stop");
  } else {
    if (form.button("start", "Generate", 120.0F)) frame.start_command("generation.start");
  }
  ImGui::PopStyleColor(4);
  ImGui::SameLine();
  choose_motion_speed(frame, "generate.speed", kNewRowSpeed, true);
  std::string remark = frame.generation ? frame.generation->outcome() : std::string();
  if (is_running) remark = fmt::format("{} of {} tokens", frame.generation->count(), choices.tokens);
  if (!remark.empty()) {
    ImGui::SameLine();
    ImGui::AlignTextToFramePadding();
    const Ink ink(frame.ui.fonts().small, theme.text_dim);
    ImGui::TextUnformatted(remark.c_str());
    frame.mark("generate.remark", last_item_rect());
  }
}

}  // namespace headlight::app
