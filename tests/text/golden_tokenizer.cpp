#include "text/golden_tokenizer.h"

#include <filesystem>

#include "core/file.h"

namespace headlight::test {
namespace {

const std::filesystem::path kFolder = std::filesystem::path(HEADLIGHT_GOLDEN_DIR) / "tokenizers";

/// Reads the numbers and bytes of a golden file in order.
class Reader {
 public:
  explicit Reader(std::string content) : content_(std::move(content)) {}

  bool is_at_end() const { return at_ >= content_.size(); }

  std::uint32_t number() {
    std::uint32_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
      const auto byte = static_cast<unsigned char>(content_.at(at_++));
      value |= (byte & 0x7FU) << shift;
      if (byte < 0x80) return value;
    }
  }

  std::string bytes() {
    const std::size_t size = number();
    at_ += size;
    return content_.substr(at_ - size, size);
  }

  std::vector<GoldenToken> tokens(bool with_types) {
    std::vector<GoldenToken> list(number());
    std::int64_t last = 0;
    for (GoldenToken& token : list) {
      token.id = number();
      const std::int64_t zigzag = number();
      const std::int64_t begin = last + (zigzag % 2 == 0 ? zigzag / 2 : -(zigzag + 1) / 2);
      last = begin + number();
      token.bytes = {static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(last)};
      if (with_types) token.type = number();
    }
    return list;
  }

 private:
  std::string content_;
  std::size_t at_ = 0;
};

}  // namespace

const std::vector<std::string>& golden_texts() {
  static const std::vector<std::string> kTexts = [] {
    Reader reader(read_file(kFolder / "texts.bin"));
    std::vector<std::string> texts;
    while (!reader.is_at_end()) texts.push_back(reader.bytes());
    return texts;
  }();
  return kTexts;
}

GoldenTokenizer read_golden_tokenizer(const std::string& name) {
  Reader reader(read_file(kFolder / name / "expected.bin"));
  GoldenTokenizer golden;
  golden.texts.resize(reader.number());
  golden.vocabulary_size = reader.number();
  for (unsigned shift = 0; shift < 64; shift += 16) golden.token_strings_check |= std::uint64_t{reader.number()} << shift;
  for (std::size_t i = 0; i < golden.texts.size(); ++i) {
    GoldenText& text = golden.texts[i];
    text.tokens = reader.tokens(false);
    if (i % 4 == 0) {
      const bool gives_text_back = reader.number() == 1;
      text.decoded = gives_text_back ? golden_texts()[i] : reader.bytes();
    }
    if (i % 8 == 0) {
      text.plain.emplace(reader.number());
      for (std::uint32_t& id : *text.plain) id = reader.number();
    }
    if (i % 8 == 1) text.pair = reader.tokens(true);
  }
  return golden;
}

}  // namespace headlight::test
