#pragma once

#include "app/frame.h"
#include "app/views/neuron/neuron_pair.h"
#include "export/drawing.h"
#include "view/color_map.h"

namespace headlight::app {

/// What a figure of a pair needs besides its numbers: kept from the last frame.
struct NeuronLook {
  std::string title, subtitle;
  std::string keys_title, keys_subtitle;  ///< of the figure of all keys
  view::Rgb query{}, key{}, output{};     ///< the roles' colours
};
NeuronLook neuron_look(const Frame& frame, const NeuronPair& pair);

/// The pair's components with their products, in its order, and the chain from their sum to the weight.
std::unique_ptr<exporting::Drawing> make_neuron_figure(const NeuronPair& pair, const NeuronLook& look);

/// One query and all keys: kept from the last frame that showed them.
struct NeuronKeys {
  std::shared_ptr<const attention::Tile> keys, scores, weights;  ///< K, and a row of each map; null while not known
  std::vector<std::string> names;                                ///< [key] tokens; empty: too many for a figure
};
/// Asks for all keys, as many as a figure has room for.
NeuronKeys keep_keys(Frame& frame, const HeadSubject& subject, const NeuronPair& pair);

/// The products of the pair's query with every key, components in the pair's order. Null: they aren't all known yet. Throws
/// Error where there are more keys than a figure has room for.
std::unique_ptr<exporting::Drawing> make_keys_figure(const NeuronPair& pair, const NeuronKeys& shown,
                                                     const NeuronLook& look);

/// "On the device: score 0.41832, …: what the parts add up to differs by 3e-8 …", once both are known; of a capture "On the
/// map".
std::string compare_with_device(const ScoreChain& chain, bool is_captured);

}  // namespace headlight::app
