#include <algorithm>
#include <cmath>
#include <limits>

#include "app/shell/imgui_vectors.h"
#include "app/shell/shaped_text.h"
#include "app/shell/ui_impl.h"
#include "imgui_internal.h"

namespace headlight::shell {
namespace {

/// The lines of a multi-line field, as ImGui lays them out in the field's child window: from bytes of the shown text to
/// positions and back.
class TextLines {
 public:
  TextLines(const std::string& shown, ImGuiWindow& window);

  /// Draws lines that need shaping again, correctly, over ImGui's: letters joined, from right to left and at the right edge
  /// for right-to-left scripts. While a text is edited, the caret moves in ImGui's own order,
  /// so this is for fields without the keyboard. Afterwards such lines have no marks and no bytes under the mouse.
  void draw_shaped(const std::function<std::string(std::string_view line)>& shape);
  /// Tints bytes, over the text, or draws a line below them.
  void draw(std::span<const TextMark> marks) const;
  /// Returns the first byte of the lines in sight, and the one after their last.
  std::pair<std::size_t, std::size_t> in_sight() const;
  /// Returns the byte under the mouse.
  std::optional<std::size_t> hovered() const;

 private:
  /// Returns the distance of a byte from the line's start.
  float x_of(std::size_t line_begin, std::size_t byte) const;
  bool is_shaped(std::size_t line_begin, std::size_t line_end) const;

  const std::string& text_;
  ImDrawList* list_;
  ImVec2 origin_;      ///< of the first character
  ImVec2 low_, high_;  ///< the visible part of the field
  bool is_hovered_ = false;
  bool shapes_ = false;
};

constexpr std::uint32_t kTint = 0x58;  // of 255: the text stays readable below
constexpr float kLineGap = 1.0F;       // between the lines below two tokens

TextLines::TextLines(const std::string& shown, ImGuiWindow& window) : text_(shown), list_(window.DrawList) {
  const ImVec2 padding = ImGui::GetStyle().FramePadding;
  origin_ = {window.DC.CursorStartPos.x + padding.x, window.DC.CursorStartPos.y + padding.y};
  low_ = window.InnerRect.Min;
  high_ = window.InnerRect.Max;
  is_hovered_ = ImGui::IsMouseHoveringRect(low_, high_) && !ImGui::GetIO().MouseDown[0] &&
                (GImGui->HoveredWindow == &window || GImGui->HoveredWindow == ImGui::GetCurrentWindow());
}

float TextLines::x_of(std::size_t line_begin, std::size_t byte) const {
  return ImGui::CalcTextSize(text_.data() + line_begin, text_.data() + byte).x;
}

bool TextLines::is_shaped(std::size_t line_begin, std::size_t line_end) const {
  return shapes_ && needs_shaping(std::string_view(text_).substr(line_begin, line_end - line_begin));
}

void TextLines::draw_shaped(const std::function<std::string(std::string_view)>& shape) {
  shapes_ = true;
  const float height = ImGui::GetTextLineHeight();
  const float margin = origin_.x - low_.x;
  list_->PushClipRect(low_, high_);
  float y = origin_.y;
  for (std::size_t begin = 0; begin <= text_.size(); y += height) {
    const std::size_t end = std::min(text_.find('\n', begin), text_.size());
    const std::string_view line = std::string_view(text_).substr(begin, end - begin);
    begin = end + 1;
    if (y + height < low_.y || y > high_.y || !needs_shaping(line)) continue;
    const std::string shaped = shape(line);
    // Fonts put dots below a line, too; a plain line there has its own letters.
    const bool is_next_plain =
        end < text_.size() && !needs_shaping(std::string_view(text_).substr(begin, text_.find('\n', begin) - begin));
    const float below = is_next_plain ? 0.0F : 0.15F * height;
    list_->AddRectFilled({low_.x + 1.0F, y}, {high_.x - 1.0F, y + height + below}, ImGui::GetColorU32(ImGuiCol_FrameBg));
    const float x = is_right_to_left(line) ? high_.x - margin - ImGui::CalcTextSize(shaped.c_str()).x : origin_.x;
    list_->AddText({x, y}, ImGui::GetColorU32(ImGuiCol_Text), shaped.c_str());
  }
  list_->PopClipRect();
}

void TextLines::draw(std::span<const TextMark> marks) const {
  if (marks.empty()) return;
  const float height = ImGui::GetTextLineHeight();
  list_->PushClipRect(low_, high_);
  float y = origin_.y;
  for (std::size_t begin = 0; begin <= text_.size() && y <= high_.y; y += height) {
    const std::size_t end = std::min(text_.find('\n', begin), text_.size());
    const bool is_above = y + height < low_.y;
    for (const TextMark& mark : is_above || is_shaped(begin, end) ? std::span<const TextMark>() : marks) {
      const std::size_t first = std::max(mark.begin, begin);
      const std::size_t last = std::min(mark.end, end);
      if (first >= last) continue;
      const ImVec2 low(origin_.x + x_of(begin, first), y), high(origin_.x + x_of(begin, last), y + height);
      if (mark.is_line) {
        list_->AddRectFilled({low.x, high.y - (mark.ink != 0 ? 1.5F : 1.0F)}, {high.x - kLineGap, high.y}, mark.color);
        if (mark.ink != 0) list_->AddText(low, mark.ink, text_.data() + first, text_.data() + last);
      } else {
        list_->AddRectFilled(low, high, with_alpha(mark.color, kTint * (mark.color >> 24) / 255), 3.0F);
      }
    }
    begin = end + 1;
  }
  list_->PopClipRect();
}

std::pair<std::size_t, std::size_t> TextLines::in_sight() const {
  const float height = ImGui::GetTextLineHeight();
  std::size_t first = text_.size(), begin = 0;
  for (float y = origin_.y; begin <= text_.size() && y <= high_.y; y += height) {
    if (y + height >= low_.y) first = std::min(first, begin);
    begin = std::min(text_.find('\n', begin), text_.size()) + 1;
  }
  return {first, std::min(begin, text_.size())};
}

std::optional<std::size_t> TextLines::hovered() const {
  if (!is_hovered_) return std::nullopt;
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  const float line = std::floor((mouse.y - origin_.y) / ImGui::GetTextLineHeight());
  if (line < 0.0F || mouse.x < origin_.x) return std::nullopt;
  std::size_t begin = 0;
  for (int i = 0; i < static_cast<int>(line); ++i) {
    const std::size_t end = text_.find('\n', begin);
    if (end == std::string::npos) return std::nullopt;
    begin = end + 1;
  }
  const std::size_t end = std::min(text_.find('\n', begin), text_.size());
  if (is_shaped(begin, end)) return std::nullopt;
  ImFont* font = ImGui::GetFont();
  const char* stop = text_.data() + end;
  // The first character that isn't entirely left of the pointer.
  const char* rest = nullptr;
  font->CalcTextSizeA(ImGui::GetFontSize(), mouse.x - origin_.x, 0.0F, text_.data() + begin, stop, &rest);
  if (rest == nullptr || rest >= stop) return std::nullopt;
  return static_cast<std::size_t>(rest - text_.data());
}

/// Gives the keyboard to the field that is drawn next. SetKeyboardFocusHere() of newer versions uses the order of tab stops,
/// and finds none here.
void ask_for_keyboard([[maybe_unused]] ImGuiID field) {
#if IMGUI_VERSION_NUM >= 18900
  GImGui->NavNextActivateId = field;
  GImGui->NavNextActivateFlags = ImGuiActivateFlags_PreferInput;
#else
  ImGui::SetKeyboardFocusHere();
#endif
}

/// The input of ImGui's callback while the field is drawn. ImGui keeps its own copy of the shown text while it is edited:
/// `memory.live`.
struct Field {
  std::string& text;    ///< without characters beyond U+FFFF
  std::string& buffer;  ///< what ImGui was given to show
  FieldMemory& memory;
  bool is_replaced;        ///< `text` changed elsewhere: ImGui's copy is outdated
  std::size_t changed_to;  ///< … up to this byte
  std::size_t limit;
  float width;
  std::vector<std::string> typed_private;  ///< ImGuiLayer::take_typed_private()
  bool is_cut = false;                     ///< more came than the limit allows
};

/// Puts the typed characters in the place of the last U+FFFD before the caret.
void put_typed(WrappedText::Edit& edit, const std::vector<std::string>& typed) {
  constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
  std::size_t end = edit.caret;
  for (auto character = typed.rbegin(); character != typed.rend() && end >= kReplacement.size(); ++character) {
    end = edit.text.rfind(kReplacement, end - kReplacement.size());
    if (end == std::string::npos) return;
    edit.text.replace(end, kReplacement.size(), *character);
  }
}

/// Returns the longest prefix of at most `limit` bytes that doesn't split a character.
std::size_t whole_characters(const std::string& text, std::size_t limit) {
  if (text.size() <= limit) return text.size();
  while (limit > 0 && (static_cast<unsigned char>(text[limit]) & 0xC0U) == 0x80U) --limit;
  return limit;
}

float advance(std::string_view character) {
  return ImGui::GetFont()
      ->CalcTextSizeA(ImGui::GetFontSize(), std::numeric_limits<float>::max(), 0.0F, character.data(),
                      character.data() + character.size())
      .x;
}

/// Makes ImGui show a text, with the caret and both ends of the selection at these bytes of it.
void show(ImGuiInputTextCallbackData& data, Field& field, std::size_t caret, std::size_t begin, std::size_t end) {
  WrappedText& live = field.memory.live;
  live = WrappedText(field.text, field.width, &advance);
  const auto position = [&](std::size_t byte) { return static_cast<int>(live.to_shown(std::min(byte, field.text.size()))); };
  data.DeleteChars(0, data.BufTextLen);
  data.InsertChars(0, live.shown().data(), live.shown().data() + live.shown().size());
  data.CursorPos = position(caret);
  data.SelectionStart = position(begin);
  data.SelectionEnd = position(end);
}

/// Copies the edit to the text and wraps its lines again.
void follow(ImGuiInputTextCallbackData& data, Field& field) {
  FieldMemory& memory = field.memory;
  const std::string_view now(data.Buf, static_cast<std::size_t>(data.BufTextLen));
  const bool is_edited = now != memory.live.shown();
  if (field.is_replaced) return show(data, field, field.changed_to, field.changed_to, field.changed_to);
  if (is_edited) {
    WrappedText::Edit edit = memory.live.edited(now, static_cast<std::size_t>(data.CursorPos), memory.caret);
    put_typed(edit, field.typed_private);
    const std::size_t whole = whole_characters(edit.text, field.limit);
    field.is_cut = whole < edit.text.size();
    edit.text.resize(whole);
    field.text = std::move(edit.text);
    return show(data, field, edit.caret, edit.caret, edit.caret);
  }
  const WrappedText wrapped(field.text, field.width, &advance);
  if (wrapped.shown() == now) return;
  const auto byte = [&](int position) { return memory.live.to_text(static_cast<std::size_t>(position)); };
  show(data, field, byte(data.CursorPos), byte(data.SelectionStart), byte(data.SelectionEnd));
}

int on_edit(ImGuiInputTextCallbackData* data) {
  Field& field = *static_cast<Field*>(data->UserData);
  if (data->EventFlag == ImGuiInputTextFlags_CallbackResize) {
    field.buffer.resize(static_cast<std::size_t>(data->BufTextLen));
    data->Buf = field.buffer.data();
    return 0;
  }
  FieldMemory& memory = field.memory;
  follow(*data, field);
  if (memory.focus != FieldFocus::None) {
    data->CursorPos = data->SelectionEnd = data->BufTextLen;
    data->SelectionStart = memory.focus == FieldFocus::SelectAll ? 0 : data->BufTextLen;
    memory.focus = FieldFocus::None;
  }
  memory.caret = static_cast<std::size_t>(data->CursorPos);
  memory.selection = static_cast<std::size_t>(std::min(data->SelectionStart, data->SelectionEnd));
  return 0;
}

/// Returns the window of a field of several lines, a child window: the newest of the window being drawn.
ImGuiWindow* lines_window() {
  ImGuiWindow* window = ImGui::GetCurrentWindow();
  return window->DC.ChildWindows.empty() ? nullptr : window->DC.ChildWindows.back();
}

void draw_hint(const char* hint, ImGuiWindow* lines, Color color) {
  // The child window is painted over its parent's content.
  ImDrawList* list = lines != nullptr ? lines->DrawList : ImGui::GetWindowDrawList();
  const ImVec2 corner = ImGui::GetItemRectMin();
  const ImVec2 padding = ImGui::GetStyle().FramePadding;
  list->AddText({corner.x + padding.x, corner.y + padding.y}, color, hint);
}

/// Scrolls until the line of a byte of the shown text is visible.
void scroll_to(ImGuiWindow& lines, const std::string& shown, std::size_t byte) {
  const auto line = std::count(shown.begin(), shown.begin() + static_cast<std::ptrdiff_t>(byte), '\n');
  const float height = ImGui::GetTextLineHeight();
  const float padding = ImGui::GetStyle().FramePadding.y;
  const float top = padding + static_cast<float>(line) * height;
  const float room = lines.InnerRect.GetHeight();
  const float lowest = std::max(top + height + padding - room, 0.0F);
  const float highest = std::max(top - padding, 0.0F);
  const float wanted = std::clamp(lines.Scroll.y, std::min(lowest, highest), highest);
  if (wanted != lines.Scroll.y) ImGui::SetScrollY(&lines, wanted);
}

struct FieldSize {
  float height = 0.0F;
  float wrap_width = std::numeric_limits<float>::infinity();
};

/// Wraps the text and computes the field's height: a long text needs a scroll bar, which takes some width.
FieldSize wrap(const std::string& text, const TextFieldOptions& options, std::uint64_t fonts, FieldMemory& memory) {
  const ImGuiStyle& style = ImGui::GetStyle();
  const float room = options.width > 0.0F ? options.width : ImGui::GetContentRegionAvail().x;
  const float most = std::max(options.height, options.most_height);
  constexpr float kCaret = 2.0F;
  FieldSize size{.height = options.height, .wrap_width = std::max(room - 2.0F * style.FramePadding.x - kCaret, 1.0F)};
  const auto height = [&] {
    const bool is_known = memory.wrapped.text() == text && memory.wrap_width == size.wrap_width && memory.fonts == fonts;
    if (!is_known) memory.wrapped = WrappedText(text, size.wrap_width, &advance);
    memory.wrap_width = size.wrap_width;
    memory.fonts = fonts;
    return text_field_height(static_cast<float>(memory.wrapped.lines()));
  };
  // Tries the previous frame's width first: a long text is wrapped once per change, not twice.
  if (memory.has_scroll_bar) size.wrap_width = std::max(size.wrap_width - style.ScrollbarSize, 1.0F);
  float wanted = height();
  if (!memory.has_scroll_bar && wanted > most) {
    memory.has_scroll_bar = true;
    size.wrap_width = std::max(size.wrap_width - style.ScrollbarSize, 1.0F);
    wanted = height();
  } else if (memory.has_scroll_bar && wanted <= most) {
    memory.has_scroll_bar = false;
    size.wrap_width += style.ScrollbarSize;
    wanted = height();
  }
  size.height = std::clamp(wanted, options.height, most);
  return size;
}

}  // namespace

float text_field_height(float lines) {
  return lines * ImGui::GetTextLineHeight() + 2.0F * ImGui::GetStyle().FramePadding.y + 2.0F;
}

bool Ui::text_field(const char* id, std::string& text, const TextFieldOptions& options) {
  Impl& self = *impl_;
  ensure_glyphs(text);
  const ImGuiID widget = ImGui::GetID(id);
  const bool was_editing = ImGui::GetActiveID() == widget;
  FieldMemory& memory = self.fields[widget];
  const std::string before = text;
  const NarrowText narrow = narrowed(text);
  std::string edited = narrow.text();
  const bool is_replaced = memory.text && *memory.text != text;
  const std::size_t changed_to = is_replaced ? narrow.from_original(end_of_change(*memory.text, text)) : 0;
  if (options.focus != FieldFocus::None) {
    memory.focus = options.focus;
    memory.focus_tries = kFocusTries;
  }
  if (memory.focus != FieldFocus::None && memory.focus_tries-- > 0) {
    if (memory.focus_tries < kFocusTries) ask_for_keyboard(widget);
    request_redraw(2);
  }

  int flags = ImGuiInputTextFlags_CallbackResize | ImGuiInputTextFlags_CallbackAlways;
  if (options.enter_confirms) flags |= ImGuiInputTextFlags_EnterReturnsTrue;
  const bool is_multiline = memory.is_multiline = options.height > 0.0F;
  FieldSize size;
  if (is_multiline) {
    flags |= ImGuiInputTextFlags_NoHorizontalScroll;
    size = wrap(edited, options, self.font_uploads, memory);
  } else {
    memory.wrapped = WrappedText(edited, size.wrap_width, &advance);
  }
  if (!was_editing) memory.live = memory.wrapped;
  std::string buffer = memory.wrapped.shown();
  Field field{.text = edited,
              .buffer = buffer,
              .memory = memory,
              .is_replaced = is_replaced && was_editing,
              .changed_to = changed_to,
              .limit = options.limit,
              .width = size.wrap_width,
              .typed_private = was_editing ? self.layer.take_typed_private() : std::vector<std::string>(),
              .is_cut = false};
  self.layer.filter_copies([&](std::string_view piece) { return unshaped(memory.live.copied(piece, memory.selection)); });
  bool is_confirmed = false;
  if (is_multiline) {
    ImGui::InputTextMultiline(id, buffer.data(), buffer.size() + 1, {options.width, size.height}, flags, &on_edit, &field);
  } else {
    ImGui::SetNextItemWidth(options.width);
    is_confirmed = ImGui::InputText(id, buffer.data(), buffer.size() + 1, flags, &on_edit, &field);
  }
  self.layer.filter_copies({});
  if (field.is_cut && is_multiline) self.cut_at = options.limit;
  self.keyboard.offer_field(widget, {.origin = to_glm(ImGui::GetItemRectMin()), .size = to_glm(ImGui::GetItemRectSize())});
  if (edited != narrow.text()) {
    text = unshaped(edited);
    text.resize(whole_characters(text, options.limit));
  }
  const bool is_editing = ImGui::GetActiveID() == widget;
  if (is_editing) self.edited_field = widget;
  if (is_editing) self.field_confirms = options.enter_confirms;
  if (options.passes_escape && is_editing) self.will_pass_escape = true;
  if (options.passes_list_keys && is_editing) self.will_pass_list_keys = true;
  ImGuiWindow* lines = is_multiline ? lines_window() : nullptr;
  const WrappedText& shown = is_editing ? memory.live : memory.wrapped;
  if (lines != nullptr && is_replaced && !is_editing) {
    scroll_to(*lines, shown.shown(), shown.to_shown(std::min(changed_to, shown.text().size())));
    request_redraw(2);  // it scrolls with the next frame
  }
  const bool has_shaped = lines != nullptr && !is_editing && needs_shaping(text);
  const bool is_marked = options.pointer != nullptr || !options.marks.empty() || !options.lines.empty();
  if (lines != nullptr && (has_shaped || is_marked)) {
    TextLines drawn(shown.shown(), *lines);
    if (has_shaped) drawn.draw_shaped([this](std::string_view line) { return shaped(unshaped(line)); });
    const auto [low, high] = drawn.in_sight();
    const std::size_t from = narrow.to_original(shown.to_text(low)), to = narrow.to_original(shown.to_text(high));
    std::vector<TextMark> marks;
    for (auto line = std::ranges::lower_bound(options.lines, from, {}, &TextMark::end);
         line != options.lines.end() && line->begin < to; ++line)
      marks.push_back(*line);
    marks.insert(marks.end(), options.marks.begin(), options.marks.end());
    for (TextMark& mark : marks) {
      mark.begin = shown.to_shown(narrow.from_original(mark.begin));
      mark.end = shown.to_shown(narrow.from_original(mark.end));
    }
    drawn.draw(marks);
    if (options.pointer != nullptr) {
      std::optional<NarrowText> changed;
      if (edited != narrow.text()) changed = narrowed(text);
      const NarrowText& now = changed ? *changed : narrow;
      const auto byte = [&](std::size_t position) { return now.to_original(shown.to_text(position)); };
      options.pointer->hovered = drawn.hovered();
      if (options.pointer->hovered) options.pointer->hovered = byte(*options.pointer->hovered);
      options.pointer->caret = is_editing ? std::optional(byte(memory.caret)) : std::nullopt;
    }
  }
  if (options.hint != nullptr && text.empty()) draw_hint(options.hint, lines, self.theme->text_dim);
  memory.text = text;
  return options.enter_confirms ? is_confirmed : text != before;
}

}  // namespace headlight::shell
