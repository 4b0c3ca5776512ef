#include <string>

#include "imgui.h"
#include "imgui_internal.h"
#include "shell/text_marks.h"
#include "shell/ui_impl.h"

namespace headlight::shell {
namespace {

/// What ImGui's callback needs while the field is drawn.
struct Field {
  std::string& text;
  bool is_replaced;  ///< `text` changed outside: the field's own copy is out of date
  std::size_t limit;
};

/// The longest beginning of at most `limit` bytes that cuts no character.
std::size_t whole_characters(const char* text, std::size_t limit) {
  while (limit > 0 && (static_cast<unsigned char>(text[limit]) & 0xC0U) == 0x80U) --limit;
  return limit;
}

int on_edit(ImGuiInputTextCallbackData* data) {
  Field& field = *static_cast<Field*>(data->UserData);
  if (data->EventFlag == ImGuiInputTextFlags_CallbackResize) {
    field.text.resize(static_cast<std::size_t>(data->BufTextLen));
    data->Buf = field.text.data();
    return 0;
  }
  if (field.is_replaced) {
    field.is_replaced = false;
    data->DeleteChars(0, data->BufTextLen);
    data->InsertChars(0, field.text.data(), field.text.data() + field.text.size());
    data->CursorPos = data->BufTextLen;
    data->ClearSelection();
  }
  if (static_cast<std::size_t>(data->BufTextLen) > field.limit) {
    const int kept = static_cast<int>(whole_characters(data->Buf, field.limit));
    data->DeleteChars(kept, data->BufTextLen - kept);
  }
  return 0;
}

void draw_hint(const char* hint, bool is_multiline, Color color) {
  // A field of several lines is a child window, painted over whatever its parent draws.
  ImGuiWindow* window = ImGui::GetCurrentWindow();
  ImDrawList* list = window->DrawList;
  if (is_multiline && !window->DC.ChildWindows.empty()) list = window->DC.ChildWindows.back()->DrawList;
  const ImVec2 corner = ImGui::GetItemRectMin();
  const ImVec2 padding = ImGui::GetStyle().FramePadding;
  list->AddText({corner.x + padding.x, corner.y + padding.y}, color, hint);
}

}  // namespace

bool Ui::text_field(const char* id, std::string& text, const TextFieldOptions& options) {
  Impl& self = *impl_;
  ensure_glyphs(text);
  const ImGuiID widget = ImGui::GetID(id);
  const bool is_editing = ImGui::GetActiveID() == widget;
  std::string& shown = self.field_texts[widget];
  const std::string before = text;
  Field field{text, is_editing && shown != text, options.limit};

  int flags = ImGuiInputTextFlags_CallbackResize | ImGuiInputTextFlags_CallbackAlways;
  if (options.enter_confirms) flags |= ImGuiInputTextFlags_EnterReturnsTrue;
  const bool is_multiline = options.height > 0.0F;
  bool is_confirmed = false;
  if (is_multiline) {
    ImGui::InputTextMultiline(id, text.data(), text.size() + 1, {options.width, options.height}, flags, &on_edit, &field);
  } else {
    ImGui::SetNextItemWidth(options.width);
    is_confirmed = ImGui::InputText(id, text.data(), text.size() + 1, flags, &on_edit, &field);
  }
  if (!options.enter_confirms && ImGui::GetActiveID() == widget) self.live_field = widget;
  if (is_multiline && (options.pointer != nullptr || !options.marks.empty())) {
    const TextLines lines(text, widget);
    lines.draw(options.marks);
    if (options.pointer != nullptr) *options.pointer = lines.pointer();
  }
  if (options.hint != nullptr && text.empty()) draw_hint(options.hint, is_multiline, self.theme->text_dim);
  shown = text;
  return options.enter_confirms ? is_confirmed : text != before;
}

}  // namespace headlight::shell
