#include "app/window/dialogs/model_browser.h"

#include "app/state/opened_file.h"
#include "app/widgets/controls.h"
#include "app/widgets/finding.h"
#include "app/widgets/size_text.h"
#include "core/error.h"

namespace headlight::app {
namespace {

constexpr float kBrowserWidth = 720.0F;
constexpr float kListHeight = 400.0F;
constexpr float kBrowserRowHeight = 46.0F;

const char* heading_of(ListedModel::Origin origin) {
  switch (origin) {
    case ListedModel::Origin::Bundled:
      return "Bundled";
    case ListedModel::Origin::Recent:
      return "Recent";
    case ListedModel::Origin::Folder:
      return "In the folder looked into last";
    case ListedModel::Origin::HubCache:
      return "Hugging Face cache";
  }
  return "";
}

/// Draws a row of the list: name and facts at the left, size at the right. Returns whether it was clicked.
bool draw_row(Frame& frame, const ListedModel& model, std::size_t index, bool is_shown, bool is_opening, bool is_marked) {
  const shell::Theme& theme = frame.ui.theme();
  const shell::FontSet& fonts = frame.ui.fonts();
  const bool can_open = model.problem.empty();
  const float width = ImGui::GetContentRegionAvail().x;
  const ImVec2 low = ImGui::GetCursorScreenPos();
  const ImVec2 high(low.x + width, low.y + kBrowserRowHeight);
  ImGui::PushID(static_cast<int>(index));
  const bool was_clicked = click_area("row", {width, kBrowserRowHeight});
  ImGui::PopID();
  const bool is_hovered = ImGui::IsItemHovered();
  mark_last_item(frame, fmt::format("browser.model.{}", index));
  if (is_shown) frame.ui.keyboard().prefer_last();
  ImDrawList* list = ImGui::GetWindowDrawList();
  if (is_marked) list->AddRect(low, high, theme.accent, 6.0F);
  if (is_shown || (is_hovered && can_open)) list->AddRectFilled(low, high, is_shown ? theme.active : theme.hover, 6.0F);
  if (is_hovered && can_open) ImGui::SetMouseCursor(ImGuiMouseCursor_Hand);
  const std::string path = utf8(model.path);
  explain_last_item(frame, can_open ? path.c_str() : (path + ": " + model.problem).c_str());

  constexpr float kEdge = 12.0F;
  const std::string size = is_opening ? "opening\u2026" : is_shown ? "shown" : short_bytes(model.bytes);
  const float size_width = text_width(fonts.small, size);
  const float middle = low.y + std::round((kBrowserRowHeight - font_size(fonts.small)) * 0.5F);
  put_text(fonts.small, {high.x - kEdge - size_width, middle}, is_opening ? theme.accent : theme.text_dim, size);
  const float room = width - size_width - 3.0F * kEdge;
  const std::string name = fit_text(fonts.strong, model.name, room);
  put_text(fonts.strong, {low.x + kEdge, low.y + 6.0F}, can_open ? theme.text : theme.text_dim, name);
  const std::string facts = fit_text(
      fonts.small,
      can_open ? fmt::format("{} \u00B7 {} parameters", model.about(), short_count(model.parameters)) : model.problem, room);
  put_text(fonts.small, {low.x + kEdge, high.y - 6.0F - font_size(fonts.small)}, can_open ? theme.text_dim : theme.warning,
           facts);
  return was_clicked && can_open;
}

}  // namespace

void ModelBrowser::open() {
  focus_ = shell::FieldFocus::SelectAll;
  is_open_ = true;
  trouble_.clear();
  marked_.reset();
  if (!is_path(typed_)) typed_.clear();
}

ModelBrowserChoice ModelBrowser::draw(Frame& frame, const ModelBrowserContext& context) {
  ModelBrowserChoice choice;
  const Dialog dialog(frame, "Open model", is_open_, kBrowserWidth);
  if (!dialog.is_visible()) {
    files_.close();
    return choice;
  }
  if (files_.is_open()) {
    const float height = std::clamp(frame.ui.size().y - 220.0F, 120.0F, kListHeight);
    if (const std::optional<std::filesystem::path> chosen = files_.draw(frame, height)) {
      typed_ = chosen->string();
      choice.path = typed_;
      trouble_.clear();
    }
    return choice;
  }
  recent_folders_.clear();
  for (const ListedModel& model : context.models) {
    if (model.origin == ListedModel::Origin::Recent) recent_folders_.push_back(model.path.parent_path());
    frame.ui.ensure_glyphs(model.name);
    frame.ui.ensure_glyphs(model.problem);
  }
  std::vector<std::size_t> shown;
  for (std::size_t i = 0; i < context.models.size(); ++i) {
    if (is_in_name(typed_, context.models[i].name)) shown.push_back(i);
  }
  draw_path(frame, context, shown, choice);
  if (!trouble_.empty()) write_note(frame, trouble_, frame.ui.theme().warning, "browser.trouble");
  ImGui::Spacing();
  draw_list(frame, context, shown, choice);
  ImGui::Spacing();
  if (draw_button(frame, "browser.close", "Close")) {
    is_open_ = false;
    ImGui::CloseCurrentPopup();
  }
  if (choice.path) trouble_.clear();
  return choice;
}

void ModelBrowser::draw_path(Frame& frame, const ModelBrowserContext& context, const std::vector<std::size_t>& shown,
                             ModelBrowserChoice& choice) {
  write_note(frame,
             "A name from the list, a folder as Hugging Face writes it, a .gguf, .safetensors or .bin file, or "
             "organisation/name from the cache");
  const std::string before = typed_;
  const ImGuiStyle& style = ImGui::GetStyle();
  const float buttons = ImGui::CalcTextSize("BrowseOpen").x + 4.0F * style.FramePadding.x;
  const float field = ImGui::GetContentRegionAvail().x - buttons - 2.0F * style.ItemSpacing.x;
  const bool is_confirmed = frame.ui.text_field("##path", typed_,
                                                {.width = field,
                                                 .focus = std::exchange(focus_, shell::FieldFocus::None),
                                                 .passes_escape = true,
                                                 .passes_list_keys = true,
                                                 .hint = "Part of a name, a path, or organisation/name",
                                                 .enter_confirms = true});
  mark_last_item(frame, "browser.path");
  if (typed_ != before) marked_ = is_path(typed_) || typed_.empty() ? std::nullopt : std::optional<std::size_t>(0);
  std::size_t mark = marked_.value_or(shown.size() - 1);  // Down comes to the first
  if (move_mark(frame, mark, shown.size())) {
    marked_ = mark;
    follows_mark_ = true;
  }
  ImGui::SameLine();
  if (draw_button(frame, "browser.browse", "Browse")) files_.open(typed_, recent_folders_);
  ImGui::SameLine();
  ImGui::BeginDisabled(typed_.empty());
  const bool is_clicked = ImGui::Button("Open");
  ImGui::EndDisabled();
  mark_last_item(frame, "browser.open");
  if (!is_confirmed && !is_clicked) return;
  if (marked_ && *marked_ < shown.size()) {
    choice.path = utf8(context.models[shown[*marked_]].path);
  } else if (!typed_.empty()) {
    choice.path = typed_;
  }
}

void ModelBrowser::draw_list(Frame& frame, const ModelBrowserContext& context, const std::vector<std::size_t>& shown,
                             ModelBrowserChoice& choice) {
  const shell::Theme& theme = frame.ui.theme();
  const float most = std::max(frame.ui.size().y - 260.0F, 120.0F);
  ImGui::BeginChild("models", {0.0F, std::min(kListHeight, most)});
  const shell::ControlGroup group(frame.ui.keyboard(), "models");
  std::optional<ListedModel::Origin> origin;
  for (std::size_t row = 0; row < shown.size(); ++row) {
    const ListedModel& model = context.models[shown[row]];
    if (origin != model.origin) {
      if (origin) ImGui::Dummy({1.0F, 6.0F});
      write_note(frame, heading_of(model.origin));
      origin = model.origin;
    }
    const std::string path = utf8(model.path);
    const bool is_marked = marked_ == row;
    if (draw_row(frame, model, shown[row], path == context.shown, path == context.opening, is_marked)) choice.path = path;
    if (is_marked && std::exchange(follows_mark_, false)) ImGui::SetScrollHereY();
  }
  if (context.is_looking) {
    write_note(frame, "Looking for models\u2026");
  } else if (context.models.empty()) {
    ImGui::Dummy({1.0F, 12.0F});
    write_text(frame.ui.fonts().strong, theme.text, "No models on this computer yet");
    write_note(frame,
               "Download one, for instance with  hf download openai-community/gpt2  and open this list again, "
               "or drop a model's folder or .gguf file on the window.");
    frame.mark("browser.empty", last_item_rect());
  } else if (shown.empty()) {
    write_note(frame, "No model of this list has that in its name.");
  }
  ImGui::EndChild();
}

}  // namespace headlight::app
