#include "app/analyses/patching.h"

#include <variant>

#include "core/error.h"

namespace headlight::app {

using Kept = KeptActivationQuestion::Kept;

Task<KeptActivation> analyse(KeptActivationQuestion question, AnalysisSubject subject) {
  const PatchPlace& place = question.place;
  const auto shape = subject.shapes.find(place.block);
  const bool is_there = shape != subject.shapes.end() && place.batch < shape->second.batch && place.count > 0 &&
                        place.first < shape->second.queries && place.count <= shape->second.queries - place.first &&
                        (place.map != PatchMap::Heads || place.head < shape->second.heads);
  if (!is_there || patch_width(place.map, shape->second) == 0) throw Error("this run has no such activations");
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
    found.intervention = intervention_at(place);
    found.intervention.operation = std::move(add);
    co_return found;
  }
  if (question.kept == Kept::Mean) spread_mean(values, width);
  const bool is_missing = std::ranges::any_of(values, [](float value) { return std::isnan(value); });
  if (is_missing) throw Error("a token here has no counterpart in the other text: choose others");
  found.intervention = replaced(place, std::move(values));
  co_return found;
}

KeptActivationQuestion keeping_query(PatchMap map, model::BlockRef block, std::uint32_t batch, std::uint32_t head,
                                     std::uint32_t first, std::uint32_t count) {
  return {.place = {.map = map, .block = block, .batch = batch, .head = head, .first = first, .count = count}};
}

KeptActivationQuestion steering_query(model::BlockRef block, std::uint32_t batch, std::uint32_t first, std::uint32_t count) {
  KeptActivationQuestion question = keeping_query(PatchMap::Residual, block, batch, 0, first, count);
  question.kept = Kept::SteeringVector;
  return question;
}

KeptActivationQuestion baseline_mean_query(model::BlockRef block, std::uint32_t batch, std::uint32_t head,
                                           std::uint32_t first, std::uint32_t count) {
  KeptActivationQuestion question = keeping_query(PatchMap::Heads, block, batch, head, first, count);
  question.kept = Kept::Mean;
  return question;
}

inference::Intervention moved(inference::Intervention patch, std::uint32_t layer, std::uint32_t head, std::uint32_t first) {
  patch.scope.layer = layer;
  patch.scope.head = head;
  std::get<inference::Replace>(patch.operation).first = first;
  return patch;
}

}  // namespace headlight::app
