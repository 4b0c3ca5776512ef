#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/architectures/family.h"

namespace headlight::model {

std::span<const Family> encoder_families();          ///< BERT, RoBERTa and similar encoders
std::span<const Family> decoder_families();          ///< GPT-2, OPT, BLOOM, GPT-NeoX
std::span<const Family> rotary_families();           ///< Llama and other decoders with RoPE
std::span<const Family> further_rotary_families();   ///< OLMo, Granite, Cohere and others of that kind
std::span<const Family> expert_families();           ///< mixtures of experts
std::span<const Family> encoder_decoder_families();  ///< BART, Marian, T5
std::span<const Family> gguf_families();             ///< the same under the names that GGUF files use

/// All but those of GGUF files.
std::array<std::span<const Family>, 6> folder_families();

/// Said in refusals of types for which it was seen to be true (captured_types.h): by unsupported() and unsupported_gguf() of
/// those that no family has, by load_network() of every other.
inline constexpr std::string_view kCaptureShows = "headlight.capture() in Python shows its attention";
/// After a refusal of this type "; " and that it does, or doesn't; empty where it wasn't tried.
std::string capture_hint(std::string_view type);

/// Networks that users try to load and that Headlight doesn't compute, and why.
struct OtherNetworks {
  Names types;
  std::string_view reason;
  bool has_attention = true;
  bool has_text = true;  ///< a GGUF file of it holds its text part alone
};
std::span<const OtherNetworks> other_networks();

/// The family whose types include `model_type`, nullptr when there is none.
const Family* find_family(std::string_view model_type);
const Family* find_gguf_family(std::string_view architecture);

/// The keys that the family reads (Family::reads) and those that all read.
std::vector<std::string_view> keys_of(const Family& family);
bool reads(const Family& family, std::string_view key);

/// "BERT, RoBERTa, …"
std::string family_names();
/// "model_type 'mamba': Headlight shows attention; this network has none; supported: …", or another reason for a
/// type that no family has. `has_other_senses`: its config also describes a network for images or sound.
std::string unsupported(std::string_view model_type, bool has_other_senses);
std::string unsupported_gguf(std::string_view architecture);

/// Calls `act` for each part of "a|b|c".
template <typename Act>
void for_each_name(Names names, const Act& act) {
  for (std::size_t begin = 0; begin <= names.size();) {
    const std::size_t end = std::min(names.find('|', begin), names.size());
    act(names.substr(begin, end - begin));
    begin = end + 1;
  }
}

}  // namespace headlight::model
