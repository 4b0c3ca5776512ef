#include "app/cells/shown_mask.h"

namespace headlight::app {

ShownMask::ShownMask(const Frame& frame) : chosen_(selected_mask(frame.state)) {
  const model::BlockRef block = frame.state.selection.block;
  if (!frame.result.network || !frame.result.shapes.contains(block)) return;
  const model::AttentionConfig& config = frame.result.network->layer(block).config;
  if (config.window > 0) with_window_ = attention::in_layer(chosen_, config);
}

bool has_trained_window(const Frame& frame) { return frame.result.model && frame.result.model->description.window > 0; }

}  // namespace headlight::app
