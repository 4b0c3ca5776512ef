#include "cards/card.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <regex>

#include "core/error.h"

namespace headlight::test {
namespace {

constexpr std::array kTypes = {"bleu", "perplexity", "previous_stripe", "duplicate_stripe", "induction_stripe"};

/// Returns the part from "model-index:" to the end of the front matter, which is between lines of three dashes.
std::string index_of(std::string_view card) {
  constexpr std::string_view kBegin = "---\n", kEnd = "\n---\n", kIndex = "\nmodel-index:\n";
  const std::size_t end = card.find(kEnd, kBegin.size() - 1);
  if (!card.starts_with(kBegin) || end == std::string_view::npos) throw Error("the card has no front matter");
  const std::size_t index = card.find(kIndex);
  if (index == std::string_view::npos || index > end) throw Error("the front matter has no model-index");
  return std::string(card.substr(index + kIndex.size(), end - index - kIndex.size() + 1));
}

/// `key: value` pairs in the order of the text, without quotes. A name extends to the end of its line or of the braces.
struct Pair {
  std::string key, value;
};
std::vector<Pair> pairs_of(const std::string& index) {
  static const std::regex kPair(R"re(\b(task|dataset|metrics|type|split|value|name):[ ]*("[^"\n]*"|[^,{}\n"]*))re");
  std::vector<Pair> pairs;
  for (std::sregex_iterator match(index.begin(), index.end(), kPair), end; match != end; ++match) {
    std::string value = (*match)[2].str();
    if (value.size() >= 2 && value.front() == '"') value = value.substr(1, value.size() - 2);
    value.erase(value.find_last_not_of(' ') + 1);
    pairs.push_back({(*match)[1].str(), std::move(value)});
  }
  return pairs;
}

double number(const std::string& text) {
  double value = 0.0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc() || end != text.data() + text.size()) throw Error("'{}' is no number", text);
  return value;
}

}  // namespace

std::vector<CardFigure> card_figures(std::string_view card) {
  std::vector<CardFigure> figures;
  std::string section, split;
  bool has_value = true;
  const auto finish = [&] {
    if (!has_value) throw Error("the metric {} has no value", figures.back().type);
  };
  for (const Pair& pair : pairs_of(index_of(card))) {
    if (pair.key == "task" || pair.key == "dataset" || pair.key == "metrics") {
      section = pair.key;
      if (pair.key != "metrics") finish();
      if (pair.key == "task") split.clear();
    } else if (pair.key == "split") {
      split = pair.value;
    } else if (section != "metrics") {
      continue;
    } else if (pair.key == "type") {
      finish();
      if (std::ranges::find(kTypes, pair.value) == kTypes.end()) throw Error("'{}' is no metric of ours", pair.value);
      figures.push_back({.type = pair.value, .split = split, .name = {}});
      has_value = false;
    } else if (figures.empty()) {
      throw Error("a metric begins with its type");
    } else if (pair.key == "value") {
      figures.back().value = number(pair.value);
      has_value = true;
    } else {
      figures.back().name = pair.value;
    }
  }
  finish();
  if (figures.empty()) throw Error("the model-index has no metric");
  return figures;
}

}  // namespace headlight::test
