#include "app/exports/shaded_text.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "export/text_metrics.h"
#include "view/number_format.h"

namespace headlight::app {
namespace {

constexpr float kLeastShade = 0.0005F;    // smaller weights have a colour only
constexpr float kLeastFigurePart = 0.1F;  // of the largest, likewise
constexpr float kFigureNumberGap = 4.0F, kLeastTextWidth = 120.0F;
constexpr std::uint32_t kMostFigureDigits = 5;

/// Colours of the queries' and the keys' side, as the window has them on such a ground.
view::Rgb side_color(MapSide side, bool is_dark) {
  if (side == MapSide::Query) return is_dark ? view::Rgb{125, 176, 248} : view::Rgb{31, 95, 191};
  return is_dark ? view::Rgb{245, 146, 137} : view::Rgb{179, 54, 47};
}

float shade_of(const std::vector<float>& weights, std::size_t token) {
  return token < weights.size() && weights[token] > 0.0F ? weights[token] : 0.0F;
}

/// A block of running text.
struct BlockOf {
  const std::vector<RunningToken>& tokens;
  std::string caption;
  view::Rgb color;
  const std::vector<float>* weights = nullptr;  ///< null: not shaded
  std::optional<std::uint32_t> chosen = {};     ///< the token that is outlined
};

class BlockMaker {
 public:
  BlockMaker(const exporting::FigureStyle& style, float width) : metrics_(style.font), style_(style), width_(width) {}

  exporting::TextFigure::Block make(const BlockOf& shown) const {
    const std::vector<RunningToken>& tokens = shown.tokens;
    std::vector<float> widths;
    for (const RunningToken& token : tokens)
      widths.push_back(metrics_.width(exporting::printable(token.place.text), exporting::kTextFigureSize));
    const bool has_numbers = style_.parts.numbers && shown.weights != nullptr;
    const TextMeasures measures{
        .width = width_,
        .line_height = exporting::kTextFigureSize + (has_numbers ? exporting::kTextNumberSize : 0.0F) + 12.0F,
        .token_height = exporting::kTextFigureSize + 5.0F,
        .space = metrics_.width(" ", exporting::kTextFigureSize),
        .padding = 2.0F,
        .is_right_to_left = runs_backwards(tokens)};
    const TextLines lines = lay_out_text(tokens, widths, measures);
    exporting::TextFigure::Block block{.caption = shown.caption, .color = shown.color, .height = lines.height};
    const float largest = shown.weights ? largest_shade(*shown.weights) : 0.0F;
    for (std::size_t token = 0; token < tokens.size(); ++token) {
      const float weight = shown.weights ? shade_of(*shown.weights, token) : 0.0F;
      block.tokens.push_back({.rect = lines.tokens[token],
                              .text = view::shorten(tokens[token].place.text, lines.tokens[token].size.x - 3.0F,
                                                    metrics_.measure(exporting::kTextFigureSize)),
                              .share = largest > 0.0F ? std::min(weight / largest, 1.0F) : 0.0F,
                              .is_outlined = shown.chosen == token,
                              .is_dim = tokens[token].place.is_special});
    }
    if (has_numbers) add_numbers(*shown.weights, lines, largest, block);
    return block;
  }

 private:
  /// Is most of a text, without what the model's template added, in a right-to-left script?
  bool runs_backwards(const std::vector<RunningToken>& tokens) const {
    std::size_t typed = 0, backwards = 0;
    for (const RunningToken& token : tokens) {
      if (token.place.is_special) continue;
      ++typed;
      backwards += metrics_.is_right_to_left(token.place.text) ? 1U : 0U;
    }
    return backwards * 2 > typed;
  }

  void add_numbers(const std::vector<float>& weights, const TextLines& lines, float largest,
                   exporting::TextFigure::Block& block) const {
    std::vector<float> values, widths;
    std::vector<std::string> numbers;
    for (std::size_t token = 0; token < lines.tokens.size(); ++token) {
      values.push_back(shade_of(weights, token));
      numbers.push_back(view::format_number(values.back(), kMostFigureDigits));
      widths.push_back(std::ceil(metrics_.width(numbers.back(), exporting::kTextNumberSize)));
    }
    const float least = std::max(kLeastShade, kLeastFigurePart * largest);
    for (std::uint32_t line = 0; line + 1 < lines.first_of.size(); ++line) {
      for (const PlacedNumber& placed : place_numbers(lines, line, values, widths, width_, kFigureNumberGap, least)) {
        block.numbers.push_back(
            {.at = {placed.x, lines.tokens[placed.token].origin.y - 2.0F}, .text = std::move(numbers[placed.token])});
      }
    }
  }

  exporting::TextMetrics metrics_;
  const exporting::FigureStyle& style_;
  float width_;
};

}  // namespace

float largest_shade(const std::vector<float>& weights) {
  float largest = 0.0F;
  for (std::size_t token = 0; token < weights.size(); ++token) largest = std::max(largest, shade_of(weights, token));
  return largest;
}

exporting::TextFigure text_figure(const ShadedText& shown) {
  const bool is_cross = !shown.keys.empty(), is_row = shown.chosen.side == MapSide::Query;
  const std::vector<RunningToken>& chosen = is_cross && !is_row ? shown.keys : shown.queries;
  const std::string name = shown.chosen.token < chosen.size() ? chosen[shown.chosen.token].place.text : "";
  exporting::TextFigure figure{
      .title = shown.title, .subtitle = shown.settings, .style = shown.style, .session = shown.session};
  if (!figure.subtitle.empty()) figure.subtitle += "; ";
  figure.subtitle += fmt::format("what “{}” (token {}) {}; the strongest shade is {}", name, shown.chosen.token,
                                 is_row ? "attends to" : "is attended by",
                                 view::format_number(largest_shade(shown.weights), kMostFigureDigits));
  if (shown.style.map_edge > 0.0F) figure.width = std::max(shown.style.map_edge, kLeastTextWidth);
  const BlockMaker maker(shown.style, figure.width);
  const auto add = [&](const std::vector<RunningToken>& tokens, MapSide side, std::string caption) {
    const bool is_shaded = !is_cross || shown.chosen.side != side, is_chosen = !is_cross || shown.chosen.side == side;
    const MapSide colored = is_cross ? side : is_row ? MapSide::Key : MapSide::Query;
    figure.blocks.push_back(maker.make({.tokens = tokens,
                                        .caption = std::move(caption),
                                        .color = side_color(colored, shown.style.is_dark),
                                        .weights = is_shaded ? &shown.weights : nullptr,
                                        .chosen = is_chosen ? std::optional(shown.chosen.token) : std::nullopt}));
  };
  if (is_cross) add(shown.keys, MapSide::Key, "keys: the source");
  add(shown.queries, MapSide::Query, is_cross ? "queries: what the decoder reads" : "");
  return figure;
}

}  // namespace headlight::app
