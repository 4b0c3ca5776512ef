#pragma once

#include <filesystem>
#include <span>

#include "model/config.h"
#include "model/network.h"

namespace headlight::inference {

/// Numbers of a stored weight that leave no finite results.
struct WeightFinding {
  std::string tensor;  ///< as its file names it; "" where it is in no file
  std::filesystem::path file;
  std::uint64_t not_finite = 0;   ///< NaN or ±∞ as stored
  std::uint64_t overflowing = 0;  ///< finite, but ±∞ as float16
};

/// Looks at decoded weights while they go to the device, so that none is read for it a second time. What it finds is kept
/// for the process under the address of what owns the weights (model::Layers, model::Embedding, or an embedding's table, of
/// which only the rows of texts are read) until that is looked at again. Any thread.
class WeightInspection {
 public:
  explicit WeightInspection(const void* owner) : owner_(owner) {}

  /// Numbers of `weight` as they are before they are stored on the device, as float16 or as float32.
  void look(const model::Parameter& weight, std::span<const float> values, bool has_halves);
  void note(const model::Parameter& weight, std::uint64_t not_finite, std::uint64_t overflowing);
  /// Puts what was found in the place of what was known about the owner.
  void publish();

 private:
  const void* owner_;
  std::vector<WeightFinding> findings_;
};

/// Counts of numbers that aren't finite, and of finite ones that would be infinite as float16.
struct OddNumbers {
  std::uint64_t not_finite = 0, overflowing = 0;
};
OddNumbers count_odd_numbers(std::span<const float> values, bool has_halves);
/// Counts the numbers of an F16 or BF16 weight, as stored, that aren't finite.
std::uint64_t count_odd_words(std::span<const std::uint16_t> words, model::ElementType type);
/// Counts such numbers in whole blocks; only blocks whose scales aren't finite, or are large, are decoded.
std::uint64_t count_odd_blocks(std::span<const std::byte> blocks, model::ElementType type);

/// Returns what the uploads of a network's weights found, in the order of upload.
std::vector<WeightFinding> weight_findings(const model::Network& network);
/// Returns these findings in one line, "" when there are none: which tensors, and what to expect of results.
std::string weight_warning(const model::Network& network);
/// Returns a line for each owner in whose uploaded weights this process has found something.
std::vector<std::string> all_weight_warnings();
/// Forgets all findings; for a process whose results another process reports.
void forget_weight_findings();

/// Counts of a pass's numbers that are NaN or infinite, although its weights may all be finite: scores that overflow
/// float32, and the numbers computed from them.
struct RunFindings {
  /// Softmax rows whose (m, l) aren't finite, because a score is NaN or +∞ or all visible ones are −∞. Rows that the mask
  /// hides whole aren't among them.
  std::uint64_t rows = 0;
  std::uint64_t all_rows = 0;
  model::BlockRef first_block = {};  ///< in the order of computation, with such a row
  std::uint64_t last_state = 0;      ///< numbers of the state after the last layer that are NaN or infinite

  bool are_numbers() const { return rows == 0 && last_state == 0; }
};

/// One line: how many, where, and what to look at. "" where all are numbers.
std::string run_warning(const RunFindings& findings);

/// Keeps the line of a run that a command computes, for its exit status; "" is nothing. Any thread.
void note_run_warning(const std::string& warning);
/// The first line that was kept; "" where there is none.
std::string noted_run_warning();
/// Forgets that line; for a process whose results another process reports.
void forget_run_warning();

}  // namespace headlight::inference
