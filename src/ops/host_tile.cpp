#include "ops/host_tile.h"

#include "core/processor.h"

namespace headlight::ops {

extern const HostTile kPortableTile;
#if HEADLIGHT_AVX2
extern const HostTile kAvx512Tile;
extern const HostTile kAvx2Tile;
#endif

namespace {

struct TileSet {
  const HostTile* all[4] = {};

  TileSet() {
    std::size_t count = 0;
#if HEADLIGHT_AVX2
    if (has_avx2() && __builtin_cpu_supports("avx512f") != 0) all[count++] = &kAvx512Tile;
    if (has_avx2() && __builtin_cpu_supports("fma") != 0) all[count++] = &kAvx2Tile;
#endif
    all[count] = &kPortableTile;
  }
};

}  // namespace

const HostTile* const* host_tiles() {
  static const TileSet kTiles;
  return kTiles.all;
}

const HostTile& host_tile() { return *host_tiles()[0]; }

}  // namespace headlight::ops
