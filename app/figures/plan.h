#pragma once

#include "app/figures/job.h"
#include "app/shapes/quantities/evaluation.h"
#include "app/state/usage.h"
#include "core/file.h"
#include "export/csv.h"
#include "model/network.h"

namespace headlight::app {

/// One kind of attention of a run, restricted to the selection; its layers have equal shapes, but for what is inside of
/// their feed-forwards.
struct ExportBlocks {
  model::BlockKind kind = model::BlockKind::EncoderSelf;
  std::vector<model::BlockRef> layers;
  inference::BlockShape shape;   ///< of one layer, whole
  std::uint32_t all_layers = 0;  ///< of this kind in the network
  float scale = 1.0f;            ///< factor of the raw scores
  IndexRange batch;
  std::vector<std::uint32_t> heads;  ///< ascending
  IndexSet queries;                  ///< of maps: rows that are written
  IndexRange keys;                   ///< of maps
  HeadMean mean = HeadMean::None;    ///< in place of `heads`; of all layers: `layers` has the first alone
  bool weighs_values = false;        ///< weights are written as norms
  bool is_difference = false;        ///< of two runs, in each stage
  bool predicts = false;             ///< the last layer's states are read as logits
  bool has_baseline = false;         ///< there is another run, which pairs show
  bool is_mixed = false;             ///< some layers are dense, others have experts: stages inside of either are left out
  std::string prefix;                ///< of file names: "encoder_" where the network has several kinds, else empty

  /// Of without_padding(): the line's own rows of matrices that aren't maps (else none: all are written), and what was
  /// chosen.
  IndexRange line_queries, line_keys, chosen_keys;
  IndexSet chosen_queries;
};

/// The part of a range with tokens that aren't padding.
IndexRange without_padding(const IndexRange& range, const model::TokenBatch& tokens, std::uint32_t item);
/// The selection of one batch item without its padding, for what is drawn; itself where nothing else is selected.
ExportBlocks without_padding(const ExportBlocks& blocks, const model::ModelInput& input, std::uint32_t item);

/// Are the states after the last of these layers read as logits?
bool predicts(const model::Network& network, model::BlockKind kind);

/// What a run has to select from.
struct RunShapes {
  std::vector<model::BlockRef> blocks;  ///< in the run's order
  BlockShapes shapes;
  const model::ModelInput* input = nullptr;  ///< for rows that are chosen by their tokens; null: there are none of those
};

/// The text has no tokens that `--tokens` names.
class NoSuchToken : public UsageError {
 public:
  explicit NoSuchToken(const std::string& text);
};

/// Throws UsageError saying what exists when the selection doesn't.
std::vector<ExportBlocks> select_blocks(const RunShapes& run, const model::Network& network, const ExportOptions& options);
std::vector<ExportBlocks> select_blocks(const inference::Run& run, const model::Network& network,
                                        const ExportOptions& options);

/// What is wrong with a part of an axis that has `count` "queries" or "keys"; empty: nothing.
std::string part_complaint(const IndexRange& part, std::string_view things, std::uint32_t count);

/// Tokens that make `text`: one, or several beside each other. A mark for the space before a word counts as the space.
IndexSet tokens_of_text(const std::vector<std::string>& labels, const std::string& text);

/// "1000:2000": from the first index up to the second, one past the last. Throws UsageError, which names the `flag`.
IndexRange parse_index_range(const std::string& flag, const std::string& text);

/// The selected heads of a stage, ascending: KV heads for K and V, which several query heads may share; a single one where a
/// stage isn't per head; a single one where a mean is selected.
std::vector<std::uint32_t> heads_of(const ExportBlocks& blocks, attention::Stage stage);
/// Returns the selected heads, layer by layer.
std::vector<HeadRef> selected_heads(const ExportBlocks& blocks);

/// Rows and columns that are written of a stage's matrix: the selected ones of a map, all of others. Throws Error where the
/// block has no such stage.
inference::BlockShape::Extent extent_of(const ExportBlocks& blocks, attention::Stage stage);

/// What is written of a stage: itself; of weights the selected mean, or norms; where two runs are compared the difference.
QuantityId quantity_of(const ExportBlocks& blocks, attention::Stage stage);

/// The matrix of a stage in one batch item and one of the stage's heads; of a map a part for each range of selected rows,
/// top to bottom. Exact.
std::vector<TileQuery> selected_parts(const ExportBlocks& blocks, model::BlockRef block, attention::Stage stage,
                                      std::uint32_t batch, std::uint32_t head);
/// The same as one. Throws UsageError where there are several.
TileQuery selected_matrix(const ExportBlocks& blocks, model::BlockRef block, attention::Stage stage, std::uint32_t batch,
                          std::uint32_t head);

/// The selected matrix in strips of rows, top to bottom, so that one of any size passes through a bounded buffer.
std::vector<TileQuery> strips_of(const TileQuery& matrix);

/// Called between parts of a file with the share of it that is written, 0 … 1; throws to cancel.
using Checkpoint = std::function<void(double share)>;

/// One matrix of the plan.
struct MatrixRef {
  model::BlockRef block;
  std::uint32_t batch = 0;
  std::uint32_t head = 0;  ///< one of heads_of()
  attention::Stage stage = attention::Stage::Weights;
};

/// What is written of a stage, by layer, batch item and head.
std::vector<MatrixRef> matrices_of(const ExportBlocks& blocks, attention::Stage stage);

/// The labels of a matrix: tokens, or the indices of features.
struct MatrixAxes {
  std::string row_name, column_name;  ///< "query", "key", "token", "feature"
  std::vector<std::string> rows, columns;
};
/// A matrix as RFC 4180 text, whose rows come some at a time; without finish() nothing is written.
class MatrixText {
 public:
  MatrixText(const std::filesystem::path& path, MatrixAxes axes);
  void append(std::span<const float> values);
  void finish() { file_.finish(); }

 private:
  MatrixAxes axes_;
  AtomicFile file_;
  exporting::CsvWriter writer_;
  std::size_t row_ = 0;
};

MatrixAxes matrix_axes(const model::ModelInput& input, const ExportBlocks& blocks, const MatrixRef& matrix);

}  // namespace headlight::app
