#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer.h"

namespace headlight::text {

/// A compiled regular expression of a tokenizer file. Tokenizer files are written for Oniguruma; PCRE2 runs them, because
/// it has the same Unicode properties, look-around and possessive repetition, compiles to machine code and is in every
/// distribution. Immutable; may be used from several threads.
class Regex {
 public:
  /// In Oniguruma's syntax. Throws Error naming the pattern and the reason.
  explicit Regex(std::string_view pattern);
  /// A pattern that matches `literal` itself.
  static Regex of_literal(std::string_view literal);

  ~Regex();
  Regex(Regex&&) noexcept;
  Regex& operator=(Regex&&) noexcept;

  /// Every match, left to right, without overlaps. An empty match directly after another match is skipped.
  std::vector<ByteRange> find_all(std::string_view valid_utf8) const;

 private:
  struct Code;
  Regex(const std::string& pcre2_pattern, std::string_view shown);
  std::unique_ptr<const Code> code_;
};

}  // namespace headlight::text
