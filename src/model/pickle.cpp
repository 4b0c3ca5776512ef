#include "model/pickle.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <unordered_map>
#include <utility>

#include "model/stored_tensor.h"

namespace headlight::model {
namespace {

using Kind = PickleValue::Kind;

enum class Role : std::uint8_t { Dict, Tensor, Parameter, StorageType };

/// All that a pickle may name. Classes of storages are types: `text` is what safetensors calls theirs.
struct Known {
  std::string_view module, name;
  Role role;
  std::string_view text = "";
};
constexpr std::array kKnown{
    Known{"collections", "OrderedDict", Role::Dict},
    Known{"torch._utils", "_rebuild_tensor", Role::Tensor},
    Known{"torch._utils", "_rebuild_tensor_v2", Role::Tensor},
    Known{"torch._utils", "_rebuild_parameter", Role::Parameter},
    Known{"torch", "FloatStorage", Role::StorageType, "F32"},
    Known{"torch", "HalfStorage", Role::StorageType, "F16"},
    Known{"torch", "BFloat16Storage", Role::StorageType, "BF16"},
    Known{"torch", "DoubleStorage", Role::StorageType, "F64"},
    Known{"torch", "LongStorage", Role::StorageType, "I64"},
    Known{"torch", "IntStorage", Role::StorageType, "I32"},
    Known{"torch", "ShortStorage", Role::StorageType, "I16"},
    Known{"torch", "CharStorage", Role::StorageType, "I8"},
    Known{"torch", "ByteStorage", Role::StorageType, "U8"},
    Known{"torch", "BoolStorage", Role::StorageType, "BOOL"},
    Known{"torch", "ComplexFloatStorage", Role::StorageType, "C64"},
};

constexpr std::size_t kMaxValues = std::size_t{1} << 22;  // a model of 30,000 tensors has a quarter

/// The stack machine that a pickle is a program of.
class Unpickler {
 public:
  explicit Unpickler(FileCursor& cursor) : cursor_(cursor) {}

  Pickle read() {
    for (;;) {
      const auto code = cursor_.number<std::uint8_t>(kWhat);
      if (code == '.') break;
      step(code);
    }
    pickle_.root = pop();
    return std::move(pickle_);
  }

 private:
  struct Operation {
    std::uint8_t code;
    void (*act)(Unpickler& to);
  };
  static const Operation kOperations[];
  static constexpr std::string_view kWhat = "its pickle";

  void step(std::uint8_t code);

  /// The call of a known function, by what it returns.
  void reduce() {
    const std::vector<std::uint32_t>& arguments = expect(pop(), Kind::List).items;
    const std::uint32_t called = pop();
    if (value(called).kind == Kind::Foreign) return push_place(called);
    const PickleValue& function = expect(called, Kind::Function);
    switch (kKnown.at(static_cast<std::size_t>(function.integer)).role) {
      case Role::Dict: {
        // Older pickles call it with a list of pairs.
        PickleValue dict{.kind = Kind::Dict};
        for (const std::uint32_t pair : arguments.empty() ? arguments : expect(arguments[0], Kind::List).items) {
          const auto& items = expect(pair, Kind::List).items;
          if (items.size() != 2) cursor_.fail("its pickle makes a dictionary of {} items, not of pairs", items.size());
          dict.items.insert(dict.items.end(), items.begin(), items.end());
        }
        return push(std::move(dict));
      }
      case Role::Tensor:
        return push({.kind = Kind::Tensor, .items = arguments});
      case Role::Parameter:
        if (arguments.empty()) cursor_.fail("its pickle has a parameter without a tensor");
        expect(arguments[0], Kind::Tensor);
        return push_place(arguments[0]);
      case Role::StorageType:
        cursor_.fail("its pickle calls a type of storages");
    }
  }

  void push_storage(std::uint32_t id) { push({.kind = Kind::Storage, .items = expect(id, Kind::List).items}); }
  void push_list(std::vector<std::uint32_t> items) { push({.kind = Kind::List, .items = std::move(items)}); }
  void push_foreign(std::string name) {
    push({.kind = Kind::Foreign, .integer = static_cast<std::int64_t>(pickle_.foreign.size())});
    pickle_.foreign.push_back(printable(name));
  }
  /// NEWOBJ and the like: a class and `arguments` values.
  void make_foreign(std::size_t arguments) {
    pop_last(arguments);
    expect(top(), Kind::Foreign);
  }
  void push_known_lines() {
    const std::string_view module = line();
    push_known(module, line());
  }
  void push_known_texts() {
    const auto names = pop_last(2);
    push_known(value(names[0]).text, value(names[1]).text);
  }
  void push_known(std::string_view module, std::string_view name) {
    const auto known =
        std::ranges::find_if(kKnown, [&](const Known& one) { return one.module == module && one.name == name; });
    if (known == kKnown.end()) {
      return push_foreign(fmt::format("{}.{}", module, name));
    }
    push({.kind = Kind::Function, .integer = known - kKnown.begin(), .text = known->text});
  }

  void push_long(std::uint32_t bytes) {
    const std::span<const std::byte> digits = cursor_.take(bytes, kWhat);
    if (bytes > sizeof(std::int64_t)) return push({});  // no size or offset is so large
    const bool is_negative = bytes != 0 && (digits.back() & std::byte{0x80}) != std::byte{0};
    std::int64_t number = is_negative ? -1 : 0;
    if (bytes != 0) std::memcpy(&number, digits.data(), bytes);
    push_integer(number);
  }

  template <typename T>
  T number() {
    return cursor_.number<T>(kWhat);
  }
  std::string_view line() {
    const std::size_t begin = cursor_.position();
    std::size_t length = 0;
    while (number<char>() != '\n') ++length;
    cursor_.seek(begin, kWhat);
    const std::string_view text = cursor_.text(length + 1, kWhat);
    return text.substr(0, length);
  }

  /// None, or another value that is of no use.
  void push_other(std::uint64_t bytes) {
    cursor_.take(bytes, kWhat);
    push({});
  }
  void expect_protocol(std::uint8_t version) {
    if (version > 5) cursor_.fail("its pickle has protocol {}", version);
  }
  /// Attributes, such as state_dict()'s _metadata.
  void drop_attributes() {
    pop();
    if (value(top()).kind != Kind::Foreign) expect(top(), Kind::Dict);
  }
  void push_integer(std::int64_t number) { push({.kind = Kind::Integer, .integer = number}); }
  void push_text(std::uint64_t length) { push({.kind = Kind::Text, .text = cursor_.text(length, kWhat)}); }
  void push(PickleValue value) {
    if (pickle_.values.size() == kMaxValues) cursor_.fail("its pickle has more than {} values", kMaxValues);
    charge(value.items.size());
    pickle_.values.push_back(std::move(value));
    push_place(static_cast<std::uint32_t>(pickle_.values.size() - 1));
  }
  void push_place(std::uint32_t place) { stack_.push_back(place); }
  /// Calls with the same long list many times would copy it as often.
  void charge(std::size_t items) {
    items_ += items;
    if (items_ > 4 * kMaxValues) cursor_.fail("its pickle has more than {} values in lists", 4 * kMaxValues);
  }

  const PickleValue& value(std::uint32_t place) const { return pickle_.values[place]; }
  const PickleValue& expect(std::uint32_t place, Kind kind) const {
    if (value(place).kind != kind) cursor_.fail("its pickle combines values that don't fit each other");
    return value(place);
  }

  /// Values above the newest mark are for its own operation alone.
  std::size_t floor() const { return marks_.empty() ? 0 : marks_.back(); }
  std::uint32_t top() const {
    if (stack_.size() <= floor()) cursor_.fail("its pickle takes a value where there is none");
    return stack_.back();
  }
  std::uint32_t pop() {
    const std::uint32_t place = top();
    stack_.pop_back();
    return place;
  }
  std::vector<std::uint32_t> pop_last(std::size_t count) {
    if (stack_.size() - floor() < count) cursor_.fail("its pickle takes values where there are none");
    std::vector<std::uint32_t> places(stack_.end() - static_cast<std::ptrdiff_t>(count), stack_.end());
    stack_.resize(stack_.size() - count);
    return places;
  }
  std::vector<std::uint32_t> pop_to_mark() {
    if (marks_.empty()) cursor_.fail("its pickle ends a list that never began");
    std::vector<std::uint32_t> places = pop_last(stack_.size() - marks_.back());
    marks_.pop_back();
    return places;
  }
  std::vector<std::uint32_t> pop_pairs() {
    std::vector<std::uint32_t> places = pop_to_mark();
    if (places.size() % 2 != 0) cursor_.fail("its pickle has a dictionary's key without a value");
    return places;
  }
  void append(Kind kind, const std::vector<std::uint32_t>& places) {
    if (value(top()).kind == Kind::Foreign) return;
    expect(top(), kind);
    charge(places.size());
    std::vector<std::uint32_t>& items = pickle_.values[top()].items;
    items.insert(items.end(), places.begin(), places.end());
  }
  void remember(std::uint32_t name) { memo_[name] = top(); }
  void recall(std::uint32_t name) {
    const auto found = memo_.find(name);
    if (found == memo_.end()) cursor_.fail("its pickle uses a value that it didn't keep");
    push_place(found->second);
  }

  FileCursor& cursor_;
  Pickle pickle_;
  std::vector<std::uint32_t> stack_;
  std::vector<std::size_t> marks_;
  std::size_t items_ = 0;  ///< of all lists and dictionaries
  std::unordered_map<std::uint32_t, std::uint32_t> memo_;
};

// By the names of pickletools.py. U and T are texts of Python 2.
const Unpickler::Operation Unpickler::kOperations[] = {
    {0x80, [](Unpickler& to) { to.expect_protocol(to.number<std::uint8_t>()); }},             // PROTO
    {0x95, [](Unpickler& to) { to.cursor_.take(8, kWhat); }},                                 // FRAME
    {0x81, [](Unpickler& to) { to.make_foreign(1); }},                                        // NEWOBJ
    {0x92, [](Unpickler& to) { to.make_foreign(2); }},                                        // NEWOBJ_EX
    {0x8f, [](Unpickler& to) { to.push_foreign("set"); }},                                    // EMPTY_SET
    {0x90, [](Unpickler& to) { to.append(Kind::Foreign, to.pop_to_mark()); }},                // ADDITEMS
    {'N', [](Unpickler& to) { to.push({}); }},                                                // NONE
    {0x88, [](Unpickler& to) { to.push_integer(1); }},                                        // NEWTRUE
    {0x89, [](Unpickler& to) { to.push_integer(0); }},                                        // NEWFALSE
    {'K', [](Unpickler& to) { to.push_integer(to.number<std::uint8_t>()); }},                 // BININT1
    {'M', [](Unpickler& to) { to.push_integer(to.number<std::uint16_t>()); }},                // BININT2
    {'J', [](Unpickler& to) { to.push_integer(to.number<std::int32_t>()); }},                 // BININT
    {0x8a, [](Unpickler& to) { to.push_long(to.number<std::uint8_t>()); }},                   // LONG1
    {'G', [](Unpickler& to) { to.push_other(8); }},                                           // BINFLOAT
    {'C', [](Unpickler& to) { to.push_other(to.number<std::uint8_t>()); }},                   // SHORT_BINBYTES
    {'B', [](Unpickler& to) { to.push_other(to.number<std::uint32_t>()); }},                  // BINBYTES
    {0x8c, [](Unpickler& to) { to.push_text(to.number<std::uint8_t>()); }},                   // SHORT_BINUNICODE
    {'X', [](Unpickler& to) { to.push_text(to.number<std::uint32_t>()); }},                   // BINUNICODE
    {'U', [](Unpickler& to) { to.push_text(to.number<std::uint8_t>()); }},                    // SHORT_BINSTRING
    {'T', [](Unpickler& to) { to.push_text(to.number<std::uint32_t>()); }},                   // BINSTRING
    {')', [](Unpickler& to) { to.push_list({}); }},                                           // EMPTY_TUPLE
    {']', [](Unpickler& to) { to.push_list({}); }},                                           // EMPTY_LIST
    {'}', [](Unpickler& to) { to.push({.kind = Kind::Dict}); }},                              // EMPTY_DICT
    {'(', [](Unpickler& to) { to.marks_.push_back(to.stack_.size()); }},                      // MARK
    {'0', [](Unpickler& to) { to.pop(); }},                                                   // POP
    {'t', [](Unpickler& to) { to.push_list(to.pop_to_mark()); }},                             // TUPLE
    {'l', [](Unpickler& to) { to.push_list(to.pop_to_mark()); }},                             // LIST
    {0x85, [](Unpickler& to) { to.push_list(to.pop_last(1)); }},                              // TUPLE1
    {0x86, [](Unpickler& to) { to.push_list(to.pop_last(2)); }},                              // TUPLE2
    {0x87, [](Unpickler& to) { to.push_list(to.pop_last(3)); }},                              // TUPLE3
    {'d', [](Unpickler& to) { to.push({.kind = Kind::Dict, .items = to.pop_pairs()}); }},     // DICT
    {'a', [](Unpickler& to) { to.append(Kind::List, to.pop_last(1)); }},                      // APPEND
    {'e', [](Unpickler& to) { to.append(Kind::List, to.pop_to_mark()); }},                    // APPENDS
    {'s', [](Unpickler& to) { to.append(Kind::Dict, to.pop_last(2)); }},                      // SETITEM
    {'u', [](Unpickler& to) { to.append(Kind::Dict, to.pop_pairs()); }},                      // SETITEMS
    {'q', [](Unpickler& to) { to.remember(to.number<std::uint8_t>()); }},                     // BINPUT
    {'r', [](Unpickler& to) { to.remember(to.number<std::uint32_t>()); }},                    // LONG_BINPUT
    {0x94, [](Unpickler& to) { to.remember(static_cast<std::uint32_t>(to.memo_.size())); }},  // MEMOIZE
    {'h', [](Unpickler& to) { to.recall(to.number<std::uint8_t>()); }},                       // BINGET
    {'j', [](Unpickler& to) { to.recall(to.number<std::uint32_t>()); }},                      // LONG_BINGET
    {'c', [](Unpickler& to) { to.push_known_lines(); }},                                      // GLOBAL
    {0x93, [](Unpickler& to) { to.push_known_texts(); }},                                     // STACK_GLOBAL
    {'Q', [](Unpickler& to) { to.push_storage(to.pop()); }},                                  // BINPERSID
    {'R', [](Unpickler& to) { to.reduce(); }},                                                // REDUCE
    {'b', [](Unpickler& to) { to.drop_attributes(); }},                                       // BUILD
};

void Unpickler::step(std::uint8_t code) {
  const auto* operation = std::ranges::find(kOperations, code, &Operation::code);
  if (operation == std::end(kOperations)) {
    cursor_.fail("its pickle has the operation {:#x}, which no file of tensors needs", code);
  }
  operation->act(*this);
}

}  // namespace

Pickle read_pickle(FileCursor& cursor) { return Unpickler(cursor).read(); }

}  // namespace headlight::model
