#include <fmt/ranges.h>

#include "app/figures/export_plan.h"
#include "app/figures/figure_kind.h"
#include "app/state/model_changes.h"
#include "app/state/opened_file.h"
#include "app/widgets/controls.h"
#include "app/widgets/form.h"
#include "app/widgets/size_text.h"
#include "app/window/dialogs/export_dialog.h"
#include "core/error.h"
#include "core/json.h"
#include "platform/process.h"

namespace headlight::app {
namespace {

constexpr std::array<const char*, 3> kReaches = {"This head", "This layer", "All"};
constexpr std::array<const char*, 2> kNumbers = {"This run", "Minus the baseline"};
constexpr std::array<const char*, 3> kWidths = {"84 mm", "174 mm", "free"};
constexpr std::array<const char*, 3> kFormats = {"PDF", "SVG", "PNG"};
constexpr float kFigureWidth = 1'480.0F, kMostHeight = 1'100.0F;  // of the dialog
constexpr float kColumnWidth = 372.0F;
constexpr float kBesideFigure = 100.0F;  // height of the dialog's title, its edges and what is around it
constexpr std::size_t kNamesShown = 20;

/// The figures that have a button.
const std::array<const FigureKind*, 4> kFirstKinds = {&kHeadFigure, &kHeadsFigure, &kModelFigure, nullptr};

std::string_view matrix_name(std::size_t i) {
  if (i == kHiddenStates) return "hidden";
  if (i == kNormNumbers) return "adds";
  return i == kLogitNumbers ? "logits" : to_string(static_cast<attention::Stage>(i));
}

/// "The text shaded by what one query attends to.": the help of a kind of figure as a sentence.
std::string explanation(const FigureKind& kind) {
  std::string text(kind.help);
  if (!text.empty() && text.front() >= 'a' && text.front() <= 'z')
    text.front() = static_cast<char>(text.front() - 'a' + 'A');
  return text + ".";
}

/// Colours of a button, three of them.
void push_accent(const shell::Theme& theme) {
  ImGui::PushStyleColor(ImGuiCol_Button, theme.accent);
  ImGui::PushStyleColor(ImGuiCol_ButtonHovered, theme.accent_hover);
  ImGui::PushStyleColor(ImGuiCol_Text, theme.text_on_accent);
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
    if (is_on) push_accent(theme);
    if (ImGui::Button(name.c_str(), {width, 0.0F})) are_on[i] = !are_on[i];
    const std::string explained = explain != nullptr ? explain(i) : "";
    mark_last_item(frame, fmt::format("export.{}.{}", prefix, name), explain != nullptr ? explained.c_str() : nullptr);
    if (is_on) ImGui::PopStyleColor(3);
    x += width + 6.0F;
  }
}

void draw_label(Frame& frame, const char* text) { write_text(frame.ui.fonts().small, frame.ui.theme().text_dim, text); }

/// Lets the outcome say why something can't be done.
template <typename Action>
void attempt(Notice& outcome, const Action& action) {
  try {
    action();
  } catch (const std::exception& error) {
    outcome = {.text = error.what(), .is_warning = true};
  }
}

/// The heading of a group of settings.
void draw_heading(Frame& frame, const char* text) {
  ImGui::Spacing();
  write_text(frame.ui.fonts().strong, frame.ui.theme().text, text);
}

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
    told.size = fmt::format("{} \u00B7 {} numbers \u00B7 about {}", counted(told.names.size(), "file"),
                            short_count(plan.numbers), short_bytes(plan.bytes()));
  } catch (const Error& error) {
    told.size = error.what();
  }
  return told;
}

}  // namespace

void ExportDialog::draw_page_group(Frame& frame, Form& form) {
  draw_heading(frame, "Page");
  auto of = static_cast<int>(std::ranges::find(kFirstKinds, kind_) - kFirstKinds.begin());
  std::array<const char*, 4> labels = {"Head", "Layer", "All heads", "View"};
  if (frame.state.selection.mean != HeadMean::None) labels[0] = "Mean";
  if (form.segments("of", "Of", labels, of)) kind_ = kFirstKinds.at(static_cast<std::size_t>(of));
  const auto type = [&](const char* name, const char* label, std::string& text, const char* help) {
    const float width = form.label(label, help);
    frame.ui.text_field(fmt::format("##{}", name).c_str(), text, {.width = width, .hint = "all", .limit = 200});
    mark_last_item(frame, fmt::format("export.{}", name), help);
  };
  if (kind_ != nullptr && kind_->scope == FigureScope::Attention)
    type("layers", "Layers", layers_, "Those that are drawn, from 0, as 5 or 0-3,7; empty: all.");
  if (kind_ != nullptr && kind_->scope != FigureScope::Head)
    type("heads", "Heads", heads_, "Those that are drawn, from 0, as 5 or 0-3,7; empty: all.");
  float width_mm = figure_[kFigureDetails.width_mm];
  int chosen = is_width_free_ ? 2 : width_mm == kColumn_mm ? 0 : 1;
  if (form.segments("width", "Width", kWidths, chosen, kFigureDetails.width_mm.text.help.data())) {
    is_width_free_ = chosen == 2;
    width_mm = is_width_free_ ? free_width_mm_ : chosen == 0 ? kColumn_mm : kPage_mm;
    figure_.set(kFigureDetails.width_mm, width_mm);
  }
  if (is_width_free_ && form.setting(kFigureDetails.width_mm, figure_)) free_width_mm_ = figure_[kFigureDetails.width_mm];
}

void ExportDialog::draw_look_groups(Frame& frame, Form& form) {
  draw_heading(frame, "Look");
  form.setting(kFigureDetails.is_dark, figure_);
  form.setting(kFigureDetails.is_transparent, figure_);
  form.setting(kFigureDetails.font, figure_);
  form.setting(kFigureLook.color_map, figure_);
  draw_heading(frame, "Contents");
  form.setting(kFigureLook.title, figure_);
  std::array<bool, 7> parts{};
  for (std::size_t i = 0; i < parts.size(); ++i) parts.at(i) = std::get<bool>(figure_.value(*kFigureParts.settings.at(i)));
  draw_switches(
      frame, "part", [](std::size_t i) { return kFigureParts.settings.at(i)->text.label; }, parts,
      [](std::size_t i) { return std::string(kFigureParts.settings.at(i)->text.help); });
  for (std::size_t i = 0; i < parts.size(); ++i) figure_.put(*kFigureParts.settings.at(i), parts.at(i));
}

void ExportDialog::draw_file_group(Frame& frame, Form& form) {
  draw_heading(frame, "File");
  form.segments("file", "Format", kFormats, format_,
                "Lines and letters as such in PDF, for LaTeX, and SVG; PNG has pixels.");
  form.setting(kFigureLook.dpi, figure_);
  const float width = form.label("Name", "Of the file, in the folder below; empty: by what the figure shows.");
  const std::string proposed = proposed_name(frame.state);
  frame.ui.text_field("##name", name_, {.width = width, .hint = proposed.c_str(), .limit = 200});
  mark_last_item(frame, "export.name", "Of the file, in the folder below; empty: by what the figure shows.");
  draw_folder(frame, form);
  form.toggle("session", "Carries the session", has_session_, {},
              "The figure's text and settings go into its file, from which the window opens them again.");
}

void ExportDialog::draw_folder(Frame& frame, Form& form) {
  const float room = form.label("Folder", nullptr), browse = button_width("Browse") + ImGui::GetStyle().ItemSpacing.x;
  frame.ui.text_field("##folder", typed_directory_, {.width = room - browse, .hint = "~/headlight"});
  mark_last_item(frame, "export.folder");
  ImGui::SameLine();
  if (draw_button(frame, "export.browse", "Browse"))
    attempt(outcome_, [&] { folders_.open(expand_home(typed_directory_)); });
}

void ExportDialog::draw_more(Frame& frame, Form& form, std::string& directory) {
  const std::span<const FigureKind* const> kinds = offered_kinds(frame.state, frame.result);
  std::vector<std::string> names;
  for (const FigureKind* kind : kinds) names.emplace_back(kind->label);
  names.emplace_back("This view");
  std::vector<const char*> labels;
  for (const std::string& name : names) labels.push_back(name.c_str());
  auto chosen = static_cast<int>(std::ranges::find(kinds, kind_) - kinds.begin());
  if (form.choose("kind", "Figure", labels, chosen, "What is drawn: one of the figures of `headlight export --views`.")) {
    const auto at = static_cast<std::size_t>(chosen);
    kind_ = at < kinds.size() ? kinds[at] : nullptr;
  }
  draw_region_form(frame, form, region_, part(frame.state, frame.transient, frame.result));
  if (has_baseline(frame.state, frame.result)) {
    int numbers = writes_differences_ ? 1 : 0;
    if (form.segments("numbers", "Numbers", kNumbers, numbers)) writes_differences_ = numbers == 1;
  }
  for (const AnySetting* setting : {static_cast<const AnySetting*>(&kFigureDetails.row_names),
                                    static_cast<const AnySetting*>(&kFigureDetails.color_spread),
                                    static_cast<const AnySetting*>(&kFigureLook.is_row_normalized)})
    form.setting(*setting, figure_);
  if (figure_[kFigureDetails.width_mm] == 0.0F) form.setting(kFigureLook.map_edge_mm, figure_);
  draw_many_files(frame, directory);
}

void ExportDialog::draw_many_files(Frame& frame, std::string& directory) {
  draw_heading(frame, "Many files");
  const bool is_running = static_cast<bool>(job_);
  ImGui::BeginDisabled(is_running);
  NumberBeingTyped no_numbers;
  Form form(frame, no_numbers, "export");
  auto reach = static_cast<int>(reach_);
  std::array<const char*, 3> reaches = kReaches;
  if (frame.state.selection.mean != HeadMean::None) reaches[0] = "This mean";
  if (form.segments("reach", "Of", reaches, reach)) reach_ = static_cast<Reach>(reach);
  draw_folder(frame, form);
  draw_label(frame, "Matrices");
  draw_switches(
      frame, "stage",
      [&](std::size_t i) {
        const bool is_missing = i < attention::kStages && !has_stage(frame.result, static_cast<attention::Stage>(i));
        return is_missing ? std::string_view() : matrix_name(i);
      },
      matrices_);
  draw_label(frame, "Formats");
  draw_switches(
      frame, "format", [](std::size_t i) { return to_string(static_cast<ExportFormat>(i)); }, formats_);
  if (std::ranges::any_of(chosen_formats(), is_figure)) {
    draw_label(frame, "Figures");
    draw_switches(
        frame, "view", [](std::size_t i) { return figure_kinds()[i]->label; },
        std::span(views_).first(offered_kinds(frame.state, frame.result).size()),
        [](std::size_t i) { return explanation(*figure_kinds()[i]); });
  }
  draw_names(frame);
  const bool can_begin = has_choice(frame.state, frame.result) && part(frame.state, frame.transient, frame.result);
  ImGui::EndDisabled();
  ImGui::BeginDisabled(!can_begin || is_running);
  if (draw_button(frame, "export.start", "Export these files")) begin(frame, directory);
  ImGui::EndDisabled();
  ImGui::SameLine();
  if (is_running && draw_button(frame, "export.cancel", "Cancel")) {
    outcome_ = {.text = fmt::format("cancelled after {} of {} files", progress().done, progress().total),
                .is_warning = true};
    job_ = {};
  } else if (!is_running && draw_button(frame, "export.open_folder", "Open folder")) {
    attempt(outcome_, [&] {
      const std::filesystem::path folder = expand_home(typed_directory_);
      if (!std::filesystem::is_directory(folder)) throw Error("{} isn't there yet: the export makes it", utf8(folder));
      if (const std::string trouble = platform::show_folder(folder); !trouble.empty()) throw Error("{}", trouble);
    });
  }
}

void ExportDialog::draw_names(Frame& frame) {
  const auto [names, size] = announce(options(frame.state, frame.transient, frame.result), frame.result);
  draw_label(frame, size.c_str());
  const std::span<const std::string> first(names.data(), std::min(names.size(), kNamesShown));
  std::string told =
      names.empty() ? "Nothing to write, or no format for it, is chosen." : fmt::format("{}", fmt::join(first, ", "));
  if (names.size() > first.size()) told += fmt::format(" and {} more", names.size() - first.size());
  mark_last_item(frame, "export.size", told.c_str());
}

void ExportDialog::draw_progress(Frame& frame) {
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

void ExportDialog::draw_figure_buttons(Frame& frame, std::string& directory) {
  constexpr double kHeld_s = 0.6;  // between two repetitions of a held key at most: it may be the palette's that opened this
  const float spacing = ImGui::GetStyle().ItemSpacing.x;
  const float third = std::floor((ImGui::GetContentRegionAvail().x - 2.0F * spacing) / 3.0F);
  if (draw_button(frame, "export.more", shows_more_ ? "Back" : "More\u2026", nullptr, third)) shows_more_ = !shows_more_;
  ImGui::SameLine();
  ImGui::BeginDisabled(static_cast<bool>(used_) || !preview_.trouble().empty());
  if (draw_button(frame, "export.copy_image", "Copy image", nullptr, third))
    use_figure(frame.state, FigureUse::CopyImage, directory);
  ImGui::SameLine();
  if (draw_button(frame, "export.copy_text", "Copy text", nullptr, third))
    use_figure(frame.state, FigureUse::CopyText, directory);
  const std::string label = fmt::format("Save {}###save", name_.empty() ? proposed_name(frame.state) : name_);
  push_accent(frame.ui.theme());
  const bool is_clicked = ImGui::Button(label.c_str(), {-1.0F, 0.0F});
  mark_last_item(frame, "export.save");
  ImGui::PopStyleColor(3);
  ImGui::EndDisabled();
  const bool is_pressed = frame.ui.is_pressed(shell::Key::Enter) || frame.ui.is_pressed(shell::Key::Enter, shell::kControl);
  const bool is_fresh = is_pressed && ImGui::GetTime() - entered_s_ > kHeld_s;
  if (is_pressed) entered_s_ = ImGui::GetTime();
  if (is_clicked || (is_fresh && !used_ && preview_.trouble().empty())) use_figure(frame.state, FigureUse::Save, directory);
}

void ExportDialog::draw_figure_page(Frame& frame, Settings& settings, const DrawView& draw_view) {
  const float line = ImGui::GetFrameHeightWithSpacing();
  const float height = std::clamp(frame.ui.size().y - kBesideFigure, 280.0F, kMostHeight);
  const float width = ImGui::GetContentRegionAvail().x - kColumnWidth - 2.0F * ImGui::GetStyle().ItemSpacing.x;
  ImGui::BeginGroup();
  std::string trouble;
  WantedFigure wanted;
  try {
    wanted = wanted_figure(frame, draw_view);
  } catch (const std::exception& error) {
    trouble = error.what();
  }
  // In a window of its own: the dialog's commands may not end in the callback that draws an image (Dear ImGui dims what is
  // behind them), as they would where all else is out of sight while the dialog grows.
  ImGui::BeginChild("figure", {width, height - line}, false, ImGuiWindowFlags_NoBackground);
  preview_.draw(frame, engine_, wanted, {width, height - line}, trouble);
  ImGui::EndChild();
  const PreviewedFigure* shown = preview_.figure();
  const std::string note = shown != nullptr ? shown->drawing->note() : std::string();
  const std::string size = shown != nullptr ? size_in_words(*shown->drawing) : std::string(" ");
  draw_label(frame, (size + (note.empty() ? "" : "; ") + note).c_str());
  mark_last_item(frame, "export.figure_size", "On paper, and as a PNG. A click on the figure shows it in its own size.");
  ImGui::EndGroup();
  ImGui::SameLine(0.0F, 2.0F * ImGui::GetStyle().ItemSpacing.x);
  ImGui::BeginGroup();
  ImGui::BeginChild("settings", {kColumnWidth, height - 3.0F * line}, false, ImGuiWindowFlags_NoBackground);
  Form form(frame, typed_, "export");
  if (shows_more_) {
    draw_more(frame, form, settings.export_directory);
  } else {
    draw_page_group(frame, form);
    draw_look_groups(frame, form);
    draw_file_group(frame, form);
  }
  ImGui::EndChild();
  draw_progress(frame);
  draw_figure_buttons(frame, settings.export_directory);
  ImGui::EndGroup();
}

void ExportDialog::draw(Frame& frame, Settings& settings, const DrawView& draw_view) {
  take_end_of_job();
  const bool was_open = is_open_;
  {
    const Dialog dialog(frame, "Export", is_open_, kFigureWidth);
    if (std::exchange(is_to_close_, false)) {
      is_open_ = false;
    } else if (dialog.is_visible() && folders_.is_open()) {
      const float height = std::clamp(frame.ui.size().y - 220.0F, 120.0F, 420.0F);
      if (const std::optional<std::filesystem::path> chosen = folders_.draw(frame, height)) {
        typed_directory_ = chosen->string();
      }
    } else if (dialog.is_visible()) {
      if (wanted_use_) use_figure(frame.state, *wanted_use_, settings.export_directory);
      draw_figure_page(frame, settings, draw_view);
    }
    if (!is_open_ && dialog.is_visible()) ImGui::CloseCurrentPopup();
  }
  if (is_open_) return;
  folders_.close();
  if (!was_open) return;
  wanted_use_.reset();
  settings.figure_look = to_text(describe_look(figure_), -1);
  if (!job_ && !used_ && is_outcome_seen_) outcome_ = {};
}

}  // namespace headlight::app
