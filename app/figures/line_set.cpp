#include "app/figures/line_set.h"

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "app/engine/query_queue.h"
#include "app/figures/figure_kind.h"
#include "app/figures/job.h"
#include "app/figures/plan.h"
#include "chart/number_format.h"
#include "core/file.h"
#include "core/json.h"
#include "export/json.h"
#include "inference/alignment.h"

namespace headlight::app {

namespace {

bool is_stronger(const WeightLine& a, const WeightLine& b) { return std::abs(a.weight) > std::abs(b.weight); }

/// Ascending by size; where sizes are equal the order doesn't depend on the tiles' order.
bool comes_before(const WeightLine& a, const WeightLine& b) {
  if (std::abs(a.weight) != std::abs(b.weight)) return std::abs(a.weight) < std::abs(b.weight);
  if (a.head != b.head) return a.head < b.head;
  return a.query != b.query ? a.query < b.query : a.key < b.key;
}

/// Rows and columns of a tile that a filter's token leaves.
struct Part {
  std::uint32_t row = 0, end_row = 0, column = 0, end_column = 0;
};

Part part_of(const attention::TileRequest& request, const std::optional<LockedToken>& token) {
  Part part{.row = 0, .end_row = request.rows, .column = 0, .end_column = request.columns};
  if (!token) return part;
  const bool is_query = token->side == MapSide::Query;
  const std::uint32_t first = is_query ? request.row : request.column;
  const std::uint32_t count = is_query ? request.rows : request.columns;
  const bool is_inside = token->token >= first && token->token - first < count;
  std::uint32_t& begin = is_query ? part.row : part.column;
  std::uint32_t& end = is_query ? part.end_row : part.end_column;
  begin = is_inside ? token->token - first : 0;
  end = is_inside ? begin + 1 : 0;
  return part;
}

bool is_in_part(PairPart part, std::uint8_t query_sentence, std::uint8_t key_sentence) {
  if (part == PairPart::All) return true;
  const auto pair = static_cast<unsigned>(part) - static_cast<unsigned>(PairPart::FirstToFirst);  // two bits
  return query_sentence == pair / 2 && key_sentence == pair % 2;
}

}  // namespace

std::vector<std::uint8_t> sentences_of(const inference::Prompt* prompt, const model::TokenBatch& tokens, bool is_source,
                                       std::uint32_t batch) {
  if (prompt == nullptr) return {};
  const auto& lines = is_source ? prompt->tokens : prompt->target_tokens;
  if (batch >= lines.size()) return {};
  const std::vector<text::Token>& line = lines[batch];
  if (std::ranges::none_of(line, [](const text::Token& token) { return token.source != 0; })) return {};
  std::vector<std::uint8_t> sentences(tokens.length, kNoSentence);
  const std::uint32_t start = tokens.start(batch);
  for (std::uint32_t i = 0; i < line.size() && start + i < tokens.length; ++i) {
    sentences[start + i] = line[i].source == 0 ? 0 : 1;
  }
  return sentences;
}

LineSet select_lines(std::span<const attention::Tile* const> tiles, const LineFilter& filter) {
  LineSet set;
  const bool has_pair = !filter.query_sentences.empty() && !filter.key_sentences.empty();
  const auto sentence = [](std::span<const std::uint8_t> sentences, std::uint32_t token) {
    return token < sentences.size() ? sentences[token] : kNoSentence;
  };
  for (const attention::Tile* tile : tiles) {
    const attention::TileRequest& request = tile->request;
    const Part part = part_of(request, filter.token);
    for (std::uint32_t row = part.row; row < part.end_row; ++row) {
      const std::uint32_t query = request.row + row;
      const std::uint8_t query_sentence = sentence(filter.query_sentences, query);
      for (std::uint32_t column = part.column; column < part.end_column; ++column) {
        const float weight = tile->at(row, column);
        if (!(std::abs(weight) >= filter.threshold) || tile->is_masked(row, column)) continue;
        const std::uint32_t key = request.column + column;
        if (has_pair && !is_in_part(filter.part, query_sentence, sentence(filter.key_sentences, key))) continue;
        set.lines.push_back({.query = query, .key = key, .head = request.head, .weight = weight});
      }
    }
  }
  set.found = set.lines.size();
  if (set.lines.size() > filter.most) {
    const auto end = set.lines.begin() + static_cast<std::ptrdiff_t>(filter.most);
    std::ranges::nth_element(set.lines, end, is_stronger);
    set.lines.erase(end, set.lines.end());
  }
  std::ranges::sort(set.lines, comes_before);
  return set;
}

std::vector<std::vector<WeightLine>> lines_by_end(std::span<const WeightLine> lines, LockedToken token, std::uint32_t ends,
                                                  std::size_t most) {
  std::vector<std::vector<WeightLine>> by_end(ends);
  const bool is_query = token.side == MapSide::Query;
  for (const WeightLine& line : lines) {
    if ((is_query ? line.query : line.key) != token.token) continue;
    const std::uint32_t end = is_query ? line.key : line.query;
    if (end < ends) by_end[end].push_back(line);
  }
  for (std::vector<WeightLine>& some : by_end) {
    std::ranges::stable_sort(some, is_stronger);
    if (some.size() > most) some.resize(most);
  }
  return by_end;
}

std::string lines_in_words(const exporting::LinesFigure& figure, std::size_t found, float threshold,
                           const std::optional<LockedToken>& token) {
  std::string text = fmt::format("{} from {} on", figure.is_difference ? "changes, red more and blue less," : "weights",
                                 chart::format_exact(threshold));
  if (token) {
    const bool is_query = token->side == MapSide::Query;
    const std::vector<std::string>& tokens = is_query ? figure.queries : figure.keys;
    text += fmt::format(", of {} {} \u201C{}\u201D", is_query ? "query" : "key", token->token,
                        token->token < tokens.size() ? tokens[token->token] : std::string());
  }
  if (found > figure.lines.size()) text += fmt::format(", the {} largest of {}", figure.lines.size(), found);
  return text;
}

namespace {

using exporting::Json;

Json tokens_json(const model::TokenBatch& tokens) {
  Json list = Json::array();
  for (std::size_t i = 0; i < tokens.ids.size(); ++i) list.push_back({{"id", tokens.ids[i]}, {"text", tokens.texts[0][i]}});
  return list;
}

void write_alignment(const inference::Run& run, const RunSource::Source& source, const std::filesystem::path& path) {
  const std::size_t layers = source.network->layers->decoder.size();
  Json pairs = Json::array();
  const auto aligned = inference::align(run, *source.model, *source.prompt);
  for (const inference::AlignedToken& token : aligned.front()) {
    pairs.push_back({{"target", token.target}, {"source", token.source}, {"weight", token.weight}});
  }
  const Json document = {{"layer", layers - 1},
                         {"source", tokens_json(source.input->source)},
                         {"target", tokens_json(*source.input->target)},
                         {"alignment", std::move(pairs)}};
  write_file_atomically(path, to_text(document) + "\n");
}

/// All but the numbers, of the run that the task is of.
Task<bool> draw_line_attention(ExportOptions options, RunSource::Source source) {
  FigureNumbers numbers;
  co_await numbers.begin();
  const bool has_target = source.input->target.has_value();
  if (has_target) options.kind = model::BlockKind::Cross;
  const RunShapes run{.blocks = source.network->blocks(), .shapes = numbers.evaluated.shapes, .input = source.input.get()};
  ExportBlocks blocks = select_blocks(run, *source.network, options).front();
  const exporting::FileNaming naming{.layers = blocks.all_layers, .heads = blocks.shape.heads, .has_kinds = has_target};
  std::vector<std::pair<model::BlockRef, std::string>> figures;
  for (const model::BlockRef layer : blocks.layers)
    figures.emplace_back(layer, naming.contact_sheet(layer, 0, attention::Stage::Weights, "png"));
  if (has_target) figures.emplace_back(blocks.layers.back(), "alignment.png");
  for (const auto& [layer, name] : figures) {
    const bool is_alignment = has_target && name == figures.back().second;
    if (is_alignment) blocks.mean = HeadMean::Layer;
    const auto format = exporting::DrawingFormat::Png;
    const FigureSubject subject{
        .source = source, .blocks = blocks, .matrix = {.block = layer}, .options = options, .format = format};
    const auto drawing = co_await draw_figure(is_alignment ? kHeadFigure : kHeadsFigure, subject, numbers);
    write_file_atomically(options.directory / name, exporting::encode(*drawing, format));
    numbers.tiles.clear();
  }
  co_return has_target;
}

}  // namespace

void write_line_attention(Runner& runner, const std::shared_ptr<ModelCache>& models, const RunInputs& inputs,
                          const std::filesystem::path& directory) {
  ExportOptions options;
  options.inputs = inputs;
  options.models = models;
  options.formats = {ExportFormat::Npy};
  options.directory = directory;
  RunSource sources(models);
  const RunSource::Source& source = sources.build(inputs);
  FoundRuns found;
  found.device = runner.device_name();
  found.take(compute_run(runner, source, inputs, nullptr), source, inputs);
  answer_at_once(write_export(options, {}), found);
  const bool has_target = answer_at_once(draw_line_attention(options, source), found);
  if (has_target) write_alignment(*found.run, source, directory / "alignment.json");
}

}  // namespace headlight::app
