#pragma once

#include "app/views/neuron/key_rows.h"
#include "app/views/neuron/neuron_pair.h"
#include "app/views/view.h"
#include "app/widgets/token_line.h"

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

}  // namespace headlight::app
