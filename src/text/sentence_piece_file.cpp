#include "text/sentence_piece_file.h"

#include <bit>
#include <cmath>
#include <limits>
#include <optional>

#include <sentencepiece_processor.h>

#include "core/atomic_file.h"
#include "core/error.h"
#include "core/utf8.h"
#include "text/precompiled_map.h"

namespace headlight::text {
namespace {

/// A field of a Protocol Buffers message: a number, or the bytes of a text or a message.
struct Field {
  std::uint32_t number = 0;
  std::uint64_t value = 0;
  std::optional<std::string_view> bytes;
};

/// Walks the fields of one message (protobuf.dev/programming-guides/encoding).
class Message {
 public:
  explicit Message(std::string_view bytes) : rest_(bytes) {}

  /// nullopt at the end. Throws Error for malformed bytes, so that libsentencepiece reads no field that isn't checked.
  std::optional<Field> next() {
    if (rest_.empty()) return std::nullopt;
    const std::optional<Field> field = read();
    if (!field) throw Error("it is no SentencePiece model, or a damaged one: download the file again");
    return field;
  }

 private:
  std::optional<Field> read() {
    const std::optional<std::uint64_t> key = varint();
    if (!key || *key > std::numeric_limits<std::uint32_t>::max()) return std::nullopt;
    Field field{.number = static_cast<std::uint32_t>(*key >> 3U), .bytes = {}};
    switch (*key & 7U) {
      case 0: {
        const std::optional<std::uint64_t> value = varint();
        if (!value) return std::nullopt;
        field.value = *value;
        return field;
      }
      case 1:
        return fixed(field, 8);
      case 2: {
        const std::optional<std::uint64_t> size = varint();
        if (!size || *size > rest_.size()) return std::nullopt;
        field.bytes = rest_.substr(0, *size);
        rest_.remove_prefix(*size);
        return field;
      }
      case 5:
        return fixed(field, 4);
      default:
        return std::nullopt;
    }
  }

  std::optional<std::uint64_t> varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      value |= std::uint64_t{byte & 0x7FU} << shift;
      if (byte < 0x80) return value;
    }
    return std::nullopt;
  }

  std::optional<Field> fixed(Field field, std::size_t size) {
    if (rest_.size() < size) return std::nullopt;
    for (std::size_t i = 0; i < size; ++i) field.value |= std::uint64_t{static_cast<unsigned char>(rest_[i])} << (8 * i);
    rest_.remove_prefix(size);
    return field;
  }

  std::string_view rest_;
};

SentencePieceFile::Entry read_piece(std::string_view bytes) {
  SentencePieceFile::Entry entry;
  Message message(bytes);
  while (const std::optional<Field> field = message.next()) {
    if (field->number == 1 && field->bytes) entry.token_string = *field->bytes;
    if (field->number == 2) entry.score = std::bit_cast<float>(static_cast<std::uint32_t>(field->value));
    if (field->number == 3) entry.type = static_cast<PieceType>(field->value);
  }
  return entry;
}

void read_trainer(std::string_view bytes, SentencePieceFile& model) {
  Message message(bytes);
  while (const std::optional<Field> field = message.next()) {
    const auto id = static_cast<std::int32_t>(static_cast<std::int64_t>(field->value));
    switch (field->number) {
      case 3:
        model.kind = static_cast<SentencePieceFile::Kind>(field->value);
        break;
      case 35:
        model.falls_back_to_bytes = field->value != 0;
        break;
      case 40:
        model.unknown = id;
        break;
      case 41:
        model.beginning = id;
        break;
      case 42:
        model.end = id;
        break;
      case 43:
        model.padding = id;
        break;
      default:
        break;
    }
  }
}

SentencePieceFile parse(std::string_view content) {
  SentencePieceFile model;
  Message message(content);
  while (const std::optional<Field> field = message.next()) {
    if (!field->bytes) continue;
    if (field->number == 1) model.pieces.push_back(read_piece(*field->bytes));
    if (field->number == 2) read_trainer(*field->bytes, model);
    if (field->number != 3) continue;
    Message normalizer(*field->bytes);
    while (const std::optional<Field> part = normalizer.next()) {
      if (part->number == 2 && part->bytes) model.character_map = *part->bytes;
      if (part->number == 3 && !part->bytes) model.adds_prefix_space = part->value != 0;
    }
  }
  return model;
}

}  // namespace

SentencePieceFile load_sentence_piece(std::string_view content, sentencepiece::SentencePieceProcessor& processor) {
  SentencePieceFile model = parse(content);
  for (std::size_t id = 0; id < model.pieces.size(); ++id) {
    const SentencePieceFile::Entry& entry = model.pieces[id];
    const bool is_text =
        find_invalid_utf8(entry.token_string) == std::string::npos && entry.token_string.find('\0') == std::string::npos;
    if (!is_text || !std::isfinite(entry.score)) throw Error("piece {} is damaged: download the file again", id);
  }
  if (!model.character_map.empty()) PrecompiledMap(model.character_map).expect_sound();
  try {
    const auto status = processor.LoadFromSerializedProto({content.data(), content.size()});
    if (!status.ok()) throw Error("libsentencepiece can't read it: {}", status.ToString());
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {  // from the trie that the library builds of the pieces
    throw Error("libsentencepiece can't read it: {}", error.what());
  }
  return model;
}

SentencePieceFile read_sentence_piece_file(const std::filesystem::path& file) {
  const std::string content = read_file(file);
  try {
    sentencepiece::SentencePieceProcessor processor;
    return load_sentence_piece(content, processor);
  } catch (const Error& error) {
    throw Error("{}: {}", utf8(file), error.what());
  }
}

}  // namespace headlight::text
