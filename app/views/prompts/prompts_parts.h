#pragma once

// Parts of the view Prompts.

#include "app/data/prompts/prompt_room.h"
#include "app/shapes/table.h"
#include "app/widgets/cell_grid.h"

namespace headlight::app {

/// What is shown of the cells.
struct PromptMeasure {
  std::size_t number = 0;  ///< of PromptNumbers::cells
  std::string title = {};
  std::string column = {};  ///< of a file, whose unit docs/EXPORT.md says: "probability_change"
  double scale = 1.0;       ///< on screen: 100 where probabilities are percentage points
  bool is_signed = true;
};
PromptMeasure shown_measure(const State& state);
/// "What knocking out each head changes".
const char* experiment_title(PromptExperiment experiment);
/// What of it the title leaves open: what is put where, and in which direction; may be empty.
std::string question_text(const PromptQuestion& question, const PromptFindings& findings);
/// Are columns named positions or tokens? Then they are the rows on screen.
bool has_named_columns(const PromptQuestion& question);

/// The set that comes along and is measured first.
const BundledPrompts& first_prompts();
/// The chosen set; else the first one where a model has so few parameters that it takes a moment, or none.
std::string shown_prompt_set(const std::string& chosen, std::size_t parameters);

/// The set, the experiment and what it reads of the state.
void draw_prompt_sets(Frame& frame, const std::string& shown);
void draw_experiment_controls(Frame& frame, const PromptFindings* findings);

/// The mean of every cell; and all of it as CSV: mean, deviation (none of one number), count, how many prompts have none,
/// and the texts with the lowest and the highest number.
Grid means_of(const PromptFindings& findings, const PromptMeasure& measure, const PromptQuestion& question);
Table prompts_table(const PromptFindings& findings, const PromptMeasure& measure);

/// The prompt as one line.
std::string prompt_line(const SetPrompt& prompt);

}  // namespace headlight::app
