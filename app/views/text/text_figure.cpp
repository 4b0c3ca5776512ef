#include "app/views/text/text_figure.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "export/text_metrics.h"
#include "view/number_format.h"

namespace headlight::app {
namespace {

constexpr float kLeastShown = 0.0005F;    // smaller weights have a colour only
constexpr float kLeastFigurePart = 0.1F;  // of the largest, likewise
constexpr float kFigureNumberGap = 4.0F;
constexpr std::uint32_t kMostFigureDigits = 5;

view::Rgb rgb_of(shell::Color color) {
  return {static_cast<std::uint8_t>(color & 0xFFU), static_cast<std::uint8_t>((color >> 8U) & 0xFFU),
          static_cast<std::uint8_t>((color >> 16U) & 0xFFU)};
}

float share_of(const TextShades* shades, std::size_t token) {
  if (shades == nullptr || token >= shades->weights.size() || !(shades->largest > 0.0F)) return 0.0F;
  return std::clamp(shades->weights[token] / shades->largest, 0.0F, 1.0F);
}

}  // namespace

exporting::TextFigure::Block figure_block(const FigureBlock& shown, const shell::Ui& ui) {
  const exporting::TextMetrics metrics;
  std::vector<RunningToken> tokens = shown.block->tokens;
  std::vector<float> widths;
  for (RunningToken& token : tokens) {
    token.place.text = ui.unshaped(token.place.text);
    widths.push_back(metrics.width(exporting::printable(token.place.text), exporting::kTextFigureSize));
  }
  const TextMeasures measures{.width = exporting::kTextFigureWidth,
                              .line_height = exporting::kTextFigureSize + exporting::kTextNumberSize + 12.0F,
                              .token_height = exporting::kTextFigureSize + 5.0F,
                              .space = metrics.width(" ", exporting::kTextFigureSize),
                              .padding = 2.0F,
                              .is_right_to_left = shown.block->measures.is_right_to_left};
  const TextLines lines = lay_out_text(tokens, widths, measures);
  exporting::TextFigure::Block block{.caption = shown.caption, .color = rgb_of(shown.color), .height = lines.height};
  std::vector<float> values(tokens.size(), 0.0F), number_widths(tokens.size(), 0.0F);
  std::vector<std::string> numbers(tokens.size());
  for (std::size_t token = 0; token < tokens.size(); ++token) {
    block.tokens.push_back({.rect = lines.tokens[token],
                            .text = view::shorten(tokens[token].place.text, lines.tokens[token].size.x - 3.0F,
                                                  metrics.measure(exporting::kTextFigureSize)),
                            .share = share_of(shown.shades, token),
                            .is_outlined = shown.chosen == token,
                            .is_dim = tokens[token].place.is_special});
    if (shown.shades == nullptr || token >= shown.shades->weights.size()) continue;
    values[token] = shown.shades->weights[token];
    numbers[token] = view::format_number(values[token], kMostFigureDigits);
    number_widths[token] = std::ceil(metrics.width(numbers[token], exporting::kTextNumberSize));
  }
  const float least = shown.shades ? std::max(kLeastShown, kLeastFigurePart * shown.shades->largest) : 1.0F;
  for (std::uint32_t line = 0; line + 1 < lines.first_of.size(); ++line) {
    for (const PlacedNumber& placed :
         place_numbers(lines, line, values, number_widths, measures.width, kFigureNumberGap, least)) {
      block.numbers.push_back(
          {.at = {placed.x, lines.tokens[placed.token].origin.y - 2.0F}, .text = std::move(numbers[placed.token])});
    }
  }
  return block;
}

}  // namespace headlight::app
