#include "app/window/dialogs/file_dialog.h"

#include <system_error>

#include "app/state/opened_file.h"
#include "app/state/session_file.h"
#include "app/widgets/controls.h"
#include "app/widgets/finding.h"
#include "core/error.h"

namespace headlight::app {
namespace {

namespace fs = std::filesystem;

constexpr float kFileDialogWidth = 560.0F;
constexpr const char* kNewSession = "session.headlight.json";

/// The dialog's words for a purpose; they stand in the order of FilePurpose.
struct Words {
  const char* title;
  const char* help;
  bool saves;
  std::string prefix;  ///< of the controls' names
  const char* hint;
  const char* new_name;  ///< that is proposed
  std::vector<std::string> extensions;
};

const Words& words_of(FilePurpose purpose) {
  static const std::array<Words, 11> kWords{
      {{"Save session",
        "Texts, model, masks, heads' gains, what is selected and how it is shown",
        true,
        "session.",
        "~/session.headlight.json",
        kNewSession,
        {".json"}},
       {"Save all steps",
        "The captures of all steps that are kept, and their curves, in one file",
        true,
        "steps_file.",
        "~/steps.zip",
        "steps.zip",
        {".zip"}},
       {"Save picture",
        "What is on screen, as .png; a name that ends in .svg or .pdf gets the view's figure for a paper",
        true,
        "screenshot.",
        "~/headlight.png",
        "headlight.png",
        {".png", ".svg", ".pdf"}},
       {"Save layout",
        "The views on screen and their places, for any session and model",
        true,
        "layout_file.",
        "~/layout.json",
        "layout.json",
        {".json"}},
       {"Open session",
        "A .headlight.json file, or an exported figure (.png, .svg, .pdf), which carries its session; Undo brings back what "
        "is shown now",
        false,
        "session.",
        "~/session.headlight.json",
        kNewSession,
        {".json", ".png", ".svg", ".pdf"}},
       {"Open text",
        "A text file in UTF-8, of 1 MiB at most. Its lines are a batch, or one text where its settings say so; Undo brings "
        "back the text that is shown now",
        false,
        "text_file.",
        "~/text.txt",
        "",
        {".txt", ".md", ".text", ".jsonl", ".csv", ".tsv", ".py", ".cpp", ".h", ".gz"}},
       {"Open capture",
        "Attention weights, or queries and keys, that were saved from a network as .safetensors or .npz: docs/CAPTURES.md "
        "has the three lines of Python. A .zip has all steps of a training",
        false,
        "capture_file.",
        "~/capture.safetensors",
        "",
        {".safetensors", ".npz", ".zip"}},
       {"Open survey",
        "The folder that headlight survey has written, or the survey.json in it",
        false,
        "survey_file.",
        "~/survey",
        "",
        {".json"}},
       {"Open linear lens",
        "A matrix and a bias for each layer of the model, as tuned-lens trains them: .safetensors, or the params.pt that it "
        "wrote",
        false,
        "lens_file.",
        "~/lens/params.pt",
        "",
        {".safetensors", ".pt", ".bin"}},
       {"Open prompts",
        "A set of prompts as JSON lines, plain or .gz: docs/PROMPTS.md has the format",
        false,
        "prompts_file.",
        "~/prompts.jsonl",
        "",
        {".jsonl", ".gz"}},
       {"Open layout",
        "A file that Save layout has written: its views come, the text and the model stay",
        false,
        "layout_file.",
        "~/layout.json",
        "",
        {".json"}}}};
  return kWords.at(static_cast<std::size_t>(purpose));
}

std::string in_folder(const std::string& folder, const std::string& name) {
  return (folder.empty() ? std::string("~") : folder) + "/" + name;
}

}  // namespace

void FileDialog::open(FilePurpose purpose, const fs::path& current, const std::string& folder) {
  is_open_ = true;
  purpose_ = purpose;
  current_ = current;
  trouble_.clear();
  asked_.reset();
  files_ = FolderList(words_of(purpose).extensions);
  focus_ = shell::FieldFocus::SelectAll;
  typed_ = current.empty() ? in_folder(folder, words_of(purpose).new_name) : utf8(current);
}

std::optional<fs::path> FileDialog::draw(Frame& frame) {
  const Words& words = words_of(purpose_);
  const Dialog dialog(frame, words.title, is_open_, kFileDialogWidth);
  if (!dialog.is_visible()) return std::nullopt;
  if (files_.is_open()) {
    const float height = std::clamp(frame.ui.size().y - 220.0F, 120.0F, 420.0F);
    if (const std::optional<fs::path> chosen = files_.draw(frame, height)) {
      std::error_code failure;
      typed_ = utf8(words.saves && fs::is_directory(*chosen, failure) ? *chosen / words.new_name : *chosen);
      asked_.reset();
      trouble_.clear();
    }
    return std::nullopt;
  }
  bool is_confirmed = false;
  draw_path(frame, is_confirmed);
  if (!trouble_.empty()) write_note(frame, trouble_, frame.ui.theme().warning, (words.prefix + "trouble").c_str());
  ImGui::Spacing();
  const char* label = asked_ ? "Replace" : words.saves ? "Save" : "Open";
  ImGui::BeginDisabled(typed_.empty());
  is_confirmed = ImGui::Button(label, {96.0F, 0.0F}) || is_confirmed;
  ImGui::EndDisabled();
  mark_last_item(frame, words.prefix + (words.saves ? "save" : "open"));
  ImGui::SameLine();
  if (draw_button(frame, words.prefix + "cancel", "Cancel", nullptr, 96.0F)) {
    is_open_ = false;
    ImGui::CloseCurrentPopup();
  }
  if (!is_confirmed || typed_.empty()) return std::nullopt;
  return confirm();
}

void FileDialog::draw_path(Frame& frame, bool& is_confirmed) {
  const Words& words = words_of(purpose_);
  write_note(frame, words.help);
  const ImGuiStyle& style = ImGui::GetStyle();
  const float button = ImGui::CalcTextSize("Browse").x + 2.0F * style.FramePadding.x;
  const std::string before = typed_;
  is_confirmed = frame.ui.text_field("##path", typed_,
                                     {.width = ImGui::GetContentRegionAvail().x - button - style.ItemSpacing.x,
                                      .focus = std::exchange(focus_, shell::FieldFocus::None),
                                      .passes_escape = true,
                                      .hint = words.hint,
                                      .enter_confirms = true});
  mark_last_item(frame, words.prefix + "path");
  if (typed_ != before) {  // a question or a problem was about another file
    asked_.reset();
    trouble_.clear();
  }
  ImGui::SameLine();
  if (draw_button(frame, words.prefix + "browse", "Browse")) files_.open(typed_);
}

std::optional<fs::path> FileDialog::confirm() {
  try {
    const Words& words = words_of(purpose_);
    if (!words.saves) return expand_home(typed_);
    fs::path path = purpose_ == FilePurpose::SaveSession ? session_path(typed_) : expand_home(typed_);
    const std::vector<std::string>& endings = words.extensions;
    if (std::ranges::find(endings, utf8(path.extension())) == endings.end()) path += endings.front();
    std::error_code failure;
    const bool is_current = !current_.empty() && (path == current_ || fs::equivalent(path, current_, failure));
    if (is_current || !fs::exists(path, failure) || asked_ == path) return path;
    asked_ = path;
    trouble_ = fmt::format("{} is there already: replace it?", utf8(path));
  } catch (const Error& error) {
    trouble_ = error.what();
  }
  return std::nullopt;
}

}  // namespace headlight::app
