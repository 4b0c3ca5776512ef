#include "app/commands/command_list.h"
#include "app/views/view_table.h"
#include "app/widgets/controls.h"
#include "app/window/panels.h"
#include "app/window/view_area.h"

namespace headlight::app {
namespace {

constexpr float kMargin = 7.0F;        // outside of the buttons that fold the panels
constexpr float kAfterMenus = 16.0F;   // and as much before the names of groups
constexpr float kGroupGap = 20.0F;     // between them
constexpr float kAroundLine = 14.0F;   // on either side of the line between groups and views
constexpr float kViewPadding = 10.0F;  // on either side of a view's name …
constexpr float kTightPadding = 5.0F;  // … where only a window's least width has room for all of a group
constexpr float kArrow = 16.0F;        // of a list that opens
constexpr float kRowInset = 5.0F;      // of grounds, above and below
constexpr float kRounding = 5.0F;
constexpr float kHintPadding = 9.0F;
constexpr float kAtEnd = kMargin + kFoldButtonEdge + 10.0F;
constexpr const char* kFindText = "Find a command";

using ViewGroup = std::span<const View>;

std::vector<ViewGroup> view_groups() {
  std::vector<ViewGroup> groups;
  for (const View& view : views()) {
    const bool continues = !groups.empty() && groups.back().front().group == view.group;
    if (!continues) groups.emplace_back(&view, 0);
    groups.back() = {groups.back().data(), groups.back().size() + 1};
  }
  return groups;
}

/// Returns a name's width in the heavier font, so that nothing moves when something else is chosen.
float name_width(const shell::Ui& ui, std::string_view name) {
  return std::ceil(text_width(ui.fonts().strong, std::string(name)));
}

float padding_of(RowForm form) { return form == RowForm::OneMenu ? kTightPadding : kViewPadding; }

float views_width(const shell::Ui& ui, ViewGroup group, RowForm form) {
  float width = 0.0F;
  for (const View& view : group) width += name_width(ui, view.title) + 2.0F * padding_of(form);
  return width;
}

float list_width(const shell::Ui& ui) {
  float widest = 0.0F;
  for (const View& view : views()) widest = std::max(widest, name_width(ui, view.title));
  return widest + kArrow + 2.0F * kViewPadding;
}

float groups_width(const shell::Ui& ui) {
  float width = 2.0F * kAroundLine - kGroupGap;
  for (const ViewGroup& group : view_groups()) width += name_width(ui, group.front().group) + kGroupGap;
  return width;
}

std::string palette_key() { return std::string(keys_text(find_command("help.palette"))); }

float hint_width(const shell::Ui& ui, RowForm form) {
  const float key = std::ceil(text_width(ui.fonts().small, palette_key())) + 2.0F * kHintPadding;
  return form == RowForm::Whole ? key + std::ceil(text_width(ui.fonts().small, kFindText)) + kHintPadding : key;
}

constexpr const char *kBack = "Back", *kForward = "Forward";

/// Returns the width of Back and Forward, with the gap after them: by name in a whole row, else as arrows.
float history_width(const shell::Ui& ui, RowForm form) {
  const float names = std::ceil(text_width(ui.fonts().body, kBack)) + std::ceil(text_width(ui.fonts().body, kForward));
  const float padding = 4.0F * ImGui::GetStyle().FramePadding.x;
  return (form == RowForm::Whole ? names + padding : 2.0F * ImGui::GetFrameHeight()) + 2.0F * kHintPadding;
}

class RowPainter {
 public:
  RowPainter(Frame& frame, RowForm form, ShownViews& last)
      : frame_(frame),
        theme_(frame.ui.theme()),
        origin_(to_glm(ImGui::GetWindowPos())),
        height_(ImGui::GetWindowHeight()),
        groups_(view_groups()),
        shown_(find_view(frame.state.view.tab)),
        form_(form) {
    last.insert_or_assign(shown_.group, shown_.id);
    last_ = &last;
  }

  /// Draws from `x` on. Returns where the views end.
  float draw(float x) {
    const shell::ControlGroup group(frame_.ui.keyboard(), "tabs");
    if (form_ == RowForm::GroupList) return draw_list(x, groups_);
    for (const ViewGroup& some : groups_) x = draw_group(some, x) + kGroupGap;
    x += kAroundLine - kGroupGap;
    draw_line(origin_ + glm::vec2(x, 11.0F), origin_ + glm::vec2(x, height_ - 11.0F), theme_.border);
    x += kAroundLine;
    const ViewGroup& shown = *std::ranges::find_if(groups_, [&](ViewGroup some) { return is_shown(some); });
    if (form_ == RowForm::ViewList) return draw_list(x, {&shown, 1});
    for (const View& view : shown) x = draw_view(view, x);
    return x;
  }

  /// Draws the palette's button, which ends at `right`. Returns where it begins.
  float draw_hint(float right) {
    if (form_ == RowForm::GroupList) return right;
    ImFont* font = frame_.ui.fonts().small;
    const std::string key = palette_key();
    const float width = hint_width(frame_.ui, form_), left = right - width;
    ImGui::SetCursorPos({left, kRowInset});
    if (click_area("row.palette", {width, height_ - 2.0F * kRowInset})) frame_.start_command("help.palette");
    mark_last_item(frame_, "row.palette", find_command("help.palette").help.c_str());
    const bool is_hovered = ImGui::IsItemHovered();
    fill_rect(ground(left, width), is_hovered ? theme_.hover : theme_.field, kRounding);
    const float y = origin_.y + text_drop(font, height_);
    if (form_ == RowForm::Whole) put_text(font, {origin_.x + left + kHintPadding, y}, theme_.text_dim, kFindText);
    put_text(font, {origin_.x + right - kHintPadding - std::ceil(text_width(font, key)), y}, theme_.text_dim, key);
    return left;
  }

  /// Draws Back and Forward, which end before `right`. Returns where they begin.
  float draw_history(float right, bool can_go_back, bool can_go_forward) {
    if (form_ == RowForm::GroupList) return right;
    const float edge = ImGui::GetFrameHeight(), left = right - history_width(frame_.ui, form_);
    const auto button = [&](const char* id, const char* label, ImGuiDir direction, bool is_enabled) {
      const Command& command = find_command(id);
      const std::string name = fmt::format("row.{}", id), help = fmt::format("{} {}", command.help, keys_text(command));
      ImGui::BeginDisabled(!is_enabled);
      const bool is_clicked = form_ == RowForm::Whole ? draw_button(frame_, name, label, help.c_str())
                                                      : draw_arrow_button(frame_, name, direction, help.c_str());
      ImGui::EndDisabled();
      if (is_clicked) frame_.start_command(id);
    };
    ImGui::SetCursorPos({left, std::round((height_ - edge) * 0.5F)});
    button("view.back", kBack, ImGuiDir_Left, can_go_back);
    ImGui::SameLine(0.0F, kHintPadding * 0.5F);
    button("view.forward", kForward, ImGuiDir_Right, can_go_forward);
    return left;
  }

 private:
  bool is_shown(const View& view) const { return &view == &shown_; }
  bool is_shown(ViewGroup group) const { return group.front().group == shown_.group; }

  chart::Rect ground(float x, float width) const {
    return {.origin = origin_ + glm::vec2(x, kRowInset), .size = {width, height_ - 2.0F * kRowInset}};
  }

  void put_name(std::string_view name, float x, shell::Color color, bool is_strong) {
    ImFont* font = is_strong ? frame_.ui.fonts().strong : frame_.ui.fonts().body;
    put_text(font, origin_ + glm::vec2(x, text_drop(font, height_)), color, name);
  }

  /// Returns the view of the group that was shown last, else the first one that has something to draw.
  std::string_view view_of(ViewGroup group) const {
    if (const auto last = last_->find(group.front().group); last != last_->end()) return last->second;
    const auto fits = std::ranges::find_if(group, [&](const View& view) { return why_empty(view, frame_).empty(); });
    return (fits == group.end() ? group.front() : *fits).id;
  }

  float draw_group(ViewGroup group, float x) {
    const std::string_view title = group.front().group;
    const std::string name = fmt::format("tabs.{}", title);
    const float width = name_width(frame_.ui, title);
    ImGui::SetCursorPos({x - kGroupGap * 0.5F, 0.0F});
    if (click_area(name.c_str(), {width + kGroupGap, height_})) frame_.state.view.tab = view_of(group);
    std::string titles;
    for (const View& view : group) titles += (titles.empty() ? "" : ", ") + std::string(view.title);
    mark_last_item(frame_, name, fmt::format("Shows the views of this group: {}.", titles).c_str());
    const bool is_bright = is_shown(group) || ImGui::IsItemHovered();
    put_name(title, x, is_bright ? theme_.text : theme_.text_dim, is_shown(group));
    if (is_shown(group)) {
      const glm::vec2 low = origin_ + glm::vec2(x, height_ - 3.0F);
      fill_rect(low, low + glm::vec2(width, 3.0F), theme_.accent, 1.5F);
    }
    return x + width;
  }

  float draw_view(const View& view, float x) {
    const std::string why = why_empty(view, frame_);
    const std::string name = fmt::format("tab.{}", view.id);
    const float padding = padding_of(form_), width = name_width(frame_.ui, view.title) + 2.0F * padding;
    ImGui::SetCursorPos({x, 0.0F});
    if (click_area(name.c_str(), {width, height_})) frame_.state.view.tab = view.id;
    mark_last_item(frame_, name, why.empty() ? std::string(view.help).c_str() : why.c_str());
    if (ImGui::BeginDragDropSource(ImGuiDragDropFlags_SourceNoPreviewTooltip)) {
      ImGui::SetDragDropPayload(kDraggedView, view.id.data(), view.id.size());
      ImGui::EndDragDropSource();
    }
    if (is_shown(view)) frame_.ui.keyboard().prefer_last();
    const bool is_hovered = ImGui::IsItemHovered();
    if (is_shown(view) || is_hovered) fill_rect(ground(x, width), is_shown(view) ? theme_.active : theme_.hover, kRounding);
    put_name(view.title, x + padding, why.empty() || is_shown(view) || is_hovered ? theme_.text : dimmed(), is_shown(view));
    return x + width;
  }

  /// Draws the name of the view on screen, which opens a list of the views of these groups.
  float draw_list(float x, std::span<const ViewGroup> groups) {
    const float width = list_width(frame_.ui);
    ImGui::SetCursorPos({x, 0.0F});
    if (click_area("tabs.list", {width, height_})) ImGui::OpenPopup("views");
    mark_last_item(frame_, "tabs.list", "Lists the views that the window has no room for.");
    frame_.ui.keyboard().prefer_last();
    fill_rect(ground(x, width), ImGui::IsItemHovered() ? theme_.hover : theme_.active, kRounding);
    put_name(shown_.title, x + kViewPadding, theme_.text, true);
    const glm::vec2 tip = origin_ + glm::vec2(x + width - kViewPadding - 4.0F, std::round(height_ * 0.5F) + 2.0F);
    ImGui::GetWindowDrawList()->AddTriangleFilled(tip - glm::vec2(4.0F, 4.0F), tip + glm::vec2(4.0F, -4.0F), tip,
                                                  theme_.text);
    ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(8.0F, 8.0F));
    open_below_last_item(frame_);
    if (ImGui::BeginPopup("views")) {
      // All views have to fit into a window of 500 units.
      ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, ImVec2(ImGui::GetStyle().ItemSpacing.x, 2.0F));
      for (const ViewGroup& group : groups) draw_entries(group, groups.size() > 1);
      ImGui::PopStyleVar();
      ImGui::EndPopup();
    }
    ImGui::PopStyleVar();
    return x + width;
  }

  void draw_entries(ViewGroup group, bool has_heading) {
    if (has_heading) write_text(frame_.ui.fonts().small, theme_.text_dim, std::string(group.front().group).c_str());
    for (const View& view : group) {
      const std::string why = why_empty(view, frame_);
      if (ImGui::MenuItem(std::string(view.title).c_str(), std::string(view.key.text).c_str(), is_shown(view))) {
        frame_.state.view.tab = view.id;
      }
      mark_last_item(frame_, fmt::format("tab.{}", view.id), why.empty() ? std::string(view.help).c_str() : why.c_str());
      frame_.ui.keyboard().name_last(view.title);
    }
  }

  /// Returns the colour of a view that has nothing to draw.
  shell::Color dimmed() const { return shell::blended(shell::with_alpha(theme_.text_dim, 0xA0), theme_.panel); }

  Frame& frame_;
  const shell::Theme& theme_;
  glm::vec2 origin_;
  float height_;
  std::vector<ViewGroup> groups_;
  const View& shown_;
  RowForm form_;
  ShownViews* last_ = nullptr;
};

}  // namespace

RowForm row_form(const shell::Ui& ui, float width) {
  const auto views = [&](RowForm form) {
    float widest = 0.0F;
    for (const ViewGroup& group : view_groups()) widest = std::max(widest, views_width(ui, group, form));
    return widest;
  };
  const float menus = menus_width(ui, false), one = menus_width(ui, true), list = list_width(ui);
  const float room = width - 2.0F * kAtEnd - kAfterMenus - 2.0F * kHintPadding;
  const float groups = groups_width(ui);
  const auto right = [&](RowForm form) { return hint_width(ui, form) + history_width(ui, form); };
  const float key = right(RowForm::KeyHint);
  if (menus + groups + views(RowForm::Whole) + right(RowForm::Whole) <= room) return RowForm::Whole;
  if (menus + groups + views(RowForm::KeyHint) + key <= room) return RowForm::KeyHint;
  if (one + groups + views(RowForm::OneMenu) + key <= room) return RowForm::OneMenu;
  return one + groups + list + key <= room ? RowForm::ViewList : RowForm::GroupList;
}

float row_start(const Layout& layout) {
  return layout.has_left() ? kAtEnd : ImGui::GetStyle().WindowPadding.x - ImGui::GetStyle().ItemSpacing.x;
}

RowChoice draw_top_row(Frame& frame, const RowContext& context) {
  if (!begin_top_row()) return {};
  const shell::Theme& theme = frame.ui.theme();
  const glm::vec2 origin = to_glm(ImGui::GetWindowPos());
  const float width = ImGui::GetWindowWidth(), height = ImGui::GetWindowHeight();
  RowPainter painter(frame, context.form, context.last);
  const float end = painter.draw(ImGui::GetCursorPosX() + kAfterMenus) + kHintPadding;
  const float right_end = painter.draw_hint(width - kAtEnd);
  const float hint = painter.draw_history(right_end, context.can_go_back, context.can_go_forward) - kHintPadding;
  const bool is_stale = frame.result.is_stale && frame.result.run != 0;
  const glm::vec2 bottom = origin + glm::vec2(0.0F, height - 0.5F);
  draw_line(bottom, bottom + glm::vec2(width, 0.0F), is_stale ? theme.warning : theme.border);
  if (is_stale) {
    ImFont* font = frame.ui.fonts().small;
    std::string text;  // where the row leaves no room, the line below it and the status bar say it
    for (const char* fitting : {"Not up to date", "Not up to date: this is the last map that could be computed"}) {
      if (text_width(font, fitting) <= hint - end) text = fitting;
    }
    const glm::vec2 at = origin + glm::vec2(hint - std::ceil(text_width(font, text)), text_drop(font, height));
    put_text(font, at, theme.warning, text);
    frame.mark("tabs.stale", {.origin = {at.x, origin.y}, .size = {text_width(font, text), height}});
  }
  RowChoice choice;
  const float y = origin.y + std::round((height - kFoldButtonEdge) * 0.5F);
  if (context.layout.has_left())
    choice.folds_sidebar = draw_fold_button(frame, "fold.sidebar", FoldSide::Left, {kMargin, y});
  const float right = width - kMargin - kFoldButtonEdge;
  if (context.layout.has_grid()) choice.folds_grid = draw_fold_button(frame, "fold.grid", FoldSide::Right, {right, y});
  end_top_row();
  return choice;
}

}  // namespace headlight::app
