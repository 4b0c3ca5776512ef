// What the window says by itself: lost devices, missing fonts, odd numbers, changes without a place.

#include "app/state/run_interventions.h"
#include "app/window/workspace.h"
#include "inference/weight_findings.h"

namespace headlight::app {

void Workspace::tell_of_lost_engine() {
  const bool has_slept = sleep_.has_slept();
  sleep_ = SleepWatch();
  tell_of_reopening(
      fmt::format("the device '{}' {}", result_.device,
                  has_slept ? "may have lost its memory while the computer was asleep" : "was lost (a driver reset)"));
}

void Workspace::tell_of_reopening(const std::string& loss) {
  std::string text = loss.substr(0, loss.find(';'));  // without the advice
  if (!text.empty() && text.front() == 't') text.front() = 'T';
  notice_ = {.text = text + ". It is open again, what it held was computed anew, and nothing of your work is gone.",
             .is_warning = true};
  ui_.request_redraw();
}

void Workspace::warn_of_fonts() {
  std::string characters;
  const auto look_at = [&](const model::TokenBatch& tokens) {
    for (const auto& line : tokens.texts) {
      for (const std::string& token : line) characters += ui_.unshaped(token);
    }
  };
  if (result_.input) look_at(result_.input->source);
  if (result_.input && result_.input->target) look_at(*result_.input->target);
  std::string warning = ui_.missing_fonts(characters);
  if (warning == font_warning_) return;
  if (notice_.text == font_warning_) notice_ = {};  // it was of the text before
  font_warning_ = std::move(warning);
  if (!font_warning_.empty()) notice_ = {.text = font_warning_, .is_warning = true};
}

void Workspace::warn_of_numbers() {
  const std::string weights = result_.network ? inference::weight_warning(*result_.network) : std::string();
  // What weights cause isn't said twice.
  std::string warning = weights.empty() ? result_.run_warning : "Weights aren't finite. " + weights;
  if (warning == number_warning_) return;
  if (!warning.empty()) {
    notice_ = {.text = warning, .is_warning = true};
  } else if (notice_.text == number_warning_) {
    notice_ = {};
  }
  number_warning_ = std::move(warning);
}

void Workspace::warn_of_changes() {
  std::string warning;
  if (result_.inputs && result_.network && result_.input) {
    const std::vector<std::string> lines = changes_left_out(*result_.inputs, *result_.network, *result_.input);
    if (!lines.empty()) warning = lines.front();
    if (lines.size() > 1) warning += fmt::format("; {} more likewise", lines.size() - 1);
  }
  if (warning == changes_warning_) return;
  changes_warning_ = std::move(warning);
  if (!changes_warning_.empty()) notice_ = {.text = "In this run " + changes_warning_, .is_warning = true};
}

}  // namespace headlight::app
