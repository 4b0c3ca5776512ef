#include "app/dialogs/export_dialog.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <span>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include "app/exports/names.h"
#include "app/exports/size.h"
#include "app/quantities/shown_map.h"
#include "app/shell/desktop.h"
#include "app/state/opened_file.h"
#include "app/widgets/dialog.h"
#include "app/widgets/form.h"
#include "app/widgets/ink.h"
#include "app/widgets/size_text.h"
#include "core/error.h"

namespace headlight::app {
namespace {

constexpr std::array<const char*, 3> kReaches = {"This head", "This layer", "All"};
constexpr std::array kFormats = {ExportFormat::Png, ExportFormat::Svg,  ExportFormat::Csv,
                                 ExportFormat::Npy, ExportFormat::Json, ExportFormat::Tiles};
constexpr std::size_t kHidden = attention::kStages, kLogits = kHidden + 1, kNpy = 3;
static_assert(kFormats[kNpy] == ExportFormat::Npy);
constexpr float kRoomForAll = 720.0F;  // in a lower window the buttons go first
constexpr std::size_t kNamesShown = 200, kNamesInTooltip = 20;

std::string_view matrix_name(std::size_t i) {
  if (i == kHidden) return "hidden";
  return i == kLogits ? "logits" : to_string(static_cast<attention::Stage>(i));
}

/// Whether one of the formats is an image.
bool writes_figures(std::span<const ExportFormat> formats) {
  return std::ranges::any_of(formats, [](ExportFormat f) { return f == ExportFormat::Png || f == ExportFormat::Svg; });
}

/// A folder of this program's own for what only passes through.
std::filesystem::path passing_folder() {
  return std::filesystem::temp_directory_path() / fmt::format("headlight-{}", getpid());
}

/// Buttons that stay pressed, side by side, wrapped where the line ends.
template <typename Names>
void draw_switches(Frame& frame, const char* prefix, const Names& names, std::span<bool> are_on) {
  const shell::Theme& theme = frame.ui.theme();
  const Ink ink(frame.ui.fonts().small, theme.text);
  const float left = ImGui::GetCursorPosX();
  const float right = left + ImGui::GetContentRegionAvail().x;
  float x = left;
  for (std::size_t i = 0; i < are_on.size(); ++i) {
    const std::string name(names(i));
    const float width = ImGui::CalcTextSize(name.c_str()).x + 2.0F * ImGui::GetStyle().FramePadding.x;
    if (i > 0 && x + width <= right) ImGui::SameLine(x, 0.0F);
    if (i > 0 && x + width > right) ImGui::SetCursorPosX(x = left);
    const bool is_on = are_on[i];
    if (is_on) {
      ImGui::PushStyleColor(ImGuiCol_Button, theme.accent);
      ImGui::PushStyleColor(ImGuiCol_ButtonHovered, theme.accent_hover);
      ImGui::PushStyleColor(ImGuiCol_Text, theme.text_on_accent);
    }
    if (ImGui::Button(name.c_str(), {width, 0.0F})) are_on[i] = !are_on[i];
    mark_last_item(frame, fmt::format("export.{}.{}", prefix, name));
    if (is_on) ImGui::PopStyleColor(3);
    x += width + 6.0F;
  }
}

/// Between groups of controls, where the window has room for it.
void draw_gap(const Frame& frame) {
  if (frame.ui.size().y >= kRoomForAll) ImGui::Spacing();
}

void draw_label(Frame& frame, const char* text) {
  const Ink ink(frame.ui.fonts().small, frame.ui.theme().text_dim);
  ImGui::TextUnformatted(text);
}

Notice outcome_of(const Result<ExportReport>& result) {
  if (!result) return {.text = result.error(), .is_warning = true};
  const std::size_t count = result->files.size();
  std::string text = fmt::format("{} file{}", count, count == 1 ? "" : "s");
  if (count > 0) text += " in " + result->files.front().parent_path().string();
  for (const std::string& note : result->notes) text += "; " + note;
  return {.text = std::move(text)};
}

/// "3 files · 1.2 M numbers · about 4.6 MiB"; without the size where there is nothing to write.
std::string size_in_words(const ExportOptions& options, std::size_t files, const EngineResult& result) {
  std::string text = fmt::format("{} file{}", files, files == 1 ? "" : "s");
  if (files == 0 || !result.network || !result.input) return text;
  try {
    const RunShapes run{.blocks = result.blocks, .shapes = result.shapes};
    const std::vector<ExportBlocks> plan = select_blocks(run, *result.network, options);
    const ExportSize size = export_size(options, plan, *result.network, *result.input);
    return text + fmt::format(" \u00B7 {} numbers \u00B7 about {}", short_count(size.numbers), short_bytes(size.bytes));
  } catch (const Error&) {
    return text;  // the export will say why
  }
}

/// The head that the big map shows, or the mean of several.
void select_shown(const Selection& selection, ExportOptions& options) {
  options.mean = selection.mean;
  if (selection.mean == HeadMean::None) options.head = selection.head;
  if (selection.mean == HeadMean::Kind) options.layer.reset();
}

/// What weights are shown as, and the ends of the window's colour bars; those of weights are of absolute ones.
void take_ranges(const ViewChoices& view, ExportOptions& options) {
  options.weighs_values = view.weighs_values;
  options.color_spread = view.color_spread;
  options.color_limits = view.color_limits;
  if (options.is_row_normalized) options.color_limits.erase(attention::Stage::Weights);
}

}  // namespace

ExportDialog::ExportDialog(RunnerFactory open_runner, std::function<void()> wake)
    : open_runner_(std::move(open_runner)), wake_(std::move(wake)) {
  matrices_[static_cast<std::size_t>(attention::Stage::Weights)] = true;
  formats_[0] = true;
}

void ExportDialog::propose(const ExportContents& contents) {
  if (proposed_ == contents) return;
  proposed_ = contents;
  matrices_ = {};
  for (const attention::Stage stage : contents.stages) matrices_[static_cast<std::size_t>(stage)] = true;
  matrices_[kHidden] = contents.hidden;
  matrices_[kLogits] = contents.logits;
  if (contents.hidden || contents.logits) formats_[kNpy] = true;  // the only one that holds them
}

bool ExportDialog::has_choice() const {
  const auto is_on = [](bool is_chosen) { return is_chosen; };
  if (std::any_of(matrices_.begin(), matrices_.begin() + kHidden, is_on)) return std::ranges::any_of(formats_, is_on);
  return (matrices_[kHidden] || matrices_[kLogits]) && formats_[kNpy];
}

void ExportDialog::open(const ViewChoices& view, const ExportContents& contents) {
  if (is_open_) return;
  is_open_ = true;
  propose(contents);
  const FigureChoices shown = figure_choices(view);
  figure_.color_map = shown.color_map;
  figure_.is_row_normalized = shown.is_row_normalized;
}

void ExportDialog::copy_figure(const State& state, const Transient& transient, const EngineResult& result,
                               const std::string& device) {
  if (job_ || result.run == 0) return;
  ExportOptions wanted = options(state, transient, result);
  if (!is_open_) wanted.queries = wanted.keys = std::nullopt;
  static_cast<ExportContents&>(wanted) = {.stages = {shown_stage(state)}};
  wanted.formats = {ExportFormat::Png};
  wanted.kind = state.selection.block.kind;
  wanted.layer = state.selection.block.layer.value;
  select_shown(state.selection, wanted);
  wanted.batch = state.selection.batch;
  if (!is_open_) apply(figure_choices(state.view), wanted);
  take_ranges(state.view, wanted);
  wanted.is_dark = state.view.theme != Theme::Light;
  wanted.directory = passing_folder();
  is_copying_ = true;
  outcome_ = {};
  job_ = std::make_unique<ExportJob>(open_runner_, device, wanted, wake_, [folder = wanted.directory](ExportReport& report) {
    const std::filesystem::path figure = report.files.front();
    report.files.clear();
    std::string trouble;
    try {
      shell::copy_image(figure);
    } catch (const Error& error) {
      trouble = error.what();
    }
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
    if (!trouble.empty()) throw Error("{}", trouble);
  });
}

Result<MapPart> ExportDialog::part(const State& state, const Transient& transient, const EngineResult& result) const {
  BlockShapes written;
  for (const auto& [block, shape] : result.shapes) {
    const bool is_written = reach_ == Reach::Everything || block == state.selection.block;
    if (is_written) written[block] = shape;
  }
  return chosen_part(region_, transient, written);
}

ExportOptions ExportDialog::options(const State& state, const Transient& transient, const EngineResult& result) const {
  ExportOptions options;
  if (const Result<MapPart> chosen = part(state, transient, result)) {
    options.queries = chosen->queries;
    options.keys = chosen->keys;
  }
  options.inputs = inputs_on_screen(state, result);
  options.stages.clear();
  for (std::size_t i = 0; i < attention::kStages; ++i) {
    if (matrices_[i]) options.stages.push_back(static_cast<attention::Stage>(i));
  }
  options.hidden = matrices_[kHidden];
  options.logits = matrices_[kLogits];
  options.formats.clear();
  for (std::size_t i = 0; i < formats_.size(); ++i) {
    if (formats_[i]) options.formats.push_back(kFormats[i]);
  }
  if (reach_ != Reach::Everything) {
    options.kind = state.selection.block.kind;
    options.layer = state.selection.block.layer.value;
  }
  if (reach_ == Reach::ThisHead) {
    select_shown(state.selection, options);
    options.batch = state.selection.batch;
  }
  options.row_names = state.view.row_names;
  apply(figure_, options);
  take_ranges(state.view, options);
  return options;
}

void ExportDialog::begin(const Frame& frame, const std::string& device, std::string& directory) {
  try {
    ExportOptions wanted = options(frame.state, frame.transient, frame.result);
    wanted.directory = expand_home(typed_directory_);
    job_ = std::make_unique<ExportJob>(open_runner_, device, std::move(wanted), wake_);
    is_copying_ = false;
    directory = typed_directory_;
    outcome_ = {};
  } catch (const Error& error) {
    outcome_ = {.text = error.what(), .is_warning = true};
  }
}

void ExportDialog::take_end_of_job() {
  if (!job_ || !job_->is_done()) return;
  outcome_ = outcome_of(job_->result());
  if (is_copying_ && !outcome_.is_warning) outcome_.text = "The figure is on the clipboard.";
  is_outcome_seen_ = false;
  job_.reset();
}

void ExportDialog::draw_choices(Frame& frame) {
  NumberBeingTyped no_numbers;
  Form form(frame, no_numbers, "export");
  int reach = static_cast<int>(reach_);
  std::array<const char*, 3> reaches = kReaches;
  if (frame.state.selection.mean != HeadMean::None) reaches[0] = "This mean";
  if (form.segments("reach", "What", reaches, reach)) reach_ = static_cast<Reach>(reach);
  draw_region_form(frame, form, region_, part(frame.state, frame.transient, frame.result));
  draw_gap(frame);
  draw_label(frame, "Matrices");
  draw_switches(frame, "stage", &matrix_name, matrices_);
  draw_gap(frame);
  draw_label(frame, "Formats");
  draw_switches(
      frame, "format", [](std::size_t i) { return to_string(kFormats[i]); }, formats_);
  draw_gap(frame);
  if (writes_figures(options(frame.state, frame.transient, frame.result).formats)) draw_figure_form(frame, typed_, figure_);
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
  const bool browses = ImGui::Button("Browse");
  mark_last_item(frame, "export.browse");
  ImGui::SameLine();
  const bool shows = ImGui::Button("Open folder");
  mark_last_item(frame, "export.open_folder");
  if (!browses && !shows) return;
  try {
    const std::filesystem::path folder = expand_home(typed_directory_);
    if (browses) folders_.open(folder);
    if (!shows) return;
    if (!std::filesystem::is_directory(folder)) throw Error("{} isn't there yet: the export makes it", folder.string());
    shell::show_folder(folder);
  } catch (const std::exception& error) {
    outcome_ = {.text = error.what(), .is_warning = true};
  }
}

void ExportDialog::draw_names(Frame& frame) {
  const ExportOptions wanted = options(frame.state, frame.transient, frame.result);
  const std::vector<std::string> names =
      export_names(wanted, frame.result.blocks, frame.result.shapes, frame.result.network.get());
  draw_gap(frame);
  draw_label(frame, size_in_words(wanted, names.size(), frame.result).c_str());
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
  const float height = std::clamp(frame.ui.size().y - 560.0F, 56.0F, 112.0F);  // the rest must fit a small window
  ImGui::BeginChild("names", {0.0F, height}, true);
  {
    const Ink ink(frame.ui.fonts().mono_small, frame.ui.theme().text_dim);
    for (std::size_t i = 0; i < std::min(names.size(), kNamesShown); ++i) ImGui::TextUnformatted(names[i].c_str());
    if (names.size() > kNamesShown) ImGui::TextUnformatted(fmt::format("and {} more", names.size() - kNamesShown).c_str());
  }
  ImGui::EndChild();
  ImGui::PopStyleColor();
}

void ExportDialog::draw_progress(Frame& frame) {
  draw_gap(frame);
  if (job_) {
    const ExportProgress progress = job_->progress();
    const float total = static_cast<float>(std::max<std::size_t>(progress.total, 1));
    const std::string text =
        progress.total == 0 ? "Computing\u2026" : fmt::format("{} of {}", progress.done, progress.total);
    ImGui::ProgressBar((static_cast<float>(progress.done) + static_cast<float>(progress.share)) / total, {-1.0F, 0.0F},
                       text.c_str());
    return;
  }
  if (!outcome_.is_shown()) return;
  const shell::Theme& theme = frame.ui.theme();
  const Ink ink(frame.ui.fonts().body, outcome_.is_warning ? theme.warning : theme.text);
  ImGui::PushTextWrapPos(0.0F);
  ImGui::TextUnformatted(outcome_.text.c_str());
  ImGui::PopTextWrapPos();
  frame.mark("export.outcome", last_item_rect());
  is_outcome_seen_ = true;
}

void ExportDialog::draw_buttons(Frame& frame, const std::string& device, std::string& directory) {
  draw_gap(frame);
  constexpr float kFieldWidth = 96.0F;
  const float right =
      ImGui::GetCursorPosX() + ImGui::GetContentRegionAvail().x - 2.0F * kFieldWidth - ImGui::GetStyle().ItemSpacing.x;
  ImGui::BeginDisabled(job_ != nullptr);
  const bool copies = ImGui::Button("Copy figure");
  mark_last_item(frame, "export.copy_figure");
  ImGui::EndDisabled();
  ImGui::SameLine(right);
  if (ImGui::Button(job_ ? "Hide" : "Close", {kFieldWidth, 0.0F})) is_open_ = false;
  mark_last_item(frame, "export.close");
  ImGui::SameLine();
  if (copies) copy_figure(frame.state, frame.transient, frame.result, device);
  if (job_) {
    if (ImGui::Button("Cancel", {kFieldWidth, 0.0F})) job_->cancel();
    mark_last_item(frame, "export.cancel");
    return;
  }
  const shell::Theme& theme = frame.ui.theme();
  ImGui::BeginDisabled(!has_choice() || !part(frame.state, frame.transient, frame.result));
  ImGui::PushStyleColor(ImGuiCol_Button, theme.accent);
  ImGui::PushStyleColor(ImGuiCol_ButtonHovered, theme.accent_hover);
  ImGui::PushStyleColor(ImGuiCol_Text, theme.text_on_accent);
  if (ImGui::Button("Export", {kFieldWidth, 0.0F})) begin(frame, device, directory);
  mark_last_item(frame, "export.start");
  ImGui::PopStyleColor(3);
  ImGui::EndDisabled();
}

void ExportDialog::draw(Frame& frame, const std::string& device, std::string& directory) {
  take_end_of_job();
  if (is_open_ && typed_directory_.empty()) typed_directory_ = directory.empty() ? "~/headlight" : directory;
  const bool was_open = is_open_;
  {
    const Dialog dialog(frame, "Export", is_open_, 600.0F);
    if (dialog.is_visible() && folders_.is_open()) {
      const float height = std::clamp(frame.ui.size().y - 220.0F, 120.0F, 420.0F);
      if (const std::optional<std::filesystem::path> chosen = folders_.draw(frame, height)) {
        typed_directory_ = chosen->string();
      }
    } else if (dialog.is_visible()) {
      ImGui::BeginDisabled(job_ != nullptr);
      draw_choices(frame);
      draw_folder(frame);
      draw_names(frame);
      ImGui::EndDisabled();
      draw_progress(frame);
      draw_buttons(frame, device, directory);
      if (!is_open_) ImGui::CloseCurrentPopup();
    }
  }
  if (is_open_) return;
  folders_.close();
  if (was_open && !job_) outcome_ = {};
}

std::string ExportDialog::status() const {
  if (!job_) return {};
  if (is_copying_) return "Drawing the figure for the clipboard";
  const ExportProgress progress = job_->progress();
  return fmt::format("Exporting {} of {}", std::min(progress.done + 1, progress.total), progress.total);
}

std::optional<Notice> ExportDialog::take_result() {
  if (is_open_) return std::nullopt;
  take_end_of_job();
  if (is_outcome_seen_) return std::nullopt;
  is_outcome_seen_ = true;
  return std::exchange(outcome_, {});
}

void ExportDialog::wait() const {
  using namespace std::chrono_literals;
  while (is_running()) std::this_thread::sleep_for(2ms);
}

}  // namespace headlight::app
