#include "support/visibility.h"

namespace headlight::test {

model::reference::Visibility visibility(const attention::MaskSet& masks, const model::ModelInput& input) {
  return [&masks, &input](model::BlockRef block, std::uint32_t batch, std::uint32_t head, std::uint32_t query,
                          std::uint32_t key) {
    return masks[block.kind].is_visible(block.layer.value, batch, head, query, key, input.keys(block.kind).lengths[batch]);
  };
}

}  // namespace headlight::test
