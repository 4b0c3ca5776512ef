#include "app/views/heads/pattern_pad.h"

#include <variant>

#include "attention/expression.h"

namespace headlight::app {
namespace {

enum class Way : std::uint8_t { Diagonal, Column, Row };

/// Drawn cells one after the other in a line, which has none before them and none after them.
struct Run {
  Way way = Way::Diagonal;
  std::uint32_t row = 0, column = 0;  ///< of the first cell
  std::uint32_t count = 0;
  bool is_from_start = false, is_to_end = false;  ///< of the line within the region
};

class Cover {
 public:
  explicit Cover(const DrawnPattern& pattern) : pattern_(pattern), left_(pattern.cells) {}

  std::optional<std::string> formula() {
    const std::vector<Run> runs = all_runs();
    std::string text;
    while (std::ranges::find(left_, 1) != left_.end()) {
      const Run& best = *std::ranges::max_element(runs, {}, [this](const Run& run) { return uncovered(run); });
      if (!text.empty()) text += " || ";
      text += term(best);
      if (text.size() > attention::Expression::kLongest) return std::nullopt;
      for (std::uint32_t i = 0; i < best.count; ++i) left_[index(best, i)] = 0;
    }
    const auto parsed = attention::parse_expression(text, attention::ExpressionUse::Mask);
    return std::holds_alternative<attention::Expression>(parsed) ? std::optional(text) : std::nullopt;
  }

 private:
  static std::uint32_t down(Way way) { return way == Way::Row ? 0 : 1; }
  static std::uint32_t right(Way way) { return way == Way::Column ? 0 : 1; }

  std::size_t index(const Run& run, std::uint32_t i) const {
    return std::size_t{run.row + i * down(run.way)} * pattern_.keys + run.column + i * right(run.way);
  }
  std::uint32_t uncovered(const Run& run) const {
    std::uint32_t count = 0;
    for (std::uint32_t i = 0; i < run.count; ++i) count += left_[index(run, i)];
    return count;
  }

  std::vector<Run> all_runs() const {
    std::vector<Run> runs;
    for (const Way way : {Way::Diagonal, Way::Column, Way::Row}) {
      for (std::uint32_t row = 0; row < pattern_.queries; ++row) {
        for (std::uint32_t column = 0; column < pattern_.keys; ++column) {
          const bool has_before = row >= down(way) && column >= right(way);
          const bool begins =
              pattern_.at(row, column) != 0 && (!has_before || pattern_.at(row - down(way), column - right(way)) == 0);
          if (begins) runs.push_back(run_from(way, row, column, !has_before));
        }
      }
    }
    return runs;
  }

  Run run_from(Way way, std::uint32_t row, std::uint32_t column, bool is_from_start) const {
    Run run{.way = way, .row = row, .column = column, .count = 0, .is_from_start = is_from_start};
    while (row < pattern_.queries && column < pattern_.keys && pattern_.at(row, column) != 0) {
      ++run.count;
      row += down(way);
      column += right(way);
    }
    run.is_to_end = row >= pattern_.queries || column >= pattern_.keys;
    return run;
  }

  std::string term(const Run& run) const {
    const std::uint32_t query = pattern_.first_query + run.row, key = pattern_.first_key + run.column;
    if (run.count == 1) return fmt::format("q == {} && k == {}", query, key);
    const bool is_row = run.way == Way::Row;
    std::string text = is_row                   ? fmt::format("q == {}", query)
                       : run.way == Way::Column ? fmt::format("k == {}", key)
                       : query >= key           ? fmt::format("q - k == {}", query - key)
                                                : fmt::format("k - q == {}", key - query);
    const char* const along = is_row ? "k" : "q";
    const std::uint32_t from = is_row ? key : query, to = from + run.count - 1;
    if (!run.is_from_start) text += fmt::format(" && {} >= {}", along, from);
    if (!run.is_to_end) text += fmt::format(" && {} <= {}", along, to);
    return text;
  }

  const DrawnPattern& pattern_;
  std::vector<std::uint8_t> left_;  ///< cells that no term has yet
};

}  // namespace

std::optional<std::string> formula_of(const DrawnPattern& pattern) { return Cover(pattern).formula(); }

}  // namespace headlight::app
