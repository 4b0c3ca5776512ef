#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "text/tokenizer.h"

namespace headlight::text {

/// A compiled regular expression of a tokenizer file, in Ruby's syntax over UTF-8, as Oniguruma reads it: the library that
/// tokenizer files are written for, but without \K and \G. Immutable, copies share it; may be used from several threads.
class Regex {
 public:
  /// Throws Error with the pattern and the reason when it can't be compiled.
  explicit Regex(std::string_view pattern);
  /// A pattern that matches `literal` itself.
  static Regex of_literal(std::string_view literal);

  /// Every match, left to right, without overlaps. An empty match directly after another match is skipped. Throws Error when
  /// the pattern backtracks too much on this text, or takes longer than 10 s.
  std::vector<ByteRange> find_all(std::string_view valid_utf8) const;

 private:
  struct Pattern;
  explicit Regex(std::shared_ptr<const Pattern> pattern);
  std::shared_ptr<const Pattern> pattern_;
};

}  // namespace headlight::text
