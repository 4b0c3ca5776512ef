#include "text/regex.h"

#include <oniguruma.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <new>
#include <string>

#include "core/error.h"
#include "core/utf8.h"
#include "text/unicode.h"

namespace headlight::text {
namespace {

constexpr std::size_t kLongest = 32'768;  // bytes of a pattern; those of tokenizers have hundreds

// These limit one match: tokenizers' matches step back less often than their text has characters.
constexpr std::size_t kMaxRetries = 1'000'000, kMaxRetriesPerByte = 4;
constexpr unsigned int kDeepestStack = 8'000'000;  // entries, at most some 500 MB
// These limit all matches in one text: retries don't count what a look-ahead reads, and a text has many places to begin
// at.
constexpr std::chrono::seconds kLongestTime{10};
constexpr std::size_t kPlacesPerCheck = 64;

struct FreeLimits {
  void operator()(OnigMatchParam* limits) const { onig_free_match_param(limits); }
};

const OnigUChar* bytes_of(std::string_view text) { return reinterpret_cast<const OnigUChar*>(text.data()); }

void initialize_library() {
  static const int status = [] {
    OnigEncoding encodings[] = {ONIG_ENCODING_UTF8};
    onig_set_parse_depth_limit(256);  // groups in groups: each level takes stack
    onig_set_capture_num_limit(1000);
    return onig_initialize(encodings, 1);
  }();
  if (status != ONIG_NORMAL) throw Error("Oniguruma can't be initialised: error {}", status);
}

std::string reason(int code, OnigErrorInfo* info = nullptr) {
  OnigUChar message[ONIG_MAX_ERROR_MESSAGE_LEN];
  const int length = info != nullptr ? onig_error_code_to_str(message, code, info) : onig_error_code_to_str(message, code);
  return {reinterpret_cast<const char*>(message), static_cast<std::size_t>(length)};
}

/// \K begins a match after text that it has read, and \G matches where a search begins; find_all() tries each place by
/// itself.
void refuse_places(std::string_view pattern) {
  for (std::size_t at = 0; at + 1 < pattern.size(); ++at) {
    if (pattern[at] != '\\') continue;
    const char c = pattern[++at];
    if (c == 'K' || c == 'G') throw Error("the regular expression \"{}\" has \\{}, which Headlight can't run", pattern, c);
  }
}

std::vector<ByteRange> find_literal(std::string_view text, std::string_view literal) {
  std::vector<ByteRange> matches;
  for (std::size_t at = text.find(literal); at != std::string_view::npos; at = text.find(literal, at + literal.size())) {
    matches.push_back({static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(at + literal.size())});
  }
  return matches;
}

}  // namespace

struct Regex::Pattern {
  std::string literal;
  regex_t* compiled = nullptr;  ///< null: the literal

  Pattern() = default;
  Pattern(const Pattern&) = delete;
  Pattern& operator=(const Pattern&) = delete;
  ~Pattern() { onig_free(compiled); }
};

Regex::Regex(std::shared_ptr<const Pattern> pattern) : pattern_(std::move(pattern)) {}

Regex::Regex(std::string_view pattern) {
  if (pattern.size() > kLongest) throw Error("a regular expression has {} bytes, more than {}", pattern.size(), kLongest);
  if (find_invalid_utf8(pattern) != std::string_view::npos) {
    throw Error("the regular expression \"{}\" isn't UTF-8", pattern);
  }
  refuse_places(pattern);
  initialize_library();
  auto compiled = std::make_shared<Pattern>();
  OnigErrorInfo info{};
  const int status = onig_new(&compiled->compiled, bytes_of(pattern), bytes_of(pattern) + pattern.size(), ONIG_OPTION_NONE,
                              ONIG_ENCODING_UTF8, ONIG_SYNTAX_RUBY, &info);
  if (status != ONIG_NORMAL) {
    throw Error("the regular expression \"{}\" can't be compiled: {}", pattern, reason(status, &info));
  }
  pattern_ = std::move(compiled);
}

Regex Regex::of_literal(std::string_view literal) {
  if (literal.empty()) return Regex("");
  auto pattern = std::make_shared<Pattern>();
  pattern->literal = literal;
  return Regex(std::move(pattern));
}

std::vector<ByteRange> Regex::find_all(std::string_view text) const {
  if (pattern_->compiled == nullptr) return find_literal(text, pattern_->literal);
  const std::unique_ptr<OnigMatchParam, FreeLimits> limits(onig_new_match_param());
  if (!limits) throw std::bad_alloc();
  onig_set_match_stack_limit_size_of_match_param(limits.get(), kDeepestStack);
  const std::size_t retries = kMaxRetries + kMaxRetriesPerByte * text.size();
  constexpr std::size_t kMost = std::numeric_limits<unsigned long>::max();  // 32 bits on Windows
  onig_set_retry_limit_in_match_of_match_param(limits.get(), static_cast<unsigned long>(std::min(retries, kMost)));
  if (text.data() == nullptr) text = "";
  const OnigUChar* const begin = bytes_of(text);
  const OnigUChar* const end = begin + text.size();
  const auto started = std::chrono::steady_clock::now();
  std::vector<ByteRange> matches;
  std::size_t places = 0;
  for (std::size_t at = 0; at <= text.size();) {
    // Not onig_search(), which may read a long text for each of its characters before it returns.
    const int found =
        onig_match_with_param(pattern_->compiled, begin, end, begin + at, nullptr, ONIG_OPTION_NONE, limits.get());
    if (found < 0 && found != ONIG_MISMATCH) {
      throw Error("a regular expression of the tokenizer gave up on this text: {}", reason(found));
    }
    if (++places % kPlacesPerCheck == 0 && std::chrono::steady_clock::now() - started > kLongestTime) {
      throw Error("a regular expression of the tokenizer takes too long on this text");
    }
    const bool is_match = found > 0 || (found == 0 && (matches.empty() || matches.back().end != at));
    if (is_match) {
      const std::size_t until = at + static_cast<std::size_t>(found);
      matches.push_back({static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(until)});
    }
    if (found > 0) {
      at += static_cast<std::size_t>(found);
    } else {
      at += at < text.size() ? character_length(text, at) : 1;
    }
  }
  return matches;
}

}  // namespace headlight::text
