#include "app/exports/line_figure.h"

#include <utility>

#include <fmt/format.h>

#include "view/number_format.h"

namespace headlight::app {

exporting::LinesFigure lines_figure(ShownLines shown) {
  exporting::LinesFigure figure;
  figure.subtitle = shown.settings.empty() ? "" : shown.settings + "; ";
  figure.subtitle += fmt::format("{} from {} on", shown.is_difference ? "changes, red more and blue less," : "weights",
                                 view::format_exact(shown.threshold));
  if (shown.token) {
    const bool is_query = shown.token->side == MapSide::Query;
    const std::vector<std::string>& tokens = is_query ? shown.queries : shown.keys;
    const std::string text = shown.token->token < tokens.size() ? tokens[shown.token->token] : std::string();
    figure.subtitle += fmt::format(", of {} {} \u201C{}\u201D", is_query ? "query" : "key", shown.token->token, text);
  }
  if (shown.set.found > shown.set.lines.size()) {
    figure.subtitle += fmt::format(", the {} largest of {}", shown.set.lines.size(), shown.set.found);
  }
  for (const WeightLine& line : shown.set.lines) {
    figure.lines.push_back({.query = line.query, .key = line.key, .head = line.head, .weight = line.weight});
  }
  figure.title = std::move(shown.title);
  figure.query_title = std::move(shown.query_title);
  figure.key_title = std::move(shown.key_title);
  figure.queries = std::move(shown.queries);
  figure.keys = std::move(shown.keys);
  figure.heads = std::move(shown.heads);
  figure.is_difference = shown.is_difference;
  figure.style = shown.style;
  figure.session = std::move(shown.session);
  return figure;
}

}  // namespace headlight::app
