#include "core/json.h"

#include <algorithm>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/file.h"
#include "core/utf8.h"

namespace headlight {
namespace {

using Json = nlohmann::json;

/// The parser's handler: builds the values as long as they stay within the limits.
class DocumentBuilder {
 public:
  DocumentBuilder(std::string_view text, const JsonLimits& limits) : text_(text), limits_(limits) {}

  Json& document() { return document_; }
  const std::string& problem() const { return problem_; }

  bool null() { return add(nullptr) != nullptr; }
  bool boolean(bool value) { return add(value) != nullptr; }
  bool number_integer(Json::number_integer_t value) { return add(value) != nullptr; }
  bool number_unsigned(Json::number_unsigned_t value) { return add(value) != nullptr; }
  bool number_float(Json::number_float_t value, const Json::string_t&) { return add(value) != nullptr; }
  bool string(Json::string_t& value) { return add(std::move(value)) != nullptr; }
  bool binary(Json::binary_t&) { return fail("not JSON"); }

  bool start_object(std::size_t) { return open(Json::value_t::object); }
  bool start_array(std::size_t) { return open(Json::value_t::array); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }

  bool key(Json::string_t& name) {
    const auto [member, is_new] = open_.back()->get_ref<Json::object_t&>().try_emplace(std::move(name));
    if (!is_new && !limits_.allows_repeated_keys) {
      return fail(fmt::format("the key '{}' is there twice", one_line(member->first, 120)));
    }
    member_ = &member->second;
    return true;
  }

  bool parse_error(std::size_t position, const std::string&, const Json::exception&) {
    const std::string_view before = text_.substr(0, std::min(position > 0 ? position - 1 : 0, text_.size()));
    const auto line = 1 + std::count(before.begin(), before.end(), '\n');
    const std::size_t line_begin = before.rfind('\n') + 1;  // npos + 1 is 0: the first line
    const std::size_t column = before.size() - line_begin + 1;
    // Python writes these words for numbers that aren't finite.
    for (const std::string_view word : {"Infinity", "NaN"}) {
      if (text_.substr(before.size()).starts_with(word))
        return fail(fmt::format("not JSON (line {}, column {}: {})", line, column, word));
    }
    return fail(fmt::format("not JSON (line {}, column {})", line, column));
  }

 private:
  bool fail(std::string problem) {
    if (problem_.empty()) problem_ = std::move(problem);
    return false;
  }

  /// The stored value; nullptr when it exceeds the limit.
  template <typename Value>
  Json* add(Value&& value) {
    if (++values_ > limits_.values) {
      fail(fmt::format("JSON of more than {} values", limits_.values));
      return nullptr;
    }
    Json* place = &document_;
    if (!open_.empty() && open_.back()->is_array()) {
      place = &open_.back()->get_ref<Json::array_t&>().emplace_back(std::forward<Value>(value));
    } else {
      if (!open_.empty()) place = member_;
      *place = Json(std::forward<Value>(value));
    }
    return place;
  }

  bool open(Json::value_t type) {
    if (open_.size() == limits_.depth) return fail(fmt::format("JSON nested more than {} deep", limits_.depth));
    Json* const place = add(type);
    if (place != nullptr) open_.push_back(place);
    return place != nullptr;
  }

  bool close() {
    open_.pop_back();
    return true;
  }

  std::string_view text_;
  JsonLimits limits_;
  Json document_;
  std::vector<Json*> open_;  ///< the lists and objects around the next value, outermost first
  Json* member_ = nullptr;   ///< the member for the value after a key
  std::size_t values_ = 0;
  std::string problem_;
};

void append_shown(std::string& text, const Json& value, std::size_t longest) {
  if (text.size() > longest) return;
  if (value.is_string()) {
    const std::string_view whole = value.get_ref<const std::string&>();
    text += Json(whole.substr(0, longest)).dump(-1, ' ', true, Json::error_handler_t::replace);
    return;
  }
  if (!value.is_structured()) {
    text += value.dump();
    return;
  }
  text += value.is_array() ? '[' : '{';
  bool is_first = true;
  for (auto member = value.begin(); member != value.end() && text.size() <= longest; ++member) {
    if (!is_first) text += ',';
    is_first = false;
    if (value.is_object()) {
      text += Json(std::string_view(member.key()).substr(0, longest)).dump(-1, ' ', true, Json::error_handler_t::replace);
      text += ':';
    }
    append_shown(text, *member, longest);
  }
  text += value.is_array() ? ']' : '}';
}

}  // namespace

Result<nlohmann::json> parse_json(std::string_view text, const JsonLimits& limits) {
  if (text.size() > limits.bytes) {
    return Failure{fmt::format("JSON of {} bytes, more than {}", text.size(), limits.bytes)};
  }
  DocumentBuilder builder(text, limits);
  if (!Json::sax_parse(text, &builder)) return Failure{builder.problem()};
  return std::move(builder.document());
}

nlohmann::json read_json(const std::filesystem::path& path, const JsonLimits& limits) {
  Result<nlohmann::json> document = parse_json(read_file(path, limits.bytes), limits);
  if (!document) throw Error("{}: {}", utf8(path), document.error());
  return std::move(document).value();
}

std::string to_text(const nlohmann::json& value, int indent) {
  return value.dump(indent, ' ', false, nlohmann::json::error_handler_t::replace);
}
std::string to_text(const nlohmann::ordered_json& value, int indent) {
  return value.dump(indent, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::string shown(const nlohmann::json& value, std::size_t longest) {
  std::string text;
  append_shown(text, value, longest);
  if (text.size() > longest) text = text.substr(0, longest) + "…";
  return text;
}

}  // namespace headlight
