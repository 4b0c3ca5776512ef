// The window's messages of its own: lost devices, missing fonts, odd numbers, changes without a place.

#include "app/state/run_interventions.h"
#include "app/window/workspace.h"
#include "inference/weight_findings.h"

namespace headlight::app {

void Workspace::tell_of_lost_engine() {
  const bool has_slept = sleep_.has_slept();
  sleep_ = SleepWatch();
  tell_of_reopening(
      fmt::format("the device '{}' {}", desk_.result.device,
                  has_slept ? "may have lost its memory while the computer was asleep" : "was lost (a driver reset)"));
}

void Workspace::tell_of_reopening(const std::string& loss) {
  std::string text = loss.substr(0, loss.find(';'));  // without the advice
  if (!text.empty() && text.front() == 't') text.front() = 'T';
  desk_.warn(text + ". It is open again, what it held was computed anew, and nothing of your work is gone.");
  desk_.ui.request_redraw();
}

void Workspace::warn(const std::string& text) {
  desk_.warn(desk_.notice.is_shown() && desk_.notice.text != text ? desk_.notice.text + " \u00B7 " + text : text);
  desk_.ui.request_redraw(2);
}

void Workspace::warn_of_fonts() {
  std::string characters;
  const auto look_at = [&](const model::TokenBatch& tokens) {
    for (const auto& line : tokens.texts) {
      for (const std::string& token : line) characters += desk_.ui.unshaped(token);
    }
  };
  if (desk_.result.input) look_at(desk_.result.input->source);
  if (desk_.result.input && desk_.result.input->target) look_at(*desk_.result.input->target);
  std::string warning = desk_.ui.missing_fonts(characters);
  if (warning == font_warning_) return;
  if (desk_.notice.text == font_warning_) desk_.notice = {};  // it was of the text before
  font_warning_ = std::move(warning);
  if (!font_warning_.empty()) desk_.warn(font_warning_);
}

void Workspace::warn_of_numbers() {
  const std::string weights = desk_.result.network ? inference::weight_warning(*desk_.result.network) : std::string();
  // Consequences of the weights aren't reported twice.
  std::string warning = weights.empty() ? desk_.result.run_warning : "Weights aren't finite. " + weights;
  if (warning == number_warning_) return;
  if (!warning.empty()) {
    desk_.warn(warning);
  } else if (desk_.notice.text == number_warning_) {
    desk_.notice = {};
  }
  number_warning_ = std::move(warning);
}

void Workspace::warn_of_changes() {
  std::string warning;
  if (desk_.result.inputs && desk_.result.network && desk_.result.input) {
    const std::vector<std::string> lines =
        changes_left_out(*desk_.result.inputs, *desk_.result.network, *desk_.result.input);
    if (!lines.empty()) warning = lines.front();
    if (lines.size() > 1) warning += fmt::format("; {} more likewise", lines.size() - 1);
  }
  if (warning == changes_warning_) return;
  changes_warning_ = std::move(warning);
  if (!changes_warning_.empty()) desk_.warn("In this run " + changes_warning_);
}

}  // namespace headlight::app
