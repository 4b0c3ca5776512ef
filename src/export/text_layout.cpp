#include "export/text_layout.h"

#include "export/text_metrics.h"

namespace headlight::exporting {

std::vector<std::string> wrap(std::string_view text, float width, const view::MeasureText& measure) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t newline = text.find('\n');
    std::string_view paragraph = text.substr(0, newline);
    text.remove_prefix(newline == std::string_view::npos ? text.size() : newline + 1);
    std::string line;
    while (!paragraph.empty()) {
      const std::size_t space = paragraph.find(' ');
      const std::string word = printable(paragraph.substr(0, space));
      paragraph.remove_prefix(space == std::string_view::npos ? paragraph.size() : space + 1);
      const std::string longer = line.empty() ? word : line + ' ' + word;
      if (measure(longer) <= width) {
        line = longer;
        continue;
      }
      if (!line.empty()) lines.push_back(line);
      line = view::shorten(word, width, measure);
    }
    lines.push_back(line);
  }
  return lines;
}

}  // namespace headlight::exporting
