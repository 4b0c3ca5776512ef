#pragma once

// What views of findings have in common: the answers of both runs, what stands in place of one, and two columns.

#include "app/widgets/tile_numbers.h"

namespace headlight::app {

/// What an analysis found about the run, and where views show differences about the baseline.
template <typename Found>
struct ComparedFinding {
  const Analysed* answer = nullptr;       ///< null: not yet
  const Analysed* of_baseline = nullptr;  ///< null: nothing is compared, or not yet
  const Found* now = nullptr;             ///< null: `answer` has none
  const Found* baseline = nullptr;

  ComparedFinding() = default;
  ComparedFinding(const Analysed* of_run, const Analysed* other)
      : answer(of_run),
        of_baseline(other),
        now(of_run ? of_run->as<Found>() : nullptr),
        baseline(other ? other->as<Found>() : nullptr) {}

  /// A number of both.
  template <typename Number>
  auto compare(const Number& number) const {
    using Value = decltype(number(*now));
    return Compared<Value>{.now = number(*now),
                           .baseline = baseline ? std::optional<Value>(number(*baseline)) : std::nullopt};
  }
};

/// Asks about both runs; the baseline's finding is there when both are whole.
template <typename Found>
ComparedFinding<Found> ask_of_both(Frame& frame, const AnalysisQuery& query) {
  const Analysed* answer = frame.ask(query);
  return {answer, subtractable(answer, ask_of_baseline(frame, query))};
}

/// Small text, broken at the region's edge, marked by `name`; without a colour it is dim.
void write_note(Frame& frame, const std::string& text, std::optional<shell::Color> color = {}, const char* name = "");
/// In place of a finding: why there is none, or that it is being computed.
std::string missing_text(const Analysed* answer);
void write_missing(Frame& frame, const Analysed* answer);

/// A filled button, the one that gets to what a view would show: below the last note, whose other buttons continue its line.
bool draw_first_button(Frame& frame, std::string name, const char* label, const char* explanation);

/// Rows of a list in the current region, which scrolls: those of `count` rows of this height that are visible are drawn at
/// their y on the screen, and all take their place. `width`: of what they take.
void draw_rows(std::size_t count, float height, float width, const std::function<void(std::size_t row, float y)>& draw);

/// Two regions, side by side or, where there is less room, one below the other.
struct ColumnPair {
  float share = 0.6F;    ///< of the width, that the first has
  float least = 560.0F;  ///< narrower: one below the other

  bool is_wide() const;
  float first_width() const;
  /// `height`: of the first above the second; both have at least one that shows something, and the region scrolls.
  void draw(const std::function<void()>& first, const std::function<void()>& second, float height) const;
};

}  // namespace headlight::app
