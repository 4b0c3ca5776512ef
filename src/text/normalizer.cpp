#include "text/normalizer.h"

#include "text/byte_alphabet.h"

namespace headlight::text {
namespace {

/// A stage that is one function.
template <typename Function>
class FunctionNormalizer final : public Normalizer {
 public:
  explicit FunctionNormalizer(Function function) : function_(std::move(function)) {}
  void apply(NormalizedText& text) const override { function_(text); }

 private:
  Function function_;
};

template <typename Function>
NormalizerPointer make_function_normalizer(Function function) {
  return std::make_unique<FunctionNormalizer<Function>>(std::move(function));
}

bool is_ascii(std::string_view text) {
  for (const char c : text) {
    if (static_cast<unsigned char>(c) >= 0x80) return false;
  }
  return true;
}

void to_form(NormalizedText& text, CanonicalForm form) {
  if (!is_ascii(text.text())) text.transform(to_canonical_form(text.text(), form));
}

void lowercase(NormalizedText& text) {
  std::vector<Change> changes;
  changes.reserve(text.text().size());
  std::u32string lower;
  bool differs = false;
  for (std::size_t at = 0; at < text.text().size();) {
    const char32_t c = next_code_point(text.text(), at);
    lower.clear();
    append_lower_case(lower, c);
    for (std::size_t i = 0; i < lower.size(); ++i) changes.push_back({lower[i], i == 0 ? 0 : 1});
    differs = differs || lower.size() != 1 || lower[0] != c;
  }
  if (differs) text.transform(changes);
}

/// The blocks that BERT's original tokenizer treats as Chinese.
bool is_chinese(char32_t c) {
  return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) || (c >= 0x20000 && c <= 0x2A6DF) ||
         (c >= 0x2A700 && c <= 0x2B81F) || (c >= 0x2B920 && c <= 0x2CEAF) || (c >= 0xF900 && c <= 0xFAFF) ||
         (c >= 0x2F800 && c <= 0x2FA1F);
}

void space_out_chinese(NormalizedText& text) {
  std::vector<Change> changes;
  changes.reserve(text.text().size());
  bool differs = false;
  for (std::size_t at = 0; at < text.text().size();) {
    const char32_t c = next_code_point(text.text(), at);
    if (is_chinese(c)) {
      changes.insert(changes.end(), {{U' ', 0}, {c, 1}, {U' ', 1}});
      differs = true;
    } else {
      changes.push_back({c, 0});
    }
  }
  if (differs) text.transform(changes);
}

void clean(NormalizedText& text) {
  const auto is_tab_or_newline = [](char32_t c) { return c == '\t' || c == '\n' || c == '\r'; };
  text.filter([&](char32_t c) { return c != 0 && c != 0xFFFD && (is_tab_or_newline(c) || !is_other(c)); });
  text.map([](char32_t c) { return is_white_space(c) ? U' ' : c; });
}

bool is_dropped_by_nmt(char32_t c) {
  return (c >= 0x01 && c <= 0x08) || c == 0x0B || (c >= 0x0E && c <= 0x1F) || c == 0x7F || c == 0x8F || c == 0x9F;
}

bool is_space_to_nmt(char32_t c) {
  return c == 0x09 || c == 0x0A || c == 0x0C || c == 0x0D || c == 0x1680 || (c >= 0x200B && c <= 0x200F) || c == 0x2028 ||
         c == 0x2029 || c == 0x2581 || c == 0xFEFF || c == 0xFFFD;
}

void strip(NormalizedText& text, bool left, bool right) {
  const std::string& content = text.text();
  std::size_t begin = 0;
  std::size_t end = content.size();
  while (left && begin < end) {
    std::size_t after = begin;
    if (!is_white_space(next_code_point(content, after))) break;
    begin = after;
  }
  while (right && end > begin) {
    std::size_t before = end;
    if (!is_white_space(previous_code_point(content, before))) break;
    end = before;
  }
  if (begin == 0 && end == content.size()) return;
  std::vector<Change> changes;
  for (std::size_t at = begin; at < end;) changes.push_back({next_code_point(content, at), 0});
  text.transform(changes, count_code_points(std::string_view(content).substr(0, begin)));
}

}  // namespace

NormalizerPointer make_bert_normalizer(const BertNormalizerOptions& options) {
  return make_function_normalizer([options](NormalizedText& text) {
    if (options.cleans_text) clean(text);
    if (options.spaces_out_chinese) space_out_chinese(text);
    if (options.strips_accents.value_or(options.lowercases)) {
      to_form(text, CanonicalForm::Nfd);
      text.filter([](char32_t c) { return !is_nonspacing_mark(c); });
    }
    if (options.lowercases) lowercase(text);
  });
}

NormalizerPointer make_canonical_normalizer(CanonicalForm form) {
  return make_function_normalizer([form](NormalizedText& text) { to_form(text, form); });
}

NormalizerPointer make_lowercase_normalizer() { return make_function_normalizer(lowercase); }

NormalizerPointer make_strip_accents_normalizer() {
  return make_function_normalizer([](NormalizedText& text) { text.filter([](char32_t c) { return !is_mark(c); }); });
}

NormalizerPointer make_strip_normalizer(bool left, bool right) {
  return make_function_normalizer([=](NormalizedText& text) { strip(text, left, right); });
}

NormalizerPointer make_replace_normalizer(Regex pattern, std::string content) {
  return make_function_normalizer([pattern = std::move(pattern), content = std::move(content)](NormalizedText& text) {
    if (!text.is_empty()) text.replace(pattern.find_all(text.text()), content);
  });
}

NormalizerPointer make_prepend_normalizer(std::string prefix) {
  return make_function_normalizer([prefix = std::move(prefix)](NormalizedText& text) { text.prepend(prefix); });
}

NormalizerPointer make_nmt_normalizer() {
  return make_function_normalizer([](NormalizedText& text) {
    text.filter([](char32_t c) { return !is_dropped_by_nmt(c); });
    text.map([](char32_t c) { return is_space_to_nmt(c) ? U' ' : c; });
  });
}

NormalizerPointer make_precompiled_normalizer(PrecompiledMap map) {
  return make_function_normalizer([map = std::move(map)](NormalizedText& text) { map.apply(text); });
}

NormalizerPointer make_byte_level_normalizer() { return make_function_normalizer(to_byte_letters); }

NormalizerPointer make_normalizer_sequence(std::vector<NormalizerPointer> normalizers) {
  return make_function_normalizer([normalizers = std::move(normalizers)](NormalizedText& text) {
    for (const NormalizerPointer& normalizer : normalizers) normalizer->apply(text);
  });
}

}  // namespace headlight::text
