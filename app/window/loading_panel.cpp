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

float box_width(float window) { return std::max(std::min(kWidth, window - 2.0F * kInset), 3.0F * kInset); }

/// Dims the current window and draws a box into its middle, `height` high and `drop` below its upper edge.
view::Rect draw_box(const Frame& frame, float height, float drop, shell::Color border) {
  const shell::Theme& theme = frame.ui.theme();
  const view::Rect all = window_rect();
  ImDrawList* list = ImGui::GetWindowDrawList();
  list->AddRectFilled(all.origin, all.end(), shell::with_alpha(theme.background, kDim));
  const float width = box_width(all.size.x);
  const view::Rect box{.origin = glm::round(all.origin + glm::vec2((all.size.x - width) * 0.5F, drop)),
                       .size = {width, height}};
  list->AddRectFilled(box.origin, box.end(), theme.popup, 8.0F);
  list->AddRect(box.origin, box.end(), border, 8.0F);
  return box;
}

/// Across a box; returns the part that is done.
view::Rect draw_bar(const Frame& frame, const view::Rect& box, float y, std::optional<double> share) {
  const shell::Theme& theme = frame.ui.theme();
  ImDrawList* list = ImGui::GetWindowDrawList();
  view::Rect bar{.origin = {box.origin.x + kInset, y}, .size = {box.size.x - 2.0F * kInset, kBarHeight}};
  list->AddRectFilled(bar.origin, bar.end(), theme.field, kBarHeight * 0.5F);
  bar.size.x = std::round(bar.size.x * static_cast<float>(std::clamp(share.value_or(0.0), 0.0, 1.0)));
  if (share) list->AddRectFilled(bar.origin, bar.end(), theme.accent, kBarHeight * 0.5F);
  return bar;
}

}  // namespace

bool draw_loading_panel(Frame& frame, const Arrival& arrival) {
  const shell::Theme& theme = frame.ui.theme();
  const shell::FontSet& fonts = frame.ui.fonts();
  const view::Rect box = draw_box(frame, kHeight, std::max((ImGui::GetWindowHeight() - kHeight) * 0.4F, 0.0F), theme.border);
  const float left = box.origin.x + kInset;
  frame.ui.ensure_glyphs(arrival.name);
  const std::string title =
      fit_text(fonts.strong, fmt::format("Loading {}\u2026", arrival.name), box.size.x - 2.0F * kInset);
  put_text(fonts.strong, {left, box.origin.y + 16.0F}, theme.text, title);
  frame.mark("loading.title", box);
  const Advance advance = advance_of(arrival);
  const view::Rect done = draw_bar(frame, box, box.origin.y + 46.0F, advance.share);
  if (advance.share) frame.mark("loading.bar", done);
  const float row = box.end().y - 12.0F - ImGui::GetFrameHeight();
  put_text(fonts.small, {left, std::round(row + (ImGui::GetFrameHeight() - font_size(fonts.small)) * 0.5F)}, theme.text_dim,
           advance.remark);
  ImGui::SetCursorScreenPos({box.end().x - kInset - button_width("Cancel"), row});
  return draw_button(frame, "loading.cancel", "Cancel", "Back to what was shown before (Esc)");
}

void draw_stale_panel(Frame& frame, const std::string& error, const Arrival& arrival) {
  const shell::Theme& theme = frame.ui.theme();
  const shell::FontSet& fonts = frame.ui.fonts();
  const bool has_failed = !error.empty();
  const Advance advance = advance_of(arrival);
  const std::string title = has_failed ? "The present text and settings can't be shown" : advance.remark;
  const std::string note = has_failed ? error : "What is dimmed is of the text or settings before. Esc stops.";
  frame.ui.ensure_glyphs(note);
  const std::vector<std::string> lines = break_lines(fonts.body, note, box_width(ImGui::GetWindowWidth()) - 2.0F * kInset);
  const float line_height = font_size(fonts.body) + 4.0F;
  const float height = 44.0F + line_height * static_cast<float>(lines.size()) + (has_failed ? 12.0F : 24.0F);
  const view::Rect box =
      draw_box(frame, height, std::min(72.0F, ImGui::GetWindowHeight() * 0.2F), has_failed ? theme.warning : theme.border);
  frame.mark(has_failed ? "stale.error" : "stale.progress", box);
  const float left = box.origin.x + kInset;
  put_text(fonts.strong, {left, box.origin.y + 14.0F}, theme.text, title);
  float y = box.origin.y + 40.0F;
  for (const std::string& line : lines) {
    put_text(fonts.body, {left, y}, has_failed ? theme.warning : theme.text_dim, line);
    y += line_height;
  }
  if (!has_failed && advance.share) draw_bar(frame, box, box.end().y - 16.0F, advance.share);
}

}  // namespace headlight::app
