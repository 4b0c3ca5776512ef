#include "app/window/loading_panel.h"

#include "app/widgets/controls.h"
#include "app/widgets/size_text.h"

namespace headlight::app {
namespace {

constexpr float kWidth = 420.0F;
constexpr float kHeight = 104.0F;
constexpr float kInset = 20.0F;
constexpr float kBarHeight = 4.0F;
constexpr std::uint32_t kDim = 0xB0;  // of 255: what is below stays recognisable

/// How far it is.
struct Advance {
  std::string remark;
  std::optional<double> share;  ///< of the bar; none: unknown
};

Advance advance_of(const Arrival& arrival) {
  const auto share = [](std::size_t done, std::size_t total) {
    return static_cast<double>(done) / static_cast<double>(std::max<std::size_t>(total, 1));
  };
  if (const auto& kernels = arrival.kernels) {
    return {fmt::format("Compiling kernels: {} of {}", kernels->done, kernels->total), share(kernels->done, kernels->total)};
  }
  if (const auto& weights = arrival.progress) {
    return {fmt::format("{} of {}", short_bytes(weights->done_bytes), short_bytes(weights->total_bytes)),
            share(weights->done_bytes, weights->total_bytes)};
  }
  if (const auto& pass = arrival.pass) {
    return {fmt::format("Computing layer {} of {}", std::min(pass->done + 1, pass->total), pass->total),
            share(pass->done, pass->total)};
  }
  return {"Computing\u2026", std::nullopt};
}

}  // namespace

bool draw_loading_panel(Frame& frame, const Arrival& arrival) {
  const shell::Theme& theme = frame.ui.theme();
  const shell::FontSet& fonts = frame.ui.fonts();
  const glm::vec2 origin = to_glm(ImGui::GetWindowPos());
  const glm::vec2 size = to_glm(ImGui::GetWindowSize());
  ImDrawList* list = ImGui::GetWindowDrawList();
  list->AddRectFilled(origin, origin + size, shell::with_alpha(theme.background, kDim));

  const float width = std::max(std::min(kWidth, size.x - 2.0F * kInset), 3.0F * kInset);
  const view::Rect box{
      .origin = glm::round(origin + glm::vec2((size.x - width) * 0.5F, std::max((size.y - kHeight) * 0.4F, 0.0F))),
      .size = {width, kHeight}};
  const ImVec2 low = box.origin, high = box.end();
  list->AddRectFilled(low, high, theme.popup, 8.0F);
  list->AddRect(low, high, theme.border, 8.0F);
  const float room = width - 2.0F * kInset;
  frame.ui.ensure_glyphs(arrival.name);
  const std::string title = fit_text(fonts.strong, fmt::format("Loading {}\u2026", arrival.name), room);
  put_text(fonts.strong, {low.x + kInset, low.y + 16.0F}, theme.text, title);
  frame.mark("loading.title", box);

  const float bar_y = low.y + 46.0F;
  list->AddRectFilled({low.x + kInset, bar_y}, {high.x - kInset, bar_y + kBarHeight}, theme.field, kBarHeight * 0.5F);
  const Advance advance = advance_of(arrival);
  if (advance.share) {
    const float length = std::round(room * static_cast<float>(std::clamp(*advance.share, 0.0, 1.0)));
    list->AddRectFilled({low.x + kInset, bar_y}, {low.x + kInset + length, bar_y + kBarHeight}, theme.accent,
                        kBarHeight * 0.5F);
    frame.mark("loading.bar", {.origin = {low.x + kInset, bar_y}, .size = {length, kBarHeight}});
  }
  const float button = button_width("Cancel");
  const float row = high.y - 12.0F - ImGui::GetFrameHeight();
  put_text(fonts.small, {low.x + kInset, std::round(row + (ImGui::GetFrameHeight() - font_size(fonts.small)) * 0.5F)},
           theme.text_dim, advance.remark);
  ImGui::SetCursorScreenPos({high.x - kInset - button, row});
  const bool was_clicked = draw_button(frame, "loading.cancel", "Cancel", "Back to what was shown before (Esc)");
  return was_clicked;
}

void draw_stale_panel(Frame& frame, const std::string& error, const Arrival& arrival) {
  const shell::Theme& theme = frame.ui.theme();
  const shell::FontSet& fonts = frame.ui.fonts();
  const glm::vec2 origin = to_glm(ImGui::GetWindowPos());
  const glm::vec2 size = to_glm(ImGui::GetWindowSize());
  ImDrawList* list = ImGui::GetWindowDrawList();
  list->AddRectFilled(origin, origin + size, shell::with_alpha(theme.background, kDim));
  const float width = std::max(std::min(kWidth, size.x - 2.0F * kInset), 3.0F * kInset);
  const bool has_failed = !error.empty();
  const Advance advance = advance_of(arrival);
  const std::string title = has_failed ? "The present text and settings can't be shown" : advance.remark;
  const std::string note = has_failed ? error : "What is dimmed is of the text or settings before. Esc stops.";
  frame.ui.ensure_glyphs(note);
  const std::vector<std::string> lines = break_lines(fonts.body, note, width - 2.0F * kInset);
  const float line_height = font_size(fonts.body) + 4.0F;
  const float height = 44.0F + line_height * static_cast<float>(lines.size()) + (has_failed ? 12.0F : 24.0F);
  const view::Rect box{.origin = glm::round(origin + glm::vec2((size.x - width) * 0.5F, std::min(72.0F, size.y * 0.2F))),
                       .size = {width, height}};
  const ImVec2 low = box.origin, high = box.end();
  list->AddRectFilled(low, high, theme.popup, 8.0F);
  list->AddRect(low, high, has_failed ? theme.warning : theme.border, 8.0F);
  frame.mark(has_failed ? "stale.error" : "stale.progress", box);
  put_text(fonts.strong, {low.x + kInset, low.y + 14.0F}, theme.text, title);
  float y = low.y + 40.0F;
  for (const std::string& line : lines) {
    put_text(fonts.body, {low.x + kInset, y}, has_failed ? theme.warning : theme.text_dim, line);
    y += line_height;
  }
  if (has_failed || !advance.share) return;
  const float bar_y = high.y - 16.0F;
  const float room = width - 2.0F * kInset;
  list->AddRectFilled({low.x + kInset, bar_y}, {high.x - kInset, bar_y + kBarHeight}, theme.field, kBarHeight * 0.5F);
  const float length = std::round(room * static_cast<float>(std::clamp(*advance.share, 0.0, 1.0)));
  list->AddRectFilled({low.x + kInset, bar_y}, {low.x + kInset + length, bar_y + kBarHeight}, theme.accent,
                      kBarHeight * 0.5F);
}

}  // namespace headlight::app
