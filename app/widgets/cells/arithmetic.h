#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "app/widgets/cells/cell_sources.h"
#include "attention/mask.h"
#include "attention/stage.h"
#include "model/network.h"

namespace headlight::app {

/// The source of a cell's numbers: one head's matrices. nullopt means that they are being computed.
class NumberSource {
 public:
  using Numbers = std::optional<std::vector<float>>;
  virtual ~NumberSource() = default;

  virtual Numbers row(attention::Stage stage, std::uint32_t row) = 0;
  virtual Numbers column(attention::Stage stage, std::uint32_t column) = 0;
  virtual std::optional<float> value(attention::Stage stage, std::uint32_t row, std::uint32_t column) = 0;

  /// m and l of a row's softmax.
  struct Softmax {
    float max = 0.0F;
    float sum = 0.0F;
  };
  virtual std::optional<Softmax> softmax(std::uint32_t row) = 0;

  /// Returns a row of the memory that cross-attention's keys and values come from.
  virtual Numbers memory(std::uint32_t /*row*/) { return std::nullopt; }
};

/// A cell of a stage, and the inputs of its explanation besides the numbers.
struct CellQuestion {
  BlockGeometry geometry = {};
  const model::AttentionLayer* layer = nullptr;  ///< null while there is no network
  attention::MaskFill fill = attention::MaskFill::NegativeInfinity;
  std::string mask_reason = {};       ///< of a cell of a map; empty: it is visible
  std::string score_expression = {};  ///< that the user typed; empty: none
  /// Computes the score expression for the cell's score; valid while the values that the question was made from are.
  std::function<double(double score)> expressed = {};
  bool is_uniform = false;    ///< the head's pattern is replaced by the uniform one
  double painted_bias = 0.0;  ///< that the user painted onto the cell
  /// The weight that the user painted into the cell's row instead of the head's own pattern; 0: another key of the row is
  /// painted.
  std::optional<double> painted_weight = {};
  bool has_captured_bias = false;            ///< the capture adds a number of its own to each score
  bool has_sink = false;                     ///< and each row's sum has the exponential of a sink
  std::optional<float> dropout_factor = {};  ///< of the cell's weight, 0 where it is dropped; none: no dropout of weights
  attention::Stage stage = attention::Stage::Scores;
  std::uint32_t row = 0, column = 0;
  std::uint32_t first_key = 0;  ///< of the line's own, after its padding
};

/// One product of a sum.
struct Product {
  float left = 0.0F, right = 0.0F;
  double value() const { return double{left} * double{right}; }
};

/// A cell's calculation, ready to be read: cell = formula = numbers = result.
struct Arithmetic {
  std::string cell;             ///< "scores[2,5]"
  std::string formula;          ///< "q₂·k₅"
  std::string numbers;          ///< "1.2·0.4 + 0.31·(−0.2)", largest first; "…" while numbers are being computed
  std::optional<float> result;  ///< the value on screen
  std::string note;             ///< in words: why a cell is masked, where a matrix comes from; may be empty
  std::vector<Product> terms;   ///< every product of the sum, in order
  float constant = 0.0F;        ///< added to the products: the bias
  bool has_constant = false;
};

/// Returns the question, with the captured bias as what masks the cell where that is −∞.
CellQuestion with_captured_mask(CellQuestion question, NumberSource& numbers);
inline constexpr std::string_view kCapturedBiasNote = "The bias was captured with the scores.";

/// Returns what dropout does to a weight, and why its row doesn't add up to 1. `factor`: 0 where it is dropped.
std::string dropout_note(float factor);

Arithmetic explain_cell(const CellQuestion& asked, NumberSource& numbers);

/// Numbers while they are being computed.
inline constexpr const char* kOnTheirWay = "…";
/// Explains cells of Q, K, V and Output: a row x of the matrix before it times a row of W, plus b.
void explain_projection(Arithmetic& arithmetic, const model::Linear& linear, std::uint32_t out,
                        const NumberSource::Numbers& x);
/// Explains cells of a layer with experts: gates, and what the chosen experts add up to.
void explain_gates(const CellQuestion& question, const attention::LayerNode& node, Arithmetic& arithmetic,
                   NumberSource& numbers);
void explain_experts(const CellQuestion& question, const attention::LayerNode& node, Arithmetic& arithmetic,
                     NumberSource& numbers);

/// Returns "0.418", "−1.250", "3.1e-5", "−∞": for reading, three decimals.
std::string write_number(double value);

/// Writes a number as a factor, negative ones in parentheses: "(−1.250)"; and as a summand: " + 0.418", " − 1.250".
std::string write_factor(double value);
std::string write_added(double value);
/// Products of two vectors' components, as many as the shorter one has.
std::vector<Product> products(std::span<const float> left, std::span<const float> right);

/// Returns the numbers of the terms, those with the largest magnitude first, equal ones in their order.
std::vector<std::size_t> largest_first(std::span<const Product> terms);

/// Returns a sum of products with its constant, the largest first: at most `max_terms` of them, then "… 56 more terms".
std::string write_sum(std::span<const Product> terms, std::optional<float> constant, std::size_t max_terms);

/// Returns the whole calculation as text, with every term, for the clipboard: "scores[2,5] = q₂·k₅ = … = 0.418" and the
/// note.
std::string write_all(const Arithmetic& arithmetic);

}  // namespace headlight::app
