#include "inference/notebook_makers.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <sstream>

namespace headlight::inference {
namespace {

/// "b", "h*d", "3*h*d", "1": the factors of an axis.
std::vector<std::string> factors_of(const std::string& axis) {
  std::vector<std::string> factors;
  std::istringstream parts(axis);
  for (std::string factor; std::getline(parts, factor, '*');) factors.push_back(factor);
  return factors;
}

/// The indices of an axis that a part shows; of a whole number so many repetitions.
std::vector<std::size_t> indices_of(const Lettered& of, const NotebookPart& part, const std::string& factor) {
  std::vector<std::size_t> indices;
  const bool is_number = std::isdigit(static_cast<unsigned char>(factor[0])) != 0;
  const auto chosen = is_number ? part.select.end() : part.select.find(factor[0]);
  if (chosen == part.select.end()) {
    indices.resize(is_number ? std::stoul(factor) : of.size(factor[0]));
    std::iota(indices.begin(), indices.end(), std::size_t{0});
    return indices;
  }
  indices.assign(chosen->second.begin(), chosen->second.end());
  if (std::ranges::any_of(indices, [&](std::size_t index) { return index >= of.size(factor[0]); }))
    throw Error("this pass has no index {} of {} {}", *std::ranges::max_element(indices), of.size(factor[0]), factor);
  return indices;
}

}  // namespace

std::map<char, std::uint32_t> NotebookNumbers::place(std::size_t number) const {
  std::map<char, std::uint32_t> place;
  for (const auto& [letter, index] : fixed) place[letter] = static_cast<std::uint32_t>(index);
  for (auto axis = order.rbegin(); axis != order.rend(); ++axis) {
    place[axis->first] = static_cast<std::uint32_t>(axis->second[number % axis->second.size()]);
    number /= axis->second.size();
  }
  return place;
}

NotebookNumbers numbers_of(const NotebookPass& pass, const NotebookPart& part) {
  const Lettered made = make_numbers(pass, part);
  NotebookNumbers result;
  std::vector<std::vector<std::string>> names;  // [axis][index]
  std::string axis;
  for (std::istringstream axes(part.axes); axes >> axis;) {
    std::size_t size = 1;
    for (const std::string& factor : factors_of(axis)) {
      result.order.emplace_back(factor[0], indices_of(made, part, factor));
      size *= result.order.back().second.size();
    }
    result.shape.push_back(static_cast<std::uint32_t>(size));
    std::vector<std::string>& of_axis = names.emplace_back();
    const std::vector<std::size_t>& last = result.order.back().second;
    for (std::size_t i = 0; i < size; ++i) of_axis.push_back(std::to_string(last.size() == size ? last[i] : i));
  }
  if (part.is_size) {
    result.values.assign(result.shape.begin(), result.shape.end());
    result.row = result.shape.size();
    result.rows = {"size"};
    result.columns.assign(result.row, "");
    return result;
  }
  for (const char letter : made.letters) {
    if (std::ranges::find(result.order, letter, &std::pair<char, std::vector<std::size_t>>::first) == result.order.end())
      result.fixed[letter] = indices_of(made, part, std::string(1, letter)).front();
  }
  std::map<char, std::size_t> strides;
  std::size_t offset = 0, stride = 1;
  for (std::size_t i = made.letters.size(); i-- > 0; stride *= made.shape[i]) strides[made.letters[i]] = stride;
  for (const auto& [letter, index] : result.fixed) offset += strides[letter] * index;
  const std::size_t count = element_count(result.shape);
  result.values.reserve(count);
  std::vector<std::pair<std::size_t, std::span<const std::size_t>>> steps;  // innermost first
  for (auto of = result.order.rbegin(); of != result.order.rend(); ++of) steps.emplace_back(strides[of->first], of->second);
  for (std::size_t number = 0; number < count; ++number) {
    std::size_t at = offset, rest = number;
    for (const auto& [step, indices] : steps) {
      at += step * indices[rest % indices.size()];
      rest /= indices.size();
    }
    const double value = made.values.at(at);
    result.values.push_back(!part.is_additive ? value : value == 0.0 ? -std::numeric_limits<double>::infinity() : 0.0);
  }
  result.row = result.shape.back();
  result.columns = names.back();
  names.pop_back();
  if (!part.row.empty()) {
    result.row = 1;
    for (const std::string& factor : factors_of(part.row)) result.row *= indices_of(made, part, factor).size();
    result.columns.clear();
    for (std::size_t i = 0; i < result.row; ++i) result.columns.push_back(std::to_string(i));
    names.clear();
  }
  // A row's name is its place in all axes but the last.
  for (std::size_t row = 0; row < count / std::max<std::size_t>(result.row, 1); ++row) {
    std::string name = names.empty() ? std::to_string(row) : std::string();
    std::size_t rest = row;
    for (std::size_t i = names.size(); i-- > 0; rest /= names[i].size())
      name = names[i][rest % names[i].size()] + (name.empty() ? "" : " ") + name;
    result.rows.push_back(name);
  }
  if (part.rows.size() == result.rows.size()) result.rows = part.rows;
  if (part.columns.size() == result.columns.size()) result.columns = part.columns;
  return result;
}

}  // namespace headlight::inference
