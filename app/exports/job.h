#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/engine/model_cache.h"
#include "app/engine/run_source.h"
#include "app/engine/runner.h"
#include "app/state/state.h"
#include "core/result.h"

namespace headlight::app {

/// Tiles: a folder for each map, with PNGs of a pixel for each cell and an index.
enum class ExportFormat : std::uint8_t { Png, Svg, Csv, Npy, Json, Tiles };
std::string_view to_string(ExportFormat format);
Result<ExportFormat> parse_format(std::string_view text);

/// Limits of a figure's size and resolution.
inline constexpr float kLeastMapEdge_mm = 10.0F, kMostMapEdge_mm = 1'000.0F;
inline constexpr std::uint32_t kLeastDpi = 48, kMostDpi = 960;

/// The matrices that an export writes.
struct ExportContents {
  std::vector<attention::Stage> stages = {attention::Stage::Weights};
  /// Of the playground and presets encoder_output.npy; of models hidden.npy, or encoder_hidden.npy and decoder_hidden.npy.
  bool hidden = false;
  bool logits = false;  ///< logits.npy

  bool operator==(const ExportContents&) const = default;
};

/// Indices from the first up to `end`, which is behind the last.
struct IndexRange {
  std::uint32_t first = 0, end = 0;

  bool operator==(const IndexRange&) const = default;
};

/// Options of an export. An empty selection means all of that axis.
struct ExportOptions : ExportContents {
  RunInputs inputs;
  /// Every matrix is written as the run minus this one; hidden states and logits as well.
  std::optional<FrozenRun> reference = {};
  std::shared_ptr<ModelCache> models = {};  ///< may hold the model that `inputs` names; none: it is opened again
  std::vector<ExportFormat> formats = {ExportFormat::Png};
  std::optional<model::BlockKind> kind;
  std::optional<std::uint32_t> layer, batch, head;
  std::optional<IndexRange> queries, keys;  ///< the part of every map that is written; other stages are written whole
  HeadMean mean = HeadMean::None;           ///< weights as the mean of a layer's heads, or of all; other stages are left out
  bool weighs_values = false;               ///< weights as norms of what they add
  RowNames row_names = RowNames::Read;      ///< of figures of an encoder-decoder's decoder
  std::string color_map = "viridis";
  bool is_row_normalized = false;
  view::ScaleSpread color_spread = view::ScaleSpread::Linear;       ///< of weights
  std::map<attention::Stage, view::ValueLimits> color_limits = {};  ///< stages without one fit their matrices
  bool is_dark = false;
  std::string title;         ///< of every figure; empty: each has the name of its matrix
  float map_edge_mm = 0.0F;  ///< the longer side of a map on paper; 0: as its cells need
  std::uint32_t dpi = 192;   ///< of PNGs
  std::filesystem::path directory;
};

struct ExportProgress {
  std::size_t loaded_bytes = 0, bytes_to_load = 0;  ///< of the model, before the first file
  std::size_t done = 0, total = 0;                  ///< files
  std::string file;                                 ///< being written
  double share = 0.0;                               ///< of it, 0 … 1, where it is written in parts
};

struct ExportReport {
  std::vector<std::filesystem::path> files;
  std::vector<std::string> notes;  ///< one line each: requested stages that don't exist
};

/// Called before each file and repeatedly inside a long one; false cancels (an Error "cancelled" is thrown, finished files
/// stay).
using ExportObserver = std::function<bool(const ExportProgress&)>;

/// Runs the forward pass and writes every file; used by the command and the window's dialog. Large maps are written in
/// strips of rows, never held as a whole. Throws Error in one line.
ExportReport run_export(Runner& runner, const ExportOptions& options, const ExportObserver& observer = {});

/// The same of a run that the runner has made of `source` already.
ExportReport export_run(Runner& runner, std::shared_ptr<const inference::Run> run, const RunSource::Source& source,
                        const ExportOptions& options, const ExportObserver& observer = {});

/// run_export on its own thread, so that the window stays live meanwhile.
class ExportJob {
 public:
  /// `finish`: called with the files on the job's thread; an error that it throws is the job's result.
  ExportJob(RunnerFactory open, std::string device, ExportOptions options, std::function<void()> wake,
            std::function<void(ExportReport&)> finish = {});
  /// Cancels and waits.
  ~ExportJob();
  ExportJob(const ExportJob&) = delete;
  ExportJob& operator=(const ExportJob&) = delete;

  ExportProgress progress() const;
  void cancel();
  bool is_done() const;
  /// Only when is_done(): the written files, or the error.
  Result<ExportReport> result() const;

 private:
  struct Shared;
  std::unique_ptr<Shared> shared_;
};

}  // namespace headlight::app
