#include "kernel_report/machine_code.h"

#include <algorithm>
#include <initializer_list>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

namespace headlight::kernel_report {
namespace {

/// Blocks of instructions, and loops as pairs of their first and last block.
struct Listing {
  std::vector<std::vector<std::string_view>> blocks{1};
  std::set<std::pair<std::size_t, std::size_t>> loops;
};

bool starts_with_any(std::string_view text, std::initializer_list<std::string_view> beginnings) {
  return std::any_of(beginnings.begin(), beginnings.end(), [&](std::string_view one) { return text.starts_with(one); });
}

std::string_view first_word(std::string_view line) { return line.substr(0, line.find_first_of(" \t;,")); }

bool is_instruction(std::string_view word) {
  return starts_with_any(word, {"v_", "s_", "ds_", "buffer_", "global_", "flat_", "scratch_", "image_"});
}

Listing parse(std::string_view assembly) {
  Listing listing;
  std::map<std::string_view, std::size_t> labels;
  while (!assembly.empty()) {
    const std::size_t end = std::min(assembly.find('\n'), assembly.size());
    std::string_view line = assembly.substr(0, end);
    assembly.remove_prefix(std::min(end + 1, assembly.size()));
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    const std::string_view word = first_word(line);
    if (word.starts_with("BB") && word.ends_with(":")) {
      listing.blocks.emplace_back();
      labels[word.substr(0, word.size() - 1)] = listing.blocks.size() - 1;
    } else if (is_instruction(word)) {
      listing.blocks.back().push_back(line);
      if (!starts_with_any(word, {"s_branch", "s_cbranch"})) continue;
      const std::size_t at = line.find("BB");
      if (at == std::string_view::npos) continue;
      const auto target = labels.find(first_word(line.substr(at)));
      if (target != labels.end()) listing.loops.emplace(target->second, listing.blocks.size() - 1);
    }
  }
  return listing;
}

/// Does the instruction multiply and add, for a lane or for whole matrices of a subgroup (v_wmma)?
bool is_multiply_add(std::string_view word) {
  return starts_with_any(word, {"v_wmma", "v_fma_f32", "v_fmac_f32", "v_fmaak_f32", "v_fmamk_f32", "v_mad_f32", "v_mac_f32",
                                "v_dual_fmac_f32", "v_fma_mix", "v_mad_mix"});
}

InstructionMix mix_of(const Listing& listing, std::pair<std::size_t, std::size_t> loop) {
  InstructionMix mix;
  for (std::size_t block = loop.first; block <= loop.second; ++block) {
    for (const std::string_view line : listing.blocks[block]) {
      ++mix.all;
      mix.multiply_adds += is_multiply_add(first_word(line)) ? 1 : 0;
      mix.shared_memory += line.starts_with("ds_") ? 1 : 0;
      const std::size_t second = line.find("::");  // RDNA3 issues two operations in one instruction
      if (second == std::string_view::npos) continue;
      const std::string_view rest = line.substr(std::min(line.find_first_not_of(" \t", second + 2), line.size()));
      mix.multiply_adds += is_multiply_add(first_word(rest)) ? 1 : 0;
    }
  }
  return mix;
}

}  // namespace

InstructionMix inner_loop(std::string_view assembly) {
  const Listing listing = parse(assembly);
  InstructionMix best;
  for (const auto& loop : listing.loops) {
    const bool has_inner = std::any_of(listing.loops.begin(), listing.loops.end(), [&](const auto& other) {
      return other != loop && other.first >= loop.first && other.second <= loop.second &&
             mix_of(listing, other).multiply_adds > 0;
    });
    const InstructionMix mix = mix_of(listing, loop);
    if (!has_inner && mix.multiply_adds > best.multiply_adds) best = mix;
  }
  return best;
}

}  // namespace headlight::kernel_report
