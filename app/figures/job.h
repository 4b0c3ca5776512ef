#pragma once

#include "app/engine/engine.h"
#include "app/figures/figure_settings.h"
#include "app/figures/index_set.h"
#include "app/state/state.h"
#include "attention/stage.h"
#include "core/error.h"
#include "export/figure.h"

namespace headlight::app {

/// The matrices that an export writes.
struct ExportContents {
  std::vector<attention::Stage> stages = {attention::Stage::Weights};
  /// Adds encoder_output of the playground and presets; of models hidden, or encoder_hidden and decoder_hidden.
  bool hidden = false;
  bool logits = false;
  std::vector<std::string> parameters = {};  ///< weights of the network, by the names of app/figures/arrays.h

  bool operator==(const ExportContents&) const = default;
};

/// Tiles: a folder for each map, with PNGs of a pixel for each cell and an index. Npz, Safetensors: all arrays in
/// one file. Html: weights as a page. Png, Svg, Pdf: figures.
enum class ExportFormat : std::uint8_t { Png, Svg, Pdf, Csv, Npy, Npz, Safetensors, Html, Tiles };
inline constexpr std::size_t kExportFormats = 9;
std::string_view to_string(ExportFormat format);

/// What a file of a format is: a figure, a matrix, an array, all arrays (with hidden states and logits among them), a page.
enum class FormatKind : std::uint8_t { Figure, Matrix, Array, AllArrays, Page };
FormatKind kind_of(ExportFormat format);
inline bool is_figure(ExportFormat format) { return kind_of(format) == FormatKind::Figure; }
inline bool holds_arrays(ExportFormat format) {
  return kind_of(format) == FormatKind::Array || kind_of(format) == FormatKind::AllArrays;
}
Result<ExportFormat> parse_format(std::string_view text);

struct FigureKind;

/// The query of a pinned cell, and of which kind of attention it is.
struct PinnedRow {
  model::BlockKind kind = model::BlockKind::EncoderSelf;
  std::uint32_t row = 0;

  bool operator==(const PinnedRow&) const = default;
};

/// What some figures show besides numbers: as the view that they are named after.
struct FigureChoice {
  LineChoices lines = {};                     ///< of which hidden heads count where none are selected
  std::optional<LockedToken> token = {};      ///< by which text is shaded; none: its last query
  HeadChoices heads = {};                     ///< order and filter of heads, and how metrics are scored
  inference::SamplingSettings sampling = {};  ///< of predictions
  std::optional<PinnedRow> pinned = {};       ///< by which predictions are placed; none: the last token, or the first mask

  bool operator==(const FigureChoice&) const = default;
};
FigureChoice figure_choice(const State& state);

/// Options of an export, with the settings of figures (figure_settings.h). An empty selection means all of that axis.
struct ExportOptions : ExportContents, Choices {
  RunInputs inputs;
  std::optional<BaselineRun> baseline = {};  ///< another run, to compare with
  /// Every matrix is written as the run minus the baseline, hidden states and logits as well; else pairs alone show it.
  bool writes_differences = true;
  std::shared_ptr<ModelCache> models = {};  ///< may hold the model that `inputs` names; none: it is opened again
  std::vector<ExportFormat> formats = {ExportFormat::Png};
  std::optional<model::BlockKind> kind;
  std::optional<std::uint32_t> batch;
  std::optional<IndexSet> layers, heads;
  std::optional<IndexSet> queries;  ///< rows of every map that are written; other stages are written whole
  std::vector<std::string> tokens;  ///< rows whose tokens make one of these texts, with those of `queries`
  std::optional<IndexRange> keys;   ///< columns of every map
  HeadMean mean = HeadMean::None;   ///< weights as the mean of a layer's heads, or of all; other stages are left out
  bool weighs_values = false;       ///< weights as norms of what they add
  std::map<attention::Stage, chart::ValueLimits> color_limits = {};  ///< stages without one fit their matrices
  std::vector<const FigureKind*> views = {};  ///< kinds of figures; empty: each head's, and each layer's heads on a sheet
  /// Writes a kind that is a view's own figure; empty: none is among `views`. Throws Error in one line.
  std::function<void(const FigureKind& kind, const std::filesystem::path& file)> write_view = {};
  FigureChoice choice = {};
  std::string session = {};  ///< the state as JSON, which figures carry so that they can be made again; empty: none
  std::filesystem::path directory;
  std::string file;  ///< the only one in `directory`, without run.json beside it; empty: names by the contents
};

/// Lets figures have the colours and the names of rows that the window shows.
void take_look(const State& state, Choices& options);

/// Are matrices written as what two runs differ in?
inline bool writes_difference(const ExportOptions& options) { return options.baseline && options.writes_differences; }

struct ExportProgress {
  std::size_t loaded_bytes = 0, bytes_to_load = 0;  ///< of the model, before the first file
  std::size_t done = 0, total = 0;                  ///< files
  std::string file;                                 ///< being written
  double share = 0.0;                               ///< of it, 0 … 1, where it is written in parts
};

struct ExportReport {
  std::vector<std::filesystem::path> files;
  std::vector<std::uint64_t> bytes;  ///< of each; of plan_run() an estimate where it is text or an image
  std::vector<std::string> notes;    ///< one line each: requested stages that don't exist
};

/// Called before each file and repeatedly inside a long one; false cancels (an Error "cancelled" is thrown, finished files
/// stay).
using ExportObserver = std::function<bool(const ExportProgress&)>;

/// Runs the forward pass and writes every file; used by the command and the window's dialog. Large maps are written in
/// strips of rows, never held as a whole. Throws Error in one line.
ExportReport run_export(Runner& runner, const ExportOptions& options, const ExportObserver& observer = {});

/// What run_export() would write, without computing it: no device is needed. Throws Error in one line.
ExportReport plan_run(const ExportOptions& options);

/// Writes the export of the run that the task names, and of its baseline.
Task<ExportReport> write_export(const ExportOptions& options, ExportObserver observer);

/// An export that an engine writes in the background.
struct ExportJob {
  ExportProgress progress = {};
  ExportReport report = {};  ///< when it is done
};
/// `finish`: called with the files on the engine's thread; an error that it throws is the job's.
Asked<ExportJob> export_in_background(Engine& engine, ExportOptions options, std::function<void(ExportReport&)> finish = {});

}  // namespace headlight::app
