#include "app/widgets/next_tokens.h"

#include "app/state/comparison.h"
#include "app/widgets/controls.h"
#include "app/widgets/position_header.h"
#include "app/widgets/prediction_bars.h"
#include "app/widgets/size_text.h"
#include "chart/number_format.h"

namespace headlight::app {
namespace {

constexpr std::size_t kShownTokens = 3;
constexpr float kTokenPadding = 8.0F, kTokenGap = 6.0F, kBetweenWords = 5.0F;
constexpr float kTokenRounding = 11.0F;
constexpr double kLeastChange = 5e-4;  // of a probability: a smaller one isn't written

float line_height(const ImFont* font) { return font_size(font) + 8.0F; }

/// Returns the position after the text, of a masked model the selected mask or the first one.
PredictionPosition end_of_text(const Frame& frame) {
  const PredictionPosition selected = prediction_position(frame.state, frame.result);
  if (!predicts_next(frame.result)) return selected;
  return prediction_position(
      PredictedText{.input = *frame.result.input, .model = frame.result.model.get(), .batch = frame.state.selection.batch});
}

/// Returns "+9.6 pt" or "−79 pt", points of a hundred; empty where hardly anything changed.
std::string change_text(double now, double before) {
  const double change = 100.0 * (now - before);
  if (std::abs(now - before) < kLeastChange) return {};
  return (change > 0.0 ? "+" : "") + chart::format_fixed(static_cast<float>(change), std::abs(change) < 10.0 ? 1 : 0) +
         " pt";
}

}  // namespace

bool NextTokens::draw_token(Frame& frame, const inference::Candidate& candidate, const inference::Distribution* before,
                            const std::string& since, std::size_t index) {
  const shell::Theme& theme = frame.ui.theme();
  ImFont* font = frame.ui.fonts().small;
  const std::string label = candidate_label(frame.result, candidate.id);
  frame.ui.ensure_glyphs(label);
  const std::string percent = percent_text(candidate.probability);
  const double then = before ? before->probabilities[candidate.id] : candidate.probability;
  const std::string change = change_text(candidate.probability, then);
  const std::array<std::pair<std::string, shell::Color>, 3> parts = {
      {{fit_text(font, label, 110.0F), theme.text}, {percent, theme.value}, {change, theme.text_dim}}};
  float width = 2.0F * kTokenPadding - kBetweenWords;
  for (const auto& part : parts) {
    if (!part.first.empty()) width += std::ceil(text_width(font, part.first)) + kBetweenWords;
  }
  if (ImGui::GetItemRectMax().x + kTokenGap + width > end_) return false;
  ImGui::SameLine(0.0F, kTokenGap);
  const float height = line_height(font);
  const glm::vec2 origin = cursor_position();
  const std::string name = fmt::format("next.{}", index);
  if (click_area(name.c_str(), {width, height})) {
    frame.state.view.tab = "predictions";
    if (position_ != prediction_position(frame.state, frame.result)) choose_position(frame, position_.token);
  }
  const std::string tip = fmt::format("\u201C{}\u201D: {}{} A click opens Predictions.", label, percent,
                                      before ? fmt::format(", {} {}.", percent_text(then), since) : ".");
  mark_last_item(frame, name, tip.c_str());
  fill_rect(origin, origin + glm::vec2(width, height), ImGui::IsItemHovered() ? theme.hover : theme.field, kTokenRounding);
  float x = origin.x + kTokenPadding;
  for (const auto& [text, color] : parts) {
    if (text.empty()) continue;
    put_text(font, {x, origin.y + text_drop(font, height)}, color, text);
    x += std::ceil(text_width(font, text)) + kBetweenWords;
  }
  return true;
}

bool NextTokens::has_some(const Frame& frame) {
  return frame.result.has_logits && frame.result.input && frame.result.network && !frame.transient.aim.conceals;
}

float NextTokens::draw(Frame& frame, float room) {
  if (!has_some(frame)) return 0.0F;
  end_ = ImGui::GetCursorScreenPos().x + room;
  position_ = end_of_text(frame);
  const Prediction* prediction = frame.ask(PredictionQuery{.batch = position_.batch,
                                                           .token = position_.token,
                                                           .layer = predicting_layers(*frame.result.network),
                                                           .keeps_logits = true});
  memory_.observe(frame.result, position_, prediction, ImGui::GetTime(), ImGui::IsAnyMouseDown());
  constexpr inference::SamplingSettings kPlain = {};
  const inference::Distribution* now = memory_.is_of(frame.result) ? memory_.shown(kPlain) : nullptr;
  const bool compares = is_comparing(frame);
  const inference::Distribution* before = nullptr;
  if (now) {
    before = compares               ? baseline_distribution(frame, memory_, position_, kPlain)
             : memory_.is_of_text() ? nullptr
                                    : memory_.before(kPlain);
  }
  const std::string since =
      compares ? fmt::format("in {}", baseline_name(frame.state)) : fmt::format("before {} changed", memory_.change());
  const char* caption = position_.kind == PredictionPosition::Kind::Next     ? "next"
                        : position_.kind == PredictionPosition::Kind::Masked ? "at the mask"
                                                                             : "in its place";
  ImFont* font = frame.ui.fonts().small;
  const std::string shown = now ? caption : "next \u2026";
  const glm::vec2 origin = cursor_position();
  ImGui::Dummy({std::ceil(text_width(font, shown)), line_height(font)});
  frame.mark("next", last_item_rect());
  explain_last_item(frame, "What the model expects here; computed after the map.");
  put_text(font, {origin.x, origin.y + text_drop(font, line_height(font))}, frame.ui.theme().text_dim, shown);
  const auto drawn = [&] { return ImGui::GetItemRectMax().x - origin.x; };
  if (!now) return drawn();
  const shell::ControlGroup group(frame.ui.keyboard(), "next");
  for (std::size_t i = 0; i < std::min(kShownTokens, memory_.candidates().size()); ++i) {
    if (!draw_token(frame, memory_.candidates()[i], before, since, i)) break;
  }
  return drawn();
}

}  // namespace headlight::app
