#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "attention/mask.h"
#include "inference/reuse.h"
#include "model/load_network.h"
#include "model/network.h"
#include "support/random.h"

namespace headlight::test {

struct OpenModel {
  std::shared_ptr<const model::Network> network;
  model::ModelDescription description;
};
OpenModel open_golden_model(std::string_view name);

/// The parts of a pass that a user edits: texts, masks and interventions.
struct Desk {
  std::vector<std::vector<std::uint32_t>> source, target;  ///< [item][token]; `target` is empty without a decoder
  attention::MaskSet masks;
  inference::Interventions interventions;
  bool pads_left = false;

  model::ModelInput input() const;
};

std::vector<std::uint32_t> random_text(Random& random, std::uint32_t length, std::uint32_t vocabulary);
/// One line of nine tokens, a target of six, and the masks that the model was trained with.
Desk make_desk(Random& random, const OpenModel& model);
/// A random edit: types, deletes, paints, pads, …; returns its name.
std::string edit_at_random(Random& random, const OpenModel& model, Desk& desk);

}  // namespace headlight::test
