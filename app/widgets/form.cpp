#include "app/widgets/form.h"

#include <charconv>

#include "app/widgets/controls.h"

namespace headlight::app {
namespace {

constexpr float kFieldStart = 0.40F;  // of the width; labels are left of it

/// Scope of BeginDisabled.
class ReadOnly {
 public:
  explicit ReadOnly(bool is_read_only) { ImGui::BeginDisabled(is_read_only); }
  ~ReadOnly() { ImGui::EndDisabled(); }
  ReadOnly(const ReadOnly&) = delete;
  ReadOnly& operator=(const ReadOnly&) = delete;
};

void draw_arrow(ImDrawList* list, ImVec2 center, bool is_open, shell::Color color) {
  constexpr float kSize = 4.0F;
  if (is_open) {
    list->AddTriangleFilled({center.x - kSize, center.y - kSize * 0.5F}, {center.x + kSize, center.y - kSize * 0.5F},
                            {center.x, center.y + kSize * 0.6F}, color);
  } else {
    list->AddTriangleFilled({center.x - kSize * 0.5F, center.y - kSize}, {center.x + kSize * 0.6F, center.y},
                            {center.x - kSize * 0.5F, center.y + kSize}, color);
  }
}

/// Draws a button with the five of a die on it.
bool draw_die_button(ImVec2 size, shell::Color color) {
  const bool was_clicked = ImGui::Button("##die", size);
  const ImVec2 low = ImGui::GetItemRectMin();
  const ImVec2 middle(low.x + size.x * 0.5F, low.y + size.y * 0.5F);
  constexpr float kReach = 4.0F;
  constexpr float kDot = 1.5F;
  ImDrawList* list = ImGui::GetWindowDrawList();
  list->AddCircleFilled(middle, kDot, color, 8);
  for (const float x : {-kReach, kReach}) {
    for (const float y : {-kReach, kReach}) list->AddCircleFilled({middle.x + x, middle.y + y}, kDot, color, 8);
  }
  return was_clicked;
}

}  // namespace

Form::Form(Frame& frame, NumberBeingTyped& typed, std::string prefix)
    : frame_(frame), typed_(typed), prefix_(std::move(prefix)) {}

void Form::mark_choice(const char* name, std::size_t choice, const char* explanation, std::span<const Option> options) {
  const std::string id = fmt::format("{}.{}", mark_name(name), choice);
  if (choice < options.size() && !options[choice].help.empty()) explanation = options[choice].help.data();
  mark_last_item(frame_, id, tooltip_of(id).empty() ? explanation : nullptr);
}

float Form::begin_field(const char* label, const char* explanation) {
  const float left = ImGui::GetCursorPosX();
  const float width = width_left();
  ImGui::AlignTextToFramePadding();
  write_text(frame_.ui.fonts().body, frame_.ui.theme().text_dim, label);
  explain_last_item(frame_, explanation);
  const float field = std::round(width * kFieldStart);
  ImGui::SameLine(left + field, 0.0F);
  return width - field;
}

bool Form::number(const char* name, const char* label, std::uint64_t& value, const NumberRange& range,
                  const char* explanation) {
  ImGui::PushID(name);
  const float width = begin_field(label, explanation);
  const std::string id = mark_name(name);
  const ReadOnly read_only(is_read_only_);
  const float step_width = ImGui::GetFrameHeight();
  const std::uint64_t before = value;

  std::string text = typed_.field == id && typed_.value == value ? typed_.text
                     : value == 0 && range.hint                  ? std::string()
                                                                 : std::to_string(value);
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, ImVec2(2.0F, ImGui::GetStyle().ItemSpacing.y));
  const float buttons = range.other ? 3.0F : 2.0F;
  const float field_width = std::max(width - buttons * (step_width + 2.0F), 24.0F);
  if (frame_.ui.text_field("##value", text, {.width = field_width, .hint = range.hint, .limit = 24})) {
    std::uint64_t number = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (failure == std::errc() && end == text.data() + text.size()) value = std::clamp(number, range.low, range.high);
    if (text.empty() && range.hint) value = 0;
    typed_ = {.field = id, .text = text, .value = value};
  }
  mark_last_item(frame_, id, explanation);
  if (typed_.field == id && !ImGui::IsItemActive() && !ImGui::IsItemFocused()) typed_ = {};

  ImGui::PushButtonRepeat(true);
  ImGui::SameLine();
  if (draw_button(frame_, id + ".less", "\u2212", "One step down; held, it repeats.", step_width))
    value = std::clamp(range.below, range.low, range.high);
  ImGui::SameLine();
  if (draw_button(frame_, id + ".more", "+", "One step up; held, it repeats.", step_width))
    value = std::clamp(range.above, range.low, range.high);
  ImGui::PopButtonRepeat();
  if (range.other) {
    ImGui::SameLine();
    if (draw_die_button({step_width, ImGui::GetFrameHeight()}, frame_.ui.theme().text)) value = *range.other;
    mark_last_item(frame_, id + ".other", "Another number by chance.");
  }
  ImGui::PopStyleVar();
  ImGui::PopID();
  return value != before;
}

bool Form::number(const char* name, const char* label, std::uint32_t& value, const NumberRange& range,
                  const char* explanation) {
  std::uint64_t wide = value;
  NumberRange narrow = range;
  narrow.high = std::min<std::uint64_t>(range.high, UINT32_MAX);
  if (!number(name, label, wide, narrow, explanation)) return false;
  value = static_cast<std::uint32_t>(wide);
  return true;
}

bool Form::decimal(const char* name, const char* label, float& value, float low, float high, const char* explanation) {
  ImGui::PushID(name);
  const float width = begin_field(label, explanation);
  const ReadOnly read_only(is_read_only_);
  float edited = value;
  ImGui::SetNextItemWidth(width);
  ImGui::DragFloat("##value", &edited, 0.005F, low, high, "%.4g", ImGuiSliderFlags_AlwaysClamp);
  mark_last_item(frame_, mark_name(name), explanation);
  step_by_keys(frame_, edited, low, high, 0.01F);
  ImGui::PopID();
  if (edited == value || !std::isfinite(edited)) return false;
  value = edited;
  return true;
}

bool Form::toggle(const char* name, const char* label, bool& is_on, std::string_view keys, const char* explanation) {
  constexpr float kWidth = 34.0F;
  constexpr float kHeight = 18.0F;
  const shell::Theme& theme = frame_.ui.theme();
  ImGui::PushID(name);
  const ImVec2 origin = ImGui::GetCursorScreenPos();
  const float width = width_left();
  const float height = ImGui::GetFrameHeight();
  const ReadOnly read_only(is_read_only_);
  const bool was_clicked = click_area("##switch", {width, height});
  mark_last_item(frame_, mark_name(name), explanation);
  const bool is_hovered = ImGui::IsItemHovered();
  if (was_clicked) is_on = !is_on;

  ImDrawList* list = ImGui::GetWindowDrawList();
  ImFont* body = frame_.ui.fonts().body;
  const float alpha_scale = is_read_only_ ? 0.5F : 1.0F;
  const auto faded = [&](shell::Color color) {
    return shell::with_alpha(color, static_cast<std::uint32_t>(static_cast<float>(color >> 24) * alpha_scale));
  };
  const float text_y = origin.y + text_drop(body, height);
  put_text(body, {origin.x, text_y}, faded(theme.text_dim), label);
  const ImVec2 track(origin.x + width - kWidth, origin.y + std::round((height - kHeight) * 0.5F));
  if (!keys.empty()) {
    ImFont* small = frame_.ui.fonts().small;
    const ImVec2 size = small->CalcTextSizeA(font_size(small), FLT_MAX, 0.0F, keys.data(), keys.data() + keys.size());
    list->AddText(small, font_size(small), {track.x - size.x - 12.0F, origin.y + std::round((height - size.y) * 0.5F)},
                  faded(theme.text_dim), keys.data(), keys.data() + keys.size());
  }
  const shell::Color ground = is_on ? (is_hovered ? theme.accent_hover : theme.accent) : theme.field;
  const ImVec2 track_end(track.x + kWidth, track.y + kHeight);
  fill_rect(to_glm(track), to_glm(track_end), faded(ground), kHeight * 0.5F);
  if (!is_on)
    outline_rect(to_glm(track), to_glm(track_end), faded(is_hovered ? theme.text_dim : theme.border), kHeight * 0.5F);
  const float knob_x = is_on ? track_end.x - kHeight * 0.5F : track.x + kHeight * 0.5F;
  list->AddCircleFilled({knob_x, track.y + kHeight * 0.5F}, kHeight * 0.5F - 4.0F,
                        faded(is_on ? theme.text_on_accent : theme.text_dim), 24);
  ImGui::PopID();
  return was_clicked;
}

bool Form::slider(const char* name, const char* label, std::uint32_t& value, std::uint32_t high, const char* explanation) {
  ImGui::PushID(name);
  const float width = begin_field(label, explanation);
  const ReadOnly read_only(is_read_only_);
  constexpr std::uint32_t kLow = 0;
  std::uint32_t edited = value;
  ImGui::SetNextItemWidth(width);
  ImGui::SliderScalar("##value", ImGuiDataType_U32, &edited, &kLow, &high,
                      edited == 0   ? "off"
                      : edited == 1 ? "%u token"
                                    : "%u tokens",
                      ImGuiSliderFlags_AlwaysClamp);
  mark_last_item(frame_, mark_name(name), explanation);
  step_by_keys(frame_, edited, kLow, high, 1U);
  ImGui::PopID();
  if (edited == value) return false;
  value = edited;
  return true;
}

bool Form::segments(const char* name, const char* label, std::span<const char* const> choices, int& choice,
                    const char* explanation, std::span<const Option> options) {
  const shell::Theme& theme = frame_.ui.theme();
  ImGui::PushID(name);
  const float width = begin_field(label, explanation);
  const ReadOnly read_only(is_read_only_);
  const ImVec2 origin = ImGui::GetCursorScreenPos();
  const float height = ImGui::GetFrameHeight();
  const float rounding = ImGui::GetStyle().FrameRounding;
  fill_rect(to_glm(origin), {origin.x + width, origin.y + height}, theme.field, rounding);
  ImFont* font = frame_.ui.fonts().small;
  const shell::ControlGroup group(frame_.ui.keyboard(), "segments");
  bool has_changed = false;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    const float count = static_cast<float>(choices.size());
    const float x0 = origin.x + std::round(width * static_cast<float>(i) / count);
    const float x1 = origin.x + std::round(width * static_cast<float>(i + 1) / count);
    ImGui::SetCursorScreenPos({x0, origin.y});
    ImGui::PushID(static_cast<int>(i));
    const bool was_clicked = click_area("##segment", {x1 - x0, height});
    mark_choice(name, i, explanation, options);
    const bool is_hovered = ImGui::IsItemHovered();
    ImGui::PopID();
    const bool is_chosen = static_cast<int>(i) == choice;
    if (is_chosen) frame_.ui.keyboard().prefer_last();
    if (was_clicked && !is_chosen) {
      choice = static_cast<int>(i);
      has_changed = true;
    }
    if (is_chosen || is_hovered) {
      fill_rect({x0 + 2.0F, origin.y + 2.0F}, {x1 - 2.0F, origin.y + height - 2.0F}, is_chosen ? theme.active : theme.hover,
                rounding - 1.0F);
    }
    const ImVec2 size = font->CalcTextSizeA(font_size(font), FLT_MAX, 0.0F, choices[i]);
    if (is_chosen) {  // as draw_segmented() does
      const float middle = std::round((x0 + x1) * 0.5F), half = std::round(size.x * 0.5F), bottom = origin.y + height;
      fill_rect({middle - half, bottom - 4.0F}, {middle + half, bottom - 2.0F},
                is_read_only_ ? theme.text_dim : theme.accent, 1.0F);
    }
    put_text(font, {std::round((x0 + x1 - size.x) * 0.5F), std::round(origin.y + (height - size.y) * 0.5F)},
             is_chosen ? theme.text : theme.text_dim, choices[i]);
  }
  outline_rect(to_glm(origin), {origin.x + width, origin.y + height}, theme.border, rounding);
  ImGui::PopID();
  return has_changed;
}

bool Form::choose(const char* name, const char* label, std::span<const char* const> choices, int& choice,
                  const char* explanation, std::span<const Option> options) {
  ImGui::PushID(name);
  const float width = begin_field(label, explanation);
  const ReadOnly read_only(is_read_only_);
  ImGui::SetNextItemWidth(width);
  bool has_changed = false;
  const bool is_open = ImGui::BeginCombo("##choice", choices[static_cast<std::size_t>(choice)]);
  mark_last_item(frame_, mark_name(name), explanation);
  if (is_open) {
    for (std::size_t i = 0; i < choices.size(); ++i) {
      if (ImGui::Selectable(choices[i], static_cast<int>(i) == choice) && static_cast<int>(i) != choice) {
        choice = static_cast<int>(i);
        has_changed = true;
      }
      mark_choice(name, i, explanation, options);
      frame_.ui.keyboard().name_last(choices[i]);
      if (static_cast<int>(i) == choice) frame_.ui.keyboard().prefer_last();
    }
    ImGui::EndCombo();
  }
  ImGui::PopID();
  return has_changed;
}

bool Form::setting(const AnySetting& setting, Choices& choices, std::string named) {
  constexpr std::size_t kFewOptions = 3, kFewLetters = 20, kLongestText = 200;
  const SettingText& about = setting.text;
  if (named.empty()) named = about.key;
  const char *name = named.c_str(), *label = about.label.data(), *hint = about.zero.data(), *help = about.help.data();
  SettingValue value = choices.value(setting);
  bool has_changed = false;
  if (!about.options.empty()) {
    std::vector<const char*> labels;
    std::size_t letters = 0;
    for (const Option& option : about.options) {
      labels.push_back(option.label.data());
      letters += option.label.size();
    }
    auto chosen = static_cast<int>(setting.option_of(value));
    const bool fits = labels.size() <= kFewOptions || letters <= kFewLetters;
    const auto draw = fits ? &Form::segments : &Form::choose;
    has_changed = (this->*draw)(name, label, labels, chosen, help, about.options);
    value = setting.value_of(static_cast<std::size_t>(chosen));
  } else if (bool* is_on = std::get_if<bool>(&value)) {
    has_changed = toggle(name, label, *is_on, {}, help);
  } else if (std::string* text = std::get_if<std::string>(&value)) {
    const float width = begin_field(label, help);
    const ReadOnly read_only(is_read_only_);
    has_changed = frame_.ui.text_field(fmt::format("##{}", name).c_str(), *text,
                                       {.width = width, .hint = hint, .limit = kLongestText});
    mark_last_item(frame_, mark_name(name), help);
  } else if (about.step < 1.0) {
    auto number = static_cast<float>(std::get<double>(value));
    has_changed = decimal(name, label, number, static_cast<float>(about.least), static_cast<float>(about.most), help);
    value = double{number};
  } else {
    const bool is_whole = setting.kind == AnySetting::Kind::Whole;
    auto number = is_whole ? static_cast<std::uint64_t>(std::get<std::int64_t>(value))
                           : static_cast<std::uint64_t>(std::llround(std::get<double>(value)));
    const auto least = static_cast<std::uint64_t>(about.least), step = static_cast<std::uint64_t>(about.step);
    constexpr std::uint64_t kFirstSteps = 10;  // from 0, which isn't a number
    has_changed = this->number(name, label, number,
                               {.low = hint == nullptr ? least : 0,
                                .high = static_cast<std::uint64_t>(about.most),
                                .below = number > least ? number - std::min(step, number - least) : 0,
                                .above = number == 0 && hint != nullptr ? step * kFirstSteps : number + step,
                                .hint = hint},
                               help);
    if (number > 0 && number < least) typed_.value = number = least;  // the text stays what was typed
    value = is_whole ? SettingValue(static_cast<std::int64_t>(number)) : SettingValue(static_cast<double>(number));
  }
  if (has_changed) choices.put(setting, std::move(value));
  return has_changed;
}

void Form::value(const char* label, std::string_view text, const char* explanation) {
  begin_field(label, explanation);
  ImGui::AlignTextToFramePadding();
  ImGui::TextUnformatted(text.data(), text.data() + text.size());
}

bool Form::value_with_button(const char* name, const char* label, std::string_view text, const char* button_label,
                             bool is_enabled) {
  const float width = begin_field(label, nullptr);
  const float left = ImGui::GetCursorPosX();
  ImGui::AlignTextToFramePadding();
  ImGui::TextUnformatted(text.data(), text.data() + text.size());
  const float taken = button_width(button_label);
  ImGui::SameLine(left + width - taken, 0.0F);
  const ReadOnly read_only(is_read_only_ || !is_enabled);
  return draw_button(frame_, mark_name(name), button_label);
}

bool Form::button(const char* name, const char* label, float width) {
  const ReadOnly read_only(is_read_only_);
  return draw_button(frame_, mark_name(name), label, nullptr, width);
}

bool Form::fold(const char* name, const char* label, bool& is_open, const char* explanation) {
  const shell::Theme& theme = frame_.ui.theme();
  const ImVec2 origin = ImGui::GetCursorScreenPos();
  const float height = ImGui::GetFrameHeight();
  if (click_area(name, {width_left(), height})) is_open = !is_open;
  mark_last_item(frame_, mark_name(name), explanation);
  // The control that a lesson points at may be among the folded ones, which are shown then.
  const Aim& aim = frame_.transient.aim;
  if (aim.scrolls && aim.control.starts_with(prefix_ + ".")) is_open = true;
  const shell::Color ink = ImGui::IsItemHovered() ? theme.text : theme.text_dim;
  ImFont* font = frame_.ui.fonts().body;
  draw_arrow(ImGui::GetWindowDrawList(), {origin.x + 5.0F, origin.y + height * 0.5F}, is_open, ink);
  put_text(font, {origin.x + 18.0F, origin.y + text_drop(font, height)}, ink, label);
  return is_open;
}

void Form::note(std::string_view text) {
  // Lines are broken at spaces alone: Dear ImGui also breaks after a full stop, before the closing quote of a text.
  const auto width_of = [&](std::string_view part) { return text_width(frame_.ui.fonts().small, std::string(part)); };
  const shell::WrappedText wrapped(std::string(text), width_left(), width_of);
  write_dim(frame_, wrapped.shown());
}

void Form::warning(std::string_view text) {
  write_wrapped(frame_.ui.fonts().small, frame_.ui.theme().warning, text);
  frame_.mark(mark_name("warning"), last_item_rect());
}

void draw_section(Frame& frame, const chart::Rect& bar, const char* name, const char* title, bool& is_open,
                  const std::function<void()>& draw_content) {
  constexpr float kHeight = 36.0F;
  const shell::Theme& theme = frame.ui.theme();
  const ImVec2 origin = ImGui::GetCursorScreenPos();
  const float width = width_left();
  ImGui::PushID(name);
  if (click_area("##head", {width, kHeight})) is_open = !is_open;
  mark_last_item(frame, std::string("section.") + name);
  const bool is_hovered = ImGui::IsItemHovered();
  ImGui::PopID();
  ImDrawList* list = ImGui::GetWindowDrawList();
  ImFont* font = frame.ui.fonts().strong;
  draw_arrow(list, {origin.x + 5.0F, origin.y + kHeight * 0.5F}, is_open, is_hovered ? theme.text : theme.text_dim);
  put_text(font, {origin.x + 18.0F, origin.y + text_drop(font, kHeight)}, theme.text, title);
  if (is_open) {
    draw_content();
    ImGui::Dummy({1.0F, 4.0F});
  }
  const float y = ImGui::GetCursorScreenPos().y;
  list->PushClipRect(bar.origin, bar.end());
  list->AddLine({bar.origin.x, y}, {bar.end().x, y}, theme.border);
  list->PopClipRect();
  ImGui::Dummy({1.0F, 1.0F});
}

}  // namespace headlight::app
