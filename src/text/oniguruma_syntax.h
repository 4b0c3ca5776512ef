#pragma once

#include <string>
#include <string_view>

namespace headlight::text {

/// A regular expression in Oniguruma's Ruby syntax over UTF-8, which tokenizer files are written in, as the PCRE2 pattern
/// that matches the same. They differ in what \s, \w, \h and \v mean, in (?m), in X{n,m}+ and in sets inside sets.
/// Throws Error for what PCRE2 can't express: intersections (&&) and negated sets inside sets.
std::string to_pcre2(std::string_view pattern);

}  // namespace headlight::text
