#include "app/figures/export_plan.h"

#include "app/figures/arrays.h"
#include "app/figures/figure_kind.h"
#include "app/shapes/quantities/stage_words.h"
#include "app/state/model_changes.h"
#include "core/error.h"
#include "core/file.h"
#include "core/json.h"

namespace headlight::app {
namespace {

using attention::Stage;
using std::filesystem::path;

/// The presets of the notebook whose merge lacks the transpose begin so; both results are written.
constexpr std::string_view kUntransposedPresets = "notebook-003-fused";

/// Bytes of one number in text: seven digits, a point, a sign or an exponent, a comma.
constexpr double kTextBytes = 10.0;
/// Bytes of a pixel in a tile: the mask hides half of most weights, and many of the rest have the same colour.
constexpr double kWeightPixel = 0.25, kSignedPixel = 2.5;
/// Bytes of a page, and of one of its cells: of few cells float32 as base64, of many less.
constexpr double kPageBytes = 40'000.0, kPageCellBytes = 5.4;
constexpr double kArrayHeader = 128.0;

/// The same network with the heads merged as in notebook 003.
std::shared_ptr<const model::Network> without_transpose(const model::Network& network) {
  model::Layers layers = *network.layers;
  for (model::AttentionLayer& layer : layers.encoder) layer.config.merge = model::MergeOrder::WithoutTranspose;
  model::Network copy = network;
  copy.layers = std::make_shared<const model::Layers>(std::move(layers));
  return std::make_shared<const model::Network>(std::move(copy));
}

exporting::FileNaming naming(const ExportBlocks& blocks) {
  return {.layers = blocks.all_layers,
          .batch = blocks.shape.batch,
          .heads = blocks.shape.heads,
          .has_kinds = !blocks.prefix.empty(),
          .has_norms = blocks.weighs_values,
          .has_differences = blocks.is_difference};
}

bool has_stage(const ExportBlocks& blocks, Stage stage) {
  return blocks.shape.extent(stage) && (blocks.mean == HeadMean::None || stage == Stage::Weights);
}

/// As run.json lists it.
exporting::Json describe(const NumberArray& one, const path& file) {
  return {{"file", utf8(file.filename())}, {"stage", one.array.name}, {"shape", one.array.shape}, {"axes", one.axes}};
}

Task<void> write_arrays(ExportWork& work, const std::vector<NumberArray>& arrays, exporting::ArrayFile& file) {
  while (const auto next = file.next()) {
    work.checkpoint(file.share());
    const NumberArray& one = arrays[next->array];
    std::string bytes;
    if (one.read) {
      Task<std::string> read = one.read(next->part);
      bytes = co_await std::move(read);
    } else {
      one.array.read(next->part, bytes);
    }
    file.append(bytes);
  }
  file.finish();
}

Task<void> write_array(ExportWork& work, NumberArray one, path file) {
  const std::vector<NumberArray> arrays(1, one);
  const auto written = exporting::open_npy(file, one.array);
  Task<void> write = write_arrays(work, arrays, *written);
  co_await std::move(write);
  work.arrays.push_back(describe(one, file));
}

/// An array of a run that there will be.
struct PlannedArray {
  std::string name;
  std::uint64_t numbers = 0;
  std::function<NumberArray(const ExportWork& work)> make;

  double bytes() const { return static_cast<double>(numbers) * sizeof(float) + kArrayHeader; }
};

/// All arrays, and what run.json says, in one file.
Task<void> write_container(ExportWork& work, std::vector<PlannedArray> planned, ExportFormat format, path file) {
  exporting::Json written = exporting::Json::array(), axes = exporting::Json::object();
  std::vector<NumberArray> arrays;
  for (const PlannedArray& one : planned) {
    const NumberArray& made = arrays.emplace_back(one.make(work));
    written.push_back(describe(made, file));
    axes[made.array.name] = made.axes;
  }
  const std::string about = encode_run_record(work, written);
  const model::ModelInput& input = *work.source.input;
  const bool is_npz = format == ExportFormat::Npz;
  for (exporting::FileArray& one : is_npz ? token_arrays(input) : id_arrays(input))
    arrays.push_back({.array = std::move(one)});
  std::vector<exporting::FileArray> files;
  for (const NumberArray& one : arrays) files.push_back(one.array);
  std::unique_ptr<exporting::ArrayFile> container;
  if (is_npz) {
    container = exporting::open_npz(file, files, {{"run.json", about}});
  } else {
    std::map<std::string, std::string> metadata = {{"format", "headlight 1"},
                                                   {"tokens", to_text(exporting::Json(input.source.texts), -1)},
                                                   {"axes", to_text(axes, -1)},
                                                   {"run", about}};
    if (input.target) metadata["target_tokens"] = to_text(exporting::Json(input.target->texts), -1);
    container = exporting::open_safetensors(file, files, metadata);
  }
  Task<void> write = write_arrays(work, arrays, *container);
  co_await std::move(write);
  work.arrays.insert(work.arrays.end(), written.begin(), written.end());
}

Task<void> write_figure(ExportWork& work, const ExportBlocks& blocks, const FigureKind& kind, MatrixRef matrix, path file) {
  if (work.options.write_view && !kind.view.empty()) {
    work.options.write_view(kind, file);
    co_return;
  }
  const exporting::DrawingFormat format = *exporting::drawing_format(file);
  FigureNumbers numbers{.evaluated = work.evaluated, .subject = work.subject, .checkpoint = work.checkpoint};
  const FigureSubject subject{.source = work.source,
                              .baseline_input = work.baseline_input.get(),
                              .blocks = blocks,
                              .matrix = matrix,
                              .options = work.options,
                              .format = format,
                              .changes = work.changes()};
  DrawingTask drawn = draw_figure(kind, subject, numbers);
  const std::unique_ptr<exporting::Drawing> drawing = co_await std::move(drawn);
  if (!drawing) throw Error("{} can't be drawn: its numbers aren't known", utf8(file.filename()));
  write_file_atomically(file, exporting::encode(*drawing, format));
  for (std::string& note : exporting::notes_of(*drawing)) {
    if (std::ranges::find(work.notes, note) == work.notes.end()) work.notes.push_back(std::move(note));
  }
}

std::uint64_t tokens_of(const model::ModelInput& input, bool is_decoder) {
  const model::TokenBatch& tokens = is_decoder && input.target ? *input.target : input.source;
  return std::uint64_t{tokens.batch} * tokens.length;
}

class Planner {
 public:
  Planner(const ExportOptions& options, const std::vector<ExportBlocks>& blocks, const model::Network& network,
          const model::ModelInput& input)
      : options_(options), blocks_(blocks), network_(network), input_(input) {}

  ExportPlan plan() {
    for (const ExportBlocks& blocks : blocks_) {
      for (const Stage stage : options_.stages) plan_stage(blocks, stage);
      if (std::ranges::any_of(options_.formats, is_figure)) refuse_figures(blocks);
    }
    if (options_.hidden) plan_hidden();
    if (options_.logits) plan_logits();
    if (!options_.parameters.empty()) plan_parameters();
    for (const ExportFormat format : options_.formats) (this->*kPlanners[static_cast<std::size_t>(kind_of(format))])(format);
    if (is_npy_of_untransposed()) plan_untransposed();
    return std::move(plan_);
  }

 private:
  void note(std::string line) { plan_.notes.push_back(std::move(line)); }
  void add(std::string name, double bytes, decltype(PlannedFile::write) write) {
    plan_.files.push_back({.name = std::move(name), .bytes = bytes, .write = std::move(write)});
  }
  bool writes(ExportFormat format) const { return std::ranges::find(options_.formats, format) != options_.formats.end(); }
  bool has_arrays() const { return std::ranges::any_of(options_.formats, holds_arrays); }

  void plan_stage(const ExportBlocks& blocks, Stage stage) {
    const std::string name = blocks.prefix + std::string(attention::to_string(stage));
    if (!blocks.shape.extent(stage)) {
      const std::string_view why = is_capture(options_.inputs.source) ? "it isn't captured"
                                   : blocks.is_mixed
                                       ? "not all chosen layers have experts, or have none: choose with --layers which do"
                                       : words_of(stage).missing;
      return note(fmt::format("{} is left out: {}", name, why));
    }
    if (!has_stage(blocks, stage)) return note(name + " is left out: only weights have a mean over heads");
    if (writes(ExportFormat::Tiles) && !attention::is_map(stage)) note(name + " is no map: it isn't written as tiles");
    const std::uint64_t numbers = numbers_of(blocks, stage);
    plan_.numbers += numbers;
    const std::string array = utf8(path(naming(blocks).stage(blocks.kind, stage, "npy")).stem());
    arrays_.push_back({.name = array, .numbers = numbers, .make = [&blocks, stage, array](const ExportWork& work) {
                         return stage_array(work.evaluated, blocks, stage, array);
                       }});
  }

  static std::uint64_t cells_of(const ExportBlocks& blocks, Stage stage) {
    const auto [rows, columns] = extent_of(blocks, stage);
    return std::uint64_t{rows} * columns;
  }
  static std::uint64_t numbers_of(const ExportBlocks& blocks, Stage stage) {
    return cells_of(blocks, stage) * heads_of(blocks, stage).size() * blocks.layers.size() * blocks.batch.count();
  }

  void refuse_figures(const ExportBlocks& blocks) {
    for (const FigureKind* kind : figure_kinds_of(options_)) {
      const bool draws_nothing = kind->is_of_stages && options_.stages.empty();
      const std::string why = draws_nothing ? "no stage is written, of which it would be" : figure_refusal(*kind, blocks);
      if (!why.empty()) note(fmt::format("{}{} is left out: {}", blocks.prefix, kind->id, why));
    }
  }

  /// A result of the whole network, rather than of an attention, which only arrays hold.
  void add_result(const std::string& name, bool exists, std::uint64_t numbers,
                  const std::function<NumberArray(const ExportWork&, const std::string& name)>& make) {
    const std::string array = (writes_difference(options_) ? "difference_" : "") + name;
    if (!has_arrays()) return note(array + " is left out: it is written as npy, npz and safetensors only");
    if (!exists) return note(array + " is left out: this network has none");
    plan_.numbers += numbers;
    arrays_.push_back(
        {.name = array, .numbers = numbers, .make = [make, array](const ExportWork& work) { return make(work, array); }});
  }

  void plan_hidden() {
    const model::Layers& layers = *network_.layers;
    const std::uint64_t width = blocks_.empty() ? 0 : blocks_.front().shape.d_model;
    const auto add_stack = [&](const char* name, inference::Stack stack) {
      const bool is_decoder = stack == inference::Stack::Decoder;
      const std::size_t states = 1 + (is_decoder ? layers.decoder.size() : layers.encoder.size());
      add_result(name, true, states * tokens_of(input_, is_decoder) * width,
                 [stack](const ExportWork& work, const std::string& array) { return hidden_array(work, stack, array); });
    };
    if (!is_model(options_.inputs.source)) {
      add_result("encoder_output", !layers.encoder.empty(), tokens_of(input_, false) * width, encoder_output_array);
    } else if (layers.decoder.empty()) {
      add_stack("hidden", inference::Stack::Encoder);
    } else {
      add_stack("encoder_hidden", inference::Stack::Encoder);
      add_stack("decoder_hidden", inference::Stack::Decoder);
    }
  }

  void plan_logits() {
    const auto& unembedding = network_.layers->unembedding;
    const std::uint64_t vocabulary = unembedding ? unembedding->linear.out() : 0;
    add_result("logits", unembedding.has_value(), tokens_of(input_, !network_.layers->decoder.empty()) * vocabulary,
               logits_array);
  }

  /// Weights of the network, which a run doesn't change: arrays, or a file for each layer.
  void plan_parameters() {
    if (is_capture(options_.inputs.source)) return note("weights of a network are left out: a capture has none");
    if (!has_arrays() && !writes(ExportFormat::Csv)) {
      return note("weights of the network are left out: they are written as numbers (npy, npz, safetensors, csv)");
    }
    for (WrittenParameter& one : written_parameters(options_.parameters, network_, input_, blocks_, plan_.notes)) {
      const std::uint64_t numbers = one.values.size() * one.values.front().element_count();
      plan_.numbers += numbers;
      parameters_.push_back(one);
      arrays_.push_back(
          {.name = one.name, .numbers = numbers, .make = [one](const ExportWork&) { return parameter_array(one); }});
    }
  }

  void plan_matrices(ExportFormat format) {
    for (const ExportBlocks& blocks : blocks_) {
      for (const Stage stage : options_.stages) {
        const bool is_written = has_stage(blocks, stage) && (format != ExportFormat::Tiles || attention::is_map(stage));
        for (const MatrixRef& matrix : is_written ? matrices_of(blocks, stage) : std::vector<MatrixRef>())
          plan_matrix(blocks, matrix, format);
      }
    }
    for (const WrittenParameter& one : format == ExportFormat::Tiles ? std::vector<WrittenParameter>() : parameters_) {
      for (std::size_t i = 0; i < one.values.size(); ++i) {
        const std::string layer = one.layers.empty() ? "" : fmt::format("layer-{:02}_", one.layers[i]);
        add(fmt::format("{}{}.{}", layer, one.name, to_string(format)),
            static_cast<double>(one.values[i].element_count()) * kTextBytes, [one, i](ExportWork&, const path& file) {
              write_parameter(one, i, file);
              return written();
            });
      }
    }
  }

  void plan_matrix(const ExportBlocks& blocks, const MatrixRef& matrix, ExportFormat format) {
    const std::string name =
        blocks.mean != HeadMean::None
            ? naming(blocks).mean(matrix.block, blocks.mean == HeadMean::Layer, matrix.batch, to_string(format))
            : naming(blocks).matrix(matrix.block, matrix.batch, matrix.head, matrix.stage, to_string(format));
    const double pixel = matrix.stage == Stage::Weights ? kWeightPixel : kSignedPixel;
    const double cell = format == ExportFormat::Tiles ? pixel : kTextBytes;
    add(name, static_cast<double>(cells_of(blocks, matrix.stage)) * cell,
        [&blocks, matrix, format](ExportWork& work, const path& file) {
          if (format == ExportFormat::Tiles) return write_matrix_tiles(work, blocks, matrix, file);
          return write_matrix_text(work, blocks, matrix, file);
        });
  }

  void plan_figures(ExportFormat format) {
    for (const ExportBlocks& blocks : blocks_) {
      for (const FigureKind* kind : figure_kinds_of(options_)) {
        if (!figure_refusal(*kind, blocks).empty()) continue;
        for (const Stage stage : kind->is_of_stages ? options_.stages : std::vector{Stage::Weights}) {
          if (!has_stage(blocks, stage)) continue;
          for (const MatrixRef& matrix : figures_of(*kind, blocks, stage)) {
            add(figure_file(*kind, naming(blocks), matrix, blocks.mean, to_string(format)),
                figure_bytes(*kind, blocks, stage, format, options_[kFigureLook.dpi]),
                [&blocks, kind, matrix](ExportWork& work, const path& file) {
                  return write_figure(work, blocks, *kind, matrix, file);
                });
          }
        }
      }
    }
  }

  void plan_arrays(ExportFormat) {
    for (const PlannedArray& one : arrays_) {
      add(one.name + ".npy", one.bytes(),
          [make = one.make](ExportWork& work, const path& file) { return write_array(work, make(work), file); });
    }
  }

  void plan_container(ExportFormat format) {
    if (arrays_.empty()) return;
    double bytes = 0.0;
    for (const PlannedArray& one : arrays_) bytes += one.bytes();
    add(options_.file.empty() ? fmt::format("numbers.{}", to_string(format)) : options_.file, bytes,
        [arrays = arrays_, format](ExportWork& work, const path& file) {
          return write_container(work, arrays, format, file);
        });
  }

  void plan_page(ExportFormat) {
    const bool has_weights = std::ranges::find(options_.stages, Stage::Weights) != options_.stages.end();
    if (!has_weights || options_.mean != HeadMean::None || writes_difference(options_)) {
      return note("the page is left out: it shows weights of heads, and no means or differences");
    }
    double bytes = 0.0;
    for (const ExportBlocks& blocks : blocks_)
      bytes += kPageBytes + static_cast<double>(numbers_of(blocks, Stage::Weights)) * kPageCellBytes;
    add(options_.file.empty() ? "attention.html" : options_.file, bytes, write_attention_page);
  }

  bool is_npy_of_untransposed() const {
    return notebook_name(options_.inputs.source).starts_with(kUntransposedPresets) && writes(ExportFormat::Npy) &&
           !writes_difference(options_);
  }

  /// Last of all, because it runs another forward pass.
  void plan_untransposed() {
    const auto pass = std::make_shared<const inference::PassInputs>(
        inference::PassInputs{.network = without_transpose(network_), .input = input_, .masks = options_.inputs.masks});
    for (const Stage stage : options_.stages) {
      if (stage != Stage::Merged && stage != Stage::Output) continue;
      const std::string name = std::string(attention::to_string(stage)) + "_as_the_notebook_does";
      const double bytes = static_cast<double>(numbers_of(blocks_.front(), stage)) * sizeof(float) + kArrayHeader;
      add(name + ".npy", bytes, [stage, name, pass](ExportWork& work, const path& file) {
        EvaluationSubject subject = work.evaluated;
        subject.own_pass = pass;
        return write_array(work, stage_array(subject, work.blocks.front(), stage, name), file);
      });
    }
  }

  /// By FormatKind.
  static constexpr std::array kPlanners = {&Planner::plan_figures, &Planner::plan_matrices, &Planner::plan_arrays,
                                           &Planner::plan_container, &Planner::plan_page};

  const ExportOptions& options_;
  const std::vector<ExportBlocks>& blocks_;
  const model::Network& network_;
  const model::ModelInput& input_;
  std::vector<PlannedArray> arrays_;  ///< for the formats that hold them
  std::vector<WrittenParameter> parameters_;
  ExportPlan plan_;
};

}  // namespace

std::string ExportWork::changes() const {
  const auto changes_in = [](const RunInputs& inputs, const RunSource::Source& of) {
    return run_changes(inputs, of.model.get(), *of.network);
  };
  std::optional<std::string> compared;
  if (baseline) compared = changes_in(options.baseline->inputs, *baseline);
  return changes_note(options.inputs.source, changes_in(options.inputs, source), compared);
}

std::uint64_t ExportPlan::bytes() const {
  double sum = 0.0;
  for (const PlannedFile& file : files) sum += file.bytes;
  return static_cast<std::uint64_t>(sum);
}

std::vector<std::string> ExportPlan::names(const ExportOptions& options) const {
  std::set<std::string> names;
  for (const PlannedFile& file : files) names.insert(file.name);
  if (!names.empty() && options.file.empty()) names.insert("run.json");
  return {names.begin(), names.end()};
}

ExportPlan plan_export(const ExportOptions& options, const std::vector<ExportBlocks>& blocks, const model::Network& network,
                       const model::ModelInput& input) {
  return Planner(options, blocks, network, input).plan();
}

}  // namespace headlight::app
