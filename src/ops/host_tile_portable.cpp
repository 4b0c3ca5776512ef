#include "ops/host_tile_kernels.h"

namespace headlight::ops {

extern const HostTile kPortableTile;
constexpr HostTile kPortableTile = tile_of<4, 2, 4, 8>("128 bits");

}  // namespace headlight::ops
