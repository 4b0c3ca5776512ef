#include "app/window/dialogs/export_dialog.h"

#include <imgui.h>
#include <nlohmann/json.hpp>

#include "app/engine/analyses/head_metric_text.h"
#include "app/figures/figure_kind.h"
#include "app/shapes/quantities/tile_query.h"
#include "app/state/json_reader.h"
#include "app/state/model_changes.h"
#include "app/state/opened_file.h"
#include "app/state/session_file.h"
#include "core/error.h"
#include "core/file.h"
#include "core/json.h"
#include "platform/process.h"

namespace headlight::app {
namespace {

constexpr auto kNpy = static_cast<std::size_t>(ExportFormat::Npy);
constexpr std::array kFigureFormats = {exporting::DrawingFormat::Pdf, exporting::DrawingFormat::Svg,
                                       exporting::DrawingFormat::Png};
constexpr std::array kEndings = {".pdf", ".svg", ".png"};

Task<UsedFigure> use(std::shared_ptr<const exporting::Drawing> figure, FigureUse use, std::string session,
                     std::filesystem::path path) {
  co_await read_nothing();
  exporting::DrawingOutput output = figure->output();
  if (!session.empty()) output.session = std::move(session);
  const auto encoded = [&](exporting::DrawingFormat format) {
    return exporting::encode(figure->size(), output, format, [&](exporting::Canvas& canvas) { figure->draw(canvas); });
  };
  UsedFigure done{.use = use, .text = {}};
  if (use == FigureUse::CopyText) {
    done.text = figure->text();
  } else if (use == FigureUse::CopyImage) {
    const PassingFolder folder;
    const std::filesystem::path image = folder.path() / "figure.png";
    write_file_atomically(image, encoded(exporting::DrawingFormat::Png));
    if (const std::string trouble = platform::copy_image(image); !trouble.empty()) throw Error("{}", trouble);
    done.text = "The figure is on the clipboard.";
  } else {
    std::error_code ignored;
    done.text = fmt::format("{} {}", std::filesystem::exists(path, ignored) ? "Replaced" : "Saved", utf8(path));
    if (path.has_parent_path()) make_directories(path.parent_path());
    write_file_atomically(path, encoded(*exporting::drawing_format(path)));
    for (const std::string& note : exporting::notes_of(*figure)) done.text += "; " + note;
  }
  co_return done;
}

/// Takes the looks that were saved, as far as they are sound.
void read_saved(const std::string& look, Choices& figure) {
  if (look.empty()) return;
  try {
    Choices saved = figure;
    const nlohmann::json object = parse_json(look).value();
    read_look(JsonReader(object, "figure_look"), saved);
    figure = saved.set(kFigureLook.title, "");
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): another program's look isn't this one's
  }
}

Notice outcome_of(const Asked<ExportJob>& job) {
  if (!job.error().empty()) return {.text = job.error(), .is_warning = true};
  const ExportReport& report = job.result()->report;
  const std::size_t count = report.files.size();
  std::string text = counted(count, "file");
  if (count > 0) text += " in " + utf8(report.files.front().parent_path());
  for (const std::string& note : report.notes) text += "; " + note;
  return {.text = std::move(text)};
}

/// The head that the big map shows, or the mean of several.
void select_shown(const Selection& selection, ExportOptions& options) {
  options.mean = selection.mean;
  if (selection.mean == HeadMean::None) options.heads = selection.head;
  if (selection.mean == HeadMean::Kind) options.layers.reset();
}

}  // namespace

ExportDialog::ExportDialog(Engine& engine) : engine_(engine) {
  matrices_[static_cast<std::size_t>(attention::Stage::Weights)] = true;
  formats_[0] = true;
  for (std::size_t i = 0; i < figure_kinds().size(); ++i) {
    views_.at(i) = figure_kinds()[i] == &kHeadFigure || figure_kinds()[i] == &kHeadsFigure;
  }
}

void ExportDialog::propose(const ExportContents& contents) {
  if (proposed_ == contents) return;
  proposed_ = contents;
  matrices_ = {};
  for (const attention::Stage stage : contents.stages) matrices_[static_cast<std::size_t>(stage)] = true;
  matrices_[kHiddenStates] = contents.hidden;
  matrices_[kLogitNumbers] = contents.logits;
  if ((contents.hidden || contents.logits) && !std::ranges::any_of(chosen_formats(), holds_arrays)) formats_[kNpy] = true;
}

std::vector<ExportFormat> ExportDialog::chosen_formats() const {
  std::vector<ExportFormat> chosen;
  for (std::size_t i = 0; i < formats_.size(); ++i) {
    if (formats_[i]) chosen.push_back(static_cast<ExportFormat>(i));
  }
  return chosen;
}

bool ExportDialog::writes_other_figures(const State& state, const EngineResult& result) const {
  return std::ranges::any_of(chosen_formats(), is_figure) &&
         std::ranges::any_of(chosen_kinds(state, result), [](const FigureKind* kind) { return !kind->is_of_stages; });
}

bool ExportDialog::has_choice(const State& state, const EngineResult& result) const {
  const auto is_on = [](bool is_chosen) { return is_chosen; };
  if (writes_other_figures(state, result)) return true;
  const bool has_matrix = std::any_of(matrices_.begin(), matrices_.begin() + kHiddenStates, is_on);
  if (has_matrix || matrices_[kNormNumbers]) return std::ranges::any_of(formats_, is_on);
  return (matrices_[kHiddenStates] || matrices_[kLogitNumbers]) && std::ranges::any_of(chosen_formats(), holds_arrays);
}

bool ExportDialog::has_stage(const EngineResult& result, attention::Stage stage) {
  return std::ranges::any_of(result.shapes, [&](const auto& block) { return block.second.extent(stage).has_value(); });
}

bool ExportDialog::has_baseline(const State& state, const EngineResult& result) {
  return state.compare.baseline && result.baseline_error.empty();
}

std::span<const FigureKind* const> ExportDialog::offered_kinds(const State& state, const EngineResult& result) {
  return figure_kinds().first(figure_kinds().size() - kFiguresOfViews - (has_baseline(state, result) ? 0 : 1));
}

std::vector<const FigureKind*> ExportDialog::chosen_kinds(const State& state, const EngineResult& result) const {
  std::vector<const FigureKind*> kinds;
  for (std::size_t i = 0; i < offered_kinds(state, result).size(); ++i) {
    if (views_.at(i)) kinds.push_back(figure_kinds()[i]);
  }
  return kinds;
}

void ExportDialog::open(const State& state, const ExportContents& contents, const Settings& settings) {
  if (is_open_) return;
  is_open_ = true;
  if (typed_directory_.empty()) typed_directory_ = settings.export_directory;
  if (typed_directory_.empty()) typed_directory_ = "~/headlight";
  if (std::exchange(proposed_view_, state.view.tab) != state.view.tab)
    kind_ = state.view.tab == kHeadFigure.id ? &kHeadFigure : nullptr;
  name_.clear();
  drawing_.reset();
  drawn_of_ = {};
  entered_s_ = ImGui::GetTime();
  session_ = portable_state(state, typed_directory_);
  read_saved(settings.figure_look, figure_);
  const float width_mm = figure_[kFigureDetails.width_mm];
  is_width_free_ = width_mm != kColumn_mm && width_mm != kPage_mm;
  if (is_width_free_) free_width_mm_ = width_mm;
  matrices_[kNormNumbers] = state.view.weighs_values;
  propose(contents);
  writes_differences_ = state.compare.baseline && state.compare.shows_difference;
  take_look(state, figure_);
}

void ExportDialog::copy_figure(const State& state, const Transient& transient, const EngineResult& result) {
  if (job_ || result.run == 0) return;
  ExportOptions wanted = figure_options(kHeadFigure, state, transient, result);
  if (!is_open_) wanted.queries = wanted.keys = std::nullopt;
  const auto folder = std::make_shared<const PassingFolder>();
  wanted.directory = folder->path();
  wanted.session = portable_state(state, wanted.directory);
  is_copying_ = true;
  outcome_ = {};
  job_ = export_in_background(engine_, wanted, [folder](ExportReport& report) {
    const std::string trouble = platform::copy_image(report.files.front());
    report.files.clear();
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
    const bool is_of_norms = static_cast<attention::Stage>(i) == attention::Stage::Weights && matrices_[kNormNumbers];
    if ((matrices_[i] && has_stage(result, static_cast<attention::Stage>(i))) || is_of_norms)
      options.stages.push_back(static_cast<attention::Stage>(i));
  }
  options.hidden = matrices_[kHiddenStates];
  options.logits = matrices_[kLogitNumbers];
  options.formats = chosen_formats();
  if (reach_ != Reach::Everything) {
    options.kind = state.selection.block.kind;
    options.layers = state.selection.block.layer.value;
  }
  if (reach_ == Reach::ThisHead) {
    select_shown(state.selection, options);
    options.batch = state.selection.batch;
  }
  options.views = chosen_kinds(state, result);
  if (has_baseline(state, result)) {
    options.writes_differences = is_open_ ? writes_differences_ : state.compare.shows_difference;
    const bool has_pair = std::ranges::find(options.views, &kPairFigure) != options.views.end();
    if (options.writes_differences || has_pair) options.baseline = *state.compare.baseline;
  }
  options.choice = figure_choice(state);
  if (is_open_) static_cast<Choices&>(options) = figure_;
  if (!is_open_) take_look(state, options);
  options.weighs_values = matrices_[kNormNumbers];
  if (!writes_difference(options)) options.color_limits = state.view.color_limits;  // those are of one run
  if (options[kFigureLook.is_row_normalized]) options.color_limits.erase(attention::Stage::Weights);
  return options;
}

ExportOptions ExportDialog::figure_options(const FigureKind& kind, const State& state, const Transient& transient,
                                           const EngineResult& result) const {
  ExportOptions wanted = options(state, transient, result);
  static_cast<ExportContents&>(wanted) = {.stages = {shown_stage(state)}};
  wanted.formats = {ExportFormat::Png};
  wanted.views = {&kind};
  wanted.mean = HeadMean::None;
  wanted.kind = state.selection.block.kind;
  wanted.batch = state.selection.batch;
  wanted.layers.reset();
  wanted.heads.reset();
  if (kind.scope == FigureScope::Attention && !layers_.empty()) wanted.layers = parse_index_set("layers", layers_);
  if (kind.scope != FigureScope::Attention) wanted.layers = state.selection.block.layer.value;
  if (kind.scope != FigureScope::Head && !heads_.empty()) wanted.heads = parse_index_set("heads", heads_);
  if (kind.scope == FigureScope::Head && (kind.takes_means || state.selection.mean == HeadMean::None))
    select_shown(state.selection, wanted);
  if (kind.scope == FigureScope::Head && wanted.mean == HeadMean::None) wanted.heads = state.selection.head;
  wanted.weighs_values = kind.takes_norms && state.view.weighs_values;
  if (&kind != &kPairFigure && !(kind.takes_differences && writes_difference(wanted))) wanted.baseline.reset();
  if (&kind == &kPairFigure && has_baseline(state, result)) wanted.baseline = *state.compare.baseline;
  if (!kind.takes_parts) {
    wanted.queries.reset();
    wanted.keys.reset();
  }
  return wanted;
}

WantedFigure ExportDialog::wanted_figure(Frame& frame, const DrawView& draw_view) {
  const auto format = kFigureFormats.at(static_cast<std::size_t>(format_));
  WantedFigure wanted{.kind = kind_, .view = frame.state.view.tab, .format = format};
  static_cast<Choices&>(wanted.options) = figure_;
  if (kind_ != nullptr) {
    wanted.options = figure_options(*kind_, frame.state, frame.transient, frame.result);
    if (has_session_) wanted.options.session = session_;
    return wanted;
  }
  const EngineResult& result = frame.result;
  const std::array<std::uint64_t, 4> of = {
      result.run, result.revision, result.progress.done,
      result.tiles.size() + result.predictions.size() + result.analyses.size() + (result.has_all_tiles ? 1 : 0)};
  if (std::exchange(drawn_of_, of) != of) {
    drawing_.reset();
    view_trouble_.clear();
    try {
      drawing_ = draw_view();
    } catch (const Error& error) {
      view_trouble_ = error.what();
    }
  }
  if (!view_trouble_.empty()) throw Error("{}", view_trouble_);
  wanted.drawing = drawing_;
  return wanted;
}

std::string ExportDialog::proposed_name(const State& state) const {
  const Selection& selection = state.selection;
  std::string head = selection.mean == HeadMean::None   ? head_name(selection.head_ref())
                     : selection.mean == HeadMean::Kind ? "mean"
                                                        : fmt::format("L{} mean", selection.block.layer.value);
  std::erase(head, ' ');
  std::string name = state.view.tab;
  if (kind_ != nullptr && kind_->scope == FigureScope::Attention) name = kind_->id;
  if (kind_ != nullptr && kind_->scope == FigureScope::Layer)
    name = fmt::format("L{} {}", selection.block.layer.value, kind_->id);
  if (kind_ != nullptr && kind_->scope == FigureScope::Head)
    name = kind_ == &kHeadFigure ? head : fmt::format("{} {}", head, kind_->id);
  return name + kEndings.at(static_cast<std::size_t>(format_));
}

void ExportDialog::use_figure(const State& state, FigureUse what, std::string& directory) {
  wanted_use_ = what;
  const PreviewedFigure* shown = preview_.figure();
  if (shown == nullptr || used_) return;
  wanted_use_.reset();
  try {
    const std::filesystem::path folder = expand_home(typed_directory_);
    if (what == FigureUse::Save) directory = typed_directory_;
    std::filesystem::path path = folder / (name_.empty() ? proposed_name(state) : name_);
    if (!exporting::drawing_format(path)) path += kEndings.at(static_cast<std::size_t>(format_));
    const bool is_view = kind_ == nullptr && has_session_;
    std::string session = is_view ? portable_session(state, folder) : std::string();
    used_ =
        engine_.ask<UsedFigure>([drawing = shown->drawing, what, session, path](const AskedFor<UsedFigure>::Tell& /*tell*/) {
          return use(drawing, what, session, path);
        });
    outcome_ = {};
  } catch (const Error& error) {
    outcome_ = {.text = error.what(), .is_warning = true};
  }
}

void ExportDialog::begin(const Frame& frame, std::string& directory) {
  try {
    ExportOptions wanted = options(frame.state, frame.transient, frame.result);
    wanted.directory = expand_home(typed_directory_);
    wanted.session = portable_state(frame.state, wanted.directory);
    job_ = export_in_background(engine_, std::move(wanted));
    is_copying_ = false;
    directory = typed_directory_;
    outcome_ = {};
  } catch (const Error& error) {
    outcome_ = {.text = error.what(), .is_warning = true};
  }
}

void ExportDialog::take_end_of_job() {
  if (used_.is_done()) {
    const std::shared_ptr<const UsedFigure> done = used_.result();
    outcome_ = {.text = used_.error(), .is_warning = true};
    if (used_.error().empty() && done) {
      outcome_ = {.text = done->text};
      is_to_close_ = done->use == FigureUse::Save;
      if (done->use == FigureUse::CopyText) {
        ImGui::SetClipboardText(done->text.c_str());
        outcome_.text = "The figure is on the clipboard, in words and numbers.";
      }
    }
    is_outcome_seen_ = false;
    used_ = {};
  }
  if (!job_.is_done()) return;
  outcome_ = outcome_of(job_);
  if (is_copying_ && !outcome_.is_warning) outcome_.text = "The figure is on the clipboard.";
  is_outcome_seen_ = false;
  job_ = {};
}

ExportProgress ExportDialog::progress() const {
  const std::shared_ptr<const ExportJob> job = job_.result();
  return job ? job->progress : ExportProgress();
}

std::string ExportDialog::status() const {
  if (used_ && !used_.is_done()) return "Writing the figure";
  if (!job_) return {};
  if (is_copying_) return "Drawing the figure for the clipboard";
  const ExportProgress progress = this->progress();
  return fmt::format("Exporting {} of {}", std::min(progress.done + 1, progress.total), progress.total);
}

std::optional<Notice> ExportDialog::take_result() {
  if (is_open_) return std::nullopt;
  take_end_of_job();
  if (is_outcome_seen_) return std::nullopt;
  is_outcome_seen_ = true;
  return std::exchange(outcome_, {});
}

}  // namespace headlight::app
