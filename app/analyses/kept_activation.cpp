#include "app/analyses/kept_activation.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <variant>
#include <vector>

#include "app/analyses/patch_place.h"
#include "core/error.h"

namespace headlight::app {
namespace {

/// options[1] of the query.
enum class Kept : std::uint8_t { Activations, SteeringVector, Mean };

class KeptActivationTask final : public AnalysisTask {
 public:
  KeptActivationTask(const PatchPlace& place, const inference::BlockShape& shape, Kept kept)
      : place_(place), shape_(shape), kept_(kept) {}

  Reads next(std::size_t /*most_cells*/) override {
    Reads reads;
    reads.is_of_reference = baseline_.empty();
    read_place(place_, shape_, reads);
    return reads;
  }

  void take(const Answers& answers) override {
    std::vector<float> values = place_values(answers);
    KeptActivation found;
    found.intervention = intervention_at(place_);
    if (kept_ != Kept::SteeringVector) {
      if (kept_ == Kept::Mean) spread_mean(values, values.size() / place_.count);
      const bool is_missing = std::ranges::any_of(values, [](float value) { return std::isnan(value); });
      if (is_missing) throw Error("a token here has no counterpart in the other text: choose others");
      found.intervention.operation =
          inference::Replace{.item = place_.batch, .first = place_.first, .rows = std::move(values)};
    } else if (baseline_.empty()) {
      baseline_ = std::move(values);
      return;
    } else {
      const std::size_t width = values.size() / place_.count;
      const std::vector<double> there = mean_row(baseline_, width), here = mean_row(values, width);
      inference::Add add;
      for (std::size_t i = 0; i < width; ++i) add.vector.push_back(static_cast<float>(there[i] - here[i]));
      found.intervention.operation = std::move(add);
    }
    result_ = std::make_shared<const KeptActivation>(std::move(found));
  }

  bool is_done() const override { return result_ != nullptr; }
  std::shared_ptr<const AnalysisResult> result() const override { return result_; }

 private:
  PatchPlace place_;
  inference::BlockShape shape_;
  Kept kept_;
  std::vector<float> baseline_;  ///< of a steering vector, [token, width]
  std::shared_ptr<const AnalysisResult> result_;
};

std::unique_ptr<AnalysisTask> begin_kept_activation(const AnalysisQuery& query, const AnalysisSubject& subject) {
  const PatchPlace place{.map = static_cast<PatchMap>(query.options[0]),
                         .block = query.block,
                         .batch = query.batch,
                         .head = query.head,
                         .first = query.query,
                         .count = query.key};
  const auto shape = subject.shapes.find(query.block);
  const bool is_there = shape != subject.shapes.end() && place.batch < shape->second.batch && place.count > 0 &&
                        place.first < shape->second.queries && place.count <= shape->second.queries - place.first &&
                        (place.map != PatchMap::Heads || place.head < shape->second.heads);
  if (!is_there || patch_width(place.map, shape->second) == 0) throw Error("this run has no such activations");
  return std::make_unique<KeptActivationTask>(place, shape->second, static_cast<Kept>(query.options[1]));
}

}  // namespace

constexpr Analysis kKeptActivation{
    .id = "kept-activation", .title = "activations that are kept", .begin = &begin_kept_activation, .compares = true};

AnalysisQuery keeping_query(PatchMap map, model::BlockRef block, std::uint32_t batch, std::uint32_t head,
                            std::uint32_t first, std::uint32_t count) {
  return {.analysis = &kKeptActivation,
          .block = block,
          .batch = batch,
          .head = head,
          .query = first,
          .key = count,
          .options = {static_cast<std::uint32_t>(map), 0U}};
}

AnalysisQuery steering_query(model::BlockRef block, std::uint32_t batch, std::uint32_t first, std::uint32_t count) {
  AnalysisQuery query = keeping_query(PatchMap::Residual, block, batch, 0, first, count);
  query.options[1] = static_cast<std::uint32_t>(Kept::SteeringVector);
  return query;
}

AnalysisQuery reference_mean_query(model::BlockRef block, std::uint32_t batch, std::uint32_t head, std::uint32_t first,
                                   std::uint32_t count) {
  AnalysisQuery query = keeping_query(PatchMap::Heads, block, batch, head, first, count);
  query.options[1] = static_cast<std::uint32_t>(Kept::Mean);
  return query;
}

inference::Intervention moved(inference::Intervention patch, std::uint32_t layer, std::uint32_t head, std::uint32_t first) {
  patch.scope.layer = layer;
  patch.scope.head = head;
  std::get<inference::Replace>(patch.operation).first = first;
  return patch;
}

}  // namespace headlight::app
