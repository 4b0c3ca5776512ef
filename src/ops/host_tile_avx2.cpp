#include "ops/host_tile_kernels.h"

namespace headlight::ops {

extern const HostTile kAvx2Tile;
constexpr HostTile kAvx2Tile = tile_of<8, 2, 6, 8>("AVX2");

}  // namespace headlight::ops
