#include "app/state/corpus_settings.h"
#include "app/views/corpus/corpus_parts.h"

namespace headlight::app {
namespace {

char lower(char letter) { return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter + 32) : letter; }

/// Whatever the size of ASCII letters.
bool has_part(const std::string& text, const std::string& part) {
  const auto same = [](char a, char b) { return lower(a) == lower(b); };
  return std::search(text.begin(), text.end(), part.begin(), part.end(), same) != text.end();
}

std::string label_of(const HeadNotes& notes, const std::string& name) {
  const auto note = notes.find(name);
  return note == notes.end() ? "" : note->second.label;
}

bool is_number(const SurveyColumn& column) { return column.name != "layer" && column.name != "kind"; }

/// The numbers that neither a table nor, beside dots, their axes show.
std::set<std::string> hidden_columns(const Survey& survey, const Choices& choices, bool is_narrow) {
  const std::array shown = {x_column(survey, choices).name, y_column(survey, choices).name,
                            std::string(choices[kCorpusView.color]), std::string(choices[kCorpusView.order])};
  std::set<std::string> hidden;
  for (const SurveyColumn& column : survey.columns) {
    const bool is_of_dots = std::ranges::find(shown, column.name) != shown.end();
    if (column.is_plane || (is_narrow && !is_of_dots)) hidden.insert(column.name);
  }
  return hidden;
}

Table corpus_table(const Survey& survey, const HeadNotes& notes, const std::set<std::string>& hidden) {
  Table table{.rows = survey.count()};
  for (std::size_t place = 0; place < table.rows; ++place) table.subjects.push_back(survey.layout.at(place));
  table.add({.title = "head", .id = "name", .formula = "Orders by layer and head.", .is_copied = false},
            [&](std::size_t place) { return shown_name(survey, place); });
  table.add({.title = "name", .is_shown = false}, [&](std::size_t place) { return survey.name(place); });
  table.add_subjects();
  const bool has_labels = std::ranges::any_of(notes, [](const auto& note) { return !note.second.label.empty(); });
  table.add({.title = "label", .formula = "What you called the head, on its page.", .is_shown = has_labels},
            [&](std::size_t place) { return label_of(notes, survey.name(place)); });
  for (const SurveyColumn& column : survey.columns) {
    if (!is_number(column)) continue;
    table.add({.title = column.name,
               .formula = column_help(survey, column.name),
               .bar = BarKind::Size,
               .decimals = {},
               .is_shown = !hidden.contains(column.name)},
              [&](std::size_t place) {
                return std::isfinite(column.values[place]) ? CellNumber(column.values[place]) : std::nullopt;
              });
  }
  return table;
}

}  // namespace

const std::vector<std::size_t>& CorpusTable::list(const std::shared_ptr<const Survey>& survey, const Choices& choices,
                                                  const HeadNotes& notes, std::span<const std::size_t> lasso,
                                                  const std::string& search, bool is_narrow) {
  Shown shown{.survey = survey, .notes = notes, .hidden = hidden_columns(*survey, choices, is_narrow)};
  if (shown != shown_) view_.show(corpus_table(*survey, notes, shown.hidden));
  shown_ = std::move(shown);
  std::vector<std::size_t> heads;
  for (std::size_t head = 0; head < survey->count(); ++head) {
    if (!lasso.empty() && !std::ranges::binary_search(lasso, head)) continue;
    const std::string name = survey->name(head);
    if (has_part(name, search) || has_part(shown_name(*survey, head), search) || has_part(label_of(notes, name), search))
      heads.push_back(head);
  }
  return view_.list(std::move(heads),
                    {.column = choices[kCorpusView.order], .lowest_first = choices[kCorpusView.lowest_first]});
}

void CorpusTable::draw(const CorpusScene& scene) {
  State& state = scene.frame.state;
  TableOrder order{.column = state[kCorpusView.order], .lowest_first = state[kCorpusView.lowest_first]};
  const TableEvents events =
      view_.draw(scene.frame,
                 {.chosen = scene.chosen(),
                  .about = [](std::size_t) { return "Click: selects the head. Double click: its page."; },
                  .empty = "No head has this name or label."},
                 order);
  state.set(kCorpusView.order, order.column);
  state.set(kCorpusView.lowest_first, order.lowest_first);
  if (events.clicked) scene.choose(*events.clicked);
  if (events.opened) scene.open(*events.opened);
}

}  // namespace headlight::app
