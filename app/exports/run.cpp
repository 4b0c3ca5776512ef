#include <algorithm>
#include <iterator>
#include <utility>

#include "app/engine/compared_run.h"
#include "app/engine/computed_run.h"
#include "app/engine/run_source.h"
#include "app/exports/arrays.h"
#include "app/exports/before_run.h"
#include "app/exports/figure_kind.h"
#include "app/exports/job.h"
#include "app/exports/names.h"
#include "app/exports/numbers.h"
#include "app/exports/page.h"
#include "app/exports/parameters.h"
#include "app/exports/plan.h"
#include "app/exports/record.h"
#include "app/exports/tiles.h"
#include "app/state/model_changes.h"
#include "app/state/run_interventions.h"
#include "capture/captured_run.h"
#include "core/atomic_file.h"
#include "core/error.h"
#include "core/json.h"
#include "export/file_name.h"

namespace headlight::app {
namespace {

using attention::Stage;

/// The presets of the notebook whose merge lacks the transpose begin so; both results are written.
constexpr std::string_view kUntransposedPresets = "notebook-003-fused";

/// The same network with the heads merged as in notebook 003.
std::shared_ptr<const model::Network> without_transpose(const model::Network& network) {
  model::Layers layers = *network.layers;
  for (model::AttentionLayer& layer : layers.encoder) layer.config.merge = model::MergeOrder::WithoutTranspose;
  model::Network copy = network;
  copy.layers = std::make_shared<const model::Layers>(std::move(layers));
  return std::make_shared<const model::Network>(std::move(copy));
}

/// A network's blocks are known before its run, which may be of its first layers alone.
std::vector<ExportBlocks> selected_blocks(const RunSource::Source& source, const inference::Run& run,
                                          const ExportOptions& options) {
  if (source.capture) return select_blocks(run, *source.network, options);
  return select_blocks(shapes_before_run(*source.network, *source.input), *source.network, options);
}

/// One export from the forward pass to run.json. Files are planned first, so that progress knows how many there are.
class ExportRun {
 public:
  /// `reference`: what is compared with, and its source; null where the options have none.
  ExportRun(Runner& runner, std::shared_ptr<const inference::Run> run, const RunSource::Source& source,
            const ExportOptions& options, const ExportObserver& observer, const KnownRun* reference = nullptr)
      : runner_(runner),
        run_(std::move(run)),
        reference_(reference),
        source_(source),
        options_(options),
        observer_(observer) {}

  ExportReport write() {
    blocks_ = selected_blocks(source_, *run_, options_);
    plan();
    if (tasks_.empty()) throw Error("there is nothing to write: {}", report_.notes.front());
    make_directories(options_.directory);
    const bool has_record = options_.file.empty();
    for (progress_.total = tasks_.size() + (has_record ? 1 : 0); const Task& task : tasks_) {
      begin_file(task.file);
      task.write(options_.directory / task.file);
    }
    note_odd_numbers();
    if (has_record) {
      begin_file("run.json");
      write_file_atomically(options_.directory / "run.json", record(stages_));
    }
    return std::move(report_);
  }

 private:
  struct Task {
    std::string file;
    std::function<void(const std::filesystem::path&)> write;
  };

  /// What a capture's numbers that were read are besides weights. A window tells it of those that it shows.
  void note_odd_numbers() {
    const auto* captured = dynamic_cast<const capture::CapturedRun*>(run_.get());
    const std::string warning = captured != nullptr ? captured->warning() : "";
    if (!warning.empty()) report_.notes.push_back(fmt::format("of the capture's rows that were read: {}", warning));
  }

  bool writes(ExportFormat format) const {
    return std::find(options_.formats.begin(), options_.formats.end(), format) != options_.formats.end();
  }

  bool has_arrays() const { return std::ranges::any_of(options_.formats, holds_arrays); }

  std::string record(const std::vector<exporting::WrittenStage>& stages) const {
    return encode_run_record({.options = options_,
                              .language_model = source_.model.get(),
                              .network = *source_.network,
                              .input = *source_.input,
                              .device = runner_.device_name(),
                              .blocks = blocks_,
                              .stages = stages,
                              .notes = report_.notes,
                              .reference = reference_ ? &reference_->source : nullptr});
  }

  void plan() {
    const std::vector<model::BlockRef> there = source_.network->blocks();
    for (const auto& [head, pattern] : options_.inputs.patterns) {
      const bool is_there = std::ranges::find(there, head.first) != there.end() &&
                            head.second < source_.network->layer(head.first).config.heads;
      if (is_there) continue;
      report_.notes.push_back(fmt::format("the {} pattern of {} L{}H{} is left out: there is no such head",
                                          attention::to_string(pattern.kind), model::to_string(head.first.kind),
                                          head.first.layer.value, head.second));
    }
    if (source_.network && source_.input) {
      for (std::string& line : changes_left_out(options_.inputs, *source_.network, *source_.input)) {
        report_.notes.push_back(std::move(line));
      }
    }
    if (source_.capture && !source_.capture->note().empty()) report_.notes.push_back(source_.capture->note());
    for (const ExportBlocks& blocks : blocks_) {
      for (const Stage stage : options_.stages) plan_stage(blocks, stage);
      plan_figures(blocks);
    }
    if (options_.hidden) plan_hidden();
    if (options_.logits) plan_logits();
    if (!options_.parameters.empty()) plan_parameters();
    for (const ExportFormat format : options_.formats) plan_arrays(format);
    if (writes(ExportFormat::Html)) plan_page();
    if (notebook_name(options_.inputs.source).starts_with(kUntransposedPresets) && writes(ExportFormat::Npy) &&
        !writes_difference(options_))
      plan_untransposed();
  }

  void plan_stage(const ExportBlocks& blocks, Stage stage) {
    const std::string_view name = attention::to_string(stage);
    if (!blocks.shape.extent(stage)) {
      const char* why = is_capture(options_.inputs.source) ? "it isn't captured" : why_missing(stage);
      report_.notes.push_back(fmt::format("{}{} is left out: {}", blocks.prefix, name, why));
      return;
    }
    if (blocks.mean != HeadMean::None && stage != Stage::Weights) {
      report_.notes.push_back(fmt::format("{}{} is left out: only weights have a mean over heads", blocks.prefix, name));
      return;
    }
    if (writes(ExportFormat::Tiles) && !attention::is_map(stage)) {
      report_.notes.push_back(fmt::format("{}{} is no map: it isn't written as tiles", blocks.prefix, name));
    }
    if (has_arrays()) {
      const std::string file = naming(blocks).stage(blocks.kind, stage, "npy");
      arrays_.push_back(stage_array(runs(), blocks, stage, std::filesystem::path(file).stem().string()));
    }
    for (const model::BlockRef block : blocks.layers) {
      for (std::uint32_t batch = 0; batch < blocks.batch.count; ++batch) {
        const std::vector<std::uint32_t> heads = heads_of(blocks, stage);
        MatrixRef matrix = {.block = block, .batch = blocks.batch.first + batch, .head = heads.front(), .stage = stage};
        for (const std::uint32_t head : heads) {
          matrix.head = head;
          plan_matrix(blocks, matrix);
        }
      }
    }
  }

  void plan_matrix(const ExportBlocks& blocks, const MatrixRef& matrix) {
    const auto add = [&](std::string_view extension, auto write_matrix) {
      tasks_.push_back(
          {file_name(blocks, matrix, extension), [this, &blocks, matrix, write_matrix](const std::filesystem::path& path) {
             write_matrix(runs(), *source_.input, blocks, matrix, path, checkpoint());
           }});
    };
    if (writes(ExportFormat::Tiles) && attention::is_map(matrix.stage)) {
      tasks_.push_back({file_name(blocks, matrix, "tiles"), [this, &blocks, matrix](const std::filesystem::path& folder) {
                          write_matrix_tiles(runs(), blocks, matrix, options_, folder, checkpoint());
                        }});
    }
    if (writes(ExportFormat::Csv)) add("csv", write_matrix_csv);
    if (writes(ExportFormat::Json)) add("json", write_matrix_json);
  }

  void plan_figures(const ExportBlocks& blocks) {
    if (std::ranges::none_of(options_.formats, is_figure)) return;
    for (const FigureKind* kind : figure_kinds_of(options_)) {
      if (const std::string why = figure_refusal(*kind, blocks); !why.empty()) {
        report_.notes.push_back(fmt::format("{}{} is left out: {}", blocks.prefix, kind->id, why));
        continue;
      }
      const std::vector<Stage> stages = kind->is_of_stages ? options_.stages : std::vector{Stage::Weights};
      for (const Stage stage : stages) {
        const bool has_stage = blocks.shape.extent(stage) && (blocks.mean == HeadMean::None || stage == Stage::Weights);
        if (!has_stage) continue;  // plan_stage() has said so
        for (const MatrixRef& matrix : figures_of(*kind, blocks, stage)) plan_figure(blocks, *kind, matrix);
      }
    }
  }

  void plan_figure(const ExportBlocks& blocks, const FigureKind& kind, const MatrixRef& matrix) {
    for (const ExportFormat format : options_.formats) {
      if (!is_figure(format)) continue;
      const std::string file = figure_file(kind, naming(blocks), matrix, blocks.mean, to_string(format));
      tasks_.push_back({file, [this, &blocks, &kind, matrix, format](const std::filesystem::path& path) {
                          write_figure(blocks, kind, matrix, format, path);
                        }});
    }
  }

  void write_figure(const ExportBlocks& blocks, const FigureKind& kind, const MatrixRef& matrix, ExportFormat format,
                    const std::filesystem::path& path) {
    const exporting::DrawingFormat as = format == ExportFormat::Png   ? exporting::DrawingFormat::Png
                                        : format == ExportFormat::Svg ? exporting::DrawingFormat::Svg
                                                                      : exporting::DrawingFormat::Pdf;
    const AnalysisSubject analysed{.network = source_.network,
                                   .input = source_.input,
                                   .inputs = std::make_shared<const RunInputs>(options_.inputs),
                                   .shapes = shapes_of(*run_),
                                   .has_logits = run_->has_logits()};
    RunNumbers numbers(both_runs(), analysed, checkpoint());
    const FigureSubject subject{.input = *source_.input,
                                .prompt = source_.prompt.get(),
                                .model = source_.model.get(),
                                .network = source_.network.get(),
                                .reference_input = reference_ ? reference_->source.input.get() : nullptr,
                                .capture = source_.capture.get(),
                                .blocks = blocks,
                                .matrix = matrix,
                                .options = options_,
                                .format = as,
                                .changes = changes()};
    const std::unique_ptr<exporting::Drawing> drawing = numbers.drawn([&] { return draw_figure(kind, subject, numbers); });
    if (!drawing) throw Error("{} can't be drawn: its numbers aren't known", path.filename().string());
    write_file_atomically(path, exporting::encode(*drawing, as));
  }

  static std::string changes_in(const RunInputs& inputs, const RunSource::Source& source) {
    return run_changes(inputs, source.model.get(), *source.network);
  }
  /// The line about them of figures and pages.
  std::string changes() const {
    std::optional<std::string> compared;
    if (reference_ != nullptr) compared = changes_in(options_.reference->inputs, reference_->source);
    return changes_note(options_.inputs.source, changes_in(options_.inputs, source_), compared);
  }

  std::string result_name(const std::string& result) const {
    return (writes_difference(options_) ? "difference_" : "") + result;
  }

  /// Does a result of the whole network, rather than of an attention, have a place in the files?
  bool takes_result(const std::string& name, bool exists) {
    if (!has_arrays()) {
      report_.notes.push_back(name + " is left out: it is written as npy, npz and safetensors only");
    } else if (!exists) {
      report_.notes.push_back(name + " is left out: this network has none");
    }
    return has_arrays() && exists;
  }

  void plan_hidden() {
    const std::vector<HiddenFile> files = hidden_files(*source_.network, is_model(options_.inputs.source));
    if (files.empty()) takes_result(result_name("encoder_output"), false);
    for (const HiddenFile& file : files) {
      const std::string name = result_name(file.name);
      if (!takes_result(name, true)) continue;
      arrays_.push_back(file.stack ? hidden_array(runs(), *file.stack, name) : encoder_output_array(runs(), name));
    }
  }

  void plan_logits() {
    const std::string name = result_name("logits");
    if (!takes_result(name, run_->has_logits())) return;
    arrays_.push_back(logits_array(runs(), *source_.network, *source_.input, name));
  }

  /// Weights of the network, which a run doesn't change: arrays, or a file for each layer.
  void plan_parameters() {
    if (is_capture(options_.inputs.source)) {
      report_.notes.emplace_back("weights of a network are left out: a capture has none");
      return;
    }
    if (!has_arrays() && !writes(ExportFormat::Csv) && !writes(ExportFormat::Json)) {
      report_.notes.emplace_back(
          "weights of the network are left out: they are written as numbers (npy, npz, safetensors, csv, json)");
      return;
    }
    parameters_ = written_parameters(options_.parameters, *source_.network, *source_.input, blocks_, report_.notes);
    for (const WrittenParameter& one : parameters_) {
      if (has_arrays()) arrays_.push_back(parameter_array(one));
      for (const ExportFormat format : {ExportFormat::Csv, ExportFormat::Json}) {
        if (!writes(format)) continue;
        for (std::size_t i = 0; i < one.values.size(); ++i) {
          const std::string layer = one.layers.empty() ? "" : fmt::format("layer-{:02}_", one.layers[i]);
          tasks_.push_back({fmt::format("{}{}.{}", layer, one.name, to_string(format)),
                            [&one, i, format](const std::filesystem::path& path) {
                              write_parameter(one, i, format == ExportFormat::Json, path);
                            }});
        }
      }
    }
  }

  void plan_arrays(ExportFormat format) {
    if (arrays_.empty() || !holds_arrays(format)) return;
    if (is_container(format)) {
      const std::string name = container_name(format, options_);
      tasks_.push_back(
          {name, [this, format, name](const std::filesystem::path& path) { write_container(format, name, path); }});
      return;
    }
    for (const NumberArray& one : arrays_) {
      const std::string name = one.array.name + ".npy";
      tasks_.push_back({name, [this, &one, name](const std::filesystem::path& path) {
                          exporting::write_npy(path, one.array, checkpoint());
                          stages_.push_back(written(one, name));
                        }});
    }
  }

  void plan_page() {
    const bool has_weights = std::ranges::find(options_.stages, Stage::Weights) != options_.stages.end();
    if (!has_weights || options_.mean != HeadMean::None || writes_difference(options_)) {
      report_.notes.emplace_back("the page is left out: it shows weights of heads, and no means or differences");
      return;
    }
    tasks_.push_back({container_name(ExportFormat::Html, options_), [this](const std::filesystem::path& path) {
                        const std::string warning = write_attention_page(
                            *run_, *source_.input, source_.capture.get(), blocks_, options_,
                            {.changes = changes(), .device = runner_.device_name()}, path, checkpoint());
                        if (!warning.empty()) report_.notes.push_back(warning);
                      }});
  }

  /// All arrays, and what run.json says, in one file.
  void write_container(ExportFormat format, const std::string& name, const std::filesystem::path& path) {
    std::vector<exporting::WrittenStage> stages;
    exporting::Json axes = exporting::Json::object();
    std::vector<exporting::FileArray> arrays;
    for (const NumberArray& one : arrays_) {
      stages.push_back(written(one, name));
      axes[one.array.name] = one.axes;
      arrays.push_back(one.array);
    }
    const std::string about = record(stages);
    const bool is_npz = format == ExportFormat::Npz;
    const model::ModelInput& input = *source_.input;
    for (exporting::FileArray& tokens : is_npz ? token_arrays(input) : id_arrays(input)) arrays.push_back(std::move(tokens));
    if (is_npz) {
      exporting::write_npz(path, arrays, {{"run.json", about}}, checkpoint());
    } else {
      std::map<std::string, std::string> metadata = {{"format", "headlight 1"},
                                                     {"tokens", to_text(exporting::Json(input.source.texts), -1)},
                                                     {"axes", to_text(axes, -1)},
                                                     {"run", about}};
      if (input.target) metadata["target_tokens"] = to_text(exporting::Json(input.target->texts), -1);
      exporting::write_safetensors(path, arrays, metadata, checkpoint());
    }
    std::ranges::move(stages, std::back_inserter(stages_));
  }

  static exporting::WrittenStage written(const NumberArray& one, const std::string& file) {
    return {.file = file, .stage = one.array.name, .shape = one.array.shape, .axes = one.axes};
  }

  /// Last of all, because it runs another forward pass.
  void plan_untransposed() {
    bool is_first = true;
    for (const Stage stage : options_.stages) {
      if (stage != Stage::Merged && stage != Stage::Output) continue;
      const std::string name = std::string(attention::to_string(stage)) + "_as_the_notebook_does";
      tasks_.push_back(
          {name + ".npy", [this, stage, name, is_first](const std::filesystem::path& path) {
             if (is_first) {
               run_ = runner_.run(
                   {.network = without_transpose(*source_.network), .input = *source_.input, .masks = options_.inputs.masks},
                   std::move(run_));
             }
             const NumberArray one = stage_array(runs(), blocks_.front(), stage, name);
             exporting::write_npy(path, one.array, checkpoint());
             stages_.push_back(written(one, name + ".npy"));
           }});
      is_first = false;
    }
  }

  std::string file_name(const ExportBlocks& blocks, const MatrixRef& matrix, std::string_view extension) const {
    if (blocks.mean != HeadMean::None) {
      return naming(blocks).mean(matrix.block, blocks.mean == HeadMean::Layer, matrix.batch, extension);
    }
    return naming(blocks).matrix(matrix.block, matrix.batch, matrix.head, matrix.stage, extension);
  }

  exporting::FileNaming naming(const ExportBlocks& blocks) const {
    return {.layers = blocks.all_layers,
            .batch = blocks.shape.batch,
            .heads = blocks.shape.heads,
            .has_kinds = !blocks.prefix.empty(),
            .has_norms = blocks.weighs_values,
            .has_differences = blocks.is_difference};
  }

  /// Of figures, which may show both.
  Runs both_runs() const { return {.run = *run_, .reference = reference_ ? reference_->run.get() : nullptr}; }
  /// Of numbers, which are differences where there is a reference.
  Runs runs() const { return writes_difference(options_) ? both_runs() : Runs{.run = *run_}; }

  void begin_file(const std::string& file) {
    if (!progress_.file.empty()) ++progress_.done;
    progress_.file = file;
    checkpoint()(0.0);
    report_.files.push_back(options_.directory / file);
  }

  Checkpoint checkpoint() {
    return [this](double share) {
      progress_.share = share;
      if (observer_ && !observer_(progress_))
        throw Error(ErrorKind::Cancelled, "cancelled after {} of {} files", progress_.done, progress_.total);
    };
  }

  Runner& runner_;
  std::shared_ptr<const inference::Run> run_;
  const KnownRun* reference_;
  const RunSource::Source& source_;
  const ExportOptions& options_;
  const ExportObserver& observer_;
  std::vector<ExportBlocks> blocks_;
  std::vector<NumberArray> arrays_;  ///< for the formats that hold them
  std::vector<WrittenParameter> parameters_;
  std::vector<Task> tasks_;
  std::vector<exporting::WrittenStage> stages_;
  ExportProgress progress_;
  ExportReport report_;
};

/// The run that is compared with. Throws Error where the two have no differences.
KnownRun computed_reference(Runner& runner, const ExportOptions& options, const RunSource& sources,
                            const std::shared_ptr<const inference::Run>& run) {
  const RunInputs& inputs = options.reference->inputs;
  ComparedRun compared;
  compared.update(inputs, {.inputs = options.inputs, .source = sources, .run = run}, runner);
  if (!compared.run()) throw Error("the runs can't be compared: {}", compared.refusal());
  RunSource source = sources;
  return {.run = compared.run(), .source = source.build(inputs)};
}

}  // namespace

ExportReport run_export(Runner& runner, const ExportOptions& options, const ExportObserver& observer) {
  const std::optional<KnownRun> known = runner.find(options.inputs);
  std::optional<KnownRun> known_other = known && options.reference ? runner.find(options.reference->inputs) : std::nullopt;
  if (known_other) {
    known_other->run = by_positions_of(options.inputs, *known->run, options.reference->inputs, std::move(known_other->run));
  }
  if (known && (known_other || !options.reference)) {
    return ExportRun(runner, known->run, known->source, options, observer, known_other ? &*known_other : nullptr).write();
  }
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
  std::shared_ptr<const inference::Run> run = compute_run(runner, computed, options.inputs, nullptr);
  if (!options.reference) return export_run(runner, std::move(run), source, options, observer);
  const KnownRun reference = computed_reference(runner, options, sources, run);
  return ExportRun(runner, std::move(run), source, options, observer, &reference).write();
}

ExportReport export_run(Runner& runner, std::shared_ptr<const inference::Run> run, const RunSource::Source& source,
                        const ExportOptions& options, const ExportObserver& observer) {
  return ExportRun(runner, std::move(run), source, options, observer).write();
}

}  // namespace headlight::app
