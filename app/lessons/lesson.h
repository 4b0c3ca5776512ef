#pragma once

#include <set>

#include <glm/vec2.hpp>
#include <nlohmann/json.hpp>

#include "app/shapes/quantities/tile_query.h"
#include "evaluation/head_metric.h"
#include "export/canvas.h"

namespace headlight::app {

struct Observation;

/// The thing that is observed, and its place. Members that the file doesn't name are what is on screen: the selected head,
/// the pinned cell's row and column.
struct LessonSubject {
  const Observation* observation = nullptr;  ///< a line of observations()
  std::string field = {};                    ///< path of a setting in a session file's state: "masks.encoder.rule"
  QuantityId quantity = attention::Stage::Weights;
  std::optional<model::BlockKind> kind = {};
  std::optional<std::uint32_t> layer = {}, head = {}, batch = {}, row = {}, column = {};
  evaluation::HeadMetric metric = evaluation::HeadMetric::PreviousToken;
  std::string token = {};                 ///< text of a token, with or without the space before it
  std::string label = {};                 ///< beside the field of a number that is asked for; what is to be explained
  std::vector<std::string> choices = {};  ///< of which one is to be chosen, or all are to be put in this order
  std::vector<std::string> answer = {};   ///< paragraphs that an explanation is compared with
  glm::vec2 q{0.0F}, k{0.0F};             ///< where arrows begin
};

/// A condition that a card waits for: an observation, compared with a value.
struct LessonCondition {
  enum class Test : std::uint8_t {
    Equals,
    Differs,
    AtLeast,   ///< of numbers
    AtMost,    ///< of numbers
    Contains,  ///< a part of a text, or a list's element with (at least) these members
  };

  LessonSubject subject;
  Test test = Test::Equals;
  nlohmann::json value = {};
  std::optional<double> most = {};  ///< of AtLeast: the number may be this at most
  /// The observation that replaces `value`: its value in the run on screen. So a question's answer is computed, not written
  /// down.
  std::optional<LessonSubject> measured = {};
  double within = 0.0;    ///< of Equals and Differs: numbers that are so near are equal
  std::string hint = {};  ///< an observation that helps after a wrong answer; empty: none is shown
};

/// A condition that a card's texts refer to as {shown|name}: what is shown there must be true of the run.
struct LessonClaim {
  std::string name;
  LessonCondition condition;
  /// The settings that what the task asks for leads to, in whose run the claim must hold; null: as the card opens.
  nlohmann::json after = {};
};

/// The tries of a card: each opens it with other settings.
struct LessonTries {
  std::vector<nlohmann::json> opens = {};  ///< laid over the card's, in turn; empty: all tries are the same
  std::uint32_t times = 1;                 ///< that the card must be right in a row
};

/// Numbers that a notebook printed, to be shown beside the program's own.
struct PrintedNumbers {
  std::string source;          ///< "notebook 003, cell 30"
  TileQuery query;             ///< of which numbers, exact
  std::vector<double> values;  ///< [query.rows, query.columns], with all printed digits
  int decimals = 4;            ///< as printed
  /// The largest difference that agrees; nullopt: half of the last decimal. Larger where the notebook computed on with more
  /// decimals than it printed.
  std::optional<double> within = {};

  double tolerance() const;
};

/// A sentence or two beside the live views. Texts may have **bold** words and $formulas$ (app/widgets/math_text.h).
struct LessonCard {
  std::string title;
  std::vector<std::string> paragraphs;
  nlohmann::json opens = nlohmann::json::object();  ///< the state's fields that it sets, as in a session file
  std::optional<std::string> second_text = {};      ///< what the card's text is compared with; empty: nothing
  std::string task;                                 ///< what to do, or a question; empty: only to read
  std::vector<LessonCondition> done = {};           ///< all of them complete the task
  std::vector<std::string> reveal = {};             ///< paragraphs that are shown once it is completed
  std::vector<LessonClaim> claims = {};             ///< that the texts refer to
  LessonTries tries = {};
  bool is_check = false;  ///< the lesson is passed once all such cards are completed
  std::optional<PrintedNumbers> numbers = {};
  std::shared_ptr<const exporting::Pixels> image = {};
  std::string control = {};                            ///< Aim::control
  std::string matrix = {};                             ///< Aim::matrix
  bool shows_indices = false;                          ///< Aim::shows_indices
  bool conceals = false;                               ///< Aim::conceals, until the task is completed; likewise the next two
  std::optional<attention::Stage> conceals_from = {};  ///< Aim::conceals_from
  bool is_nameless = false;                            ///< Aim::is_nameless
  std::string notes = {};                              ///< for who presents the lesson; never in the window

  /// Returns what its so-many-th try opens.
  nlohmann::json opens_at(std::size_t attempt) const;
  bool has_question() const;
};

/// A lesson: a file of assets/lessons, or of the user's.
struct Lesson {
  std::string id;  ///< the file's name without its extension
  std::filesystem::path path;
  std::filesystem::file_time_type written = {};  ///< of the file when it was read
  std::string language = {};                     ///< in which its texts were asked for
  std::string title;
  std::string summary;              ///< one line
  std::uint32_t minutes = 0;        ///< that it takes, about
  std::set<std::string> languages;  ///< besides the file's own in which it has texts: "de"
  std::vector<LessonCard> cards;
};

/// Reads one lesson (docs/LESSONS.md has the format) with its texts in `language` ("de"), where it has them. Throws Error in
/// one line that names the file, the member and what was expected; also where a card names a setting that there isn't.
Lesson read_lesson(const std::filesystem::path& path, const std::string& language = {});

}  // namespace headlight::app
