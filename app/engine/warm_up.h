#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "inference/session.h"
#include "model/network.h"

namespace headlight::app {

/// Passes over a few tokens choose other kernels than passes over many, and a driver may take a second to compile one. These
/// passes, run when the first picture is there and nobody has typed yet, make it do so before anybody waits.
class WarmUp {
 public:
  /// After each pass; the first one with these layers is what the steps repeat parts of.
  void note(const std::shared_ptr<const model::Network>& network, const model::ModelInput& input,
            const attention::MaskSet& masks, const inference::HeadGains& gains);
  bool is_pending() const { return pass_.has_value(); }
  /// One more pass, and then the noted one again, so that the session holds what it held. Throws what Session::run throws.
  void step(inference::Session& session);

 private:
  struct Pass {
    std::shared_ptr<const model::Network> network;
    model::ModelInput input;
    attention::MaskSet masks;
    inference::HeadGains gains;
  };

  std::shared_ptr<const model::Layers> warm_;  ///< whose kernels are compiled, or will be
  std::optional<Pass> pass_;
  std::vector<std::uint32_t> row_counts_;  ///< still to be tried
};

}  // namespace headlight::app
