#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/engine/engine.h"
#include "app/state/number_ref.h"
#include "app/state/state.h"

namespace headlight::app {

/// Where a number on screen comes from, in lines of words.
struct Provenance {
  struct Line {
    std::string name;  ///< "weight", "computed by"
    std::string text;
  };
  std::string title;  ///< "attention weights of layer 0, head 3"
  std::vector<Line> lines;
};

// What NumberRef::of names besides the ids of quantities():
inline constexpr std::string_view kQueryWeight = "w_q";   ///< [d_model, d_k] of the head
inline constexpr std::string_view kKeyWeight = "w_k";     ///< likewise, of its KV head
inline constexpr std::string_view kValueWeight = "w_v";   ///< [d_model, d_v], of its KV head
inline constexpr std::string_view kOutputWeight = "w_o";  ///< [heads·d_v, d_model]
inline constexpr std::string_view kMemoryNumber = "memory";
inline constexpr std::string_view kResidualNumber = "residual";         ///< before the block's layer
inline constexpr std::string_view kAttendedNumber = "after-attention";  ///< the same behind its attention
inline constexpr std::string_view kMlpNumber = "feed-forward";          ///< what the layer's MLP writes
inline constexpr std::string_view kNextNumber = "next";                 ///< behind the layer
inline constexpr std::string_view kLogitNumber = "logit";               ///< row: token, column: id in the vocabulary
inline constexpr std::string_view kLogitPart = "logit-part";            ///< what a layer writes, times the token's direction
inline constexpr std::string_view kLogitOther = "logit-other";          ///< likewise of what no layer writes
inline constexpr std::string_view kLogitHead = "logit-head";            ///< likewise of one head
inline constexpr std::string_view kLogitSource = "logit-source";        ///< what heads bring from one source token (`row`)

/// Reads headers of the model's files, some milliseconds. A number of something that the run doesn't have gets a title and
/// no lines.
Provenance provenance_of(const EngineResult& result, const NumberRef& number);

/// The title, the value and the lines as text for the clipboard. `value`: as the panel shows it; may be empty.
std::string write_provenance(const Provenance& provenance, const std::string& value);

}  // namespace headlight::app
