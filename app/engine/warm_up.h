#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "inference/session.h"
#include "model/network.h"

namespace headlight::app {

/// Passes over a few tokens choose other kernels than passes over many, and a driver may take a second to compile one. These
/// passes, run when the first heatmap is there and the user hasn't typed yet, make it do so before the user waits.
class WarmUp {
 public:
  /// After each pass; the first one of a network decides whether there is anything to warm up.
  void note(const inference::Run& run);
  bool is_pending() const { return !row_counts_.empty(); }
  /// One more pass, based on the newest run, which stays. Throws what Session::run throws.
  void step(inference::Session& session, const std::shared_ptr<const inference::Run>& run);

 private:
  std::shared_ptr<const model::Layers> warm_;  ///< whose kernels are compiled, or will be
  std::vector<std::uint32_t> row_counts_;      ///< still to be tried
};

}  // namespace headlight::app
