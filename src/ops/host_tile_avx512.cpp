#include "ops/host_tile_kernels.h"

namespace headlight::ops {

extern const HostTile kAvx512Tile;
constexpr HostTile kAvx512Tile = tile_of<16, 4, 6, 4>("AVX-512");

}  // namespace headlight::ops
