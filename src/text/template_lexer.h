#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace headlight::text {

/// A token of a template: text between tags, or a word, number, string or sign inside of one.
struct TemplateToken {
  enum class Kind : unsigned char { Text, BlockBegin, BlockEnd, OutputBegin, OutputEnd, Name, Number, String, Sign, End };
  Kind kind = Kind::End;
  std::string text = {};  ///< of a string its content
  std::size_t line = 1;
};

/// The tokens of a template, comments left out and white space removed as tags and trim_blocks, lstrip_blocks say; the last
/// is End. Throws Error "line N: …".
std::vector<TemplateToken> split_template(std::string_view source);

}  // namespace headlight::text
