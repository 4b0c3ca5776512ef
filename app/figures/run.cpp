#include "app/engine/changed_runs.h"
#include "app/engine/compared_run.h"
#include "app/engine/runner.h"
#include "app/figures/export_plan.h"
#include "app/figures/figure_kind.h"
#include "app/state/run_interventions.h"
#include "capture/captured_run.h"
#include "core/error.h"
#include "core/file.h"
#include "core/json.h"

namespace headlight::app {
namespace {

using attention::Stage;

/// Numbers for the layout of figures alone: a sheet's panels have their size whatever they show.
std::uint32_t layout_edge(std::uint32_t most, std::size_t maps) { return maps > 1 ? std::min(most, 16U) : most; }

/// Does a figure show other layers than the chosen ones, or what the network makes of them?
bool needs_whole_network(const FigureKind& kind) {
  return &kind == &kModelFigure || &kind == &kMetricsFigure || &kind == &kPredictionsFigure;
}

bool writes_figures_of(const ExportOptions& options) { return std::ranges::any_of(options.formats, is_figure); }

/// Is anything of the layers' feed-forward written?
bool reads_feed_forward(const ExportOptions& options) {
  const std::vector<const FigureKind*> kinds = figure_kinds_of(options);
  const bool is_drawn = writes_figures_of(options) && std::ranges::find(kinds, &kStepsFigure) != kinds.end();
  return is_drawn || std::ranges::any_of(options.stages, [](Stage stage) { return stage > Stage::Attended; });
}

void expect_room(const FigureKind& kind, const exporting::Drawing& drawing, exporting::DrawingFormat format) {
  const double scale = drawing.output().png_scale;
  const double width = static_cast<double>(drawing.size().x), height = static_cast<double>(drawing.size().y);
  const double largest = exporting::largest_edge(format), longest = std::max(width, height);
  if (format == exporting::DrawingFormat::Png && longest * scale > largest) {
    const auto dpi = static_cast<int>(largest / longest * 96.0);
    const std::string finer = dpi < static_cast<int>(kMinDpi) ? std::string() : fmt::format("--dpi {} at most, or ", dpi);
    throw UsageError(
        "{}: a PNG of {:.0f} × {:.0f} pixels is too large, at most {:.0f} on each side; choose {}fewer --layers or "
        "--heads, or --format svg",
        kind.id, width * scale, height * scale, largest, finer);
  }
  if (format == exporting::DrawingFormat::Pdf && longest > largest) {
    throw UsageError(
        "{}: a page of {:.0f} × {:.0f} is too large for a PDF, at most {:.0f} on each side; choose fewer --layers or "
        "--heads, or --format svg",
        kind.id, width, height, largest);
  }
}

/// The shapes of a pass of the network, before there is one.
RunShapes shapes_before_run(const model::Network& network, const model::ModelInput& input) {
  RunShapes run{.blocks = network.blocks(), .shapes = {}, .input = &input};
  for (const model::BlockRef block : run.blocks)
    run.shapes[block] = inference::shape_of(network.layer(block), block.kind, input);
  return run;
}

/// The source's network, or the part of it that the export needs: where single layers are chosen and nothing is written of
/// what comes after them, those up to the last chosen one, and of that one the attention alone.
std::shared_ptr<const model::Network> needed_network(const RunSource::Source& source, const ExportOptions& options) {
  const model::Layers& layers = *source.network->layers;
  const bool is_of_layers = options.layers && options.mean != HeadMean::Kind && layers.decoder.empty();
  const bool writes_results = options.hidden || options.logits || options.baseline.has_value();
  const bool draws_whole =
      writes_figures_of(options) &&
      std::ranges::any_of(figure_kinds_of(options), [](const FigureKind* kind) { return needs_whole_network(*kind); });
  // An expression may ask how many layers there are.
  const bool asks = std::ranges::any_of(options.inputs.masks.by_kind, &attention::MaskSpec::has_expressions);
  const std::size_t count = is_of_layers ? options.layers->ranges().back().end : layers.encoder.size();
  if (!is_of_layers || writes_results || draws_whole || asks || count > layers.encoder.size()) return source.network;
  auto first = std::make_shared<model::Layers>(layers);
  first->encoder.resize(count);
  if (!reads_feed_forward(options)) {
    model::AttentionLayer& last = first->encoder.back();
    last.feed_forward.reset();
    last.experts.reset();
    last.feed_forward_norms = {};
    last.is_parallel = false;
  }
  first->encoder_norm.reset();
  first->unembedding.reset();
  auto network = std::make_shared<model::Network>(*source.network);
  network->layers = std::move(first);
  return network;
}

/// Throws UsageError where a figure will be larger than its format allows, naming what makes it smaller. `blocks`: of
/// select_blocks().
void expect_room_for_figures(const RunSource::Source& source, const ExportOptions& options,
                             const std::vector<ExportBlocks>& blocks) {
  if (!writes_figures_of(options)) return;
  FigureNumbers numbers{.edge = &layout_edge};
  for (const FigureKind* kind : figure_kinds_of(options)) {
    for (const ExportBlocks& selected : blocks) {
      if (kind->scope == FigureScope::Head || !kind->view.empty() || !figure_refusal(*kind, selected).empty()) continue;
      if (kind->is_of_stages && options.stages.empty()) continue;
      for (const ExportFormat format : options.formats) {
        if (!is_figure(format) || format == ExportFormat::Svg) continue;
        const auto as = format == ExportFormat::Png ? exporting::DrawingFormat::Png : exporting::DrawingFormat::Pdf;
        const Stage stage = kind->is_of_stages ? options.stages.front() : Stage::Weights;
        const std::vector<MatrixRef> figures = figures_of(*kind, selected, stage);
        if (figures.empty() || !selected.shape.extent(stage)) continue;
        const FigureSubject subject{
            .source = source, .blocks = selected, .matrix = figures.front(), .options = options, .format = as};
        const DrawingTask drawn = draw_figure(*kind, subject, numbers);  // reads nothing
        if (const auto drawing = drawn.is_done() ? drawn.answer() : nullptr) expect_room(*kind, *drawing, as);
      }
    }
  }
}

/// What the run leaves out of what was asked for.
std::vector<std::string> notes_of_run(const RunSource::Source& source, const ExportOptions& options) {
  std::vector<std::string> notes;
  const std::vector<model::BlockRef> there = source.network->blocks();
  for (const auto& [head, pattern] : options.inputs.patterns) {
    const bool is_there =
        std::ranges::find(there, head.first) != there.end() && head.second < source.network->layer(head.first).config.heads;
    if (is_there) continue;
    notes.push_back(fmt::format("the {} pattern of {} L{}H{} is left out: there is no such head",
                                attention::to_string(pattern.kind), model::to_string(head.first.kind),
                                head.first.layer.value, head.second));
  }
  std::ranges::move(changes_left_out(options.inputs, *source.network, *source.input), std::back_inserter(notes));
  if (source.capture && !source.capture->note().empty()) notes.push_back(source.capture->note());
  return notes;
}

/// The selected part of a run. A network's blocks are known before its run, which may be of its first layers alone; `run`: a
/// capture's.
std::vector<ExportBlocks> blocks_of(const RunSource::Source& source, const inference::Run* run,
                                    const ExportOptions& options) {
  return source.capture && run != nullptr
             ? select_blocks(*run, *source.network, options)
             : select_blocks(shapes_before_run(*source.network, *source.input), *source.network, options);
}

/// The files, of which there is one where the options name it, and what is left out.
ExportPlan plan_files(const RunSource::Source& source, const ExportOptions& options,
                      const std::vector<ExportBlocks>& blocks) {
  ExportPlan plan = plan_export(options, blocks, *source.network, *source.input);
  std::vector<std::string> notes = notes_of_run(source, options);
  plan.notes.insert(plan.notes.begin(), notes.begin(), notes.end());
  if (plan.files.empty()) throw Error("there is nothing to write: {}", plan.notes.front());
  if (options.file.empty()) return plan;
  if (plan.files.size() > 1) {
    throw UsageError(
        "--out {}: it would be {} files ({}, {}, \u2026); choose one by --layer, --head, --block, --batch or --views, "
        "or name a folder",
        options.file, plan.files.size(), plan.files[0].name, plan.files[1].name);
  }
  plan.files.front().name = options.file;
  return plan;
}

constexpr const char* kRecord = "run.json";

/// Files that run.json in this folder says earlier exports wrote, are there still, and aren't `written` anew.
std::set<std::string> earlier_files(const std::filesystem::path& folder, const std::set<std::string>& written) {
  std::set<std::string> earlier;
  std::error_code failure;
  const bool is_there = std::filesystem::is_regular_file(folder / kRecord, failure);
  const Result<nlohmann::json> record = parse_json(is_there ? read_file(folder / kRecord) : std::string());
  if (!record || !record->is_object()) return earlier;  // none, or it isn't an export's
  for (const char* member : {"files", "earlier"}) {
    for (const nlohmann::json& one : record->value(member, nlohmann::json::array())) {
      const std::string name = one.is_string() ? one.get<std::string>() : "";
      const bool is_plain = !name.empty() && std::filesystem::path(name).filename() == name;
      if (is_plain && !written.contains(name) && std::filesystem::exists(folder / name, failure)) earlier.insert(name);
    }
  }
  return earlier;
}

/// Of a file, or of all in a folder of tiles.
std::uint64_t bytes_on_disk(const std::filesystem::path& path) {
  std::error_code failure;
  if (!std::filesystem::is_directory(path)) {
    const std::uintmax_t size = std::filesystem::file_size(path, failure);
    return failure ? 0 : size;  // standard output's has no name
  }
  std::uint64_t sum = 0;
  for (const auto& entry : std::filesystem::directory_iterator(path)) sum += entry.file_size();
  return sum;
}

/// Notes what is odd about a capture's numbers besides weights; a window tells it of those that it shows.
Task<void> note_odd_numbers(ExportWork& work) {
  Reads reads;
  reads.visit = [&](const FoundRuns& found) {
    const auto* captured = dynamic_cast<const capture::CapturedRun*>(found.run.get());
    const std::string warning = captured != nullptr ? captured->warning() : "";
    if (!warning.empty()) work.notes.push_back(fmt::format("of the capture's rows that were read: {}", warning));
  };
  co_await std::move(reads);
}

}  // namespace

Task<ExportReport> write_export(const ExportOptions& options, ExportObserver observer) {
  ExportWork work{.options = options};
  Reads facts;
  facts.visit = [&](const FoundRuns& found) {
    work.source = found.source;
    if (found.baseline) work.baseline = found.baseline_source;
    work.baseline_input = found.baseline_input;
    work.subject = found.subject;
    work.evaluated = subject_of({.run = *found.run, .baseline = found.baseline.get()});
    work.device = found.device;
    work.blocks = blocks_of(found.source, found.run.get(), options);
  };
  co_await std::move(facts);
  // Files are planned first, so that progress knows how many there are.
  ExportPlan plan = plan_files(work.source, options, work.blocks);
  work.notes = std::move(plan.notes);
  make_directories(options.directory);
  ExportProgress progress;
  ExportReport report;
  work.checkpoint = [&](double share) {
    progress.share = share;
    if (observer && !observer(progress))
      throw Error(ErrorKind::Cancelled, "cancelled after {} of {} files", progress.done, progress.total);
  };
  const bool has_record = options.file.empty();
  if (has_record) {
    for (const std::string& name : plan.names(options)) work.files.insert(name);
    work.earlier = earlier_files(options.directory, work.files);
    if (!work.earlier.empty()) {
      work.notes.push_back(
          fmt::format("files of earlier exports that are in the folder too, named in run.json: {}", work.earlier.size()));
    }
    plan.files.push_back({.name = kRecord, .write = [](ExportWork& of, const std::filesystem::path& path) {
                            write_file_atomically(path, encode_run_record(of, of.arrays));
                            return written();
                          }});
  }
  progress.total = plan.files.size();
  for (const PlannedFile& file : plan.files) {
    if (!progress.file.empty()) ++progress.done;
    if (has_record && &file == &plan.files.back()) co_await note_odd_numbers(work);
    progress.file = file.name;
    work.checkpoint(0.0);
    co_await read_nothing();
    report.files.push_back(options.directory / file.name);
    co_await file.write(work, report.files.back());
    report.bytes.push_back(bytes_on_disk(report.files.back()));
  }
  if (!has_record) co_await note_odd_numbers(work);
  report.notes = std::move(work.notes);
  co_return report;
}

ExportReport run_export(Runner& runner, const ExportOptions& options, const ExportObserver& observer) {
  RunSource sources(options.models ? options.models : std::make_shared<ModelCache>());
  const RunSource::Source& source = sources.build(
      options.inputs,
      [&](const model::Network& network, const model::ModelInput& input) { runner.expect_room(network, input); });
  RunSource::Source computed = source;
  if (!source.capture) {
    const std::vector<ExportBlocks> blocks =
        select_blocks(shapes_before_run(*source.network, *source.input), *source.network, options);
    expect_room_for_figures(source, options, blocks);
    computed.network = needed_network(source, options);
  }
  if (source.model) {
    ExportProgress progress;
    runner.load(computed.network->layers, precision_of(options.inputs.source), [&](std::size_t done, std::size_t total) {
      progress.loaded_bytes = done;
      progress.bytes_to_load = total;
      return !observer || observer(progress);
    });
  }
  FoundRuns found;
  found.device = runner.device_name();
  found.take(compute_run(runner, computed, options.inputs, nullptr), source, options.inputs);
  if (options.baseline) {
    const RunInputs& inputs = options.baseline->inputs;
    ComparedRun compared;
    compared.update(inputs, {.inputs = options.inputs, .source = sources, .run = found.run}, runner);
    if (!compared.run()) throw Error("the runs can't be compared: {}", compared.refusal());
    RunSource source_of_other = sources;
    found.compare_with({.run = compared.itself(), .source = source_of_other.build(inputs)}, inputs);
  }
  ChangedRuns changes;
  return answer_at_once(write_export(options, observer), found,
                        [&](const Reads& reads, std::uint32_t line, std::size_t most) {
                          return changes.compute(runner, found, reads, line, most);
                        });
}

ExportReport plan_run(const ExportOptions& options) {
  RunSource sources(options.models ? options.models : std::make_shared<ModelCache>());
  const RunSource::Source& source = sources.build(options.inputs);
  const std::optional<capture::CapturedRun> captured =
      source.capture ? std::optional<capture::CapturedRun>(std::in_place, source.capture) : std::nullopt;
  const std::vector<ExportBlocks> blocks = blocks_of(source, captured ? &*captured : nullptr, options);
  if (!captured) expect_room_for_figures(source, options, blocks);
  ExportPlan plan = plan_files(source, options, blocks);
  ExportReport report{.files = {}, .bytes = {}, .notes = std::move(plan.notes)};
  for (const PlannedFile& file : plan.files) {
    report.files.push_back(options.directory / file.name);
    report.bytes.push_back(static_cast<std::uint64_t>(file.bytes));
  }
  if (options.file.empty()) {
    report.files.push_back(options.directory / kRecord);
    report.bytes.push_back(2'000 + 40 * source.input->source.length + 60 * plan.files.size());  // by tokens and files, about
  }
  return report;
}

}  // namespace headlight::app
