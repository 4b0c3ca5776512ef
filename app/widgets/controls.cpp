#include "app/widgets/controls.h"

#include "app/state/block_settings.h"

namespace headlight::app {
namespace {

void draw_icon(glm::vec2 middle, FoldSide side, shell::Color color) {
  constexpr glm::vec2 kSize(16.0F, 12.0F);
  constexpr float kPanel = 6.0F;
  const glm::vec2 low = glm::round(middle - kSize * 0.5F);
  const glm::vec2 high = low + kSize;
  const float panel = side == FoldSide::Left ? low.x : high.x - kPanel;
  fill_rect({panel, low.y}, {panel + kPanel, high.y}, color, 2.0F);
  outline_rect(low, high, color, 2.0F, 1.2F);
}

void show_tooltip(Frame& frame, std::string_view text) {
  if (text.empty() || !ImGui::IsItemHovered(ImGuiHoveredFlags_AllowWhenDisabled) || !frame.ui.wants_tooltip()) return;
  draw_tooltip(frame, last_item_rect(), text);
}

chart::Rect drawn_dialog;  ///< empty: none is being drawn

float label_width(ImFont* font, const std::string& label, float padding) {
  return std::ceil(text_width(font, label)) + 2.0F * padding;
}

}  // namespace

Tooltip::Tooltip(Frame& frame, const chart::Rect& explained, const chart::Rect& around) : frame_(frame) {
  constexpr float kAway = 8.0F, kRoom = 310.0F;  // of most tooltips
  constexpr float kWide = 0.25F, kHigh = 0.4F;   // parts of the window
  const glm::vec2 window = frame.ui.size(), middle = explained.center();
  const chart::Rect& clear = around.is_empty() ? drawn_dialog : around;
  const bool fits_right = window.x - clear.end().x >= kRoom;
  const bool is_clear = !clear.is_empty() && (fits_right || clear.origin.x >= kRoom);
  const chart::Rect& free = is_clear ? clear : explained;
  const bool is_wide = !is_clear && (explained.size.x > kWide * window.x || explained.size.x > 3.0F * explained.size.y);
  if (is_clear || explained.size.y <= kHigh * window.y) {
    // The side on which there is more room: the pivot is the tooltip's corner or edge that comes to the place.
    const float near_pointer = std::clamp(pointer_position().x, explained.origin.x, explained.end().x);
    const bool has_more_right = (is_wide ? near_pointer : middle.x) < 0.5F * window.x;
    const bool goes_right = is_clear ? fits_right : has_more_right, goes_down = middle.y < 0.6F * window.y;
    const float beside = goes_right ? free.end().x + kAway : free.origin.x - kAway;
    const float below = goes_down ? explained.end().y + kAway : explained.origin.y - kAway;
    const glm::vec2 at =
        is_wide ? glm::vec2(near_pointer, below) : glm::vec2(beside, goes_down ? explained.origin.y : explained.end().y);
    ImGui::SetNextWindowPos(at, ImGuiCond_Always, {goes_right ? 0.0F : 1.0F, goes_down ? 0.0F : 1.0F});
  }
  ImGui::BeginTooltip();
}

Tooltip::~Tooltip() {
  frame_.mark("tooltip", window_rect());
  ImGui::EndTooltip();
}

void draw_tooltip(Frame& frame, const chart::Rect& explained, std::string_view text) {
  constexpr float kTooltipWidth = 280.0F;
  const Tooltip tooltip(frame, explained);
  write_wrapped(frame.ui.fonts().small, frame.ui.theme().text, text, kTooltipWidth);
}

chart::Rect around_pointer() {
  constexpr float kReach = 8.0F;
  return {.origin = pointer_position() - kReach, .size = glm::vec2(2.0F * kReach)};
}

void mark_last_item(Frame& frame, std::string name, const char* explanation) {
  frame.ui.keyboard().offer_last_item();
  mark_pointer_item(frame, std::move(name), explanation);
}

void mark_pointer_item(Frame& frame, std::string name, const char* explanation) {
  const std::string_view text = explanation ? std::string_view(explanation) : tooltip_of(name);
  show_tooltip(frame, text);
  const std::string marked = frame.pane + std::move(name);
  frame.last_control = {marked, last_item_rect()};
  if (frame.tips) frame.tips->insert_or_assign(marked, std::string(text));
  // The window's flag is cleared once a whole frame had it.
  if (frame.transient.aim.scrolls && frame.transient.aim.control == marked) ImGui::SetScrollHereY();
  if (frame.items) frame.items->insert_or_assign(marked, last_item_rect());
}

void open_below_last_item(const Frame& frame) {
  const chart::Rect item = last_item_rect();
  if (frame.ui.keyboard().is_active()) ImGui::SetNextWindowPos({item.origin.x, item.end().y}, ImGuiCond_Appearing);
}

void explain_last_item(Frame& frame, const char* text) {
  if (!text) return;
  show_tooltip(frame, text);
  const auto& [name, rect] = frame.last_control;
  if (frame.tips && rect == last_item_rect()) frame.tips->insert_or_assign(name, text);
}

bool draw_button(Frame& frame, std::string name, const char* label, const char* explanation, float width) {
  const bool is_clicked = ImGui::Button(label, {width, 0.0F});
  mark_last_item(frame, std::move(name), explanation);
  return is_clicked;
}

bool draw_small_button(Frame& frame, std::string name, const char* label, const char* explanation) {
  const bool is_clicked = ImGui::SmallButton(label);
  mark_last_item(frame, std::move(name), explanation);
  return is_clicked;
}

bool move_mark(const Frame& frame, std::size_t& marked, std::size_t rows, std::size_t page) {
  if (rows == 0) return false;
  const std::size_t before = marked, last = rows - 1;
  if (frame.ui.is_pressed(shell::Key::Down)) marked = marked >= last ? 0 : marked + 1;
  if (frame.ui.is_pressed(shell::Key::Up)) marked = marked == 0 ? last : marked - 1;
  if (frame.ui.is_pressed(shell::Key::PageDown)) marked = std::min(marked + page, last);
  if (frame.ui.is_pressed(shell::Key::PageUp)) marked -= std::min(marked, page);
  return marked != before;
}

bool draw_entry(Frame& frame, std::string name, const char* label, bool is_chosen) {
  const bool is_clicked = ImGui::MenuItem(label, nullptr, is_chosen);
  mark_last_item(frame, std::move(name));
  frame.ui.keyboard().name_last(label);
  return is_clicked;
}

bool draw_arrow_button(Frame& frame, std::string name, ImGuiDir direction, const char* explanation, bool is_enabled) {
  ImGui::BeginDisabled(!is_enabled);
  const bool is_clicked = ImGui::ArrowButton(name.c_str(), direction);
  ImGui::EndDisabled();
  mark_last_item(frame, std::move(name), explanation);
  return is_clicked;
}

bool check_box(Frame& frame, std::string name, const char* label, bool& value, const char* explanation) {
  ImGui::PushStyleColor(ImGuiCol_Border, frame.ui.theme().text_dim);
  const bool is_changed = ImGui::Checkbox(label, &value);
  ImGui::PopStyleColor();
  mark_last_item(frame, std::move(name), explanation);
  return is_changed;
}

void draw_copy_button(Frame& frame, std::string name, const char* explanation, bool is_enabled) {
  continue_line_at_right(button_width(kCopyCsv), kCopyGap);
  ImGui::BeginDisabled(!is_enabled);
  if (draw_button(frame, std::move(name), kCopyCsv, explanation)) frame.transient.copies = frame.state.view.tab;
  ImGui::EndDisabled();
}

float segmented_width(const Frame& frame, std::span<const std::string> labels, float padding) {
  float width = 0.0F;
  for (const std::string& label : labels) width += label_width(frame.ui.fonts().small, label, padding);
  return width;
}

namespace {

/// Draws the segments. `options`: their tooltips are the segments'; none: the tooltips are those of the names. Returns
/// whether one was clicked, which may be the chosen one.
bool draw_segments(Frame& frame, const char* name, std::span<const std::string> labels, std::span<const Option> options,
                   std::size_t& chosen, float padding) {
  const shell::Theme& theme = frame.ui.theme();
  ImFont* font = frame.ui.fonts().small;
  ImDrawList* list = ImGui::GetWindowDrawList();
  const ImVec2 start = ImGui::GetCursorScreenPos();
  const float height = ImGui::GetFrameHeight();
  const float rounding = ImGui::GetStyle().FrameRounding;
  float whole = 0.0F;
  for (const std::string& label : labels) whole += label_width(font, label, padding);
  const ImVec2 end(start.x + whole, start.y + height);
  list->AddRectFilled(start, end, theme.field, rounding);
  bool is_any_clicked = false;
  float x = start.x;
  ImGui::PushID(name);
  const shell::ControlGroup group(frame.ui.keyboard(), "segments");
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const float width = label_width(font, labels[i], padding);
    ImGui::SetCursorScreenPos(ImVec2(x, start.y));
    const bool is_clicked = click_area(labels[i].c_str(), ImVec2(width, height));
    mark_last_item(frame, fmt::format("{}.{}", name, i), options.empty() ? nullptr : options[i].help.data());
    if (is_clicked) {
      chosen = i;
      is_any_clicked = true;
    }
    const bool is_chosen = chosen == i;
    if (is_chosen) frame.ui.keyboard().prefer_last();
    if (is_chosen || ImGui::IsItemHovered()) {
      list->AddRectFilled(ImVec2(x + 2.0F, start.y + 2.0F), ImVec2(x + width - 2.0F, end.y - 2.0F),
                          is_chosen ? theme.active : theme.hover, rounding - 1.0F);
    }
    if (is_chosen) {  // its ground alone is near to the others'
      list->AddRectFilled(ImVec2(x + padding, end.y - 4.0F), ImVec2(x + width - padding, end.y - 2.0F), theme.accent, 1.0F);
    }
    list->AddText(font, font_size(font), ImVec2(x + padding, std::round(start.y + (height - font_size(font)) * 0.5F)),
                  is_chosen ? theme.text : theme.text_dim, labels[i].c_str());
    x += width;
  }
  ImGui::PopID();
  list->AddRect(start, end, theme.border, rounding);
  // The row is one item for the layout: SameLine() continues after the whole row.
  ImGui::SetCursorScreenPos(start);
  ImGui::Dummy(ImVec2(end.x - start.x, height));
  return is_any_clicked;
}

}  // namespace

bool draw_segmented(Frame& frame, const char* name, std::span<const std::string> labels, std::size_t& chosen,
                    float padding) {
  const std::size_t before = chosen;
  draw_segments(frame, name, labels, {}, chosen, padding);
  return chosen != before;
}

std::vector<std::string> option_labels(const AnySetting& setting) {
  std::vector<std::string> labels;
  for (const Option& option : setting.text.options) labels.emplace_back(option.label);
  return labels;
}

bool choose(Frame& frame, const AnySetting& setting, std::vector<std::string> labels, float padding) {
  if (labels.empty()) labels = option_labels(setting);
  std::size_t chosen = setting.option_of(frame.state.value(setting));
  const std::string name = setting.path();
  if (!draw_segments(frame, name.c_str(), labels, setting.text.options, chosen, padding)) return false;
  frame.state.put(setting, setting.value_of(chosen));
  return true;
}

bool choose_next(Frame& frame, const AnySetting& setting, std::vector<std::string> labels, float gap) {
  if (labels.empty()) labels = option_labels(setting);
  continue_line(segmented_width(frame, labels), gap);
  return choose(frame, setting, std::move(labels));
}

bool check_next(Frame& frame, const Setting<bool>& setting, float gap) {
  const char* label = setting.text.label.data();
  continue_line(ImGui::GetFrameHeight() + ImGui::GetStyle().ItemInnerSpacing.x + ImGui::CalcTextSize(label).x, gap);
  return check_box(frame, setting.path(), label, frame.state.edit(setting), setting.text.help.data());
}

OpenList::OpenList(Frame& frame, std::string name, const char* shown, const char* explanation, ImGuiComboFlags flags)
    : frame_(frame), name_(std::move(name)), is_open_(ImGui::BeginCombo(("##" + name_).c_str(), shown, flags)) {
  mark_last_item(frame, name_, explanation);
}

OpenList::~OpenList() {
  if (is_open_) ImGui::EndCombo();
}

bool OpenList::entry(const char* label, const std::string& mark, bool is_chosen, const char* explanation) {
  const bool is_clicked = ImGui::Selectable(label, is_chosen);
  mark_last_item(frame_, name_ + "." + mark, explanation);
  frame_.ui.keyboard().name_last(label);
  if (is_chosen) frame_.ui.keyboard().prefer_last();
  return is_clicked;
}

void OpenList::entries(const AnySetting& setting, std::string_view before_labels) {
  State& state = frame_.state;
  const SettingText& text = setting.text;
  if (text.options.empty()) {
    const bool is_on = std::get<bool>(state.value(setting));
    if (entry(text.label.data(), std::string(text.key), is_on, text.help.data())) state.put(setting, !is_on);
  }
  for (std::size_t i = 0; i < text.options.size(); ++i) {
    const Option& option = text.options[i];
    if (entry(fmt::format("{}{}", before_labels, option.label).c_str(), fmt::format("{}.{}", text.key, option.name),
              state.value(setting) == setting.value_of(i), option.help.data()))
      state.put(setting, setting.value_of(i));
  }
}

void choose_motion_speed(Frame& frame, const std::string& name, const char* explanation, bool has_still) {
  State& state = frame.state;
  const float chosen = state[kBlockView.speed];
  const bool is_still = has_still && state[kBlockView.reduces_motion];
  ImGui::SetNextItemWidth(kMotionSpeedWidth);
  OpenList list(frame, name, is_still ? "still" : fmt::format("{:g} ×", chosen).c_str(), explanation);
  if (!list) return;
  if (has_still && list.entry("still", "still", is_still, explanation)) state.set(kBlockView.reduces_motion, true);
  for (const float speed : {0.25F, 0.5F, 1.0F, 2.0F, 4.0F}) {
    const bool is_chosen = !is_still && chosen == speed;
    if (!list.entry(fmt::format("{:g} ×", speed).c_str(), fmt::format("{:g}", speed), is_chosen, explanation)) continue;
    state.set(kBlockView.speed, speed);
    if (has_still) state.set(kBlockView.reduces_motion, false);
  }
}

float button_width(const char* label) {
  return ImGui::CalcTextSize(label, nullptr, true).x + 2.0F * ImGui::GetStyle().FramePadding.x;
}

void continue_line(float width, float gap) {
  const float end = ImGui::GetItemRectMax().x - ImGui::GetWindowPos().x;
  if (end + gap + width <= ImGui::GetContentRegionMax().x) ImGui::SameLine(0.0F, gap);
}

void continue_line_at_right(float width, float gap) {
  const float at = ImGui::GetContentRegionMax().x - width;
  constexpr float kRounding = 4.0F;  // of the items before, at a scale that is no whole number
  if (ImGui::GetItemRectMax().x - ImGui::GetWindowPos().x + gap <= at + kRounding) ImGui::SameLine(at);
}

void scroll_into_view(float top, float bottom, float air) {
  const float scroll = ImGui::GetScrollY(), height = ImGui::GetWindowHeight();
  if (top < scroll) ImGui::SetScrollY(std::max(top - air, 0.0F));
  if (bottom > scroll + height) ImGui::SetScrollY(bottom - height + air);
}

void begin_bare_region(const char* name, glm::vec2 size, ImGuiWindowFlags flags) {
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(0.0F, 0.0F));
  ImGui::BeginChild(name, size, false, flags);
  ImGui::PopStyleVar();
}

Dialog::Dialog(Frame& frame, const char* title, bool& is_open, float width) {
  constexpr float kMargin = 16.0F;
  if (is_open && !ImGui::IsPopupOpen(title)) ImGui::OpenPopup(title);
  if (!is_open) return;
  const glm::vec2 window = frame.ui.size();
  ImGui::SetNextWindowPos(window * 0.5F, ImGuiCond_Always, {0.5F, 0.5F});
  const float fitting = std::min(width, window.x - 2.0F * kMargin);
  ImGui::SetNextWindowSizeConstraints({fitting, 0.0F}, {fitting, window.y - 2.0F * kMargin});
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(20.0F, 16.0F));
  is_visible_ = ImGui::BeginPopupModal(title, &is_open, ImGuiWindowFlags_AlwaysAutoResize | ImGuiWindowFlags_NoMove);
  ImGui::PopStyleVar();
  if (!is_open && is_visible_) ImGui::CloseCurrentPopup();
  if (is_visible_) drawn_dialog = window_rect();
}

Dialog::~Dialog() {
  if (!is_visible_) return;
  drawn_dialog = {};
  ImGui::EndPopup();
}

bool draw_fold_button(Frame& frame, const char* name, FoldSide side, glm::vec2 origin) {
  const shell::Theme& theme = frame.ui.theme();
  ImGui::SetCursorScreenPos(origin);
  const bool was_clicked = click_area(name, {kFoldButtonEdge, kFoldButtonEdge});
  mark_last_item(frame, name);
  const bool is_hovered = ImGui::IsItemHovered();
  if (is_hovered) fill_rect(origin, origin + kFoldButtonEdge, theme.hover, 4.0F);
  draw_icon(origin + kFoldButtonEdge * 0.5F, side, is_hovered ? theme.text : theme.text_dim);
  return was_clicked;
}

bool draw_rail(Frame& frame, const char* name, FoldSide side, const char* title) {
  constexpr float kTop = 7.0F;
  const shell::Theme& theme = frame.ui.theme();
  const ImVec2 low = ImGui::GetWindowPos();
  const ImVec2 size = ImGui::GetWindowSize();
  ImGui::SetCursorScreenPos(low);
  const bool was_clicked = click_area(name, size);
  mark_last_item(frame, name);
  const bool is_hovered = ImGui::IsItemHovered();
  const shell::Color color = is_hovered ? theme.text : theme.text_dim;
  if (is_hovered) fill_rect(to_glm(low), {low.x + size.x, low.y + size.y}, theme.hover);
  const float edge = side == FoldSide::Left ? low.x + size.x - 0.5F : low.x + 0.5F;
  draw_line({edge, low.y}, {edge, low.y + size.y}, theme.border);
  const float middle = low.x + size.x * 0.5F;
  draw_icon({middle, low.y + kTop + kFoldButtonEdge * 0.5F}, side, color);
  ImFont* font = frame.ui.fonts().small;
  const float length = text_width(font, title);
  const float start = low.y + kTop + kFoldButtonEdge + 10.0F;
  if (start + length > low.y + size.y) return was_clicked;
  // Upwards at the left edge, downwards at the right one: the text's baseline is towards the map.
  const glm::vec2 at(middle, side == FoldSide::Left ? start + length : start);
  draw_turned_text(font, at, {0.0F, side == FoldSide::Left ? -1.0F : 1.0F}, color, title);
  return was_clicked;
}

}  // namespace headlight::app
