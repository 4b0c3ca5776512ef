#include "attention/mask.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <limits>
#include <utility>

#include "core/error.h"

namespace headlight::attention {
namespace {

constexpr std::array<std::pair<std::string_view, float>, 3> kFills = {
    {{"-inf", -std::numeric_limits<float>::infinity()}, {"-1e9", -1e9f}, {"-1e10", -1e10f}}};

/// "4" → 4; nothing for anything but a whole number from 1 on.
std::optional<std::uint32_t> parse_positive(std::string_view text) {
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number == 0) return std::nullopt;
  return number;
}

}  // namespace

float fill_value(MaskFill fill) { return kFills[static_cast<std::size_t>(fill)].second; }

std::string_view to_string(MaskFill fill) { return kFills[static_cast<std::size_t>(fill)].first; }

Result<MaskFill> parse_fill(std::string_view text) {
  const auto found = std::ranges::find(kFills, text, &std::pair<std::string_view, float>::first);
  if (found != kFills.end()) return static_cast<MaskFill>(found - kFills.begin());
  return Failure{fmt::format("unknown mask fill '{}': choose -inf, -1e9 or -1e10", text)};
}

bool MaskRule::is_visible(std::uint32_t query, std::uint32_t key, KeyRange keys) const {
  if (key_padding && !keys.holds(key)) return false;
  if (key < prefix) return true;
  const bool looks_back_only = causal || prefix > 0;
  const std::uint32_t distance = query > key ? query - key : key - query;
  return (!looks_back_only || key <= query) && (window == 0 || distance < window);
}

Result<MaskRule> parse_rule(std::string_view text) {
  MaskRule rule;
  if (text == "none") return rule;
  std::string_view rest = text;
  while (true) {
    const std::size_t plus = rest.find('+');
    const std::string_view part = rest.substr(0, plus);
    const std::size_t colon = part.find(':');
    const std::string_view name = part.substr(0, colon);
    if (part == "causal") {
      rule.causal = true;
    } else if (name == "window" || name == "prefix") {
      const std::string_view digits = colon == std::string_view::npos ? std::string_view() : part.substr(colon + 1);
      const std::optional<std::uint32_t> number = parse_positive(digits);
      if (!number) {
        return Failure{fmt::format("mask '{}': {} needs a whole number from 1 on, as in {}:4", text, name, name)};
      }
      (name == "window" ? rule.window : rule.prefix) = *number;
    } else {
      return Failure{fmt::format(
          "mask '{}': '{}' is unknown; choose none, causal, window:N, prefix:N or several joined by +", text, part)};
    }
    if (plus == std::string_view::npos) return rule;
    rest.remove_prefix(plus + 1);
  }
}

std::string to_string(const MaskRule& rule) {
  std::string text;
  const auto add = [&](const std::string& part) { text += text.empty() ? part : "+" + part; };
  if (rule.causal) add("causal");
  if (rule.window > 0) add(fmt::format("window:{}", rule.window));
  if (rule.prefix > 0) add(fmt::format("prefix:{}", rule.prefix));
  return text.empty() ? "none" : text;
}

bool BooleanMask::is_kept(std::uint32_t batch_item, std::uint32_t head, std::uint32_t query, std::uint32_t key) const {
  const std::size_t item = batch == 1 ? 0 : batch_item;
  const std::size_t map_head = heads == 1 ? 0 : head;
  if (item >= batch || map_head >= heads || query >= queries || key >= keys) return true;
  const std::size_t at = ((item * heads + map_head) * queries + query) * keys + key;
  return at >= keep.size() || keep[at] != 0;
}

KeyRange document_of(const Documents& documents, std::uint32_t batch_item, std::uint32_t token) {
  KeyRange range(0, std::numeric_limits<std::uint32_t>::max());
  const auto found = documents.find(batch_item);
  if (found == documents.end()) return range;
  const auto next = std::ranges::upper_bound(found->second, token);
  if (next != found->second.begin()) range.begin = *std::prev(next);
  if (next != found->second.end()) range.end = *next;
  return range;
}

void set_documents(MaskSpec& mask, std::uint32_t batch_item, std::vector<std::uint32_t> begins) {
  std::ranges::sort(begins);
  begins.erase(std::unique(begins.begin(), begins.end()), begins.end());
  std::erase(begins, 0u);
  Documents documents = mask.documents ? *mask.documents : Documents{};
  documents.erase(batch_item);
  if (!begins.empty()) documents.emplace(batch_item, std::move(begins));
  if (documents.empty()) {
    mask.documents.reset();
  } else {
    mask.documents = std::move(documents);
  }
}

void toggle_document(MaskSpec& mask, std::uint32_t batch_item, std::uint32_t token) {
  std::vector<std::uint32_t> begins;
  if (mask.documents && mask.documents->contains(batch_item)) begins = mask.documents->at(batch_item);
  if (std::erase(begins, token) == 0) begins.push_back(token);
  set_documents(mask, batch_item, std::move(begins));
}

std::optional<bool> MaskSpec::painted_state(std::uint32_t layer, std::uint32_t batch_item, std::uint32_t head,
                                            Cell cell) const {
  return paint_of(painted, {.layer = layer, .batch = batch_item, .head = head}, cell);
}

float MaskSpec::bias(std::uint32_t layer, std::uint32_t batch_item, std::uint32_t head, Cell cell) const {
  return paint_of(biases, {.layer = layer, .batch = batch_item, .head = head}, cell).value_or(0.0f);
}

double MaskSpec::score(const ExpressionMap& map, std::uint32_t batch_item, Cell cell, double score) const {
  return score_expression.score(map, cell.query, cell.key, score, sliders) +
         static_cast<double>(bias(map.layer, batch_item, map.head, cell));
}

bool MaskSpec::is_same_document(std::uint32_t batch_item, std::uint32_t query, std::uint32_t key) const {
  return !documents || document_of(*documents, batch_item, query).holds(key);
}

bool MaskSpec::is_visible(std::uint32_t layer, std::uint32_t batch_item, std::uint32_t head, std::uint32_t query,
                          std::uint32_t key, KeyRange keys) const {
  if (const std::optional<bool> state = painted_state(layer, batch_item, head, {query, key})) return *state;
  return rule.is_visible(query, key, keys) && is_same_document(batch_item, query, key) &&
         (!matrix || matrix->is_kept(batch_item, head, query, key));
}

bool MaskSpec::is_visible(const ExpressionMap& map, std::uint32_t batch_item, Cell cell, KeyRange keys) const {
  if (const std::optional<bool> state = painted_state(map.layer, batch_item, map.head, cell)) return *state;
  return is_visible(map.layer, batch_item, map.head, cell.query, cell.key, keys) &&
         mask_expression.shows(map, cell.query, cell.key, sliders);
}

void set_expression(MaskSpec& mask, ExpressionUse use, Expression expression) {
  (use == ExpressionUse::Mask ? mask.mask_expression : mask.score_expression) = std::move(expression);
  std::erase_if(mask.sliders, [&](const auto& value) {
    const auto declares = [&](const Expression& one) {
      return std::ranges::find(one.sliders(), value.first, &Slider::name) != one.sliders().end();
    };
    return !declares(mask.mask_expression) && !declares(mask.score_expression);
  });
}

MaskSpec in_layer(const MaskSpec& mask, const model::AttentionConfig& config) {
  MaskSpec narrowed = mask;
  std::uint32_t& window = narrowed.rule.window;
  if (config.window > 0) window = window == 0 ? config.window : std::min(window, config.window);
  return narrowed;
}

void check(const MaskSpec& mask, std::uint32_t batch, std::uint32_t heads, std::uint32_t queries, std::uint32_t keys) {
  if (!mask.matrix) return;
  const BooleanMask& matrix = *mask.matrix;
  const bool fits = (matrix.batch == 1 || matrix.batch == batch) && (matrix.heads == 1 || matrix.heads == heads) &&
                    matrix.queries == queries && matrix.keys == keys;
  if (!fits) {
    throw Error(
        "the mask is [{}, {}, {}, {}] but the attention is [batch {}, heads {}, queries {}, keys {}]; queries and keys must "
        "be "
        "equal, batch and heads equal or 1",
        matrix.batch, matrix.heads, matrix.queries, matrix.keys, batch, heads, queries, keys);
  }
  const std::size_t cells = std::size_t{matrix.batch} * matrix.heads * matrix.queries * matrix.keys;
  if (matrix.keep.size() != cells) {
    throw Error("the mask [{}, {}, {}, {}] needs {} cells but has {}: give it one for each query and key", matrix.batch,
                matrix.heads, matrix.queries, matrix.keys, cells, matrix.keep.size());
  }
}

}  // namespace headlight::attention
