#include "app/lessons/lesson.h"

#include <fmt/ranges.h>

#include <system_error>

#include "app/lessons/lesson_condition.h"
#include "app/lessons/lesson_player.h"
#include "app/lessons/lesson_texts.h"
#include "app/lessons/observation.h"
#include "app/shapes/quantities/quantity.h"
#include "app/state/field.h"
#include "app/state/state_json.h"
#include "app/state/state_names.h"
#include "files/image.h"

namespace headlight::app {

namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr JsonLimits kLimits{.bytes = std::size_t{1} << 20, .values = 100'000, .depth = 16};
constexpr std::size_t kMaxCards = 100;
constexpr std::size_t kMaxTries = 100;
constexpr std::uint32_t kMaxMinutes = 600;
constexpr int kMaxDecimals = 9;

/// Throws where `opens` names a setting that doesn't exist.
void refuse_unknown_settings(const json& opens, const std::string& path) {
  const auto is_field = [](const std::string& group, const std::string& key) {
    return std::ranges::any_of(state_fields(), [&](const Field& field) { return field.group == group && field.key == key; });
  };
  const auto is_group = [](const std::string& group) {
    return std::ranges::any_of(state_fields(), [&](const Field& field) { return field.group == group; });
  };
  for (const auto& [key, value] : opens.items()) {
    if (is_field("", key)) continue;
    if (!is_group(key) || !value.is_object()) throw Error("{}.{}: there is no such setting", path, key);
    for (const auto& [member, inner] : value.items()) {
      if (!is_field(key, member)) throw Error("{}.{}.{}: there is no such setting", path, key, member);
    }
  }
}

PrintedNumbers read_numbers(const json& value, const std::string& path) {
  const JsonReader reader(value, path);
  refuse_unknown(reader, value,
                 {"source", "quantity", "kind", "layer", "head", "batch", "row", "column", "values", "decimals", "within"});
  PrintedNumbers numbers;
  numbers.source = text_of(reader, "source");
  const std::string name = text_of(reader, "quantity");
  const std::optional<QuantityId> id = find_quantity(name);
  if (!id || quantity(*id).base) throw Error("{}: there is no quantity '{}'", reader.path("quantity"), name);
  numbers.query.quantity = *id;
  reader.read_enum<model::BlockKind>("kind", numbers.query.block.kind, kKinds);
  reader.read("layer", numbers.query.block.layer.value, 0U, kLastPlace);
  reader.read("head", numbers.query.head, 0U, kLastPlace);
  reader.read("batch", numbers.query.batch, 0U, kLastPlace);
  reader.read("row", numbers.query.row, 0U, kLastPlace);
  reader.read("column", numbers.query.column, 0U, kLastPlace);
  reader.read("decimals", numbers.decimals, 0, kMaxDecimals);
  if (reader.find("within")) {
    float within = 0.0F;
    reader.read("within", within, 0.0F, 1.0F);
    numbers.within = double{within};
  }
  const json* rows = list_of(reader, "values");
  if (!rows || rows->empty()) throw Error("{}: expected a list of rows of numbers", reader.path("values"));
  for (const json& row : *rows) {
    const bool is_row = row.is_array() && !row.empty() && row.size() == rows->front().size() &&
                        std::ranges::all_of(row, [](const json& number) { return number.is_number(); });
    if (!is_row) throw Error("{}: expected rows of equally many numbers, found {}", reader.path("values"), shown(row));
    for (const json& number : row) numbers.values.push_back(number.get<double>());
  }
  numbers.query.rows = static_cast<std::uint32_t>(rows->size());
  numbers.query.columns = static_cast<std::uint32_t>(rows->front().size());
  return numbers;
}

/// Finds a model in a folder beside the lesson's file, which is opened from there.
void find_model_beside(json& opens, const fs::path& folder) {
  const auto model = opens.find("model");
  if (model == opens.end() || !model->is_object() || !model->contains("path")) return;
  json& path = model->at("path");
  if (!path.is_string() || path.get_ref<const std::string&>().empty()) return;
  std::error_code failure;
  const fs::path beside = folder / path.get<std::string>();
  if (fs::is_directory(beside, failure)) path = utf8(fs::absolute(beside).lexically_normal());
}

/// Reads a PNG or JPEG file beside the lesson's.
std::shared_ptr<const exporting::Pixels> read_image(const JsonReader& reader, const fs::path& folder) {
  const fs::path name = text_of(reader, "image");
  const bool is_beside = !name.has_root_path() && std::ranges::find(name, fs::path("..")) == name.end();
  if (!is_beside)
    throw Error("{}: expected the name of a file beside the lesson's, found '{}'", reader.path("image"), utf8(name));
  return std::make_shared<const exporting::Pixels>(files::read_image_file(folder / name));
}

/// Reads the tries of a card. `before`: the state that the card opens in.
LessonTries read_tries(const JsonReader& card, const LessonCard& of, const State& before) {
  LessonTries tries;
  const json* value = card.find("try");
  if (!value) return tries;
  const JsonReader reader(*value, card.path("try"));
  refuse_unknown(reader, *value, {"texts", "seeds", "opens", "times"});
  reader.read("times", tries.times, 1U, 10U);
  const std::vector<std::string> texts = texts_of(reader, "texts");
  const json none = json::array(), *seeds = list_of(reader, "seeds"), *opens = list_of(reader, "opens");
  if (!seeds) seeds = &none;
  if (!opens) opens = &none;
  const std::size_t count = std::max({texts.size(), seeds->size(), opens->size()});
  if (count > kMaxTries) throw Error("{}: expected lists of {} at most", card.path("try"), kMaxTries);
  for (std::size_t i = 0; i < count; ++i) {
    const std::string place = fmt::format("{}[{}]", card.path("try"), i);
    json patch = opens->empty() ? json::object() : (*opens)[i % opens->size()];
    if (!patch.is_object()) throw Error("{}: expected an object with settings, found {}", place, shown(patch));
    refuse_unknown_settings(patch, place);
    if (!texts.empty()) patch["text"] = texts[i % texts.size()];
    if (!seeds->empty()) patch["playground"]["seed"] = (*seeds)[i % seeds->size()];
    try {
      LessonCard one{.title = {}, .paragraphs = {}, .opens = of.opens, .task = {}};
      one.opens.merge_patch(patch);
      State state = before;
      open_card(one, state);
    } catch (const Error& error) {
      throw Error("{}: {}", place, error.what());
    }
    tries.opens.push_back(std::move(patch));
  }
  return tries;
}

/// Reads the claims of a card. `settings`: of the state that it opens.
std::vector<LessonClaim> read_claims(const JsonReader& card, const json& settings) {
  std::vector<LessonClaim> claims;
  const json* value = card.find("claims");
  if (!value) return claims;
  for (const auto& [name, member] : value->items()) {
    const std::string path = fmt::format("{}.{}", card.path("claims"), name);
    LessonClaim claim{.name = name, .condition = {}};
    json condition = member;
    if (member.is_object() && member.contains("after")) {
      claim.after = member["after"];
      condition.erase("after");
      if (claim.after.is_object()) {
        refuse_unknown_settings(claim.after, path + ".after");
      } else if (claim.after != true) {
        throw Error("{}.after: expected true or an object with settings, found {}", path, shown(claim.after));
      }
    }
    claim.condition = read_condition(condition, path, settings);
    if (claim.condition.subject.observation->is_answer) throw Error("{}: a claim is about the run, not a question", path);
    claims.push_back(std::move(claim));
  }
  return claims;
}

/// Reads a card. `state`: as the cards before have left it; becomes the card's. `folder`: of the file.
LessonCard read_card(const json& value, const std::string& path, const fs::path& folder, State& state) {
  const JsonReader reader(value, path);
  refuse_unknown(reader, value,
                 {"title", "text", "opens", "second_text", "task", "done", "reveal", "numbers", "image", "control", "matrix",
                  "indices", "conceals", "notes", "claims", "try", "check", "nameless"});
  LessonCard card;
  card.title = text_of(reader, "title");
  card.paragraphs = texts_of(reader, "text");
  if (card.paragraphs.empty()) throw Error("{}: expected a list of texts", reader.path("text"));
  if (const json* opens = reader.find("opens")) {
    if (!opens->is_object()) reader.fail("opens", "an object with settings", *opens);
    refuse_unknown_settings(*opens, reader.path("opens"));
    card.opens = *opens;
    find_model_beside(card.opens, folder);
  }
  if (reader.find("second_text")) reader.read("second_text", card.second_text.emplace());
  card.tries = read_tries(reader, card, state);
  try {
    open_card(card, state);
  } catch (const Error& error) {
    throw Error("{}: {}", reader.path("opens"), error.what());
  }
  if (card.second_text && !card.second_text->empty() && (is_notebook(state.source) || is_capture(state.source))) {
    throw Error("{}: what the card opens has no text of its own to compare", reader.path("second_text"));
  }
  reader.read("task", card.task);
  const json settings = to_json(state);
  card.claims = read_claims(reader, settings);
  if (const json* conditions = list_of(reader, "done")) {
    for (std::size_t i = 0; i < conditions->size(); ++i) {
      card.done.push_back(read_condition((*conditions)[i], fmt::format("{}[{}]", reader.path("done"), i), settings));
    }
  }
  if (card.task.empty() != card.done.empty()) {
    throw Error("{}: a task needs \"done\", which says when it is completed, and the other way round", path);
  }
  if (const json* numbers = reader.find("numbers")) card.numbers = read_numbers(*numbers, reader.path("numbers"));
  card.reveal = texts_of(reader, "reveal");
  reader.read("control", card.control);
  reader.read("matrix", card.matrix);
  reader.read("indices", card.shows_indices);
  if (const json* conceals = reader.find("conceals"); conceals && conceals->is_string()) {
    card.conceals = true;
    card.conceals_from = static_cast<attention::Stage>(*reader.read_choice("conceals", attention::kStageNames));
  } else {
    reader.read("conceals", card.conceals);
  }
  reader.read("nameless", card.is_nameless);
  reader.read("check", card.is_check);
  reader.read("notes", card.notes);
  if (card.done.empty() &&
      (!card.reveal.empty() || card.conceals || card.is_nameless || card.is_check || card.tries.times > 1)) {
    throw Error("{}: \"reveal\", \"conceals\", \"nameless\", \"check\" and \"times\" need a task, which can be completed",
                path);
  }
  const auto is_drawn = [](const LessonCondition& asked) { return asked.subject.observation->name == "draw"; };
  if (!card.conceals && std::ranges::any_of(card.done, is_drawn)) {
    throw Error("{}: a map that is to be drawn needs \"conceals\": it would be on screen", path);
  }
  if (reader.find("image")) card.image = read_image(reader, folder);
  return card;
}

Lesson lesson_from_json(json value, const fs::path& folder, const std::string& language) {
  Lesson lesson;
  if (!value.is_object() || !value.contains("headlight_lesson")) {
    throw Error("no Headlight lesson: it has no member \"headlight_lesson\"");
  }
  if (const auto texts = value.find("cards"); texts != value.end() && texts->is_array()) {
    for (std::size_t i = 0; i < texts->size(); ++i) resolve_claims((*texts)[i], fmt::format("cards[{}]", i));
  }
  choose_language(value, "", language, lesson.languages);
  const JsonReader reader(value, "");
  std::uint32_t version = 0;
  reader.read("headlight_lesson", version, 1U, 1U);
  refuse_unknown(reader, value, {"headlight_lesson", "title", "summary", "minutes", "cards", "plain"});
  lesson.title = text_of(reader, "title");
  lesson.summary = text_of(reader, "summary");
  reader.read("minutes", lesson.minutes, 1U, kMaxMinutes);
  texts_of(reader, "plain");
  const json* cards = list_of(reader, "cards");
  const bool is_size_good = cards && !cards->empty() && cards->size() <= kMaxCards;
  if (!is_size_good) throw Error("cards: expected a list of 1 to {} cards", kMaxCards);
  State state;
  for (std::size_t i = 0; i < cards->size(); ++i) {
    lesson.cards.push_back(read_card((*cards)[i], fmt::format("cards[{}]", i), folder, state));
  }
  return lesson;
}

}  // namespace

json LessonCard::opens_at(std::size_t attempt) const {
  json opened = opens;
  if (!tries.opens.empty()) opened.merge_patch(tries.opens[attempt % tries.opens.size()]);
  return opened;
}

bool LessonCard::has_question() const {
  return std::ranges::any_of(done, [](const LessonCondition& asked) { return asked.subject.observation->is_answer; });
}

Lesson read_lesson(const fs::path& path, const std::string& language) {
  std::error_code failure;
  const fs::file_time_type written = fs::last_write_time(path, failure);  // before reading: a later change isn't missed
  json value = read_chosen_json(path, "a lesson, a JSON object with \"headlight_lesson\" (docs/LESSONS.md)", kLimits);
  try {
    Lesson lesson = lesson_from_json(std::move(value), path.parent_path(), language);
    lesson.id = utf8(path.stem());
    lesson.path = path;
    lesson.written = written;
    lesson.language = language;
    return lesson;
  } catch (const std::exception& error) {
    throw Error("{}: {}", utf8(path), error.what());
  }
}

}  // namespace headlight::app
