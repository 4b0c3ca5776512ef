#include "app/figures/shaded_text.h"

#include "chart/number_format.h"
#include "export/text_metrics.h"

namespace headlight::app {
namespace {

constexpr float kMinShade = 0.0005F;    // smaller weights have a colour only
constexpr float kMinFigurePart = 0.1F;  // of the largest, likewise
constexpr float kFigureNumberGap = 4.0F, kMinTextWidth = 120.0F;
constexpr std::uint32_t kMaxFigureDigits = 5;

/// Colours of the queries' and the keys' side, as the window has them on such a ground.
chart::Rgb side_color(MapSide side, bool is_dark) {
  if (side == MapSide::Query) return is_dark ? chart::Rgb{125, 176, 248} : chart::Rgb{31, 95, 191};
  return is_dark ? chart::Rgb{245, 146, 137} : chart::Rgb{179, 54, 47};
}

/// Of a difference with its sign.
float shade_of(const ShadedText& shown, std::size_t token) {
  const float weight = token < shown.weights.size() ? shown.weights[token] : 0.0F;
  return weight > 0.0F || (shown.is_difference && weight < 0.0F) ? weight : 0.0F;
}

float largest_shade(const ShadedText& shown) {
  float largest = 0.0F;
  for (std::size_t token = 0; token < shown.weights.size(); ++token) {
    largest = std::max(largest, std::abs(shade_of(shown, token)));
  }
  return largest;
}

/// A block of running text.
struct BlockOf {
  const std::vector<RunningToken>& tokens;
  std::string caption;
  chart::Rgb color;
  const ShadedText* shades = nullptr;        ///< null: not shaded
  std::optional<std::uint32_t> chosen = {};  ///< the token that is outlined
  const capture::PatchImages& images;        ///< none: all tokens are words
};

class BlockMaker {
 public:
  BlockMaker(const exporting::FigureStyle& style, float width) : metrics_(style.font), style_(style), width_(width) {}

  exporting::TextFigure::Block make(const BlockOf& shown) const {
    const std::vector<RunningToken>& tokens = shown.tokens;
    std::vector<float> widths;
    for (const RunningToken& token : tokens)
      widths.push_back(metrics_.width(exporting::printable(token.place.text), exporting::kTextFigureSize));
    const bool has_numbers = style_.parts.numbers && shown.shades != nullptr;
    const TextMeasures measures{
        .width = width_,
        .line_height = exporting::kTextFigureSize + (has_numbers ? exporting::kTextNumberSize : 0.0F) + 12.0F,
        .token_height = exporting::kTextFigureSize + 5.0F,
        .space = metrics_.width(" ", exporting::kTextFigureSize),
        .padding = 2.0F,
        .is_right_to_left = runs_backwards(tokens)};
    const bool has_images = !shown.images.is_empty();
    const PatchLines placed = has_images ? lay_out_patches(tokens, widths, measures, shown.images, glm::vec2(width_))
                                         : PatchLines{.lines = lay_out_text(tokens, widths, measures)};
    const TextLines& lines = placed.lines;
    exporting::TextFigure::Block block{.caption = shown.caption, .color = shown.color, .height = lines.height};
    const float largest = shown.shades ? largest_shade(*shown.shades) : 0.0F;
    for (std::size_t image = 0; image < placed.images.size(); ++image)
      block.pictures.push_back(picture_of(shown, image, placed.images[image], largest));
    for (std::size_t token = 0; token < tokens.size(); ++token) {
      if (shown.images.find(static_cast<std::uint32_t>(token))) {
        block.tokens.push_back({.rect = lines.tokens[token], .text = {}, .is_outlined = shown.chosen == token});
        continue;
      }
      const float weight = shown.shades ? shade_of(*shown.shades, token) : 0.0F;
      const bool is_signed = shown.shades && shown.shades->is_difference;
      block.tokens.push_back({.rect = lines.tokens[token],
                              .text = chart::shorten(tokens[token].place.text, lines.tokens[token].size.x - 3.0F,
                                                     metrics_.measure(exporting::kTextFigureSize)),
                              .share = largest > 0.0F ? std::min(std::abs(weight) / largest, 1.0F) : 0.0F,
                              .color = is_signed ? std::optional(exporting::sign_color(weight)) : std::nullopt,
                              .is_outlined = shown.chosen == token,
                              .is_dim = tokens[token].place.is_special});
    }
    if (has_numbers && !has_images) add_numbers(*shown.shades, lines, largest, block);
    return block;
  }

 private:
  /// The image, muted, with its patches' shades on it.
  exporting::TextFigure::Picture picture_of(const BlockOf& shown, std::size_t index, const chart::Rect& rect,
                                            float largest) const {
    const capture::PatchImage& image = shown.images.images[index];
    const capture::PatchGrid& grid = image.grid;
    std::vector<PatchShade> shades(std::size_t{grid.rows} * grid.columns);
    for (std::size_t patch = 0; patch < shades.size() && shown.shades && largest > 0.0F; ++patch) {
      const std::size_t token = grid.first + patch / grid.columns * grid.row_step() + patch % grid.columns;
      const float weight = shade_of(*shown.shades, token);
      shades[patch] = {.share = std::min(std::abs(weight) / largest, 1.0F),
                       .color = shown.shades->is_difference ? exporting::sign_color(weight) : shown.color};
    }
    return {.rect = rect, .pixels = shaded_image(muted_image(image, style_.is_dark), grid, shades)};
  }

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

  void add_numbers(const ShadedText& shades, const TextLines& lines, float largest,
                   exporting::TextFigure::Block& block) const {
    std::vector<float> values, widths;
    std::vector<std::string> numbers;
    for (std::size_t token = 0; token < lines.tokens.size(); ++token) {
      const float weight = shade_of(shades, token);
      values.push_back(std::abs(weight));
      numbers.push_back(shade_text(weight, shades.is_difference));
      widths.push_back(std::ceil(metrics_.width(numbers.back(), exporting::kTextNumberSize)));
    }
    const float least = std::max(kMinShade, kMinFigurePart * largest);
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

std::string shade_text(float weight, bool is_difference) {
  const std::string number = chart::format_number(weight, kMaxFigureDigits + (weight < 0.0F ? 1U : 0U));  // the sign
  return is_difference && weight > 0.0F ? "+" + number : number;
}

exporting::TextFigure text_figure(const ShadedText& shown) {
  const bool is_cross = !shown.keys.empty(), is_row = shown.chosen.side == MapSide::Query;
  const std::vector<RunningToken>& chosen = is_cross && !is_row ? shown.keys : shown.queries;
  std::string name;
  if (shown.chosen.token < chosen.size()) {
    const RunningToken& token = chosen[shown.chosen.token];
    name = token.part.empty() ? token.place.text : token.part;
  }
  const capture::PatchImages& chosen_images = is_cross && !is_row ? shown.key_images : shown.query_images;
  if (const std::string patch = chosen_images.name(shown.chosen.token); !patch.empty()) name = patch;
  exporting::TextFigure figure{
      .title = shown.title, .subtitle = shown.subtitle, .style = shown.style, .session = shown.session};
  if (!figure.subtitle.empty()) figure.subtitle += "; ";
  const std::string largest = chart::format_number(largest_shade(shown), kMaxFigureDigits);
  figure.subtitle +=
      fmt::format("what “{}” (token {}) {}", name, shown.chosen.token, is_row ? "attends to" : "is attended by");
  figure.subtitle += shown.is_difference
                         ? fmt::format("; red is more, blue less; the strongest shade is a change of {}", largest)
                         : fmt::format("; the strongest shade is {}", largest);
  const float column = shown.style.width > 0.0F ? shown.style.width - 2.0F * exporting::kColumnMargin : shown.style.map_edge;
  if (column > 0.0F) figure.width = std::max(column, kMinTextWidth);
  const BlockMaker maker(shown.style, figure.width);
  const auto add = [&](const std::vector<RunningToken>& tokens, MapSide side, std::string caption) {
    const capture::PatchImages& images = side == MapSide::Query ? shown.query_images : shown.key_images;
    const bool is_shaded = !is_cross || shown.chosen.side != side, is_chosen = !is_cross || shown.chosen.side == side;
    const MapSide colored = is_cross ? side : is_row ? MapSide::Key : MapSide::Query;
    figure.blocks.push_back(maker.make({.tokens = tokens,
                                        .caption = std::move(caption),
                                        .color = side_color(colored, shown.style.is_dark),
                                        .shades = is_shaded ? &shown : nullptr,
                                        .chosen = is_chosen ? std::optional(shown.chosen.token) : std::nullopt,
                                        .images = images}));
  };
  if (is_cross) add(shown.keys, MapSide::Key, "keys: the source");
  add(shown.queries, MapSide::Query, is_cross ? shown.queries_title : "");
  return figure;
}

}  // namespace headlight::app
