// What is drawn over the panes: loading, stale views, an offer of what was typed, notices.
#include <variant>

#include <imgui.h>

#include "app/shell/imgui_vectors.h"
#include "app/widgets/controls.h"
#include "app/window/loading_panel.h"
#include "app/window/typed_row.h"
#include "app/window/workspace.h"

namespace headlight::app {
namespace {

/// Unlike panes they come to the front.
constexpr ImGuiWindowFlags kOverlayFlags = ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove |
                                           ImGuiWindowFlags_NoSavedSettings | ImGuiWindowFlags_NoFocusOnAppearing |
                                           ImGuiWindowFlags_NoBackground;
constexpr std::uint32_t kStaleDim = 0xB0;  // of 255: what is below stays recognisable

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
  const view::Rect& from = desk_.is_arriving() ? desk_.layout.texts : desk_.layout.center;
  const float left = desk_.is_arriving() ? 0.0F : from.origin.x;
  ImGui::SetNextWindowPos({left, from.origin.y});
  ImGui::SetNextWindowSize({desk_.ui.size().x - left, std::max(desk_.layout.status.origin.y - from.origin.y, 1.0F)});
  ImGui::PushStyleVar(ImGuiStyleVar_WindowBorderSize, 0.0F);
  ImGui::Begin("arrival", nullptr, kOverlayFlags);
  ImGui::PopStyleVar();
  const bool is_given_up = draw_loading_panel(frame, {.name = arriving_name(),
                                                      .progress = desk_.engine->load_progress(),
                                                      .kernels = desk_.engine->compile_progress(),
                                                      .pass = desk_.engine->pass_progress()});
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
  const auto dim = [&](const char* name, const view::Rect& rect, auto&& draw_content) {
    if (rect.is_empty()) return;
    ImGui::SetNextWindowPos(rect.origin);
    ImGui::SetNextWindowSize(rect.size);
    ImGui::PushStyleVar(ImGuiStyleVar_WindowBorderSize, 0.0F);
    ImGui::Begin(name, nullptr, kOverlayFlags | ImGuiWindowFlags_NoInputs);
    ImGui::PopStyleVar();
    draw_content();
    ImGui::End();
  };
  dim("stale center", desk_.layout.center, [&] {
    draw_stale_panel(
        frame, has_failed ? desk_.result.error : std::string(),
        {.name = {}, .progress = {}, .kernels = desk_.engine->compile_progress(), .pass = desk_.engine->pass_progress()});
  });
  dim("stale grid", desk_.layout.grid, [&] {
    ImGui::GetWindowDrawList()->AddRectFilled(desk_.layout.grid.origin, desk_.layout.grid.end(),
                                              shell::with_alpha(desk_.ui.theme().panel, kStaleDim));
  });
}

void Workspace::draw_typed_offer(Frame& frame) {
  if (!typed_row_.is_text()) return;
  constexpr float kMargin = 16.0F;
  const view::Rect& center = desk_.layout.center;
  const glm::vec2 size(std::min(kTypedOfferSize.x, desk_.ui.size().x - 2.0F * kMargin), kTypedOfferSize.y);
  const float left = std::clamp(center.center().x - 0.5F * size.x, kMargin, desk_.ui.size().x - kMargin - size.x);
  ImGui::SetNextWindowPos(glm::round(glm::vec2(left, desk_.layout.status.origin.y - kMargin - size.y)));
  ImGui::SetNextWindowSize(size);
  ImGui::Begin("typed", nullptr, kOverlayFlags);
  typed_answer_ = draw_typed_offer_panel(frame, typed_row_.text(), has_text_box());
  ImGui::End();
  if (typed_answer_ != TypedOfferChoice::None) desk_.ui.request_redraw(2);
}

/// Over the panes, above the status line.
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
  ImGui::SetNextWindowPos({std::round((desk_.ui.size().x - width) * 0.5F), std::max(y, 0.0F)});
  ImGui::SetNextWindowSize({width, kNoticeHeight});
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(0.0F, 0.0F));
  ImGui::PushStyleVar(ImGuiStyleVar_WindowBorderSize, 0.0F);
  ImGui::Begin("notice", nullptr, kOverlayFlags);
  ImGui::PopStyleVar(2);
  const bool is_read = ImGui::IsWindowHovered(ImGuiHoveredFlags_AllowWhenBlockedByActiveItem);
  draw_notice_panel(frame, desk_.notice);
  ImGui::End();
  if (is_read || desk_.now_s < notice_until_s_) return;
  desk_.notice = {};
  desk_.ui.request_redraw(2);  // this frame has drawn it
}

}  // namespace headlight::app
