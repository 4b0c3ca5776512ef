#include "attention/paint_words.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "ops/mask_data.h"

namespace headlight::attention {
namespace {

// Kinds of a row's paint, as in shaders/lib/paint.glsl.
constexpr std::uint32_t kBiasedRow = 1, kReplacedRow = 2;
constexpr std::uint32_t kEmpty = 0xffff'ffffu;          // the query of a slot without a cell
constexpr std::size_t kSlotWords = 3, kEmptyRoom = 16;  // of a slot, and of a table without slots

/// The parts that decide a map's painted numbers: the scopes of biases that concern it, and the head whose pattern is
/// painted.
struct NumbersKey {
  std::vector<PaintScope> scopes;
  std::optional<std::uint32_t> painted_head;

  auto operator<=>(const NumbersKey&) const = default;
};

struct Slot {
  std::uint32_t query = kEmpty, key = 0, number = 0;
};

/// One map's painted numbers.
struct NumberPlane {
  std::map<std::uint32_t, std::uint32_t> rows;  ///< what each painted row is
  std::vector<Slot> cells;
};

std::array<std::uint32_t, 2> slots_of(const Slot& cell, std::uint32_t seed, std::uint32_t count) {
  const auto [first, second] = ops::paint_hashes(cell.query, cell.key, seed);
  return {ops::paint_slot(first, count), ops::paint_slot(second, count)};
}

/// Puts every cell into one of its two slots; false: it can't be done with this seed.
bool place(std::vector<Slot>& slots, const std::vector<Slot>& cells, std::uint32_t seed) {
  constexpr int kMaxMoves = 500;  // of 2 million cells in a rectangle no one has taken more than 47
  const auto count = static_cast<std::uint32_t>(slots.size());
  for (Slot cell : cells) {
    std::uint32_t at = slots_of(cell, seed, count)[0];
    int moves = 0;
    for (; slots[at].query != kEmpty; ++moves) {
      if (moves == kMaxMoves) return false;
      std::swap(cell, slots[at]);  // and the one that was there goes to its other slot
      const auto [one, other] = slots_of(cell, seed, count);
      at = at == one ? other : one;
    }
    slots[at] = cell;
  }
  return true;
}

std::size_t slots_for(std::size_t cells) { return cells * 9 / 4 + 2; }

void append(std::vector<std::uint32_t>& words, const NumberPlane& plane) {
  const std::uint32_t first = plane.rows.begin()->first, rows = plane.rows.rbegin()->first - first + 1;
  std::vector<Slot> slots;
  std::uint32_t seed = 0;
  // Beneath half full, nearly every seed will do; few cells may need another one, or a slot more.
  for (std::size_t count = slots_for(plane.cells.size());; count += count / 16 + 1, ++seed) {
    check_mask_words(words.size() + count * kSlotWords + kEmptyRoom);
    slots.assign(count, {});
    if (place(slots, plane.cells, seed)) break;
  }
  for (const std::uint32_t word : {first, rows, static_cast<std::uint32_t>(slots.size()), seed}) words.push_back(word);
  const std::size_t rows_at = words.size();
  words.resize(words.size() + (rows + 15) / 16, 0);
  for (const auto& [row, kind] : plane.rows) words[rows_at + (row - first) / 16] |= kind << ((row - first) % 16 * 2);
  for (const Slot& slot : slots) {
    for (const std::uint32_t word : {slot.query, slot.key, slot.number}) words.push_back(word);
  }
}

class NumberPlanes {
 public:
  NumberPlanes(const MaskSpec& mask, const MaskExtent& extent) : mask_(mask), extent_(extent) {}

  NumbersKey key_of(std::uint32_t batch, std::uint32_t head) const {
    NumbersKey key;
    for (const auto& [scope, cells] : mask_.biases) {
      if (!cells.empty() && concerns(scope, extent_.layer, batch, head)) key.scopes.push_back(scope);
    }
    if (head < extent_.patterns.size() && extent_.patterns[head] && extent_.patterns[head]->kind == FixedPattern::Painted) {
      key.painted_head = head;
    }
    return key;
  }

  /// Returns a lower bound of the number of cells in `plane_of`, known without looking at each: the cells of the
  /// painted pattern, or those of one scope that no other scope can have painted over.
  std::size_t least_cells(const NumbersKey& key) const {
    if (key.painted_head) {
      return count_cells(extent_.patterns[*key.painted_head]->weights, [](float weight) { return weight > 0.0f; });
    }
    std::size_t all = 0, least = 0;
    const auto is_any = [](float) { return true; };
    for (const PaintScope& scope : key.scopes) all += count_cells(mask_.biases.at(scope), is_any);
    for (const PaintScope& scope : key.scopes) {
      const NumberRuns& biases = mask_.biases.at(scope);
      const std::size_t others = all - count_cells(biases, is_any);
      const std::size_t own = count_cells(biases, [](float bias) { return bias != 0.0f; });
      least = std::max(least, own - std::min(own, others));
    }
    return least;
  }

  NumberPlane plane_of(std::uint32_t batch, std::uint32_t head, const NumbersKey& key) const {
    NumberPlane plane;
    if (key.painted_head) {
      for_each_run(extent_.patterns[head]->weights, [&](const NumberRun& run, std::uint32_t end) {
        plane.rows[run.query] = kReplacedRow;
        if (!(run.paint > 0.0f)) return;
        const auto number = std::bit_cast<std::uint32_t>(static_cast<float>(std::log(static_cast<double>(run.paint))));
        for (std::uint32_t k = run.first_key; k < end; ++k) plane.cells.push_back({run.query, k, number});
      });
    }
    for (std::size_t i = 0; i < key.scopes.size(); ++i) add_biases(plane, key, i, batch, head);
    return plane;
  }

 private:
  template <typename Visit>
  void for_each_run(const NumberRuns& painted, const Visit& visit) const {
    for (const NumberRun& run : painted.runs()) {
      if (run.query >= extent_.queries) break;  // this run and those that follow were painted on a longer text
      visit(run, static_cast<std::uint32_t>(std::min<std::uint64_t>(run.end_key(), extent_.keys)));
    }
  }

  template <typename Counts>
  std::size_t count_cells(const NumberRuns& painted, const Counts& counts) const {
    std::size_t cells = 0;
    for_each_run(painted, [&](const NumberRun& run, std::uint32_t end) {
      if (end > run.first_key && counts(run.paint)) cells += end - run.first_key;
    });
    return cells;
  }

  void add_biases(NumberPlane& plane, const NumbersKey& key, std::size_t index, std::uint32_t batch,
                  std::uint32_t head) const {
    const auto is_in_earlier = [&](Cell cell) {
      return std::any_of(key.scopes.begin(), key.scopes.begin() + static_cast<std::ptrdiff_t>(index),
                         [&](const PaintScope& scope) { return mask_.biases.at(scope).state(cell).has_value(); });
    };
    for_each_run(mask_.biases.at(key.scopes[index]), [&](const NumberRun& run, std::uint32_t end) {
      const auto [row, is_new] = plane.rows.try_emplace(run.query, kBiasedRow);
      if (row->second == kReplacedRow) return;
      for (std::uint32_t k = run.first_key; k < end; ++k) {
        if (index > 0 && is_in_earlier({run.query, k})) continue;
        const float bias = mask_.bias(extent_.layer, batch, head, {run.query, k});
        if (bias != 0.0f) plane.cells.push_back({run.query, k, std::bit_cast<std::uint32_t>(bias)});
      }
    });
  }

  const MaskSpec& mask_;
  const MaskExtent& extent_;
};

/// Refuses paint that is too large before its tables, which take seconds then, are built.
void check_size(std::size_t words, const NumberPlanes& planes, const MaskExtent& extent) {
  std::set<NumbersKey> known;
  for (std::uint32_t batch = 0; batch < extent.batch; ++batch) {
    for (std::uint32_t head = 0; head < extent.heads; ++head) {
      const auto [key, is_new] = known.insert(planes.key_of(batch, head));
      if (is_new) check_mask_words(words += slots_for(planes.least_cells(*key)) * kSlotWords);
    }
  }
}

}  // namespace

std::uint32_t append_paint(std::vector<std::uint32_t>& words, const MaskSpec& mask, const MaskExtent& extent) {
  const NumberPlanes planes(mask, extent);
  check_size(words.size(), planes, extent);
  std::map<NumbersKey, std::uint32_t> known;  // where planes begin
  std::vector<std::uint32_t> table(std::size_t{extent.batch} * extent.heads, 0);
  bool is_empty = true;
  for (std::uint32_t batch = 0; batch < extent.batch; ++batch) {
    for (std::uint32_t head = 0; head < extent.heads; ++head) {
      const NumbersKey key = planes.key_of(batch, head);
      if (key.scopes.empty() && !key.painted_head) continue;
      const auto [begin, is_new] = known.try_emplace(key, 0);
      if (is_new) {
        const NumberPlane plane = planes.plane_of(batch, head, key);
        if (!plane.rows.empty()) {
          begin->second = static_cast<std::uint32_t>(words.size());
          append(words, plane);
        }
      }
      table[std::size_t{batch} * extent.heads + head] = begin->second;
      is_empty = is_empty && begin->second == 0;
    }
  }
  if (is_empty) return 0;
  const auto at = static_cast<std::uint32_t>(words.size());
  std::ranges::copy(table, std::back_inserter(words));
  return at;
}

std::uint32_t append_documents(std::vector<std::uint32_t>& words, const MaskSpec& mask, const MaskExtent& extent) {
  if (!mask.documents) return 0;
  const auto at = static_cast<std::uint32_t>(words.size());
  for (std::uint32_t batch = 0; batch < extent.batch; ++batch) {
    KeyRange document(0, 0);
    for (std::uint32_t query = 0; query < extent.queries; ++query) {
      if (!document.holds(query)) document = document_of(*mask.documents, batch, query);
      words.push_back(std::min(document.begin, extent.keys));
      words.push_back(std::min(document.end, extent.keys));
    }
  }
  return at;
}

}  // namespace headlight::attention
