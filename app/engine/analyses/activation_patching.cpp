#include "app/engine/analyses/patching.h"

#include "core/error.h"

namespace headlight::app {
namespace {

using model::Site;

/// Numbers of activations that are read at once.
constexpr std::size_t kStepNumbers = std::size_t{1} << 18;

/// Cells of one layer that are patched together, each in a pass of its own.
constexpr std::size_t kMaxPatches = 32;

/// Activations of one layer that are read together: of some tokens, or of some heads, each a cell of the map.
struct Unit {
  model::BlockRef block;
  std::size_t row = 0;                 ///< of the map
  std::size_t column = 0;              ///< of the first cell
  std::uint32_t head = 0, heads = 0;   ///< the first, and how many, of keys and values KV heads; 0 where the site has none
  std::uint32_t first = 0, count = 0;  ///< tokens
  std::uint32_t width = 1;             ///< cells of the map that are equal, since they share a KV head
};

void check(const PatchingQuestion& question, const AnalysisSubject& subject) {
  if (question.kind == model::BlockKind::DecoderSelf && question.site == Site::FeedForward) {
    throw Error("a decoder layer's feed-forward network follows its cross-attention: choose Cross");
  }
  const bool is_cross = question.kind == model::BlockKind::Cross;
  if (is_cross && question.site == Site::Residual && subject.network->layers->decoder.front().self) {
    throw Error("a decoder layer begins with its self-attention: choose Decoder");
  }
}

/// Has a block of this kind the map's activations?
bool has_site(Site site, model::BlockRef block, const inference::BlockShape& shape, const AnalysisSubject& subject) {
  if (site == Site::FeedForward) return subject.network->layer(block).has_feed_forward();
  if (site == Site::AttentionOutput) return shape.d_output > 0;
  return model::has_heads(site) || shape.has_input;
}

/// Returns the number of patches: heads are one each, elsewhere tokens are.
std::size_t patches_of(const Unit& unit) { return unit.heads > 0 ? unit.heads : unit.count; }

/// Returns the patches of a unit that the question is about, counted from its first.
std::vector<std::size_t> wanted_cells(const PatchingQuestion& question, const Unit& unit) {
  std::vector<std::size_t> cells;
  for (std::size_t cell = 0; cell < patches_of(unit); ++cell) {
    const bool is_wanted = unit.heads > 0 || question.tokens.empty() ||
                           std::ranges::binary_search(question.tokens, unit.first + static_cast<std::uint32_t>(cell));
    if (is_wanted) cells.push_back(cell);
  }
  return cells;
}

/// Lists all units and gives the map its size.
std::vector<Unit> list_units(const PatchingQuestion& question, const AnalysisSubject& subject, PatchEffects& found) {
  const model::TokenBatch& tokens = patched_tokens(question.site, question.kind, *subject.input);
  const std::uint32_t batch = question.measured.batch;
  if (batch >= tokens.batch) throw Error("this run has {} lines", tokens.batch);
  const TokenRange line{.first = tokens.start(batch), .count = tokens.lengths[batch]};
  const bool is_heads = model::has_heads(question.site);
  const TokenRange patched = question.token ? TokenRange{.first = *question.token, .count = 1} : line;
  if (patched.first < line.first || patched.first - line.first + patched.count > line.count) {
    throw Error("this line has no such token");
  }
  std::vector<Unit> units;
  for (const auto& [block, shape] : subject.shapes) {
    if (block.kind != question.kind) continue;
    if (!has_site(question.site, block, shape, subject)) throw Error("layer {} has nothing of this kind", block.layer.value);
    Unit unit{.block = block, .row = found.layers.size(), .first = patched.first, .count = patched.count};
    found.layers.push_back(block.layer.value);
    found.columns = is_heads ? std::max<std::size_t>(found.columns, shape.heads) : line.count;
    if (is_heads) unit.width = patched_heads(question.site, shape);
    const std::size_t numbers = patch_width(question.site, shape) * std::size_t{is_heads ? patched.count : 1};
    const auto most = static_cast<std::uint32_t>(std::max<std::size_t>(kStepNumbers / std::max<std::size_t>(numbers, 1), 1));
    const std::uint32_t cells = !is_heads ? line.count : patched.count > 0 ? shape.heads / unit.width : 0;
    for (std::uint32_t at = 0; at < cells; at += most) {
      unit.column = std::size_t{at} * unit.width;
      if (is_heads) {
        unit.head = at;
        unit.heads = std::min(most, cells - at);
      } else {
        unit.first = line.first + at;
        unit.count = std::min(most, cells - at);
      }
      units.push_back(unit);
    }
  }
  if (units.empty()) throw Error("this line has no tokens, or the network no such attention");
  found.first = is_heads ? 0 : line.first;
  found.patched.resize(found.layers.size() * found.columns);
  for (const Unit& unit : units) found.all += wanted_cells(question, unit).size() * unit.width;
  return units;
}

/// Returns the place of head number `head` of the unit.
PatchPlace place_of(const PatchingQuestion& question, const Unit& unit, std::uint32_t head) {
  return {.site = question.site,
          .block = unit.block,
          .batch = question.measured.batch,
          .head = (unit.head + head) * unit.width,
          .first = unit.first,
          .count = unit.count};
}

Reads unit_of(const PatchingQuestion& question, const Unit& unit, const BlockShapes& shapes, WhichRun of) {
  Reads reads{.of = of};
  for (std::uint32_t head = 0; head < std::max(unit.heads, 1U); ++head) {
    read_place(place_of(question, unit, head), shapes.at(unit.block), reads);
  }
  return reads;
}

/// Returns a cell of the unit, counted from its first.
std::span<const float> cell_of(std::span<const float> values, const Unit& unit, std::size_t cell) {
  const std::size_t width = values.size() / patches_of(unit);
  return values.subspan(cell * width, width);
}

/// Keeps what a pass predicts, or that none is needed, for all cells of the patch.
void keep(PatchEffects& found, const Unit& unit, std::size_t cell, const PatchedNumbers& numbers) {
  for (std::size_t at = 0; at < unit.width; ++at) found.keep(unit.row, unit.column + cell * unit.width + at, numbers);
}

/// Returns the pass in which a cell's activations are those of the source.
inference::Intervention patch(const PatchingQuestion& question, const Unit& unit, const inference::BlockShape& shape,
                              std::span<const float> source, std::size_t cell) {
  const auto at = static_cast<std::uint32_t>(cell);
  PatchPlace place = place_of(question, unit, unit.heads > 0 ? at : 0);
  if (unit.heads == 0) place.first += at;
  const std::span<const float> rows = cell_of(source, unit, cell);
  return replaced(place, shape, {rows.begin(), rows.end()});
}

}  // namespace

Task<PatchEffects> analyse(PatchingQuestion question, AnalysisSubject subject) {
  const inference::StateRef state = measured_state(question.measured, subject);
  check(question, subject);
  PatchEffects found;
  const std::vector<Unit> units = list_units(question, subject, found);
  const WhichRun target = question.into_baseline ? WhichRun::Baseline : WhichRun::Newest;
  const WhichRun source = question.into_baseline ? WhichRun::Newest : WhichRun::Baseline;
  found.target = co_await prediction_in(target, state, question.measured);
  found.source = co_await prediction_in(source, state, question.measured);
  co_yield found;
  for (const Unit& unit : units) {
    const Answers of_source = co_await unit_of(question, unit, subject.shapes, source);
    std::vector<float> source_values = place_values(of_source);
    const Answers of_target = co_await unit_of(question, unit, subject.shapes, target);
    std::vector<float> target_values = place_values(of_target);
    match_missing(source_values, target_values);
    std::vector<std::size_t> cells;  // that differ, and are still to be patched; the others are what the target is
    for (const std::size_t cell : wanted_cells(question, unit)) {
      if (std::ranges::equal(cell_of(source_values, unit, cell), cell_of(target_values, unit, cell))) {
        keep(found, unit, cell, found.target);
      } else {
        cells.push_back(cell);
      }
    }
    co_yield found;
    while (!cells.empty()) {
      Reads reads{.of = target};
      reads.logits.push_back(state);
      for (std::size_t i = 0; i < std::min(cells.size(), kMaxPatches); ++i) {
        reads.passes.push_back({patch(question, unit, subject.shapes.at(unit.block), source_values, cells[i])});
      }
      const Answers read = co_await std::move(reads);
      const std::size_t width = read.logits.size() / read.passes;
      for (std::size_t i = 0; i < read.passes; ++i) {
        keep(found, unit, cells[i], patched_numbers(read.logits.subspan(i * width, width), question.measured));
      }
      cells.erase(cells.begin(), cells.begin() + static_cast<std::ptrdiff_t>(read.passes));
      co_yield found;
    }
  }
  co_return found;
}

PatchingQuestion patching_query(const PatchingChoices& choices, model::BlockKind kind, std::uint32_t batch,
                                std::uint32_t position, std::uint32_t token, std::optional<std::uint32_t> other) {
  return {.site = patched_site(choices),
          .kind = kind,
          .into_baseline = choices.into_baseline,
          .token = choices.map == PatchMap::Heads && choices.at_token ? choices.token : std::nullopt,
          .measured = {.batch = batch, .position = position, .token = token, .other = other}};
}

}  // namespace headlight::app
