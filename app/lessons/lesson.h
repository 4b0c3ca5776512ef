#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "app/quantities/tile_query.h"

namespace headlight::app {

/// What a card waits for: a setting of the state with a value.
struct LessonCondition {
  enum class Test : std::uint8_t {
    Equals,
    Differs,
    AtLeast,   ///< of numbers
    AtMost,    ///< of numbers
    Contains,  ///< a part of a text, or a list's element with (at least) these members
  };

  std::string field;  ///< path in a session file's state: "masks.encoder.rule"
  Test test = Test::Equals;
  nlohmann::json value;
};

/// Numbers that a notebook printed, to be shown beside the program's own.
struct PrintedNumbers {
  std::string source;         ///< "notebook 003, cell 30"
  TileQuery query;            ///< of which numbers, exact
  std::vector<float> values;  ///< [query.rows, query.columns]
  int decimals = 4;           ///< as printed
  /// The largest difference that agrees; nullopt: half of the last decimal. Larger where the notebook computed on with more
  /// decimals than it printed.
  std::optional<double> within = {};

  double tolerance() const;
};

/// A sentence or two beside the live views.
struct LessonCard {
  std::string title;
  std::vector<std::string> paragraphs;
  nlohmann::json opens = nlohmann::json::object();  ///< the state's fields that it sets, as in a session file
  std::string task;                                 ///< what to do; empty: only to read
  std::vector<LessonCondition> done = {};           ///< all of them complete the task
  std::optional<PrintedNumbers> numbers = {};
};

/// A lesson: a file of assets/lessons, or of the user's.
struct Lesson {
  std::string id;  ///< the file's name without its extension
  std::string title;
  std::string summary;        ///< one line
  std::uint32_t minutes = 0;  ///< that it takes, about
  std::vector<LessonCard> cards;
};

}  // namespace headlight::app
