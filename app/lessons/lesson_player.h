#pragma once

#include <cstddef>
#include <utility>

#include "app/lessons/lesson_list.h"
#include "app/lessons/lesson_words.h"
#include "app/lessons/observation.h"
#include "app/lessons/results.h"
#include "app/state/settings.h"
#include "app/state/transient.h"

namespace headlight::app {

/// Applies what a card opens at its so-many-th try: fields that it doesn't name stay, but a card that names another source
/// begins with that source's own settings, without masks, gains and pinned cells of before. A bundled model is named by its
/// name. Throws Error where a value isn't valid.
void open_card(const LessonCard& card, State& state, std::size_t attempt = 0);

/// A condition of the open card, as far as it is known.
struct ConditionStanding {
  nlohmann::json answer;                      ///< what the player has answered; null: nothing
  ObservedCondition observed;                 ///< in the run on screen
  std::optional<nlohmann::json> when_opened;  ///< the value when the card was opened; none: not known yet
  nlohmann::json counted = {};                ///< the answer that was counted last

  /// Has the player done something else than what is right?
  bool is_answered_wrong() const;
};

/// Returns numbers below `count` in an order that follows from the seed alone.
std::vector<std::size_t> shuffled(std::size_t count, std::uint32_t seed);

/// The lesson that is being played: which card is open, what is completed. Progress is kept in the settings.
class LessonPlayer {
 public:
  explicit LessonPlayer(LessonList list = {}) : list_(std::move(list)) {}

  const LessonList& list() const { return list_; }
  /// Is the panel shown, with the list of lessons or with one of them?
  bool is_open() const { return is_open_; }
  void open_list();
  void close() { is_open_ = false; }

  /// Returns the open lesson; null while the list is shown.
  const Lesson* lesson() const { return lesson_ < list_.lessons.size() ? &list_.lessons[lesson_] : nullptr; }
  std::size_t card_index() const { return card_; }
  /// Both may be called only while lesson() isn't null.
  const Lesson& played() const { return list_.lessons[lesson_]; }
  const LessonCard& card() const { return played().cards[card_]; }
  /// Was the card's task completed since the card was opened?
  bool is_card_done() const { return is_card_done_; }
  /// Returns the standings of the card's conditions, in their order.
  std::span<const ConditionStanding> standings() const { return standings_; }
  /// Takes the player's answer to a question of the card: the number of a choice, or a number.
  void answer(std::size_t condition, nlohmann::json value);
  /// Returns the target that the open card points at; nothing without one.
  Aim aim() const;
  /// Returns why the state computes something else than the card has opened, as a sentence's end: "dropout is on". Empty
  /// where it computes the same, so that printed numbers are of the same model, mask and text.
  std::string departure(const State& state, const LessonWords& words = LessonWords()) const;
  /// Returns the seed of the card's try, by which its options are shuffled.
  std::uint32_t seed() const;
  /// How often the card was right in a row, where it must be several times.
  std::uint32_t streak() const { return streak_; }
  /// Was a wrong answer given on the card since it was come to?
  bool has_missed() const { return has_missed_; }
  /// Is the card asked again, out of turn?
  bool is_repeat() const { return returns_to_.has_value(); }
  /// Is the card to be opened once more with other numbers, by reopen()?
  bool wants_try() const { return wants_try_; }
  /// Takes the answers since the last call, without their time.
  std::vector<LessonResults::Answer> take_answers() { return std::exchange(answers_, {}); }
  /// Goes up each time a card is opened.
  std::uint64_t openings() const { return openings_; }
  /// Is it the first card of the lesson that counts rows and columns?
  bool explains_indices() const;

  /// Opens a lesson at the card where it was left, at the first when it was completed or `restarts`; without `restarts`
  /// after those that are asked again. `state` becomes the card's. Returns one line where the card can't be opened, else
  /// nothing; likewise the next two.
  std::string start(std::size_t index, bool restarts, State& state, LessonProgress& progress);
  /// Opens the next card; after the last one the lesson is completed and the list is shown.
  std::string go_on(State& state, LessonProgress& progress);
  std::string go_back(State& state, LessonProgress& progress);
  /// Opens the same card again, after something else was looked at.
  std::string reopen(State& state, const LessonProgress& progress);

  /// Adds a lesson that isn't in the folders, in place of one of the same name, and returns its index. Throws Error.
  std::size_t add(const std::filesystem::path& path);
  /// Reads the open lesson's file again where it has changed, or in another language. The card stays, and is opened again
  /// where what it opens is another state. Returns whether there was something new; `trouble`: one line where it can't be
  /// read or opened, and then the lesson stays as it was.
  bool reload(State& state, std::string& trouble);
  /// Reads all lessons but the open one, which reload() reads, in another language.
  void choose_language(const std::string& language);
  const std::string& language() const { return language_; }

  /// Called once a frame, after input: notes when the card's task is done, and puts what it has to know into `queries`.
  /// Counts answers in `progress`. Returns whether something changed that the panel shows.
  bool observe(const State& state, const EngineResult& result, std::vector<Query>& queries, LessonProgress& progress);

 private:
  /// A card with a wrong answer, and the number of cards until it is asked again.
  struct Missed {
    std::size_t card = 0;
    std::uint32_t left = 0;
  };

  /// Comes to a card, or to one that is due before it. After the last card the list is shown.
  std::string come_to(std::size_t card, State& state, LessonProgress& progress);
  std::string show_card(std::size_t card, State& state, const LessonProgress& progress);
  std::string open_shown(State& state);
  void begin_card();
  /// Counts an answer to a condition.
  void count_answer(std::size_t condition, const nlohmann::json& given, bool is_right, CardMark& mark);

  LessonList list_;
  std::string language_ = preferred_language();
  bool is_open_ = false;
  std::size_t lesson_ = static_cast<std::size_t>(-1);
  std::size_t card_ = 0;
  bool is_card_done_ = false, has_missed_ = false, wants_try_ = false;
  std::uint32_t streak_ = 0;
  std::map<std::size_t, std::uint32_t> attempts_;  ///< with which the lesson's cards were opened last
  std::vector<Missed> missed_;
  std::optional<std::size_t> returns_to_ = {};  ///< the card after one that is asked again; may be past the last one
  std::vector<LessonResults::Answer> answers_;
  std::vector<ConditionStanding> standings_;
  std::uint64_t openings_ = 0;
  RunInputs opened_inputs_;  ///< of the state that the card has opened
  State opened_;             ///< that state
};

}  // namespace headlight::app
