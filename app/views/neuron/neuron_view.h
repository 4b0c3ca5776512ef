#pragma once

#include "app/views/neuron/key_rows.h"
#include "app/views/neuron/neuron_pair.h"
#include "app/views/view.h"
#include "app/widgets/token_chips.h"
#include "export/drawing.h"
#include "view/color_map.h"

namespace headlight::app {

/// What the neuron view keeps from frame to frame.
struct NeuronMemory {
  TokenLineMemory queries, keys;
  KeyRowsMemory key_rows;
  NeuronPair shown;                      ///< the last pair whose numbers were known, shown until the next one's are
  Selection selection;                   ///< of `shown`
  std::optional<std::uint32_t> hovered;  ///< component under the pointer, in the strips or in the table
  std::optional<std::uint32_t> pointed;  ///< key whose chip or row was under the pointer in the previous frame
  bool copies = false;                   ///< the table goes to the clipboard as soon as its numbers are known
};

/// The selected head's score of one query and one key, product by product, and the way from their sum to the weight; or the
/// products of one query with every key. The pair is the pinned cell; without one the last token and its strongest key.
void draw_neuron_panel(Frame& frame, NeuronMemory& memory);

std::unique_ptr<ViewPanel> open_neuron_view();

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

}  // namespace headlight::app
