#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

// A setting is declared once, as a member of the group that it is of (what_if_settings.h), with all that is said of it. A
// State is asked for its value, `state[kWhatIfView.measure]`, and told another one, `state.set(kWhatIfView.measure, …)`.

namespace headlight::model {
struct Network;
}
namespace headlight::inference {
struct Intervention;
}

namespace headlight::app {

/// The largest index of a layer or a head, or id of a token, in a file; those that a run lacks are clamped, or count as
/// none.
inline constexpr double kMostIndex = 0xffff'fffe;

/// A value that a setting can have. Those of an enumeration stand in the order of the enumerators; a switch has "on" and
/// "off" in the order of its buttons, or "on" alone where it is a check box.
struct Option {
  std::string_view name;        ///< in files and flags
  std::string_view label = {};  ///< on its button; empty: it has none
  std::string_view help = {};   ///< the button's tooltip
};

/// None, a switch, a whole number or the number of an option, a number, or a text.
using SettingValue = std::variant<std::monostate, bool, std::int64_t, double, std::string>;

/// All that is said of a setting, but for its type and what it is in a new state.
struct SettingText {
  std::string_view key;        ///< in files: the member of the group's object
  std::string_view undo = {};  ///< what the history calls a change of it; of what isn't of a State empty
  std::vector<Option> options = {};
  double least = 0.0, most = 0.0;          ///< limits of a number; of a text `most` bytes, 0: as many as a file may have
  std::string_view zero = {};              ///< what 0 means where it is below the limits: "auto"; empty: it isn't allowed
  double step = 1.0;                       ///< of the buttons beside a number
  bool is_continuous = false;              ///< quick repetitions of a change are one step of the history
  bool is_look = false;                    ///< it changes no result: a session that differs in it alone has nothing to save
  std::string_view label = {}, help = {};  ///< of its field in a form, and of that one's tooltip
  std::string_view menu = {};              ///< the submenu of View that lists the options; empty: none does
  std::string_view flag = {};              ///< "--patch"; empty: it has none
  /// {least}, {most}, {usual} and {names} stand for the limits, the value in a new state and the options' names.
  std::string_view flag_help = {}, flag_value = {};
  bool flag_is_plain = false;  ///< the flag of a switch has no value, and turns it on
  /// Reads the flag's text where its type alone doesn't say how. Throws UsageError.
  SettingValue (*parse_flag)(const std::string& flag, const std::string& text) = nullptr;
};

/// A setting without its type: what files, the history, flags, buttons and commands need.
struct AnySetting {
  enum class Kind : std::uint8_t { Switch, Choice, Whole, Number, Text };

  std::string_view group;  ///< the object in files, and what names of buttons begin with
  SettingText text;
  Kind kind;
  bool may_be_none;
  bool is_look;        ///< by itself, or as its group is
  SettingValue usual;  ///< in a new state
  bool changes_pass = false;

  /// "what_if.measure"
  std::string path() const { return std::string(group) + "." + std::string(text.key); }
  /// The option that a value is. Precondition: the setting is a choice, or a switch with options.
  std::size_t option_of(const SettingValue& value) const {
    if (const auto* number = std::get_if<std::int64_t>(&value)) return static_cast<std::size_t>(*number);
    return (text.options.front().name == "on") == std::get<bool>(value) ? 0 : 1;
  }
  SettingValue value_of(std::size_t option) const {
    if (kind == Kind::Switch) return text.options.at(option).name == "on";
    return static_cast<std::int64_t>(option);
  }
};

class Choices;

/// The settings of one view or part, or of what is asked for: one object in files.
struct SettingGroup {
  std::string_view name;
  std::string_view view = {};  ///< id of the view that shows what its settings change; empty: there isn't one
  bool is_look = false;        ///< all of them are looks
  // Groups whose settings change a pass, whatever layers it has, say what it is, and make it:
  std::string (*words)(const Choices& choices) = nullptr;  ///< "dropout 0.1 of weights, seed 1"; empty: they change nothing
  /// Appends the changes of a pass of this network.
  void (*add)(const Choices& choices, const model::Network& network, std::vector<inference::Intervention>& all) = nullptr;
  std::vector<const AnySetting*> settings = {};
};

template <typename T>
struct SettingType {
  using Value = T;
  static constexpr bool kMayBeNone = false;
};
template <typename T>
struct SettingType<std::optional<T>> {
  using Value = T;
  static constexpr bool kMayBeNone = true;
};

/// A setting of type T: bool, an enumeration, an integer, float, std::string, or an optional one of these.
template <typename T>
struct Setting : AnySetting {
  using Value = typename SettingType<T>::Value;

  /// It becomes a member of `of`, whose member it is: it stays where it is.
  Setting(SettingGroup& of, const SettingText& about, const T& in_new_state = {})
      : AnySetting{.group = of.name,
                   .text = about,
                   .kind = std::is_same_v<Value, bool>          ? Kind::Switch
                           : std::is_enum_v<Value>              ? Kind::Choice
                           : std::is_integral_v<Value>          ? Kind::Whole
                           : std::is_same_v<Value, std::string> ? Kind::Text
                                                                : Kind::Number,
                   .may_be_none = SettingType<T>::kMayBeNone,
                   .is_look = of.is_look || about.is_look,
                   .usual = pack(in_new_state),
                   .changes_pass = of.add != nullptr} {
    of.settings.push_back(this);
  }
  ~Setting() = default;
  Setting(const Setting&) = delete;
  Setting& operator=(const Setting&) = delete;

  static SettingValue pack(const T& value) {
    if constexpr (SettingType<T>::kMayBeNone) {
      return value ? Setting<Value>::pack(*value) : SettingValue();
    } else if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, std::string>) {
      return value;
    } else if constexpr (std::is_floating_point_v<T>) {
      return static_cast<double>(value);
    } else {
      return static_cast<std::int64_t>(value);
    }
  }
  static T unpack(const SettingValue& value) {
    if constexpr (SettingType<T>::kMayBeNone) {
      return value.index() == 0 ? T() : T(Setting<Value>::unpack(value));
    } else if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, std::string>) {
      return std::get<T>(value);
    } else if constexpr (std::is_floating_point_v<T>) {
      return static_cast<T>(std::get<double>(value));
    } else {
      return static_cast<T>(std::get<std::int64_t>(value));
    }
  }
};

/// The values of all settings, as one value that holds only what differs from a new state.
class Choices {
 public:
  template <typename T>
  T operator[](const Setting<T>& setting) const {
    return Setting<T>::unpack(value(setting));
  }
  template <typename T>
  Choices& set(const Setting<T>& setting, const std::type_identity_t<T>& to) {
    return put(setting, Setting<T>::pack(to));
  }
  /// A copy of the value, which is put back at the end of the expression: for what changes a variable.
  template <typename T>
  class Edit {
   public:
    Edit(Choices& of, const Setting<T>& setting) : of_(of), setting_(setting), value_(of[setting]) {}
    ~Edit() { of_.set(setting_, value_); }
    Edit(const Edit&) = delete;
    Edit& operator=(const Edit&) = delete;
    operator T&() { return value_; }  // NOLINT(google-explicit-constructor)

   private:
    Choices& of_;
    const Setting<T>& setting_;
    T value_;
  };
  template <typename T>
  Edit<T> edit(const Setting<T>& setting) {
    return Edit<T>(*this, setting);
  }

  const SettingValue& value(const AnySetting& setting) const {
    const auto found = changed_.find(&setting);
    return found == changed_.end() ? setting.usual : found->second;
  }
  Choices& put(const AnySetting& setting, SettingValue to) {
    if (to == setting.usual) {
      changed_.erase(&setting);
    } else {
      changed_.insert_or_assign(&setting, std::move(to));
    }
    return *this;
  }
  bool operator==(const Choices&) const = default;

 private:
  std::map<const AnySetting*, SettingValue> changed_;
};

/// Returns the groups that change a pass with these choices.
std::vector<const SettingGroup*> effective_groups(const Choices& choices);
/// All groups, in the order in which the first setting that differs names a change.
const std::vector<const SettingGroup*>& setting_groups();

}  // namespace headlight::app
