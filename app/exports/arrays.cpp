#include "app/exports/arrays.h"

#include "app/quantities/evaluation.h"
#include "app/quantities/shown_map.h"
#include "core/error.h"

namespace headlight::app {
namespace {

/// Logits that are read at once: 64 MiB.
constexpr std::uint32_t kLogitsAtOnce = 1U << 24;

/// Of the array with all matrices of a quantity.
std::vector<std::string> axis_names(const Quantity& written) {
  std::vector<std::string> axes = {"layer", "batch"};
  if (written.scope == Scope::Head) axes.emplace_back("head");
  // Tokens of both sides have one name here.
  axes.emplace_back(to_string(written.rows == Axis::KeyToken ? Axis::Token : written.rows));
  axes.emplace_back(to_string(written.columns));
  return axes;
}

/// What `read` reads of the run, less what it reads of the baseline where there is one.
template <typename Read>
Tensor difference_of(const Runs& runs, const Read& read) {
  Tensor result = read(runs.run);
  if (runs.baseline == nullptr) return result;
  const Tensor other = read(*runs.baseline);
  if (other.shape != result.shape) throw Error("the two runs' results have different shapes: they have no difference");
  for (std::size_t i = 0; i < result.values.size(); ++i) result.values[i] -= other.values[i];
  return result;
}

void add_ids(const model::TokenBatch& tokens, const std::string& name, std::vector<exporting::FileArray>& arrays) {
  if (tokens.ids.size() != std::size_t{tokens.batch} * tokens.length) return;
  std::vector<std::int64_t> ids;
  ids.reserve(tokens.ids.size());
  for (const std::uint32_t id : tokens.ids) ids.push_back(id == model::kPaddingId ? -1 : std::int64_t{id});
  arrays.push_back(exporting::array_of(name, Shape{tokens.batch, tokens.length}, std::move(ids)));
}

}  // namespace

NumberArray stage_array(const Runs& runs, const ExportBlocks& blocks, attention::Stage stage, std::string name) {
  const Quantity& written = quantity(quantity_of(blocks, stage));
  const auto [rows, columns] = extent_of(blocks, stage);
  Shape shape = {static_cast<std::uint32_t>(blocks.layers.size()), blocks.batch.count()};
  if (written.scope == Scope::Head) shape.push_back(static_cast<std::uint32_t>(heads_of(blocks, stage).size()));
  shape.push_back(rows);
  shape.push_back(columns);
  std::vector<TileQuery> strips;
  for (const MatrixRef& matrix : matrices_of(blocks, stage)) {
    for (const TileQuery& part : selected_parts(blocks, matrix.block, stage, matrix.batch, matrix.head))
      std::ranges::copy(strips_of(part), std::back_inserter(strips));
  }
  std::vector<std::size_t> ends;  // of the strips that are evaluated together
  while (ends.empty() || ends.back() < strips.size()) ends.push_back(end_of_group(strips, ends.empty() ? 0 : ends.back()));
  const std::size_t count = ends.size();
  const auto norms = std::make_shared<HeadNormsCache>();
  const auto read = [&run = runs.run, baseline = runs.baseline, norms, strips = std::move(strips), ends = std::move(ends)](
                        std::size_t part, std::string& bytes) {
    const std::size_t first = part == 0 ? 0 : ends.at(part - 1);
    const std::span<const TileQuery> together = std::span(strips).subspan(first, ends.at(part) - first);
    for (const attention::Tile& strip : evaluate({.run = run, .baseline = baseline, .norms = norms}, together))
      exporting::append_numbers(strip.values, bytes);
  };
  return {.array = {.name = std::move(name), .shape = std::move(shape), .parts = count, .read = read},
          .axes = axis_names(written)};
}

NumberArray encoder_output_array(const Runs& runs, std::string name) {
  // Small: of the playground and notebooks.
  Tensor output = difference_of(runs, [](const inference::Run& run) { return run.encoder_output(); });
  return {.array = exporting::array_of(std::move(name), std::move(output)), .axes = {"batch", "token", "feature"}};
}

NumberArray hidden_array(const Runs& runs, inference::Stack stack, std::string name) {
  const inference::Run& run = runs.run;
  const model::Layers& layers = *run.inputs().network->layers;
  const bool is_encoder = stack == inference::Stack::Encoder;
  const model::ModelInput& input = run.inputs().input;
  const model::TokenBatch& tokens = is_encoder ? input.source : *input.target;
  const auto states = static_cast<std::uint32_t>(1 + (is_encoder ? layers.encoder.size() : layers.decoder.size()));
  const std::uint32_t width = run.shape(run.blocks().front()).d_model;
  const auto read = [&run, baseline = runs.baseline, stack](std::size_t /*part*/, std::string& bytes) {
    const auto of_run = [&](const inference::Run& of) { return of.hidden(stack); };
    exporting::append_numbers(difference_of({.run = run, .baseline = baseline}, of_run).values, bytes);
  };
  return {.array = {.name = std::move(name), .shape = {states, tokens.batch, tokens.length, width}, .read = read},
          .axes = {"layer", "batch", "token", "feature"}};
}

NumberArray logits_array(const Runs& runs, const model::Network& network, const model::ModelInput& input, std::string name) {
  const bool has_decoder = !network.layers->decoder.empty();
  const model::TokenBatch& tokens = has_decoder ? *input.target : input.source;
  const std::size_t layers = has_decoder ? network.layers->decoder.size() : network.layers->encoder.size();
  const std::uint32_t vocabulary = network.layers->unembedding->linear.out();
  const std::size_t at_once = std::max(1U, kLogitsAtOnce / vocabulary);
  const std::size_t all = std::size_t{tokens.batch} * tokens.length;
  const auto read = [&run = runs.run, baseline = runs.baseline, at_once, all, layers, length = tokens.length](
                        std::size_t part, std::string& bytes) {
    std::vector<inference::StateRef> states;
    for (std::size_t token = part * at_once; token < std::min(all, (part + 1) * at_once); ++token) {
      states.push_back({.batch = static_cast<std::uint32_t>(token / length),
                        .token = static_cast<std::uint32_t>(token % length),
                        .layer = static_cast<std::uint32_t>(layers)});
    }
    exporting::append_numbers(
        difference_of({.run = run, .baseline = baseline}, [&](const inference::Run& of) { return of.logits(states); })
            .values,
        bytes);
  };
  return {.array = {.name = std::move(name),
                    .shape = {tokens.batch, tokens.length, vocabulary},
                    .parts = (all + at_once - 1) / at_once,
                    .read = read},
          .axes = {"batch", "token", "token_id"}};
}

std::vector<exporting::FileArray> id_arrays(const model::ModelInput& input) {
  std::vector<exporting::FileArray> arrays;
  add_ids(input.source, "token_ids", arrays);
  if (input.target) add_ids(*input.target, "target_token_ids", arrays);
  return arrays;
}

std::vector<exporting::FileArray> token_arrays(const model::ModelInput& input) {
  std::vector<exporting::FileArray> arrays = id_arrays(input);
  arrays.push_back(exporting::array_of("tokens", input.source.texts));
  if (input.target) arrays.push_back(exporting::array_of("target_tokens", input.target->texts));
  return arrays;
}

}  // namespace headlight::app
