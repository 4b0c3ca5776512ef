#include <fmt/ranges.h>

#include "app/figures/export_plan.h"
#include "app/figures/figure_kind.h"
#include "app/state/opened_file.h"
#include "app/widgets/controls.h"
#include "app/widgets/form.h"
#include "app/widgets/size_text.h"
#include "app/window/dialogs/export_dialog.h"
#include "core/error.h"
#include "platform/process.h"

namespace headlight::app {
namespace {

constexpr std::array<const char*, 4> kReaches = {"This head", "This layer", "All", "On screen"};
constexpr int kOnScreen = 3;
constexpr std::array<const char*, 2> kNumbers = {"This run", "Minus the baseline"};
constexpr float kRoomForAll = 720.0F;                         // in a lower window the buttons go first
constexpr float kPlainWidth = 600.0F, kLookWidth = 1'200.0F;  // of the dialog, without and with a preview
constexpr float kDetailsWidth = 330.0F;                       // beside the preview
constexpr float kBesidePreview = 180.0F;  // height of the dialog's title and buttons, and of what is around it
constexpr std::size_t kNamesShown = 200, kNamesInTooltip = 20;

std::string_view matrix_name(std::size_t i) {
  if (i == kHiddenStates) return "hidden";
  if (i == kNormNumbers) return "adds";
  return i == kLogitNumbers ? "logits" : to_string(static_cast<attention::Stage>(i));
}

/// Whether one of the formats is an image.
bool writes_figures(std::span<const ExportFormat> formats) { return std::ranges::any_of(formats, is_figure); }

/// "The text shaded by what one query attends to.": the help of a kind of figure as a sentence.
std::string explanation(const FigureKind& kind) {
  std::string text(kind.help);
  if (!text.empty() && text.front() >= 'a' && text.front() <= 'z')
    text.front() = static_cast<char>(text.front() - 'a' + 'A');
  return text + ".";
}

/// Buttons that stay pressed, side by side, wrapped where the line ends. `explain`: the tooltip of a number, where it isn't
/// one of widgets/tooltips.cpp.
template <typename Names>
void draw_switches(Frame& frame, const char* prefix, const Names& names, std::span<bool> are_on,
                   std::string (*explain)(std::size_t number) = nullptr) {
  const shell::Theme& theme = frame.ui.theme();
  const TextStyleScope ink(frame.ui.fonts().small, theme.text);
  const float left = ImGui::GetCursorPosX();
  const float right = left + ImGui::GetContentRegionAvail().x;
  float x = left;
  for (std::size_t i = 0; i < are_on.size(); ++i) {
    const std::string name(names(i));
    if (name.empty()) continue;
    const float width = button_width(name.c_str());
    if (x > left && x + width <= right) ImGui::SameLine(x, 0.0F);
    if (x > left && x + width > right) ImGui::SetCursorPosX(x = left);
    const bool is_on = are_on[i];
    if (is_on) {
      ImGui::PushStyleColor(ImGuiCol_Button, theme.accent);
      ImGui::PushStyleColor(ImGuiCol_ButtonHovered, theme.accent_hover);
      ImGui::PushStyleColor(ImGuiCol_Text, theme.text_on_accent);
    }
    if (ImGui::Button(name.c_str(), {width, 0.0F})) are_on[i] = !are_on[i];
    const std::string explained = explain != nullptr ? explain(i) : "";
    mark_last_item(frame, fmt::format("export.{}.{}", prefix, name), explain != nullptr ? explained.c_str() : nullptr);
    if (is_on) ImGui::PopStyleColor(3);
    x += width + 6.0F;
  }
}

/// Between groups of controls, where the window has room for it.
void draw_gap(const Frame& frame) {
  if (frame.ui.size().y >= kRoomForAll) ImGui::Spacing();
}

void draw_label(Frame& frame, const char* text) { write_text(frame.ui.fonts().small, frame.ui.theme().text_dim, text); }

/// What the choices write.
struct Announced {
  std::vector<std::string> names = {};
  std::string size = "0 files";  ///< "3 files · 1.2 M numbers · about 4.6 MiB", or why nothing can be written
};
Announced announce(const ExportOptions& options, const EngineResult& result) {
  Announced told;
  if (!result.network || !result.input) return told;
  try {
    const RunShapes run{.blocks = result.blocks, .shapes = result.shapes};
    const std::vector<ExportBlocks> blocks = select_blocks(run, *result.network, options);
    const ExportPlan plan = plan_export(options, blocks, *result.network, *result.input);
    told.names = plan.names(options);
    if (told.names.empty()) return told;
    told.size = fmt::format("{} file{} \u00B7 {} numbers \u00B7 about {}", told.names.size(),
                            told.names.size() == 1 ? "" : "s", short_count(plan.numbers), short_bytes(plan.bytes()));
  } catch (const Error& error) {
    told.size = error.what();
  }
  return told;
}

}  // namespace

void ExportDialog::draw_choices(Frame& frame) {
  NumberBeingTyped no_numbers;
  Form form(frame, no_numbers, "export");
  draw_region_form(frame, form, region_, part(frame.state, frame.transient, frame.result));
  if (has_baseline(frame.state, frame.result)) {
    int numbers = writes_differences_ ? 1 : 0;
    if (form.segments("numbers", "Numbers", kNumbers, numbers)) writes_differences_ = numbers == 1;
  }
  draw_gap(frame);
  draw_label(frame, "Matrices");
  draw_switches(
      frame, "stage",
      [&](std::size_t i) {
        const bool is_missing = i < attention::kStages && !has_stage(frame.result, static_cast<attention::Stage>(i));
        return is_missing ? std::string_view() : matrix_name(i);
      },
      matrices_);
  draw_gap(frame);
  draw_label(frame, "Formats");
  draw_switches(
      frame, "format", [](std::size_t i) { return to_string(static_cast<ExportFormat>(i)); }, formats_);
  draw_gap(frame);
  if (!writes_figures(options(frame.state, frame.transient, frame.result).formats)) return;
  if (frame.ui.size().y >= kRoomForAll) draw_label(frame, "Figures");
  const bool has_pair = has_baseline(frame.state, frame.result);  // the last kind of these is of two runs
  const std::size_t offered = figure_kinds().size() - kFiguresOfViews - (has_pair ? 0 : 1);
  draw_switches(
      frame, "view", [](std::size_t i) { return figure_kinds()[i]->label; }, std::span(views_).first(offered),
      [](std::size_t i) { return explanation(*figure_kinds()[i]); });
  draw_gap(frame);
  Form look(frame, typed_, "export");
  for (const AnySetting* setting : kFigureLook.settings) look.setting(*setting, figure_);
}

/// In place of the choices: how figures look, beside one of them.
void ExportDialog::draw_look(Frame& frame) {
  const ExportOptions wanted = options(frame.state, frame.transient, frame.result);
  const std::vector<const FigureKind*> kinds = figure_kinds_of(wanted);
  previewed_ = std::clamp(previewed_, 0, static_cast<int>(kinds.size()) - 1);
  const float height = std::clamp(frame.ui.size().y - kBesidePreview, 240.0F, 900.0F);
  const float width = ImGui::GetContentRegionAvail().x - kDetailsWidth - ImGui::GetStyle().ItemSpacing.x;
  preview_.draw(frame, engine_, wanted, *kinds[static_cast<std::size_t>(previewed_)], {width, height});
  ImGui::SameLine();
  ImGui::BeginChild("details", {kDetailsWidth, height}, false, ImGuiWindowFlags_NoBackground);
  Form form(frame, typed_, "export");
  if (kinds.size() > 1) {
    std::vector<std::string> names;
    for (const FigureKind* kind : kinds) names.emplace_back(kind->label);
    std::vector<const char*> labels;
    for (const std::string& name : names) labels.push_back(name.c_str());
    form.choose("previewed", "Figure", labels, previewed_, "The figure that is shown, of those that are chosen.");
  }
  if (const double size = figure_[kFigureLook.map_edge_mm]; size > 0.0)
    form.note(fmt::format("{} mm are {:.1f} cm or {:.2f} inches.", size, size / 10.0, size / 25.4));
  for (const AnySetting* setting : kFigureDetails.settings) form.setting(*setting, figure_);
  Form parts(frame, typed_, "export.part");
  for (const AnySetting* part : kFigureParts.settings) parts.setting(*part, figure_);
  ImGui::EndChild();
  if (draw_button(frame, "export.back", "Back")) shows_look_ = false;
  ImGui::SameLine();
  draw_label(frame, (preview_.remark() + "A click on the figure shows it in its own size.").c_str());
}

void ExportDialog::draw_folder(Frame& frame) {
  draw_gap(frame);
  draw_label(frame, "Folder");
  const ImGuiStyle& style = ImGui::GetStyle();
  const float browse = ImGui::CalcTextSize("Browse").x + 2.0F * style.FramePadding.x;
  const float show = ImGui::CalcTextSize("Open folder").x + 2.0F * style.FramePadding.x;
  const float width = ImGui::GetContentRegionAvail().x - browse - show - 2.0F * style.ItemSpacing.x;
  frame.ui.text_field("##folder", typed_directory_, {.width = width, .hint = "~/headlight"});
  mark_last_item(frame, "export.folder");
  ImGui::SameLine();
  const bool browses = draw_button(frame, "export.browse", "Browse");
  ImGui::SameLine();
  const bool shows = draw_button(frame, "export.open_folder", "Open folder");
  if (!browses && !shows) return;
  try {
    const std::filesystem::path folder = expand_home(typed_directory_);
    if (browses) folders_.open(folder);
    if (!shows) return;
    if (!std::filesystem::is_directory(folder)) throw Error("{} isn't there yet: the export makes it", utf8(folder));
    if (const std::string trouble = platform::show_folder(folder); !trouble.empty()) throw Error("{}", trouble);
  } catch (const std::exception& error) {
    outcome_ = {.text = error.what(), .is_warning = true};
  }
}

void ExportDialog::draw_names(Frame& frame) {
  const auto [names, size] = announce(options(frame.state, frame.transient, frame.result), frame.result);
  draw_gap(frame);
  draw_label(frame, size.c_str());
  mark_last_item(frame, "export.size");
  if (frame.ui.size().y < kRoomForAll) {
    const std::span<const std::string> first(names.data(), std::min(names.size(), kNamesInTooltip));
    std::string told =
        names.empty() ? "Nothing to write, or no format for it, is chosen." : fmt::format("{}", fmt::join(first, "\n"));
    if (names.size() > first.size()) told += fmt::format("\nand {} more", names.size() - first.size());
    mark_last_item(frame, "export.names", told.c_str());
    return;
  }
  ImGui::PushStyleColor(ImGuiCol_ChildBg, frame.ui.theme().field);
  const float most = has_baseline(frame.state, frame.result) ? 78.0F : 112.0F;  // a line of controls more
  const float height = std::clamp(frame.ui.size().y - 560.0F, 56.0F, most);     // the rest must fit a small window
  ImGui::BeginChild("names", {0.0F, height}, true);
  {
    const TextStyleScope ink(frame.ui.fonts().mono_small, frame.ui.theme().text_dim);
    for (std::size_t i = 0; i < std::min(names.size(), kNamesShown); ++i) ImGui::TextUnformatted(names[i].c_str());
    if (names.size() > kNamesShown) ImGui::TextUnformatted(fmt::format("and {} more", names.size() - kNamesShown).c_str());
  }
  ImGui::EndChild();
  ImGui::PopStyleColor();
}

void ExportDialog::draw_progress(Frame& frame) {
  draw_gap(frame);
  if (job_) {
    const ExportProgress progress = this->progress();
    const float total = static_cast<float>(std::max<std::size_t>(progress.total, 1));
    const std::string text =
        progress.total == 0 ? "Computing\u2026" : fmt::format("{} of {}", progress.done, progress.total);
    ImGui::ProgressBar((static_cast<float>(progress.done) + static_cast<float>(progress.share)) / total, {-1.0F, 0.0F},
                       text.c_str());
    return;
  }
  if (!outcome_.is_shown()) return;
  const shell::Theme& theme = frame.ui.theme();
  write_wrapped(frame.ui.fonts().body, outcome_.is_warning ? theme.warning : theme.text, outcome_.text);
  frame.mark("export.outcome", last_item_rect());
  is_outcome_seen_ = true;
}

void ExportDialog::draw_buttons(Frame& frame, std::string& directory) {
  draw_gap(frame);
  constexpr float kFieldWidth = 96.0F;
  const float right =
      ImGui::GetCursorPosX() + ImGui::GetContentRegionAvail().x - 2.0F * kFieldWidth - ImGui::GetStyle().ItemSpacing.x;
  ImGui::BeginDisabled(static_cast<bool>(job_));
  const bool copies = draw_button(frame, "export.copy_figure", "Copy figure");
  ImGui::SameLine();
  if (draw_button(frame, "export.look", "Preview")) shows_look_ = true;
  ImGui::EndDisabled();
  ImGui::SameLine(right);
  if (draw_button(frame, "export.close", job_ ? "Hide" : "Close", nullptr, kFieldWidth)) is_open_ = false;
  ImGui::SameLine();
  if (copies) copy_figure(frame.state, frame.transient, frame.result);
  if (job_) {
    if (!draw_button(frame, "export.cancel", "Cancel", nullptr, kFieldWidth)) return;
    outcome_ = {.text = fmt::format("cancelled after {} of {} files", progress().done, progress().total),
                .is_warning = true};
    job_ = {};
    return;
  }
  const shell::Theme& theme = frame.ui.theme();
  const bool can_begin = has_choice(frame.state, frame.result) && part(frame.state, frame.transient, frame.result);
  // Not Enter alone, which may be the palette's that opened the dialog, still held.
  const bool is_entered = can_begin && frame.ui.is_pressed(shell::Key::Enter, shell::kControl);
  ImGui::BeginDisabled(!can_begin);
  ImGui::PushStyleColor(ImGuiCol_Button, theme.accent);
  ImGui::PushStyleColor(ImGuiCol_ButtonHovered, theme.accent_hover);
  ImGui::PushStyleColor(ImGuiCol_Text, theme.text_on_accent);
  if (ImGui::Button("Export", {kFieldWidth, 0.0F}) || is_entered) begin(frame, directory);
  mark_last_item(frame, "export.start");
  ImGui::PopStyleColor(3);
  ImGui::EndDisabled();
}

void ExportDialog::draw_reach(Frame& frame, const std::string& directory) {
  NumberBeingTyped no_numbers;
  Form form(frame, no_numbers, "export");
  int reach = shows_picture_ ? kOnScreen : static_cast<int>(reach_);
  std::array<const char*, 4> reaches = kReaches;
  if (frame.state.selection.mean != HeadMean::None) reaches[0] = "This mean";
  if (!form.segments("reach", "What", reaches, reach)) return;
  shows_picture_ = reach == kOnScreen;
  if (shows_picture_) {
    picture_.open(directory, ScreenshotArea::Window);
  } else {
    reach_ = static_cast<Reach>(reach);
  }
}

void ExportDialog::draw_files(Frame& frame, std::string& directory) {
  ImGui::BeginDisabled(static_cast<bool>(job_));
  draw_choices(frame);
  draw_folder(frame);
  draw_names(frame);
  ImGui::EndDisabled();
  draw_progress(frame);
  draw_buttons(frame, directory);
}

void ExportDialog::draw(Frame& frame, std::string& directory) {
  take_end_of_job();
  if (is_open_ && typed_directory_.empty()) typed_directory_ = directory.empty() ? "~/headlight" : directory;
  const bool was_open = is_open_;
  {
    const Dialog dialog(frame, "Export", is_open_, shows_look_ ? kLookWidth : kPlainWidth);
    if (dialog.is_visible() && folders_.is_open()) {
      const float height = std::clamp(frame.ui.size().y - 220.0F, 120.0F, 420.0F);
      if (const std::optional<std::filesystem::path> chosen = folders_.draw(frame, height)) {
        typed_directory_ = chosen->string();
      }
    } else if (dialog.is_visible() && shows_look_) {
      draw_look(frame);
    } else if (dialog.is_visible()) {
      draw_reach(frame, directory);
      if (!shows_picture_) {
        draw_files(frame, directory);
      } else if (picture_.draw(frame)) {
        is_open_ = false;
      }
      if (!is_open_) ImGui::CloseCurrentPopup();
    }
  }
  if (is_open_) return;
  folders_.close();
  picture_.close();
  shows_look_ = false;
  if (was_open && !job_) outcome_ = {};
}

}  // namespace headlight::app
