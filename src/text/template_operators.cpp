#include <algorithm>
#include <cmath>

#include "text/template_functions.h"
#include "text/template_value.h"

// A template's operators, which compute as Python's do.
namespace headlight::text {
namespace {

using Value = TemplateValue;

std::int64_t whole_result(TemplateText sign, std::int64_t m, std::int64_t n) {
  std::int64_t result = 0;
  const bool is_too_large = sign == "+"   ? __builtin_add_overflow(m, n, &result)
                            : sign == "-" ? __builtin_sub_overflow(m, n, &result)
                            : sign == "*" ? __builtin_mul_overflow(m, n, &result)
                                          : n == -1 && __builtin_sub_overflow(std::int64_t{0}, m, &result);
  if (is_too_large) throw Error("a number is too large");
  if (sign != "//" && sign != "%") return result;
  const std::int64_t rest = n == -1 ? 0 : m % n;
  const bool rounds_down = rest != 0 && (rest < 0) != (n < 0);
  if (sign == "%") return rounds_down ? rest + n : rest;
  return n == -1 ? result : m / n - (rounds_down ? 1 : 0);
}

Value arithmetic(TemplateText sign, const Value& left, const Value& right) {
  const double a = left.real(), b = right.real();
  if ((sign == "/" || sign == "//" || sign == "%") && b == 0.0) throw Error("a division by zero");
  if (sign == "/") return {a / b};
  if (left.is_whole() && right.is_whole()) return {whole_result(sign, left.whole(), right.whole())};
  return {sign == "+"    ? a + b
          : sign == "-"  ? a - b
          : sign == "*"  ? a * b
          : sign == "//" ? std::floor(a / b)
                         : a - b * std::floor(a / b)};
}

Value added(const Value& left, const Value& right, TemplateHeap& heap) {
  if (left.is_text() && right.is_text()) return heap.text(std::string(left.text()).append(right.text()));
  const TemplateList *a = left.list(), *b = right.list();
  if (a == nullptr || b == nullptr || a->is_tuple != b->is_tuple)
    throw Error("{} and {} can't be added", kind_of(left), kind_of(right));
  TemplateValues joined = elements_of(left, heap);
  joined.insert(joined.end(), b->parts.begin(), b->parts.end());
  return heap.list(std::move(joined), a->is_tuple);
}

Value repeated(const Value& value, const Value& times, TemplateHeap& heap) {
  const std::size_t count = static_cast<std::size_t>(std::max<std::int64_t>(times.whole(), 0));
  const std::size_t size = value.is_text() ? value.text().size() : value.list()->parts.size() * sizeof(Value);
  std::string text;
  TemplateValues parts;
  for (std::size_t i = 0; i < count && size > 0; ++i) {
    heap.spend(size);
    text += value.text();
    if (value.list()) parts.insert(parts.end(), value.list()->parts.begin(), value.list()->parts.end());
  }
  return value.is_text() ? heap.text(std::move(text)) : heap.list(std::move(parts), value.list()->is_tuple);
}

}  // namespace

bool are_equal(const Value& left, const Value& right, TemplateHeap& heap) {
  heap.spend(Budget::kStep);
  if (left.is_number() && right.is_number())
    return left.is_whole() && right.is_whole() ? left.whole() == right.whole() : left.real() == right.real();
  if (left.is_text() && right.is_text()) heap.spend(std::min(left.text().size(), right.text().size()));
  if (const TemplateList* a = left.list(), *b = right.list(); a != nullptr && b != nullptr)
    return a->is_tuple == b->is_tuple &&
           std::ranges::equal(a->parts, b->parts, [&](const Value& x, const Value& y) { return are_equal(x, y, heap); });
  if (const TemplateDict* a = left.dict(), *b = right.dict(); a != nullptr && b != nullptr)
    return a->members.size() == b->members.size() && std::ranges::all_of(a->members, [&](const auto& member) {
             heap.spend(Budget::kStep + member.first.text().size());
             const Value* other = b->find(member.first);
             return other != nullptr && are_equal(member.second, *other, heap);
           });
  return left.data == right.data;
}

bool is_less(const Value& left, const Value& right, TemplateHeap& heap) {
  heap.spend(Budget::kStep + std::min(left.text().size(), right.text().size()));
  if (left.is_text() && right.is_text()) return left.text() < right.text();
  if (left.is_whole() && right.is_whole()) return left.whole() < right.whole();
  if (left.is_number() && right.is_number()) return left.real() < right.real();
  throw Error("{} and {} have no order", kind_of(left), kind_of(right));
}

bool contains(const Value& all, const Value& part, TemplateHeap& heap) {
  if (all.is_undefined()) return false;
  if (all.is_text() && part.is_text()) return find_text(all.text(), part.text(), 0, heap) != TemplateText::npos;
  heap.spend(part.text().size());
  if (all.space() != nullptr) return all.space()->members.contains(part.text());
  if (all.dict() != nullptr) return all.dict()->find(part) != nullptr;
  if (all.list() == nullptr) throw Error("{} is in {}", kind_of(part), kind_of(all));
  return std::ranges::any_of(all.list()->parts, [&](const Value& one) { return are_equal(one, part, heap); });
}

bool compare(TemplateText sign, const Value& left, const Value& right, TemplateHeap& heap) {
  if (sign == "==") return are_equal(left, right, heap);
  if (sign == "!=") return !are_equal(left, right, heap);
  if (sign == "in") return contains(right, left, heap);
  if (sign == "not in") return !contains(right, left, heap);
  if (sign == "<") return is_less(left, right, heap);
  if (sign == ">") return is_less(right, left, heap);
  return sign == "<=" ? !is_less(right, left, heap) : !is_less(left, right, heap);
}

Value operate(TemplateText sign, const Value& left, const Value& right, TemplateHeap& heap) {
  if (sign == "~") return heap.text(to_python_text(left, heap) + to_python_text(right, heap));
  if (left.is_number() && right.is_number()) return arithmetic(sign, left, right);
  if (sign == "%" && left.is_text()) return heap.text(percent_format(left.text(), right, heap));
  if (sign == "+") return added(left, right, heap);
  const auto repeats = [](const Value& value, const Value& times) {
    return (value.is_text() || value.list() != nullptr) && times.is_whole();
  };
  if (sign == "*" && repeats(left, right)) return repeated(left, right, heap);
  if (sign == "*" && repeats(right, left)) return repeated(right, left, heap);
  throw Error("\"{}\" has no meaning between {} and {}", sign, kind_of(left), kind_of(right));
}

}  // namespace headlight::text
