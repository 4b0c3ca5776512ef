#include "app/engine/prompt_lines.h"

#include <algorithm>

namespace headlight::app {
namespace {

bool is_blank(const std::string& text, LineRange line) {
  const std::size_t first = text.find_first_not_of(" \t\r\v\f", line.begin);
  return first == std::string::npos || first >= line.end;
}

/// The item's line number in its own text, blank lines counted.
std::size_t line_number(const std::string& text, std::size_t item) {
  const std::vector<LineRange> lines = line_ranges(text);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (!is_blank(text, lines[i]) && item-- == 0) return i;
  }
  return lines.size();
}

std::string cut(const std::string& text, LineRange line) { return text.substr(line.begin, line.end - line.begin); }

/// A line for each item, or none where all are empty.
std::vector<std::string> partners(const Model& model, std::size_t items, const std::string& partner) {
  std::vector<std::string> lines;
  for (std::size_t item = 0; item < items; ++item) {
    lines.push_back(cut(partner, partner_line(model.text, item, partner, model.joins_lines)));
  }
  if (std::ranges::all_of(lines, &std::string::empty)) lines.clear();
  return lines;
}

}  // namespace

std::vector<LineRange> line_ranges(const std::string& text) {
  std::vector<LineRange> lines;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back({.begin = begin, .end = end});
    begin = end + 1;
  }
  return lines;
}

std::vector<LineRange> item_lines(const std::string& text, bool joins_lines) {
  std::vector<LineRange> lines = joins_lines ? std::vector{LineRange{.begin = 0, .end = text.size()}} : line_ranges(text);
  std::erase_if(lines, [&](LineRange line) { return is_blank(text, line); });
  return lines;
}

LineRange partner_line(const std::string& text, std::size_t item, const std::string& partner, bool joins_lines) {
  if (joins_lines) return {.begin = 0, .end = partner.size()};
  const std::vector<LineRange> lines = line_ranges(partner);
  if (lines.size() == 1) return lines.front();
  const std::size_t number = line_number(text, item);
  return number < lines.size() ? lines[number] : LineRange{.begin = partner.size(), .end = partner.size()};
}

inference::PromptText prompt_text(const Model& model, bool has_pairs, bool has_target) {
  inference::PromptText prompt;
  prompt.adds_special = model.adds_special;
  prompt.is_chat = model.is_chat;
  prompt.thinking = model.thinking;
  prompt.padding = model.padding;
  prompt.stretches_positions = model.stretches_positions;
  prompt.ids = model.ids;
  if (prompt.ids.empty()) {
    for (const LineRange line : item_lines(model.text, model.joins_lines)) prompt.lines.push_back(cut(model.text, line));
    if (has_pairs && !model.is_chat) prompt.pair_lines = partners(model, prompt.lines.size(), model.pair_text);
  }
  if (!has_target) return prompt;
  prompt.target_ids = model.target_ids;
  if (prompt.target_ids.empty()) {
    const std::size_t items = prompt.ids.empty() ? prompt.lines.size() : prompt.ids.size();
    prompt.target_lines = partners(model, items, model.target_text);
  }
  return prompt;
}

}  // namespace headlight::app
