#include "app/dialogs/session_dialog.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "app/state/opened_file.h"
#include "app/state/session_file.h"
#include "app/widgets/dialog.h"
#include "app/widgets/ink.h"
#include "core/error.h"

namespace headlight::app {
namespace {

namespace fs = std::filesystem;

constexpr float kWidth = 560.0F;
constexpr const char* kNewName = "session.headlight.json";

void draw_small(Frame& frame, const std::string& text, shell::Color color) {
  frame.ui.ensure_glyphs(text);
  const Ink ink(frame.ui.fonts().small, color);
  ImGui::PushTextWrapPos(0.0F);
  ImGui::TextUnformatted(text.c_str());
  ImGui::PopTextWrapPos();
}

std::string in_folder(const std::string& folder, const std::string& name) {
  return (folder.empty() ? std::string("~") : folder) + "/" + name;
}

}  // namespace

void SessionDialog::open(bool saves, const fs::path& current) {
  is_open_ = true;
  saves_ = saves;
  current_ = current;
  trouble_.clear();
  asked_.reset();
  files_.close();
  focus_ = shell::FieldFocus::SelectAll;
}

void SessionDialog::open_to_save(const fs::path& current, const std::string& folder) {
  open(true, current);
  typed_ = current.empty() ? in_folder(folder, kNewName) : current.string();
}

void SessionDialog::open_to_load(const fs::path& current, const std::string& folder) {
  open(false, current);
  typed_ = current.empty() ? in_folder(folder, kNewName) : current.string();
}

std::optional<SessionDialog::Choice> SessionDialog::draw(Frame& frame) {
  const Dialog dialog(frame, saves_ ? "Save session" : "Open session", is_open_, kWidth);
  if (!dialog.is_visible()) return std::nullopt;
  if (files_.is_open()) {
    const float height = std::clamp(frame.ui.size().y - 220.0F, 120.0F, 420.0F);
    if (const std::optional<fs::path> chosen = files_.draw(frame, height)) {
      std::error_code failure;
      typed_ = (saves_ && fs::is_directory(*chosen, failure) ? *chosen / kNewName : *chosen).string();
      asked_.reset();
      trouble_.clear();
    }
    return std::nullopt;
  }
  bool is_confirmed = false;
  draw_path(frame, is_confirmed);
  if (!trouble_.empty()) {
    draw_small(frame, trouble_, frame.ui.theme().warning);
    frame.mark("session.trouble", last_item_rect());
  }
  ImGui::Spacing();
  const char* label = !saves_ ? "Open" : asked_ ? "Replace" : "Save";
  ImGui::BeginDisabled(typed_.empty());
  is_confirmed = ImGui::Button(label, {96.0F, 0.0F}) || is_confirmed;
  ImGui::EndDisabled();
  mark_last_item(frame, saves_ ? "session.save" : "session.open");
  ImGui::SameLine();
  if (ImGui::Button("Cancel", {96.0F, 0.0F})) {
    is_open_ = false;
    ImGui::CloseCurrentPopup();
  }
  mark_last_item(frame, "session.cancel");
  if (!is_confirmed || typed_.empty()) return std::nullopt;
  const std::optional<fs::path> path = confirm();
  if (!path) return std::nullopt;
  return Choice{.path = *path, .saves = saves_};
}

void SessionDialog::draw_path(Frame& frame, bool& is_confirmed) {
  draw_small(frame,
             saves_ ? "Texts, model, masks, heads' gains, what is selected and how it is shown"
                    : "A .headlight.json file; what is shown now can be brought back with Undo",
             frame.ui.theme().text_dim);
  const ImGuiStyle& style = ImGui::GetStyle();
  const float button = ImGui::CalcTextSize("Browse").x + 2.0F * style.FramePadding.x;
  const std::string before = typed_;
  is_confirmed = frame.ui.text_field("##path", typed_,
                                     {.width = ImGui::GetContentRegionAvail().x - button - style.ItemSpacing.x,
                                      .focus = std::exchange(focus_, shell::FieldFocus::None),
                                      .passes_escape = true,
                                      .hint = "~/session.headlight.json",
                                      .enter_confirms = true});
  mark_last_item(frame, "session.path");
  if (typed_ != before) {  // a question or a problem was about another file
    asked_.reset();
    trouble_.clear();
  }
  ImGui::SameLine();
  if (ImGui::Button("Browse")) browse();
  mark_last_item(frame, "session.browse");
}

std::optional<fs::path> SessionDialog::confirm() {
  try {
    if (!saves_) return expand_home(typed_);
    const fs::path path = session_path(typed_);
    std::error_code failure;
    const bool is_current = !current_.empty() && (path == current_ || fs::equivalent(path, current_, failure));
    if (is_current || !fs::exists(path, failure) || asked_ == path) return path;
    asked_ = path;
    trouble_ = fmt::format("{} is there already: replace it?", path.string());
  } catch (const Error& error) {
    trouble_ = error.what();
  }
  return std::nullopt;
}

void SessionDialog::browse() {
  try {
    files_.open(expand_home(typed_.empty() ? "~" : typed_));
  } catch (const Error& error) {
    trouble_ = error.what();
  }
}

}  // namespace headlight::app
