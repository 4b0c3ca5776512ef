#include "text/regex.h"

#include "core/error.h"
#include "text/oniguruma_syntax.h"
#include "text/unicode.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

namespace headlight::text {
namespace {

struct Free {
  void operator()(pcre2_code* code) const { pcre2_code_free(code); }
  void operator()(pcre2_match_data* data) const { pcre2_match_data_free(data); }
  void operator()(pcre2_match_context* context) const { pcre2_match_context_free(context); }
};

std::string reason(int code) {
  PCRE2_UCHAR message[256];
  pcre2_get_error_message(code, message, sizeof(message));
  return reinterpret_cast<const char*>(message);
}

std::string quote(std::string_view literal) {
  std::string pattern;
  for (const char c : literal) {
    if (is_punctuation(static_cast<unsigned char>(c) < 0x80 ? static_cast<char32_t>(c) : U'a')) pattern += '\\';
    pattern += c;
  }
  return pattern;
}

}  // namespace

struct Regex::Code {
  std::unique_ptr<pcre2_code, Free> compiled;
  std::unique_ptr<pcre2_match_context, Free> limits{pcre2_match_context_create(nullptr)};
};

Regex::Regex(const std::string& pattern, std::string_view shown) {
  int error = 0;
  PCRE2_SIZE at = 0;
  auto code = std::make_unique<Code>();
  // Ruby's ^ and $ match at every line.
  constexpr std::uint32_t kOptions = PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C;
  code->compiled.reset(
      pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(), kOptions, &error, &at, nullptr));
  if (!code->compiled) throw Error("the regular expression \"{}\" can't be compiled: {}", shown, reason(error));
  constexpr std::uint32_t kMostHeap = 512 << 10;  // KiB, for the interpreter
  pcre2_set_heap_limit(code->limits.get(), kMostHeap);
  pcre2_jit_compile(code->compiled.get(), PCRE2_JIT_COMPLETE);  // without a JIT for this machine it is interpreted
  code_ = std::move(code);
}

Regex::Regex(std::string_view pattern) : Regex(to_pcre2(pattern), pattern) {}
Regex Regex::of_literal(std::string_view literal) { return Regex(quote(literal), literal); }

Regex::~Regex() = default;
Regex::Regex(Regex&&) noexcept = default;
Regex& Regex::operator=(Regex&&) noexcept = default;

std::vector<ByteRange> Regex::find_all(std::string_view text) const {
  const pcre2_code* code = code_->compiled.get();
  pcre2_match_context* limits = code_->limits.get();
  const std::unique_ptr<pcre2_match_data, Free> data(pcre2_match_data_create_from_pattern(code, nullptr));
  const auto* subject = reinterpret_cast<PCRE2_SPTR>(text.data());
  std::vector<ByteRange> matches;
  for (std::size_t from = 0; from <= text.size();) {
    int found = pcre2_match(code, subject, text.size(), from, PCRE2_NO_UTF_CHECK, data.get(), limits);
    if (found == PCRE2_ERROR_JIT_STACKLIMIT)  // the interpreter keeps its backtracking on the heap
      found = pcre2_match(code, subject, text.size(), from, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT, data.get(), limits);
    if (found == PCRE2_ERROR_NOMATCH) break;
    if (found < 0) throw Error("a regular expression of the tokenizer gave up on this text: {}", reason(found));
    const PCRE2_SIZE* ends = pcre2_get_ovector_pointer(data.get());
    if (ends[0] < from || ends[1] < ends[0]) throw Error("a regular expression of the tokenizer matches backwards");
    const ByteRange match{static_cast<std::uint32_t>(ends[0]), static_cast<std::uint32_t>(ends[1])};
    if (match.is_empty() && !matches.empty() && matches.back().end == match.end) {
      from += from < text.size() ? character_length(text, from) : 1;
      continue;
    }
    matches.push_back(match);
    from = match.end;
  }
  return matches;
}

}  // namespace headlight::text
