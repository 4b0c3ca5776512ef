#include <algorithm>
#include <utility>

#include "app/engine/computed_run.h"
#include "app/engine/run_source.h"
#include "app/exports/figures.h"
#include "app/exports/job.h"
#include "app/exports/names.h"
#include "app/exports/numbers.h"
#include "app/exports/plan.h"
#include "app/exports/record.h"
#include "app/exports/results.h"
#include "app/exports/tiles.h"
#include "core/atomic_file.h"
#include "core/error.h"
#include "export/file_name.h"
#include "export/npy.h"

namespace headlight::app {
namespace {

using attention::Stage;

/// The notebook whose merge lacks the transpose; both results are written.
constexpr std::string_view kUntransposedPreset = "notebook-003-fused";

/// The same network with the heads merged as in notebook 003.
std::shared_ptr<const model::Network> without_transpose(const model::Network& network) {
  model::Layers layers = *network.layers;
  for (model::AttentionLayer& layer : layers.encoder) layer.config.merge = model::MergeOrder::WithoutTranspose;
  model::Network copy = network;
  copy.layers = std::make_shared<const model::Layers>(std::move(layers));
  return std::make_shared<const model::Network>(std::move(copy));
}

/// One export from the forward pass to run.json. Files are planned first, so that progress knows how many there are.
class ExportRun {
 public:
  ExportRun(Runner& runner, std::shared_ptr<const inference::Run> run, const RunSource::Source& source,
            const ExportOptions& options, const ExportObserver& observer)
      : runner_(runner), run_(std::move(run)), source_(source), options_(options), observer_(observer) {}

  ExportReport write() {
    blocks_ = select_blocks(*run_, *source_.network, options_);
    plan();
    if (tasks_.empty()) throw Error("there is nothing to write: {}", report_.notes.front());
    make_directories(options_.directory);
    for (progress_.total = tasks_.size() + 1; const Task& task : tasks_) {
      begin_file(task.file);
      task.write(options_.directory / task.file);
    }
    begin_file("run.json");
    write_run_record(options_.directory / "run.json", {.options = options_,
                                                       .language_model = source_.model.get(),
                                                       .input = *source_.input,
                                                       .device = runner_.device_name(),
                                                       .blocks = blocks_,
                                                       .stages = stages_,
                                                       .notes = report_.notes});
    return std::move(report_);
  }

 private:
  struct Task {
    std::string file;
    std::function<void(const std::filesystem::path&)> write;
  };

  bool writes(ExportFormat format) const {
    return std::find(options_.formats.begin(), options_.formats.end(), format) != options_.formats.end();
  }

  void plan() {
    for (const auto& [head, pattern] : options_.inputs.patterns) {
      const std::vector<model::BlockRef> blocks = run_->blocks();
      const bool is_there =
          std::ranges::find(blocks, head.first) != blocks.end() && head.second < run_->shape(head.first).heads;
      if (is_there) continue;
      report_.notes.push_back(fmt::format("the {} pattern of {} L{}H{} is left out: there is no such head",
                                          attention::to_string(pattern.kind), model::to_string(head.first.kind),
                                          head.first.layer.value, head.second));
    }
    for (const ExportBlocks& blocks : blocks_) {
      for (const Stage stage : options_.stages) plan_stage(blocks, stage);
    }
    if (options_.hidden) plan_hidden();
    if (options_.logits) plan_logits();
    if (notebook_name(options_.inputs.source) == kUntransposedPreset && writes(ExportFormat::Npy)) plan_untransposed();
  }

  void plan_stage(const ExportBlocks& blocks, Stage stage) {
    const std::string_view name = attention::to_string(stage);
    if (!blocks.shape.extent(stage)) {
      const char* why = is_capture(options_.inputs.source) ? "it isn't captured"
                        : stage == Stage::X                ? "Q, K and V are given, there is no x"
                                                           : "there is no output projection";
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
    if (writes(ExportFormat::Npy)) {
      tasks_.push_back({naming(blocks).stage(blocks.kind, stage, "npy"), [this, &blocks, stage](const auto& path) {
                          stages_.push_back(write_stage_npy(*run_, blocks, stage, path, checkpoint()));
                        }});
    }
    for (const model::BlockRef block : blocks.layers) {
      for (std::uint32_t batch = 0; batch < blocks.batch.count; ++batch) {
        const AxisRange heads = heads_of(blocks, stage);
        MatrixRef matrix = {.block = block, .batch = blocks.batch.first + batch, .head = heads.first, .stage = stage};
        if (heads.count > 1) plan_sheet(blocks, matrix);
        for (std::uint32_t head = 0; head < heads.count; ++head, ++matrix.head) plan_matrix(blocks, matrix);
      }
    }
  }

  void plan_matrix(const ExportBlocks& blocks, const MatrixRef& matrix) {
    const auto add = [&](std::string_view extension, auto write_matrix) {
      tasks_.push_back(
          {file_name(blocks, matrix, extension), [this, &blocks, matrix, write_matrix](const std::filesystem::path& path) {
             write_matrix(*run_, *source_.input, blocks, matrix, path, checkpoint());
           }});
    };
    if (writes(ExportFormat::Tiles) && attention::is_map(matrix.stage)) {
      tasks_.push_back({file_name(blocks, matrix, "tiles"), [this, &blocks, matrix](const std::filesystem::path& folder) {
                          write_matrix_tiles(*run_, blocks, matrix, options_, folder, checkpoint());
                        }});
    }
    if (writes(ExportFormat::Csv)) add("csv", write_matrix_csv);
    if (writes(ExportFormat::Json)) add("json", write_matrix_json);
    const auto add_figure = [&](std::string_view extension, auto write_figure) {
      tasks_.push_back(
          {file_name(blocks, matrix, extension), [this, &blocks, matrix, write_figure](const std::filesystem::path& path) {
             write_figure(path, matrix_figure(*run_, *source_.input, blocks, matrix, options_, checkpoint()));
           }});
    };
    using Write = void (*)(const std::filesystem::path&, const exporting::HeatmapFigure&);
    if (writes(ExportFormat::Png)) add_figure("png", Write{exporting::write_png});
    if (writes(ExportFormat::Svg)) add_figure("svg", Write{exporting::write_svg});
  }

  /// All heads of a layer in one image.
  void plan_sheet(const ExportBlocks& blocks, const MatrixRef& first) {
    const auto add = [&](std::string_view extension, auto write_sheet) {
      tasks_.push_back({naming(blocks).contact_sheet(first.block, first.batch, first.stage, extension),
                        [this, &blocks, first, write_sheet](const std::filesystem::path& path) {
                          write_sheet(path, heads_figure(*run_, blocks, first, options_, checkpoint()));
                        }});
    };
    using Write = void (*)(const std::filesystem::path&, const exporting::ContactSheet&);
    if (writes(ExportFormat::Png)) add("png", Write{exporting::write_png});
    if (writes(ExportFormat::Svg)) add("svg", Write{exporting::write_svg});
  }

  /// A result of the whole network rather than of an attention.
  void plan_result(const std::string& name, bool exists,
                   std::function<exporting::WrittenStage(const std::filesystem::path&)> write) {
    if (!writes(ExportFormat::Npy)) {
      report_.notes.push_back(name + " is left out: it is written as npy only");
    } else if (!exists) {
      report_.notes.push_back(name + " is left out: this network has none");
    } else {
      tasks_.push_back({name + ".npy", [this, write = std::move(write)](const std::filesystem::path& path) {
                          stages_.push_back(write(path));
                        }});
    }
  }

  void plan_hidden() {
    const std::vector<HiddenFile> files = hidden_files(*source_.network, is_model(options_.inputs.source));
    if (files.empty()) plan_result("encoder_output", false, {});
    for (const HiddenFile& file : files) {
      plan_result(file.name, true, [this, file](const auto& path) {
        return file.stack ? write_hidden(*run_, *file.stack, path, file.name) : write_encoder_output(*run_, path);
      });
    }
  }

  void plan_logits() {
    plan_result("logits", run_->has_logits(), [this](const auto& path) {
      return write_logits(*run_, *source_.network, *source_.input, path, checkpoint());
    });
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
             stages_.push_back(write_stage_npy(*run_, blocks_.front(), stage, path, checkpoint()));
             stages_.back().stage = name;
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
            .has_norms = blocks.weighs_values};
  }

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
  const RunSource::Source& source_;
  const ExportOptions& options_;
  const ExportObserver& observer_;
  std::vector<ExportBlocks> blocks_;
  std::vector<Task> tasks_;
  std::vector<exporting::WrittenStage> stages_;
  ExportProgress progress_;
  ExportReport report_;
};

}  // namespace

ExportReport run_export(Runner& runner, const ExportOptions& options, const ExportObserver& observer) {
  if (const std::optional<KnownRun> known = runner.find(options.inputs)) {
    return export_run(runner, known->run, known->source, options, observer);
  }
  RunSource sources(options.models ? options.models : std::make_shared<ModelCache>());
  const RunSource::Source& source = sources.build(options.inputs);
  if (source.model) {
    ExportProgress progress;
    runner.load(source.network->layers, precision_of(options.inputs.source), [&](std::size_t done, std::size_t total) {
      progress.loaded_bytes = done;
      progress.bytes_to_load = total;
      return !observer || observer(progress);
    });
  }
  return export_run(runner, compute_run(runner, source, options.inputs, nullptr), source, options, observer);
}

ExportReport export_run(Runner& runner, std::shared_ptr<const inference::Run> run, const RunSource::Source& source,
                        const ExportOptions& options, const ExportObserver& observer) {
  return ExportRun(runner, std::move(run), source, options, observer).write();
}

}  // namespace headlight::app
