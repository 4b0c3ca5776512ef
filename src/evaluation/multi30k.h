#pragma once

#include <filesystem>
#include <string_view>

namespace headlight::evaluation {

/// A text of Multi30k (Elliott et al. 2016), "val.de" or "test_2016_flickr.en", in a folder that holds the files side by
/// side, plain or as .gz, or in a clone of github.com/multi30k/dataset. Throws Error in one line when it is missing.
std::filesystem::path find_multi30k(const std::filesystem::path& folder, std::string_view text);

/// The environment variable that names such a folder.
inline constexpr const char* kMulti30kVariable = "HEADLIGHT_MULTI30K";

}  // namespace headlight::evaluation
