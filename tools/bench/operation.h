#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace headlight::bench {

/// The size of one case: self-attention of n tokens, d_model / heads numbers per head, causal, one batch item.
struct Size {
  std::uint32_t n = 0;
  std::uint32_t d_model = 0;
  std::uint32_t heads = 0;

  std::uint32_t d_head() const { return d_model / heads; }
  bool operator==(const Size&) const = default;
};

/// The operations that can be measured separately.
enum class Operation : std::uint8_t {
  LinearNaive,
  LinearVec4,
  LinearVec4Texel,
  LinearTiled,
  LinearShuffle,
  LinearShuffleTexel,
  QkvGemm,
  AttentionScores,
  MaskedSoftmax,
  AttentionMerge,
  Attention,
  OutputProjection,
  Forward,
  HeadMerge,
  Tile,
  TilePooled,
};

/// Every operation, in the order in which they are reported.
std::span<const Operation> operations();

/// "linear_naive", "qkv_gemm", …: the names in --ops and in reports.
std::string_view to_string(Operation operation);
/// One line for --help.
std::string_view description(Operation operation);

/// Does the operation process pairs of tokens, of which a causal mask hides half?
bool is_causal(Operation operation);

/// Multiplications and additions of one call, of causal operations only those of visible pairs; 0 where the count isn't
/// meaningful (softmax, merging heads).
double flops(Operation operation, const Size& size);

/// Bytes that one call must move at least, each operand read once and each result written once: float32, of stored scores
/// and weights those of visible pairs. 0 where flops() is.
double least_bytes(Operation operation, const Size& size);

/// Proportional to the time of one call, so that longer ones can be estimated from shorter ones.
double effort(Operation operation, const Size& size);

/// Edge of the map region that Tile evaluates: the map's last rows and first keys.
std::uint32_t tile_edge(const Size& size);
/// Edge of the squares that TilePooled shows as one value.
inline constexpr std::uint32_t kPool = 8;

}  // namespace headlight::bench
