// The layers over the panes: loading, stale views, an offer of what was typed, notices.
#include <imgui.h>

#include <variant>

#include "app/shell/imgui_vectors.h"
#include "app/state/run_interventions.h"
#include "app/widgets/controls.h"
#include "app/widgets/size_text.h"
#include "app/window/typed_row.h"
#include "app/window/workspace.h"
#include "inference/weight_findings.h"

namespace headlight::app {

namespace {

constexpr float kWidth = 420.0F;
constexpr float kHeight = 104.0F;
constexpr float kInset = 20.0F;
constexpr float kBarHeight = 4.0F;
constexpr std::uint32_t kDim = 0xB0;  // of 255: what is below stays recognisable

/// The progress of loading or computing.
struct Advance {
  std::string remark;
  std::optional<double> share;  ///< of the bar; none: unknown
};

Advance advance_of(const EngineProgress& progress) {
  const auto share = [](const Progress& of) {
    return static_cast<double>(of.done) / static_cast<double>(std::max<std::size_t>(of.total, 1));
  };
  const auto& [weights, kernels, pass] = progress;
  if (kernels) return {fmt::format("Compiling kernels: {} of {}", kernels->done, kernels->total), share(*kernels)};
  if (weights) return {fmt::format("{} of {}", short_bytes(weights->done), short_bytes(weights->total)), share(*weights)};
  if (pass)
    return {fmt::format("Computing layer {} of {}", std::min(pass->done + 1, pass->total), pass->total), share(*pass)};
  return {"Computing\u2026", std::nullopt};
}

float box_width(float window) { return std::max(std::min(kWidth, window - 2.0F * kInset), 3.0F * kInset); }

/// Dims the current window and draws a box into its middle, `height` high and `drop` below its upper edge.
chart::Rect draw_box(const Frame& frame, float height, float drop, shell::Color border) {
  const shell::Theme& theme = frame.ui.theme();
  const chart::Rect all = window_rect();
  ImDrawList* list = ImGui::GetWindowDrawList();
  list->AddRectFilled(all.origin, all.end(), shell::with_alpha(theme.background, kDim));
  const float width = box_width(all.size.x);
  const chart::Rect box{.origin = glm::round(all.origin + glm::vec2((all.size.x - width) * 0.5F, drop)),
                        .size = {width, height}};
  list->AddRectFilled(box.origin, box.end(), theme.popup, 8.0F);
  list->AddRect(box.origin, box.end(), border, 8.0F);
  return box;
}

/// Across a box; returns the part that is done.
chart::Rect draw_bar(const Frame& frame, const chart::Rect& box, float y, std::optional<double> share) {
  const shell::Theme& theme = frame.ui.theme();
  ImDrawList* list = ImGui::GetWindowDrawList();
  chart::Rect bar{.origin = {box.origin.x + kInset, y}, .size = {box.size.x - 2.0F * kInset, kBarHeight}};
  list->AddRectFilled(bar.origin, bar.end(), theme.field, kBarHeight * 0.5F);
  bar.size.x = std::round(bar.size.x * static_cast<float>(std::clamp(share.value_or(0.0), 0.0, 1.0)));
  if (share) list->AddRectFilled(bar.origin, bar.end(), theme.accent, kBarHeight * 0.5F);
  return bar;
}

/// Dims the whole current window, which covers what was shown before, and says in the middle what is being loaded (a
/// model or notebook of that name), how far it is, and offers to give up. Returns whether that was chosen.
bool draw_loading_panel(Frame& frame, const std::string& name, const EngineProgress& progress) {
  const shell::Theme& theme = frame.ui.theme();
  const shell::FontSet& fonts = frame.ui.fonts();
  const chart::Rect box =
      draw_box(frame, kHeight, std::max((ImGui::GetWindowHeight() - kHeight) * 0.4F, 0.0F), theme.border);
  const float left = box.origin.x + kInset;
  frame.ui.ensure_glyphs(name);
  const std::string title = fit_text(fonts.strong, fmt::format("Loading {}\u2026", name), box.size.x - 2.0F * kInset);
  put_text(fonts.strong, {left, box.origin.y + 16.0F}, theme.text, title);
  frame.mark("loading.title", box);
  const Advance advance = advance_of(progress);
  const chart::Rect done = draw_bar(frame, box, box.origin.y + 46.0F, advance.share);
  if (advance.share) frame.mark("loading.bar", done);
  const float row = box.end().y - 12.0F - ImGui::GetFrameHeight();
  put_text(fonts.small, {left, std::round(row + (ImGui::GetFrameHeight() - font_size(fonts.small)) * 0.5F)}, theme.text_dim,
           advance.remark);
  ImGui::SetCursorScreenPos({box.end().x - kInset - button_width("Cancel"), row});
  return draw_button(frame, "loading.cancel", "Cancel", "Back to what was shown before (Esc)");
}

/// Is the text that is to be typed missing?
bool lacks_text(const State& state) {
  const bool is_typed = is_playground(state.source) || (is_model(state.source) && state.model().ids.empty());
  return is_typed && state.text().find_first_not_of(" \n\t") == std::string::npos;
}

/// Dims the whole current window, which covers what belongs to other inputs than the present ones, and says at its top why
/// that is still there: `error`, or how far the computation is.
void draw_stale_panel(Frame& frame, const std::string& error, const EngineProgress& progress) {
  const shell::Theme& theme = frame.ui.theme();
  const shell::FontSet& fonts = frame.ui.fonts();
  const bool has_failed = !error.empty();
  const Advance advance = advance_of(progress);
  const bool is_empty = has_failed && lacks_text(frame.state);  // which is no fault
  const shell::Color border = has_failed && !is_empty ? theme.warning : theme.border;
  const std::string title = is_empty     ? "There is no text yet"
                            : has_failed ? "The present text and settings can't be shown"
                                         : advance.remark;
  const std::string note = is_empty     ? "Type some words, or choose one of the examples."
                           : has_failed ? error
                                        : "What is dimmed is of the text or settings before. Esc stops.";
  frame.ui.ensure_glyphs(note);
  const std::vector<std::string> lines = break_lines(fonts.body, note, box_width(ImGui::GetWindowWidth()) - 2.0F * kInset);
  const float line_height = font_size(fonts.body) + 4.0F;
  const float below = !has_failed ? 24.0F : has_cure(frame) ? 24.0F + ImGui::GetFrameHeight() : 12.0F;
  const float height = 44.0F + line_height * static_cast<float>(lines.size()) + below;
  const chart::Rect box = draw_box(frame, height, std::min(72.0F, ImGui::GetWindowHeight() * 0.2F), border);
  frame.mark(has_failed ? "stale.error" : "stale.progress", box);
  const float left = box.origin.x + kInset;
  put_text(fonts.strong, {left, box.origin.y + 14.0F}, theme.text, title);
  float y = box.origin.y + 40.0F;
  for (const std::string& line : lines) {
    put_text(fonts.body, {left, y}, has_failed && !is_empty ? theme.warning : theme.text_dim, line);
    y += line_height;
  }
  if (!has_failed && advance.share) draw_bar(frame, box, box.end().y - 16.0F, advance.share);
  ImGui::SetCursorScreenPos({left, box.end().y - 12.0F - ImGui::GetFrameHeight()});
  if (has_failed && has_cure(frame)) draw_cure(frame);
}

/// Unlike panes they come to the front.
constexpr ImGuiWindowFlags kOverlayFlags = ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove |
                                           ImGuiWindowFlags_NoSavedSettings | ImGuiWindowFlags_NoFocusOnAppearing |
                                           ImGuiWindowFlags_NoBackground;

void begin_overlay(const char* name, glm::vec2 origin, glm::vec2 size, ImGuiWindowFlags flags = kOverlayFlags) {
  ImGui::SetNextWindowPos(origin);
  ImGui::SetNextWindowSize(size);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowBorderSize, 0.0F);
  ImGui::Begin(name, nullptr, flags);
  ImGui::PopStyleVar();
}

}  // namespace

/// Is the selected map there although later layers are still being loaded? Else, and where another view is shown, the
/// loading panel says what is missing.
bool Workspace::shows_early_map() const {
  if (desk_.result.first_layers == 0 || desk_.is_arriving() || desk_.state.view.tab != kHeadView) return false;
  const auto is_tile = [](const Query& query) { return std::holds_alternative<TileQuery>(query); };
  const auto first = std::ranges::find_if(queries_, is_tile);
  return first != queries_.end() && desk_.result.is_current(std::get<TileQuery>(*first));
}

void Workspace::draw_arrival(Frame& frame) {
  constexpr double kDelay_s = 0.15;  // what is there sooner needs no remark
  if (!arrival_began_s_ || desk_.now_s < *arrival_began_s_ + kDelay_s || shows_early_map()) return;
  // The texts stay free while there is no run yet, and while weights go to another device.
  const chart::Rect& from = desk_.is_arriving() ? desk_.layout.texts : desk_.layout.center;
  const float left = desk_.is_arriving() ? 0.0F : from.origin.x;
  begin_overlay("arrival", {left, from.origin.y},
                {desk_.ui.size().x - left, std::max(desk_.layout.status.origin.y - from.origin.y, 1.0F)});
  const bool is_given_up = draw_loading_panel(frame, arriving_name(), desk_.engine->progress());
  ImGui::End();
  if (is_given_up) models_.give_up_loading();
}

void Workspace::draw_staleness(Frame& frame) {
  constexpr double kPass_s = 0.3;  // a pass that is faster changes the views without a remark
  const bool has_failed = !desk_.result.error.empty() && desk_.result.revision >= desk_.inputs_revision;
  if (!stale_since_s_ || arrival_began_s_) return;
  // A window that is new would be drawn above a dialog or menu that is open.
  if (has_popup()) return;
  if (!has_failed && (!desk_.engine->is_busy() || desk_.now_s < *stale_since_s_ + kPass_s)) return;
  const auto dim = [&](const char* name, const chart::Rect& rect, auto&& draw_content) {
    if (rect.is_empty()) return;
    begin_overlay(name, rect.origin, rect.size, has_cure(frame) ? kOverlayFlags : kOverlayFlags | ImGuiWindowFlags_NoInputs);
    draw_content();
    ImGui::End();
  };
  dim("stale center", desk_.layout.center,
      [&] { draw_stale_panel(frame, has_failed ? desk_.result.error : std::string(), desk_.engine->progress()); });
  dim("stale grid", desk_.layout.grid, [&] {
    ImGui::GetWindowDrawList()->AddRectFilled(desk_.layout.grid.origin, desk_.layout.grid.end(),
                                              shell::with_alpha(desk_.ui.theme().panel, kDim));
  });
}

void Workspace::draw_typed_offer(Frame& frame) {
  if (!typed_row_.is_text()) return;
  constexpr float kMargin = 16.0F;
  const chart::Rect& center = desk_.layout.center;
  const glm::vec2 size(std::min(kTypedOfferSize.x, desk_.ui.size().x - 2.0F * kMargin), kTypedOfferSize.y);
  const float left = std::clamp(center.center().x - 0.5F * size.x, kMargin, desk_.ui.size().x - kMargin - size.x);
  ImGui::SetNextWindowPos(glm::round(glm::vec2(left, desk_.layout.status.origin.y - kMargin - size.y)));
  ImGui::SetNextWindowSize(size);
  ImGui::Begin("typed", nullptr, kOverlayFlags);
  typed_answer_ = draw_typed_offer_panel(frame, typed_row_.text(), has_text_box());
  ImGui::End();
  if (typed_answer_ != TypedOfferChoice::None) desk_.ui.request_redraw(2);
}

/// Draws the notice over the panes, above the status line.
void Workspace::draw_notice(Frame& frame) {
  constexpr double kShown_s = 8.0, kWarningShown_s = 30.0;
  constexpr float kAway = 12.0F;  // from the window's edges and the status line
  if (std::exchange(shown_notice_, desk_.notice.text) != desk_.notice.text) {
    notice_until_s_ = desk_.now_s + (desk_.notice.is_warning ? kWarningShown_s : kShown_s);
  }
  if (!desk_.notice.is_shown()) return;
  frame.ui.ensure_glyphs(desk_.notice.text);
  const float width = notice_width(frame, desk_.notice, std::max(desk_.ui.size().x - 2.0F * kAway, 1.0F));
  const float y = desk_.layout.status.origin.y - kNoticeHeight - kAway;
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(0.0F, 0.0F));
  begin_overlay("notice", {std::round((desk_.ui.size().x - width) * 0.5F), std::max(y, 0.0F)}, {width, kNoticeHeight});
  ImGui::PopStyleVar();
  const bool is_read = ImGui::IsWindowHovered(ImGuiHoveredFlags_AllowWhenBlockedByActiveItem);
  draw_notice_panel(frame, desk_.notice);
  ImGui::End();
  if (is_read || desk_.now_s < notice_until_s_) return;
  desk_.notice = {};
  desk_.ui.request_redraw(2);  // this frame has drawn it
}

// The window's messages of its own: lost devices, missing fonts, odd numbers, changes without a place.

void Workspace::tell_of_lost_engine() {
  const bool has_slept = sleep_.has_slept();
  sleep_ = SleepWatch();
  tell_of_reopening(
      fmt::format("the device '{}' {}", desk_.result.device,
                  has_slept ? "may have lost its memory while the computer was asleep" : "was lost (a driver reset)"));
}

void Workspace::tell_of_reopening(const std::string& loss) {
  std::string text = loss.substr(0, loss.find(';'));  // without the advice
  if (!text.empty() && text.front() == 't') text.front() = 'T';
  desk_.warn(text + ". It is open again, what it held was computed anew, and nothing of your work is gone.");
  desk_.ui.request_redraw();
}

void Workspace::warn(const std::string& text) {
  desk_.warn(desk_.notice.is_shown() && desk_.notice.text != text ? desk_.notice.text + " \u00B7 " + text : text);
  desk_.ui.request_redraw(2);
}

void Workspace::warn_of_fonts() {
  std::string characters;
  const auto look_at = [&](const model::TokenBatch& tokens) {
    for (const auto& line : tokens.texts) {
      for (const std::string& token : line) characters += desk_.ui.unshaped(token);
    }
  };
  if (desk_.result.input) look_at(desk_.result.input->source);
  if (desk_.result.input && desk_.result.input->target) look_at(*desk_.result.input->target);
  std::string warning = desk_.ui.missing_fonts(characters);
  if (warning == font_warning_) return;
  if (desk_.notice.text == font_warning_) desk_.notice = {};  // it was of the text before
  font_warning_ = std::move(warning);
  if (!font_warning_.empty()) desk_.warn(font_warning_);
}

void Workspace::warn_of_numbers() {
  const std::string weights = desk_.result.network ? inference::weight_warning(*desk_.result.network) : std::string();
  // Consequences of the weights aren't reported twice.
  std::string warning = weights.empty() ? desk_.result.run_warning : "Weights aren't finite. " + weights;
  if (warning == number_warning_) return;
  if (!warning.empty()) {
    desk_.warn(warning);
  } else if (desk_.notice.text == number_warning_) {
    desk_.notice = {};
  }
  number_warning_ = std::move(warning);
}

void Workspace::warn_of_changes() {
  std::string warning;
  if (desk_.result.inputs && desk_.result.network && desk_.result.input) {
    const std::vector<std::string> lines =
        changes_left_out(*desk_.result.inputs, *desk_.result.network, *desk_.result.input);
    if (!lines.empty()) warning = lines.front();
    if (lines.size() > 1) warning += fmt::format("; {} more likewise", lines.size() - 1);
  }
  if (warning == changes_warning_) return;
  changes_warning_ = std::move(warning);
  if (!changes_warning_.empty()) desk_.warn("In this run " + changes_warning_);
}

}  // namespace headlight::app
