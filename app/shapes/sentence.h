#pragma once

#include <string>
#include <string_view>

namespace headlight::app {

/// What a view says below its title, and what is said of a head: words, in which tokens and numbers are marked, so that they
/// are painted in their colours and a test compares them with what the view shows. fmt::format() puts marked words together.
using Sentence = std::string;

/// A token that looks, one that is looked at, any other, and a number on screen: the byte before the word.
inline constexpr char kQueryMark = 1, kKeyMark = 2, kTokenMark = 3, kNumberMark = 4;
inline constexpr char kWordEnd = 5;  ///< the byte after it

inline std::string query_word(const std::string& token) { return kQueryMark + token + kWordEnd; }
inline std::string key_word(const std::string& token) { return kKeyMark + token + kWordEnd; }
inline std::string token_word(const std::string& token) { return kTokenMark + token + kWordEnd; }
inline std::string number_word(const std::string& number) { return kNumberMark + number + kWordEnd; }
/// "0.83"; with another format "+0.83".
std::string number_word(double number, const char* format = "{:.2f}");

/// Returns the sentence without marks: tokens are in quotation marks.
std::string plain_text(std::string_view sentence);

}  // namespace headlight::app
