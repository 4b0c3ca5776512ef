#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/architectures/family.h"

namespace headlight::model {

/// A family as JSON: assets/families/NAME.json, which is in the program.
struct FamilyFile {
  std::string_view name, text;
};
extern const std::span<const FamilyFile> kFamilyFiles;

/// Families by the names of their files, and those that GGUF files have under names and keys of their own.
struct Families {
  std::map<std::string, Family, std::less<>> files;  ///< those without `types` are only what others are like
  std::vector<Family> gguf;
};

/// Throws Error in one line with file, line and key: of what isn't JSON, a key that no family has or that is there twice, a
/// value of another type or out of its range, names that are missing, and families that are like one another.
Families read_families(std::span<const FamilyFile> files);
/// The families in the program, read once.
const Families& families();

/// A model's own family, in its folder.
inline constexpr std::string_view kOwnFamilyFile = "headlight-family.json";
/// The family that such a file describes, which may be like one in the program. Throws as read_families().
Family read_family(std::string_view text, const std::string& where);

/// All but those of GGUF files.
std::vector<const Family*> folder_families();

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

/// Is `name` one of "a|b|c"?
bool has_name(Names names, std::string_view name);
/// The family whose types include `model_type`, nullptr when there is none.
const Family* find_family(std::string_view model_type);
const Family* find_gguf_family(std::string_view architecture);

/// The keys that the family reads (Family::reads) and those that all read.
std::vector<std::string_view> keys_of(const Family& family);
bool reads(const Family& family, std::string_view key);

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
