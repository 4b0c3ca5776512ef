#include "app/figures/figure_kind.h"
#include "app/figures/shaded_text.h"

namespace headlight::app {
namespace {

/// A side's tokens as running text, without the padding after them.
std::vector<RunningToken> running_side(const FigureSubject& subject, const model::TokenBatch& tokens) {
  const std::uint32_t item = subject.matrix.batch;
  std::vector<std::string> labels = tokens.texts.at(item);
  const std::uint32_t end = item < tokens.lengths.size() ? tokens.start(item) + tokens.lengths[item] : tokens.length;
  labels.resize(std::min<std::size_t>(labels.size(), end));
  std::span<const text::Token> prompt;
  if (subject.source.prompt) {
    const bool is_source = &tokens == &subject.input().source;
    const auto& lines = is_source ? subject.source.prompt->tokens : subject.source.prompt->target_tokens;
    if (item < lines.size()) prompt = lines[item];
  }
  return running_tokens(labels, prompt, tokens.start(item));
}

/// The one query that is selected, or the view's token, or the last query.
LockedToken shading_token(const FigureSubject& subject, std::size_t queries) {
  const ExportBlocks& blocks = subject.blocks;
  if (blocks.queries.count() < blocks.shape.queries) return {MapSide::Query, blocks.queries.ranges().front().first};
  if (const std::optional<LockedToken>& token = subject.options.choice.token) {
    if (token->token < (token->side == MapSide::Query ? blocks.shape.queries : blocks.shape.keys)) return *token;
  }
  return {MapSide::Query, static_cast<std::uint32_t>(std::max<std::size_t>(queries, 1) - 1)};
}

std::string refuse_text(const ExportBlocks& blocks) {
  if (blocks.keys.count() < blocks.shape.keys) return "it shows all keys";
  const std::uint32_t rows = blocks.queries.count();
  return rows == 1 || rows == blocks.shape.queries ? "" : "it is shaded by one query: choose a single one";
}

DrawingTask draw_text(const FigureSubject& subject, FigureNumbers& numbers) {
  const ExportBlocks& blocks = subject.blocks;
  const MatrixRef& matrix = subject.matrix;
  const model::TokenBatch& queries = subject.input().queries(blocks.kind);
  const model::TokenBatch& keys = subject.input().keys(blocks.kind);
  ShadedText shown{.title = {}, .queries = running_side(subject, queries), .keys = {}, .weights = {}};
  if (&queries != &keys) shown.keys = running_side(subject, keys);
  shown.query_images = patch_images_of(subject.source.capture.get(), subject.input(), queries, matrix.batch);
  shown.key_images = patch_images_of(subject.source.capture.get(), subject.input(), keys, matrix.batch);
  shown.chosen = shading_token(subject, shown.queries.size());
  const bool is_row = shown.chosen.side == MapSide::Query;
  const std::vector<TileQuery> shading_tile(1, {.quantity = quantity_of(blocks, matrix.stage),
                                                .block = matrix.block,
                                                .batch = matrix.batch,
                                                .head = matrix.head,
                                                .row = is_row ? shown.chosen.token : 0,
                                                .rows = is_row ? 1 : blocks.shape.queries,
                                                .column = is_row ? 0 : shown.chosen.token,
                                                .columns = is_row ? blocks.shape.keys : 1});
  const auto tiles = co_await numbers.tiles_of(shading_tile);
  shown.weights = tiles.front()->values;
  const Quantity& shading = quantity(quantity_of(blocks, matrix.stage));
  shown.is_difference = shading.base && !shading.is_of_baseline;
  begin_figure(shown, subject, kTextFigure,
               fmt::format("{} · {}", shading.figure_title, figure_place(blocks, matrix, true)));
  co_return exporting::make_drawing(text_figure(shown));
}

}  // namespace

const FigureKind kTextFigure{
    .id = "text",
    .label = "Text",
    .help = "the text shaded by what one query attends to in a head: the one of --queries, or the last",
    .scope = FigureScope::Head,
    .bytes = {.png = 32e3, .svg = 5e3, .pdf = 17e3, .png_token = 600.0, .svg_token = 220.0, .pdf_token = 30.0},
    .takes_means = true,
    .takes_norms = true,
    .takes_differences = true,
    .takes_parts = true,
    .refusal = &refuse_text,
    .draw = &draw_text};

}  // namespace headlight::app
