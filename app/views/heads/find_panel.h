#pragma once

#include "app/state/heads_settings.h"
#include "app/widgets/head_scores.h"

namespace headlight::app {

/// A mode of the heads view, without its title and the choice of modes.
class FindPanel {
 public:
  struct Heading {
    std::string title = {};   ///< "Heads by what they do"
    std::string detail = {};  ///< beside it: "12 heads"; may be empty
  };

  virtual ~FindPanel() = default;
  virtual Heading heading(const Frame& frame) = 0;
  /// Draws into what is left of the region.
  virtual void draw(Frame& frame) = 0;
  /// Was anything drawn that can be copied?
  virtual bool has_numbers() const { return !scores_.heads.empty(); }
  /// What was drawn last, with a line of titles. Only where has_numbers().
  virtual std::string csv() const { return app::csv(scores_.table()); }
  /// Are the numbers that were drawn last differences to the baseline?
  virtual bool is_compared() const { return scores_.has_differences(); }
  /// Does it show heads of all kinds of attention at once? Else of the selected one.
  virtual bool shows_all_kinds() const { return false; }
  /// What was drawn last as a figure for a paper; null: this mode has none, or nothing was drawn.
  virtual std::unique_ptr<exporting::Drawing> figure(const FigureWords& words) const { return scores_.figure(words); }

 protected:
  FindPanel() = default;
  FindPanel(const FindPanel&) = default;
  FindPanel& operator=(const FindPanel&) = default;

  HeadScores scores_;  ///< drawn last, by modes that give each head one number
};

/// A few small lines, marked by `name`, and some room below.
void draw_note(Frame& frame, const char* name, const std::string& text, std::optional<shell::Color> color = {});

/// The table of metrics.
std::unique_ptr<FindPanel> open_metrics_panel();
/// Who looks from some tokens at some tokens.
std::unique_ptr<FindPanel> open_from_to_panel();
/// Whose attention matches a pattern.
std::unique_ptr<FindPanel> open_pattern_panel();
/// Which heads look alike.
std::unique_ptr<FindPanel> open_similarity_panel();
/// Which heads find a needle in a haystack.
std::unique_ptr<FindPanel> open_retrieval_panel();
/// What the selected head does with tokens of the vocabulary, by its weights.
std::unique_ptr<FindPanel> open_vocabulary_panel();
/// Which heads compose with the selected one, and which copy, by their weights.
std::unique_ptr<FindPanel> open_composition_panel();

}  // namespace headlight::app
