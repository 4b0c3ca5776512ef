#include "app/engine/analyses/patching.h"

#include <variant>

#include "core/error.h"

namespace headlight::app {

using Kept = KeptActivationQuestion::Kept;

namespace {

/// Returns the head's output at the place's query as the key's weight becomes the baseline's.
Task<std::vector<float>> with_weight(KeptActivationQuestion question, inference::BlockShape shape) {
  PatchPlace at = question.place;
  at.site = model::Site::Weights;
  Reads of_baseline{.of = WhichRun::Baseline}, of_run;
  read_place(at, shape, of_baseline);
  read_place(at, shape, of_run);
  at.site = model::Site::Value;
  at.first = question.key;
  read_place(at, shape, of_run);
  read_place(question.place, shape, of_run);
  const Answers other = co_await std::move(of_baseline);
  const double weight = double{other.tiles[0].values.at(question.key)};
  const Answers read = co_await std::move(of_run);
  co_return output_with_weight(read.tiles[2].values, weight - double{read.tiles[0].values[question.key]},
                               read.tiles[1].values);
}

}  // namespace

Task<KeptActivation> analyse(KeptActivationQuestion question, AnalysisSubject subject) {
  const PatchPlace& place = question.place;
  const auto shape = subject.shapes.find(place.block);
  const bool is_of_keys = model::is_of_keys(place.site);
  const std::uint32_t tokens = shape == subject.shapes.end() ? 0 : is_of_keys ? shape->second.keys : shape->second.queries;
  const bool is_there = shape != subject.shapes.end() && place.batch < shape->second.batch && place.count > 0 &&
                        place.first < tokens && place.count <= tokens - place.first &&
                        place.head < std::max(shape->second.heads, 1U);
  if (!is_there || question.key >= shape->second.keys || patch_width(place.site, shape->second) == 0)
    throw Error("this run has no such activations");
  Reads of_baseline{.of = WhichRun::Baseline};
  read_place(place, shape->second, of_baseline);
  const Answers read = co_await std::move(of_baseline);
  std::vector<float> values = place_values(read);
  const std::size_t width = values.size() / place.count;
  KeptActivation found;
  if (question.kept == Kept::SteeringVector) {
    Reads of_run;
    read_place(place, shape->second, of_run);
    const Answers present = co_await std::move(of_run);
    const std::vector<double> there = mean_row(values, width), here = mean_row(place_values(present), width);
    inference::Add add;
    for (std::size_t i = 0; i < width; ++i) add.vector.push_back(static_cast<float>(there[i] - here[i]));
    found.intervention = intervention_at(place, shape->second);
    found.intervention.operation = std::move(add);
    co_return found;
  }
  if (question.kept == Kept::Mean) spread_mean(values, width);
  if (question.kept == Kept::Weight) values = co_await with_weight(question, shape->second);
  const bool is_missing = std::ranges::any_of(values, [](float value) { return std::isnan(value); });
  if (is_missing) throw Error("a token here has no counterpart in the other text: choose others");
  found.intervention = replaced(place, shape->second, std::move(values));
  co_return found;
}

KeptActivationQuestion keeping_query(model::Site site, model::BlockRef block, std::uint32_t batch, std::uint32_t head,
                                     std::uint32_t first, std::uint32_t count) {
  return {.place = {.site = site, .block = block, .batch = batch, .head = head, .first = first, .count = count}};
}

KeptActivationQuestion steering_query(model::BlockRef block, std::uint32_t batch, std::uint32_t first, std::uint32_t count) {
  KeptActivationQuestion question = keeping_query(model::Site::Residual, block, batch, 0, first, count);
  question.kept = Kept::SteeringVector;
  return question;
}

KeptActivationQuestion baseline_mean_query(model::BlockRef block, std::uint32_t batch, std::uint32_t head,
                                           std::uint32_t first, std::uint32_t count) {
  KeptActivationQuestion question = keeping_query(model::Site::HeadOutput, block, batch, head, first, count);
  question.kept = Kept::Mean;
  return question;
}

KeptActivationQuestion weight_query(const HeadRef& head, std::uint32_t batch, std::uint32_t query, std::uint32_t key) {
  KeptActivationQuestion question = keeping_query(model::Site::HeadOutput, head.block, batch, head.head, query, 1);
  question.kept = Kept::Weight;
  question.key = key;
  return question;
}

inference::Intervention moved(inference::Intervention patch, std::uint32_t layer, std::uint32_t head, std::uint32_t first) {
  patch.scope.layer = layer;
  patch.scope.head = head;
  if (auto* rows = std::get_if<inference::Replace>(&patch.operation)) rows->first = first;
  return patch;
}

}  // namespace headlight::app
