#include "app/window/panels.h"

#include <cctype>

#include "app/views/view_table.h"
#include "app/widgets/controls.h"

namespace headlight::app {
namespace {

constexpr float kLeft = 16.0F, kAtRight = 27.0F;  // at the left, and for the button at the right end
constexpr float kMinTabGap = 4.0F, kMaxTabGap = 24.0F;
constexpr float kBetweenGroups = 8.0F;   // and as much on the other side of the line between them
constexpr float kAfterHeading = 7.0F;    // of a group's heading that stands before its tabs
constexpr float kHeadingHeight = 16.0F;  // of one that stands above them
constexpr std::size_t kGroupsInFirstRow = 2;

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

/// Returns a tab's width in the heavier font, so that nothing moves when the tab changes.
float tab_width(const shell::Ui& ui, std::string_view title) {
  return std::ceil(text_width(ui.fonts().strong, std::string(title)));
}

/// Returns the heading in capitals, so that "Heads" isn't taken for the tab beside it.
std::string heading_of(const ViewGroup& group) {
  std::string heading(group.front().group);
  for (char& c : heading) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return heading;
}

float heading_width(const shell::Ui& ui, const ViewGroup& group) {
  return std::ceil(text_width(ui.fonts().small, heading_of(group)));
}

/// Returns the width of all tabs of a group, with half of a gap at either side of each.
float group_width(const shell::Ui& ui, const ViewGroup& group, float gap) {
  float width = 0.0F;
  for (const View& view : group) width += tab_width(ui, view.title) + gap;
  return width;
}

/// Returns the width of a row of groups; `has_headings`: before their tabs.
float row_width(const shell::Ui& ui, std::span<const ViewGroup> groups, float gap, bool has_headings) {
  float width = 2.0F * kBetweenGroups * static_cast<float>(groups.size() - 1);
  for (const ViewGroup& group : groups) {
    width += group_width(ui, group, gap) + (has_headings ? heading_width(ui, group) + kAfterHeading : 0.0F);
  }
  return width;
}

class TabsPainter {
 public:
  TabsPainter(Frame& frame, TabRows rows, float left, float room)
      : frame_(frame),
        theme_(frame.ui.theme()),
        list_(ImGui::GetWindowDrawList()),
        origin_(to_glm(ImGui::GetWindowPos())),
        groups_(view_groups()),
        left_(left),
        room_(room),
        rows_(rows) {}

  /// Returns where the longest row ends.
  float draw() {
    const shell::ControlGroup group(frame_.ui.keyboard(), "tabs");
    const std::span<const ViewGroup> all(groups_);
    const float height = ImGui::GetWindowHeight();
    if (rows_ == TabRows::Menus) return draw_menus(height);
    if (rows_ == TabRows::One) return draw_row(all, {kHeadingHeight, height});
    const float half = std::round(height * 0.5F);
    gap_ = kMinTabGap;
    // Headings of both rows are one column, and so are the first tabs after them.
    for (const std::size_t first : {std::size_t{0}, kGroupsInFirstRow}) {
      heading_ = std::max(heading_, heading_width(frame_.ui, all[first]));
    }
    const float end = draw_row(all.first(kGroupsInFirstRow), {1.0F, half});
    return std::max(end, draw_row(all.subspan(kGroupsInFirstRow), {half, height}));
  }

 private:
  struct Band {
    float top, bottom;
    float middle() const { return (top + bottom) * 0.5F; }
  };

  float draw_row(std::span<const ViewGroup> groups, Band band) {
    if (rows_ == TabRows::One) {
      const float tabs = row_width(frame_.ui, groups, 0.0F, false);
      gap_ = std::clamp(std::floor((room_ - tabs) / static_cast<float>(views().size())), kMinTabGap, kMaxTabGap);
    }
    float x = left_;
    for (std::size_t i = 0; i < groups.size(); ++i) {
      if (i > 0) {
        x += kBetweenGroups;
        const float top = rows_ == TabRows::One ? 8.0F : band.top + 7.0F;
        list_->AddLine({origin_.x + x + 0.5F, origin_.y + top}, {origin_.x + x + 0.5F, origin_.y + band.bottom - 8.0F},
                       theme_.border);
        x += kBetweenGroups;
      }
      x = draw_heading(groups[i], x, band, i == 0);
      for (const View& view : groups[i]) x = draw_tab(view, x, band);
    }
    return x;
  }

  /// Draws a heading above the tabs where they have one row, else before them. Returns where the tabs begin.
  float draw_heading(const ViewGroup& group, float x, Band band, bool is_first) {
    ImFont* font = frame_.ui.fonts().small;
    const std::string text = heading_of(group);
    const bool is_above = rows_ == TabRows::One;
    const float y = is_above ? 4.0F : std::round(band.middle() - font_size(font) * 0.5F);
    const float inset = is_above ? gap_ * 0.5F : 0.0F;
    put_text(font, {origin_.x + x + inset, origin_.y + y}, theme_.text_dim, text);
    if (is_above) return x;
    const float width = is_first ? heading_ : heading_width(frame_.ui, group);
    return x + width + kAfterHeading - gap_ * 0.5F;
  }

  /// Draws a tab with half of a gap at either side. Returns where the next one begins.
  float draw_tab(const View& view, float x, Band band) {
    const bool is_shown = is_tab(view);
    const std::string why = why_empty(view, frame_);
    const std::string name = fmt::format("tab.{}", view.id);
    ImFont* font = is_shown ? frame_.ui.fonts().strong : frame_.ui.fonts().body;
    const float width = tab_width(frame_.ui, view.title);
    ImGui::SetCursorPos({x, band.top});
    if (click_area(name.c_str(), {width + gap_, band.bottom - band.top})) frame_.state.view.tab = view.id;
    mark_last_item(frame_, name, why.empty() ? std::string(view.help).c_str() : why.c_str());
    if (is_shown) frame_.ui.keyboard().prefer_last();
    const shell::Color ink = why.empty() || is_shown || ImGui::IsItemHovered() ? theme_.text : dimmed();
    const float text_x = origin_.x + x + gap_ * 0.5F;
    put_text(font, {text_x, origin_.y + std::round(band.middle() - font_size(font) * 0.5F)}, ink, std::string(view.title));
    if (is_shown) underline(text_x, width, band.bottom);
    return x + width + gap_;
  }

  /// Draws, in a narrow window, a button for each group, whose menu has its views.
  float draw_menus(float height) {
    float widths = 0.0F;
    for (const ViewGroup& group : groups_) widths += tab_width(frame_.ui, group.front().group);
    gap_ = std::clamp(std::floor((room_ - widths) / static_cast<float>(groups_.size())), 4.0F, kMaxTabGap);
    float x = left_;
    for (const ViewGroup& group : groups_) {
      const std::string title(group.front().group);
      const std::string name = fmt::format("tabs.{}", title);
      const bool is_shown = std::ranges::any_of(group, [&](const View& view) { return is_tab(view); });
      ImFont* font = is_shown ? frame_.ui.fonts().strong : frame_.ui.fonts().body;
      const float width = tab_width(frame_.ui, title);
      ImGui::SetCursorPos({x, 0.0F});
      if (click_area(name.c_str(), {width + gap_, height})) ImGui::OpenPopup(title.c_str());
      mark_last_item(frame_, name, "The views of this group: the window is too narrow for their tabs.");
      if (is_shown) frame_.ui.keyboard().prefer_last();
      const float text_x = origin_.x + x + gap_ * 0.5F;
      put_text(font, {text_x, origin_.y + std::round((height - font_size(font)) * 0.5F)}, theme_.text, title);
      if (is_shown) underline(text_x, width, height);
      draw_group_menu(title, group);
      x += width + gap_;
    }
    return x;
  }

  void draw_group_menu(const std::string& title, const ViewGroup& group) {
    ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(8.0F, 8.0F));
    open_below_last_item(frame_);
    if (ImGui::BeginPopup(title.c_str())) {
      for (const View& view : group) {
        const std::string why = why_empty(view, frame_);
        if (ImGui::MenuItem(std::string(view.title).c_str(), std::string(view.key.text).c_str(), is_tab(view))) {
          frame_.state.view.tab = view.id;
        }
        mark_last_item(frame_, fmt::format("tab.{}", view.id), why.empty() ? std::string(view.help).c_str() : why.c_str());
      }
      ImGui::EndPopup();
    }
    ImGui::PopStyleVar();
  }

  void underline(float x, float width, float bottom) {
    const float y = origin_.y + bottom;
    list_->AddRectFilled({x, y - 3.0F}, {x + width, y}, theme_.accent, 1.5F);
  }

  /// Returns the colour of a view that has nothing to draw.
  shell::Color dimmed() const { return shell::blended(shell::with_alpha(theme_.text_dim, 0xA0), theme_.background); }

  bool is_tab(const View& view) const { return &find_view(frame_.state.view.tab) == &view; }

  Frame& frame_;
  const shell::Theme& theme_;
  ImDrawList* list_;
  glm::vec2 origin_;
  std::vector<ViewGroup> groups_;
  float left_, room_;
  float gap_ = kMinTabGap;
  float heading_ = 0.0F;  ///< of the first group of each of two rows
  TabRows rows_;
};

}  // namespace

TabWidths measure_tabs(const shell::Ui& ui, float insets) {
  const std::vector<ViewGroup> groups = view_groups();
  const std::span<const ViewGroup> all(groups);
  const float column = std::max(heading_width(ui, all[0]), heading_width(ui, all[kGroupsInFirstRow]));
  float longest = 0.0F;
  for (const auto row : {all.first(kGroupsInFirstRow), all.subspan(kGroupsInFirstRow)}) {
    longest = std::max(longest, row_width(ui, row, kMinTabGap, true) + column - heading_width(ui, row.front()));
  }
  return {.one_row = kLeft + insets + row_width(ui, all, kMinTabGap, false), .two_rows = kLeft + insets + longest};
}

void draw_tabs_panel(Frame& frame, TabRows rows, float tabs_width, float left_inset) {
  const shell::Theme& theme = frame.ui.theme();
  const float width = ImGui::GetWindowWidth();
  const float height = ImGui::GetWindowHeight();
  const float left = kLeft - kMinTabGap * 0.5F + left_inset;
  const float end = TabsPainter(frame, rows, left, tabs_width - left - kAtRight).draw();
  const ImVec2 origin = ImGui::GetWindowPos();
  ImDrawList* list = ImGui::GetWindowDrawList();
  const bool is_stale = frame.result.is_stale && frame.result.run != 0;
  list->AddLine({origin.x, origin.y + height - 0.5F}, {origin.x + width, origin.y + height - 0.5F},
                is_stale ? theme.warning : theme.border);
  if (!is_stale) return;
  ImFont* font = frame.ui.fonts().small;
  const float room = width - kLeft - kAtRight - end;
  const char* text = "";  // where the tabs leave no room, the line below them and the status bar say it
  for (const char* fitting : {"Not up to date", "Not up to date: this is the last map that could be computed"}) {
    if (font->CalcTextSizeA(font_size(font), FLT_MAX, 0.0F, fitting).x <= room) text = fitting;
  }
  const float text_width = font->CalcTextSizeA(font_size(font), FLT_MAX, 0.0F, text).x;
  const float stale_left = width - kLeft - kAtRight - std::ceil(text_width);
  put_text(font, {origin.x + stale_left, origin.y + std::round((height - font_size(font)) * 0.5F)}, theme.warning, text);
  frame.mark("tabs.stale", {.origin = {origin.x + stale_left, origin.y}, .size = {text_width, height}});
}

}  // namespace headlight::app
