#include "app/cells/shown_mask.h"

#include "capture/capture_file.h"

namespace headlight::app {

ShownMask::ShownMask(const Frame& frame) : selection_(frame.state.selection), chosen_(selected_mask(frame.state)) {
  const model::BlockRef block = selection_.block;
  if (!frame.result.network || !frame.result.shapes.contains(block)) return;
  if (frame.result.capture) {  // masked, if at all, as its file says
    with_window_.emplace();
    with_window_->rule = {.causal = capture::is_causal(*frame.result.capture, block.kind),
                          .window = frame.result.network->layer(block).config.window};
    with_window_->fill = attention::MaskFill::NegativeInfinity;
    return;
  }
  const model::AttentionConfig& config = frame.result.network->layer(block).config;
  if (config.window > 0) with_window_ = attention::in_layer(chosen_, config);
  if (chosen_.has_expressions() && frame.result.input)
    tokens_.emplace(*frame.result.network, *frame.result.input, block.kind, chosen_);
}

attention::ExpressionMap ShownMask::map() const {
  const std::uint32_t layer = selection_.block.layer.value;
  return tokens_ ? tokens_->map(layer, selection_.batch, selection_.head)
                 : attention::ExpressionMap{.layer = layer, .head = selection_.head};
}

}  // namespace headlight::app
