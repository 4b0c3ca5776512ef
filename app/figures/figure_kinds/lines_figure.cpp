#include "app/figures/figure_kind.h"
#include "app/figures/line_set.h"

namespace headlight::app {
namespace {

/// The heads that are drawn: all that are selected, or those that the view doesn't hide.
std::vector<std::uint32_t> drawn_heads(const FigureSubject& subject) {
  std::vector<std::uint32_t> heads = subject.blocks.heads;
  if (subject.options.heads) return heads;
  const std::vector<std::uint32_t>& hidden = subject.options.choice.lines.hidden_heads;
  std::erase_if(heads, [&](std::uint32_t head) { return std::ranges::find(hidden, head) != hidden.end(); });
  return heads.empty() ? subject.blocks.heads : heads;
}

/// Of the rows that are written, the index of each row of the map.
std::vector<std::uint32_t> places_of(const IndexSet& rows, std::uint32_t count) {
  std::vector<std::uint32_t> places(count, 0);
  std::uint32_t place = 0;
  for (const std::uint32_t row : rows.indices()) places[row] = place++;
  return places;
}

/// The token whose lines alone the view shows; none where the export has chosen a part of the map.
std::optional<LockedToken> locked_token(const FigureSubject& subject) {
  const ExportBlocks& blocks = subject.blocks;
  const bool is_whole = blocks.queries.count() == blocks.shape.queries && blocks.keys.count() == blocks.shape.keys;
  std::optional<LockedToken> token = subject.options.choice.token;
  if (!is_whole || !token) return std::nullopt;
  const std::uint32_t count = token->side == MapSide::Query ? blocks.shape.queries : blocks.shape.keys;
  return token->token < count ? token : std::nullopt;
}

DrawingTask draw_line_figure(const FigureSubject& subject, FigureNumbers& numbers) {
  const ExportBlocks& blocks = subject.blocks;
  const MatrixRef& matrix = subject.matrix;
  const LineChoices& choice = subject.options.choice.lines;
  FigureAxes axes = figure_axes(subject.input(), blocks, matrix, subject.options);
  exporting::check_lines(axes.rows.tokens.size(), axes.columns.tokens.size());
  const Quantity& drawn = quantity(quantity_of(blocks, matrix.stage));
  exporting::LinesFigure shown;
  shown.heads = drawn_heads(subject);
  shown.is_difference = drawn.base && !drawn.is_of_baseline;
  numbers.expected = figure_cells(blocks, matrix.stage) * static_cast<double>(shown.heads.size());
  std::vector<TileQuery> parts;
  for (const std::uint32_t head : shown.heads)
    std::ranges::copy(selected_parts(blocks, matrix.block, matrix.stage, matrix.batch, head), std::back_inserter(parts));
  const auto kept = co_await numbers.tiles_of(parts);
  std::vector<const attention::Tile*> tiles;
  for (const auto& tile : kept) tiles.push_back(tile.get());
  const auto sentences = [&](const model::TokenBatch& tokens) {
    return sentences_of(subject.source.prompt.get(), tokens, &tokens == &subject.input().source, matrix.batch);
  };
  const std::vector<std::uint8_t> query_sentences = sentences(subject.input().queries(blocks.kind));
  const std::vector<std::uint8_t> key_sentences = sentences(subject.input().keys(blocks.kind));
  const std::optional<LockedToken> token = locked_token(subject);
  LineSet set = select_lines(tiles, {.threshold = choice.threshold,
                                     .token = token,
                                     .query_sentences = query_sentences,
                                     .key_sentences = key_sentences,
                                     .part = choice.pair_part});
  const std::vector<std::uint32_t> places = places_of(blocks.queries, blocks.shape.queries);
  for (WeightLine& line : set.lines) {
    line.query = places[line.query];
    line.key -= blocks.keys.first;
  }
  shown.lines = std::move(set.lines);
  shown.query_title = std::move(axes.rows.title);
  shown.key_title = std::move(axes.columns.title);
  shown.queries = std::move(axes.rows.tokens);
  shown.keys = std::move(axes.columns.tokens);
  begin_figure(shown, subject, kLinesFigure,
               fmt::format("{} · {}", drawn.figure_title, figure_place(blocks, matrix, false)));
  shown.subtitle += "; " + lines_in_words(shown, set.found, choice.threshold, token);
  co_return exporting::make_drawing(std::move(shown));
}

}  // namespace

const FigureKind kLinesFigure{.id = "lines",
                              .label = "Lines",
                              .help = "the heads of a layer as lines from queries to keys",
                              .scope = FigureScope::Layer,
                              .bytes = {.svg = 4e3, .pdf = 17e3, .png_token = 20e3, .svg_token = 1.5e3, .pdf_token = 110.0},
                              .takes_differences = true,
                              .takes_parts = true,
                              .draw = &draw_line_figure};

}  // namespace headlight::app
