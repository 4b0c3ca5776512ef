#pragma once

#include <set>

#include "app/figures/plan.h"
#include "export/json.h"

namespace headlight::app {

/// What files are written from.
struct ExportWork {
  const ExportOptions& options;
  RunSource::Source source = {};
  std::optional<RunSource::Source> baseline = {};                ///< what is compared with; none where the options have none
  std::shared_ptr<const model::ModelInput> baseline_input = {};  ///< by the run's positions
  std::shared_ptr<const AnalysisSubject> subject = {};
  EvaluationSubject evaluated = {};  ///< both runs
  std::string device = {};
  std::vector<ExportBlocks> blocks = {};  ///< what is selected of the run
  Checkpoint checkpoint = {};
  std::vector<std::string> notes = {};
  exporting::Json arrays = exporting::Json::array();  ///< that are written, as run.json lists them
  std::set<std::string> files = {}, earlier = {};     ///< names in the folder: of this export, and of others before it

  /// Evaluates a tile of the run, or of the difference of both.
  Evaluation tile(const TileQuery& query) const { return quantity(query.quantity).evaluate(query, evaluated); }
  /// changes_note() of figures and pages.
  std::string changes() const;
};

/// A matrix as RFC 4180 text.
Task<void> write_matrix_text(ExportWork& work, const ExportBlocks& blocks, MatrixRef matrix, std::filesystem::path path);

/// Edge of the images in pixels: a pixel for each cell.
inline constexpr std::uint32_t kExportTileEdge = 1024;
/// Writes a map into a folder: "y000_x000.png", … in the colours of the options, and index.json with the map's size, the
/// range of its colours and the name and place of each image. Images that the mask hides as a whole are left out. One image
/// is in memory at a time. Weights are coloured up to the map's largest, other stages symmetrically around 0, which takes
/// another pass over the map; limits of the options go before. Where it is cancelled finished images stay, without an index.
Task<void> write_matrix_tiles(ExportWork& work, const ExportBlocks& blocks, MatrixRef matrix, std::filesystem::path folder);

/// The selected weights as a page for browsers, a part of it for each kind of attention and line of the batch, without
/// padding. Notes where the page is large. Throws Error where it would be too large, or has nothing to show.
Task<void> write_attention_page(ExportWork& work, std::filesystem::path path);

/// A file, or a folder of tiles.
struct PlannedFile {
  std::string name;
  double bytes = 0.0;  ///< an estimate where it is text or an image; of arrays exact
  /// Reads of the run that the task is of.
  std::function<Task<void>(ExportWork& work, const std::filesystem::path& path)> write;
};

/// Is the task of a file that needs no numbers of a run: it is done at once.
inline Task<void> written() { co_return; }

/// What an export writes, in its order, without run.json.
struct ExportPlan {
  std::vector<PlannedFile> files = {};
  std::vector<std::string> notes = {};  ///< what is left out and why, a line each
  std::uint64_t numbers = 0;            ///< of all matrices, each counted once whatever formats it is written in

  std::uint64_t bytes() const;
  /// Sorted, with run.json where there is one.
  std::vector<std::string> names(const ExportOptions& options) const;
};

/// Without running anything. `blocks`: of select_blocks(), must outlive the plan; network and input are the run's.
ExportPlan plan_export(const ExportOptions& options, const std::vector<ExportBlocks>& blocks, const model::Network& network,
                       const model::ModelInput& input);

/// What an export writes and how, whatever it is of: selection, formats, figures.
exporting::Json describe_settings(const ExportOptions& options);

/// The contents of run.json: the source of the numbers, the export's options, and the `arrays` that it wrote: file, stage,
/// shape and axes of each.
std::string encode_run_record(const ExportWork& work, const exporting::Json& arrays);

}  // namespace headlight::app
