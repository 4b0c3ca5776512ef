#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headlight::checks {

class Checker;

/// One group of checks of a device.
struct Group {
  std::string_view name;
  bool is_quick = false;
  void (*run)(Checker&) = nullptr;
};
/// Returns the groups in the order in which they run.
std::span<const Group> groups();

/// Runs `headlight check` in a child process: writes a JSON object a line to standard output. Steps before `first_step` are
/// left out. `names`: only these groups; empty: all, or the quick ones. Throws Error where the device can't be opened.
void run(const std::string& device, bool is_quick, const std::vector<std::string>& names, std::uint32_t first_step);

/// captions.json: a text, and what transformers computes of it with captions-gpt2 in float64 (tools/make_bundled_golden.py).
///   last_rows [layer][head][key]: the last token's weights; logits {id: logit} of the last token's ten largest
extern const std::string_view kCaptionsNumbers;

}  // namespace headlight::checks
