#pragma once

#include <memory>
#include <string>

#include "app/frame.h"
#include "app/views/neuron/neuron_pair.h"
#include "export/drawing.h"
#include "view/color_map.h"

namespace headlight::app {

/// What a figure of a pair needs besides its numbers: kept from the last frame.
struct NeuronLook {
  std::string title, subtitle;
  view::Rgb query{}, key{}, output{};  ///< the roles' colours
  bool is_dark = false;
};
NeuronLook neuron_look(const Frame& frame, const NeuronPair& pair);

/// The pair's components with their products, in its order, and the chain from their sum to the weight.
std::unique_ptr<exporting::Drawing> make_neuron_figure(const NeuronPair& pair, const NeuronLook& look);

}  // namespace headlight::app
