#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace headlight::evaluation {

/// A text as BLEU and the perplexity of a word count it: lower-cased, runs of letters, numbers and underscores are words,
/// and every other character that is no white space is a word of its own. That is what Python's
/// re.findall(r"\w+|[^\w\s]", text.lower()) gives, but for a Σ at a word's end, which Python lower-cases to ς and this to σ,
/// and for characters that the older of the two Unicode tables lacks. Invalid UTF-8 counts as U+FFFD.
std::vector<std::string> words_of(std::string_view text);

}  // namespace headlight::evaluation
