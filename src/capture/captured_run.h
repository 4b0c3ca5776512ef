#pragma once

#include "capture/attention_of.h"
#include "capture/capture_file.h"
#include "capture/device_parts.h"
#include "inference/run.h"

namespace headlight::capture {

/// A capture as a run. Captured weights are read from the file and pooled on the host as a device pools them; those of
/// captured queries and keys are computed on a session's device like those of any run, or on the host in double precision
/// where there is none. It answers for weights, and for queries, keys, scores, values and the heads' outputs where what they
/// are of was captured; everything else is empty or throws Error.
class CapturedRun final : public inference::Run {
 public:
  /// Null: there is no device. The session must outlive the run.
  explicit CapturedRun(std::shared_ptr<const CaptureFile> file, inference::Session* session = nullptr);

  const CaptureFile& file() const { return *file_; }
  /// Returns in one line what is odd about the numbers of real tokens that were read so far: cells that aren't finite,
  /// rows that don't sum to 1, and whether these look like dropout, numbers that were rounded. Empty: nothing is odd.
  std::string warning() const;

  std::vector<model::BlockRef> blocks() const override;
  inference::BlockShape shape(model::BlockRef block) const override;
  std::uint64_t version(model::BlockRef block) const override;
  std::vector<attention::Tile> evaluate(std::span<const attention::TileRequest> requests) const override;

 private:
  /// The rows of one head's weights that were read, and their (m, l).
  struct HeadRows {
    std::vector<RowScale> scales = {};        ///< [query] m and l; none where a device has them
    std::vector<std::uint8_t> is_known = {};  ///< [query] 1: `scales` has it, or the row was looked at
  };
  struct Block {
    const CapturedBlock* captured = nullptr;
    std::unique_ptr<AttentionOf> attention;  ///< null where the weights themselves were captured
    std::unique_ptr<MixedValues> values;     ///< null where none were
    std::uint64_t version = 0;
    std::map<std::pair<std::uint32_t, std::uint32_t>, HeadRows> rows = {};  ///< by line of the batch and head
  };
  /// A row of weights that doesn't sum to 1.
  struct OddRow {
    model::BlockRef block;
    std::uint32_t item = 0, head = 0, row = 0;
    double sum = 1.0;
  };
  /// Do rows that don't sum to 1 look like those that dropout left? It makes each weight 0, or 1/(1 − p) times itself, so
  /// that sums are around 1 and at most 1/(1 − p).
  class DropoutSigns {
   public:
    /// `has_hole`: a weight between others is exactly 0.
    void add(double sum, bool has_hole, bool is_negative) {
      has_raised_ = has_raised_ || sum > 1.0;
      has_hole_ = has_hole_ || has_hole;
      is_other_ = is_other_ || is_negative || sum > kMaxSum;
    }
    bool is_likely() const { return has_raised_ && has_hole_ && !is_other_; }

   private:
    static constexpr double kMaxSum = 2.01;  ///< of p = 0.5, the most in use, with rounding

    bool has_raised_ = false, has_hole_ = false, is_other_ = false;
  };
  Block& block(model::BlockRef ref) const;
  /// Throws Error where the capture has no such numbers.
  void check(const attention::TileRequest& request) const;
  /// Null run: the host computes the block's numbers, or has them.
  DeviceParts::Part part_of(const attention::TileRequest& request) const;
  /// Tiles of one part of the device.
  std::vector<attention::Tile> evaluate(const DeviceParts::Part& part,
                                        std::span<const attention::TileRequest> requests) const;
  /// Heads side by side that are several parts.
  attention::Tile merge_parts(const attention::TileRequest& request) const;
  /// Counts rows of a map that weren't read before and whose numbers overflowed.
  void look_at_rows(const attention::Tile& tile) const;
  attention::Tile evaluate_on_host(const attention::TileRequest& request) const;
  /// Cells of one row of a stage that is no map.
  void read_vectors(const Block& block, attention::Stage stage, const Rectangle& row, float* to) const;
  /// Exact cells of one row of a stage; of a map `scale` gets the row's m and l.
  void read(Block& block, attention::Stage stage, const Rectangle& row, float* to, RowScale* scale) const;
  /// `scale`: of weights that are computed.
  void read_weights(const Block& block, const Rectangle& row, float* to, RowScale& scale) const;
  /// Counts what is odd about a whole row of weights; of captured weights `scale` becomes what they say of it.
  void look_at_row(const CapturedBlock& block, const Rectangle& row, std::span<const float> weights, RowScale& scale) const;

  std::shared_ptr<const CaptureFile> file_;
  std::unique_ptr<DeviceParts> parts_;  ///< null without a session
  mutable std::map<model::BlockRef, Block> blocks_;
  mutable std::uint64_t odd_cells_ = 0, odd_rows_ = 0;
  mutable OddRow worst_;
  mutable DropoutSigns dropout_;
};

}  // namespace headlight::capture
