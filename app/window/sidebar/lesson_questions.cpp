#include "app/window/sidebar/lesson_questions.h"

#include <charconv>
#include <cmath>
#include <numeric>
#include <system_error>

namespace headlight::app {
namespace {

using attention::Stage;
using nlohmann::json;

constexpr const char* kRight = "\u2713";
constexpr float kAnswerWidth = 96.0F, kFieldWidth = 72.0F;

/// Draws a line of text in a box that can be clicked or dragged, as high as the text; `mark` is drawn before it. Returns
/// whether it was clicked.
bool draw_option(const Question& question, std::size_t option, bool is_chosen, const std::function<void(glm::vec2)>& mark,
                 const std::string& name, const char* tip) {
  constexpr float kIndent = 26.0F;
  Frame& frame = question.frame;
  ImGui::PushID(static_cast<int>(option));
  const glm::vec2 from = cursor_position();
  const float width = width_left();
  // The height is that of the text, which is laid out first and drawn above the ground.
  ImDrawList* list = ImGui::GetWindowDrawList();
  list->ChannelsSplit(2);
  list->ChannelsSetCurrent(1);
  ImGui::SetCursorScreenPos(from + glm::vec2(kIndent, 3.0F));
  draw_rich_text(frame, question.subject().choices[option], ImGui::GetFont(), frame.ui.theme().text);
  const float height = ImGui::GetCursorScreenPos().y - from.y;
  mark(from + glm::vec2(12.0F));
  list->ChannelsSetCurrent(0);
  ImGui::SetCursorScreenPos(from);
  const bool is_clicked = ImGui::Selectable("##option", is_chosen, 0, {width, height});
  mark_last_item(frame, name, tip);
  list->ChannelsMerge();
  ImGui::PopID();
  return is_clicked;
}

void draw_choices(const Question& question) {
  const shell::Theme& theme = question.frame.ui.theme();
  std::optional<std::size_t>& chosen = question.draft.chosen;
  for (const std::size_t option : shuffled(question.subject().choices.size(), question.player.seed())) {
    const bool is_chosen = chosen == option;
    const auto ring = [&](glm::vec2 at) {
      ImDrawList* list = ImGui::GetWindowDrawList();
      list->AddCircle(at, 6.0F, theme.text_dim, 0, 1.5F);
      if (is_chosen) list->AddCircleFilled(at, 3.5F, theme.accent);
    };
    const std::string name = fmt::format("{}.{}", question.mark("choice"), option);
    if (draw_option(question, option, is_chosen, ring, name, question.words["choice_tip"])) chosen = option;
  }
  if (question.draw_check(chosen.has_value())) question.answer(*chosen);
}

void draw_number_field(const Question& question) {
  std::string& typed = question.draft.text;
  question.write_note(question.subject().label);
  const bool is_confirmed =
      question.frame.ui.text_field(fmt::format("##number{}", question.number).c_str(), typed,
                                   {.width = kAnswerWidth, .hint = "0.00", .enter_confirms = true, .limit = 32});
  mark_last_item(question.frame, question.mark("number"), question.words["number_tip"]);
  ImGui::SameLine();
  const bool is_checked = question.draw_check();
  if (!is_confirmed && !is_checked) return;
  if (const std::optional<double> value = typed_number(typed)) question.answer(*value);
}

/// Moves the element at `from` to `to`, and those between by one.
void move_element(std::vector<std::size_t>& order, std::size_t from, std::size_t to) {
  const std::size_t element = order[from];
  order.erase(order.begin() + static_cast<std::ptrdiff_t>(from));
  order.insert(order.begin() + static_cast<std::ptrdiff_t>(to), element);
}

void draw_order(const Question& question) {
  Frame& frame = question.frame;
  std::vector<std::size_t>& order = question.draft.order;
  if (order.empty()) {
    order = shuffled(question.subject().choices.size(), question.player.seed());
    if (std::ranges::is_sorted(order)) std::rotate(order.begin(), order.begin() + 1, order.end());
  }
  question.write_note(question.words["order"]);
  std::vector<chart::Rect> rows;
  std::optional<std::size_t> held;
  std::optional<std::pair<std::size_t, std::size_t>> move;
  for (std::size_t place = 0; place < order.size(); ++place) {
    const std::string number = std::to_string(place + 1);
    const auto write_number = [&](glm::vec2 at) {
      put_text(frame.ui.fonts().small, at - glm::vec2(7.0F, 8.0F), frame.ui.theme().text_dim, number);
    };
    const std::string name = fmt::format("{}.{}", question.mark("order"), order[place]);
    draw_option(question, order[place], false, write_number, name, question.words["order_tip"]);
    rows.push_back(last_item_rect());
    if (ImGui::IsItemActive()) held = place;
    const auto is_pressed = [&](shell::Key key) {
      return frame.ui.keyboard().is_at_last() && frame.ui.is_pressed(key, shell::kAlt);
    };
    if (is_pressed(shell::Key::Up) && place > 0) move = {place, place - 1};
    if (is_pressed(shell::Key::Down) && place + 1 < order.size()) move = {place, place + 1};
  }
  // A held line takes the place of those whose middles the pointer has passed.
  const float y = pointer_position().y;
  for (std::size_t place = 0; held && place < rows.size(); ++place) {
    const float middle = rows[place].center().y;
    if (place > *held && y >= middle) move = {*held, place};
    if (place < *held && y <= middle && (!move || move->second > *held)) move = {*held, place};
  }
  if (move) {
    move_element(order, move->first, move->second);
    frame.ui.request_redraw(2);
  }
  if (question.draw_check()) question.answer(order);
}

/// Scrolls to what was drawn last, the first time: it may be below what is shown.
void scroll_once(QuestionDraft& draft) {
  if (!std::exchange(draft.has_scrolled, true)) ImGui::SetScrollHereY(1.0F);
}

void draw_explanation(const Question& question) {
  constexpr std::size_t kLetters = 20;
  Frame& frame = question.frame;
  QuestionDraft& draft = question.draft;
  draw_rich_text(frame, question.subject().label, ImGui::GetFont(), frame.ui.theme().text);
  frame.ui.text_field(
      fmt::format("##explain{}", question.number).c_str(), draft.text,
      {.height = shell::text_field_height(4.0F), .most_height = shell::text_field_height(9.0F), .limit = 4'000});
  mark_last_item(frame, question.mark("explain"), question.words["explain_tip"]);
  const auto letters = static_cast<std::size_t>(
      std::ranges::count_if(draft.text, [](char byte) { return byte != ' ' && (byte & 0xC0) != 0x80; }));  // not bytes
  if (!draft.is_compared) {
    const bool is_long = letters >= kLetters;
    if (!is_long) question.write_note(fmt::format(fmt::runtime(question.words["more"]), kLetters));
    ImGui::BeginDisabled(!is_long);
    draft.is_compared = draw_button(frame, question.mark("compare"), question.words["compare"], question.words["check_tip"]);
    ImGui::EndDisabled();
    return;
  }
  question.write_note(question.words["mine"]);
  for (const std::string& paragraph : question.subject().answer) {
    draw_rich_text(frame, paragraph, ImGui::GetFont(), frame.ui.theme().text);
  }
  const std::array labels = {question.words["had_it"], question.words["partly"], question.words["not_yet"]};
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (i > 0) ImGui::SameLine();
    if (draw_button(frame, fmt::format("{}.{}", question.mark("had"), i), labels.at(i), question.words["mine"])) {
      question.answer({{"text", draft.text}, {"mark", i}});
    }
  }
  scroll_once(draft);
}

/// Writes four digits; those of large numbers are whole ones, without an exponent.
std::string text_of_number(double value) {
  return std::abs(value) < 10'000.0 ? fmt::format("{:.4g}", value) : fmt::format("{:.0f}", value);
}

/// Writes rows of a stage's matrix that a row is computed from, each in as many lines as the panel's width takes.
void write_source(const Question& question, Stage stage, std::uint32_t first, std::uint32_t most) {
  constexpr std::uint32_t kMost = 8;
  Frame& frame = question.frame;
  const Selection& selection = frame.state.selection;
  const auto shape = frame.result.shapes.find(selection.block);
  const auto extent = shape == frame.result.shapes.end() ? std::nullopt : shape->second.extent(stage);
  if (!extent || first >= extent->rows) return;
  const TileQuery query{.quantity = stage,
                        .block = selection.block,
                        .batch = selection.batch,
                        .head = question.subject().head.value_or(selection.head),
                        .row = first,
                        .rows = std::min({most, extent->rows - first, kMost}),
                        .columns = std::min(extent->columns, kMost)};
  const EngineTile* tile = frame.ask(query);
  if (!tile || tile->tile->values.size() != std::size_t{query.rows} * query.columns) return;
  const std::string name(quantity(stage).symbol);
  const float letter = text_width(frame.ui.fonts().mono_small, "0");
  const auto letters = static_cast<std::uint32_t>(std::max(width_left() / letter, 0.0F));
  const auto before = static_cast<std::uint32_t>(name.size() + 3);
  const std::uint32_t in_line = std::max((std::max(letters, before) - before) / 8, 1U);
  std::string text;
  for (std::uint32_t row = 0; row < query.rows; ++row) {
    text += fmt::format("{}{} {:<2}", row > 0 ? "\n" : "", name, first + row);
    for (std::uint32_t column = 0; column < query.columns; ++column) {
      const float value = tile->tile->values[std::size_t{row} * query.columns + column];
      if (column > 0 && column % in_line == 0) text += fmt::format("\n{:{}}", "", before);
      text += std::isinf(value) ? fmt::format(" {:>7}", question.words["masked"]) : fmt::format(" {:>7.4g}", value);
    }
  }
  write_text(frame.ui.fonts().mono_small, frame.ui.theme().text_dim, text);
}

/// Writes what the row is computed from.
void write_sources(const Question& question) {
  constexpr std::uint32_t kAll = 0xffff;
  const std::uint32_t row = question.subject().row.value_or(0);
  const QuantityId of = question.subject().quantity;
  if (of == QuantityId(Stage::Scores) || of == QuantityId(Stage::Scaled)) {
    write_source(question, Stage::Q, row, 1);
    write_source(question, Stage::K, 0, kAll);
  } else if (of == QuantityId(Stage::Weights)) {
    write_source(question, Stage::Masked, row, 1);
  } else if (of == QuantityId(Stage::Heads)) {
    write_source(question, Stage::Weights, row, 1);
    write_source(question, Stage::V, 0, kAll);
  }
}

void write_right(const Question& question, const std::string& text) {
  Frame& frame = question.frame;
  draw_rich_text(frame, fmt::format("{} {}", kRight, text), frame.ui.fonts().strong, frame.ui.theme().accent);
}

void write_right_row(const Question& question) {
  std::string text;
  for (const json& number : question.standing().observed.wanted) text += text_of_number(number.get<double>()) + "  ";
  write_right(question, fmt::format("{}: {}", quantity(question.subject().quantity).title, text));
}

/// Is it the weight of a key that the row may not see?
bool is_masked(const Question& question, const json& wanted) {
  return question.subject().quantity == QuantityId(Stage::Weights) && wanted == 0.0;
}

/// Draws a field for each number of a row, but for weights of masked keys. Those that were right stay; a later row takes the
/// place of the earlier one's fields once that is right.
void draw_row_by_hand(const Question& question) {
  Frame& frame = question.frame;
  const shell::Theme& theme = frame.ui.theme();
  const auto standings = question.player.standings();
  for (std::size_t i = 0; i < question.number; ++i) {
    const bool is_row = question.player.card().done[i].subject.observation == question.subject().observation;
    if (is_row && !standings[i].observed.is_met) return;
  }
  if (question.standing().observed.is_met) return write_right_row(question);
  const Quantity& of = quantity(question.subject().quantity);
  draw_rich_text(
      frame, fmt::format("**{}**, {}", of.title, fmt::format(fmt::runtime(question.words["row"]), *question.subject().row)),
      ImGui::GetFont(), theme.text);
  const json& wanted = question.standing().observed.wanted;
  if (!wanted.is_array()) return question.write_note(question.words["computing"]);
  write_sources(question);
  std::vector<std::string>& fields = question.draft.fields;
  fields.resize(wanted.size());
  const json& given = question.standing().answer;
  frame.ui.ensure_glyphs("\u2713\u2717");
  constexpr float kGap = 8.0F;
  const glm::vec2 at = cursor_position();
  const auto in_line = static_cast<std::size_t>(std::max((width_left() + kGap) / (kFieldWidth + kGap), 1.0F));
  const float name = font_size(frame.ui.fonts().small) + 2.0F, height = name + ImGui::GetFrameHeight() + kGap;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const bool was_answered = given.is_array() && i < given.size() && !given[i].is_null();
    const bool is_right = was_answered && are_near(given[i], wanted[i], question.condition().within);
    const glm::vec2 corner = at + glm::vec2(i % in_line, i / in_line) * glm::vec2(kFieldWidth + kGap, height);
    put_text(frame.ui.fonts().small, corner,
             is_right       ? theme.accent
             : was_answered ? theme.warning
                            : theme.text_dim,
             fmt::format("{}{}", i,
                         is_right       ? " \u2713"
                         : was_answered ? " \u2717"
                                        : ""));
    ImGui::SetCursorScreenPos(corner + glm::vec2(0.0F, name));
    if (is_masked(question, wanted[i])) {
      write_text(frame.ui.fonts().small, theme.text_dim, question.words["masked"]);
      continue;
    }
    ImGui::BeginDisabled(is_right);
    frame.ui.text_field(fmt::format("##row{}.{}", question.number, i).c_str(), fields[i],
                        {.width = kFieldWidth, .hint = "0.00", .limit = 32});
    mark_last_item(frame, fmt::format("{}.{}", question.mark("row"), i), question.words["row_tip"]);
    ImGui::EndDisabled();
  }
  if (!question.draw_check()) return;
  json answer = json::array();
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const std::optional<double> value = is_masked(question, wanted[i]) ? std::optional(0.0) : typed_number(fields[i]);
    answer.push_back(value ? json(*value) : json());
  }
  question.answer(std::move(answer));
}

void draw_nothing(const Question& /*question*/) {}

void write_right_choice(const Question& question) {
  const json& right = question.standing().observed.wanted;
  if (right.is_number_unsigned()) write_right(question, question.subject().choices.at(right.get<std::size_t>()));
}

void write_right_number(const Question& question) {
  const json& right = question.standing().observed.wanted;
  if (right.is_number()) write_right(question, text_of_number(right.get<double>()));
}

void write_right_cell(const Question& question) {
  const json& right = question.standing().observed.wanted;
  if (!right.is_array() || right.size() != 2) return;
  write_right(question, fmt::format(fmt::runtime(question.words["cell"]), right[0].dump(), right[1].dump()));
}

void write_right_order(const Question& question) {
  for (std::size_t i = 0; i < question.subject().choices.size(); ++i) {
    write_right(question, fmt::format("{}. {}", i + 1, question.subject().choices[i]));
  }
}

void write_compared(const Question& question) {
  for (const std::string& paragraph : question.subject().answer) {
    draw_rich_text(question.frame, paragraph, ImGui::GetFont(), question.frame.ui.theme().text);
  }
}

/// How a kind of question is drawn: by its name in files, before and after the card is done.
struct QuestionKind {
  std::string_view name;
  void (*draw)(const Question& question);
  void (*draw_done)(const Question& question);
};

constexpr std::array<QuestionKind, 8> kQuestionKinds = {{{"choice", draw_choices, write_right_choice},
                                                         {"number", draw_number_field, write_right_number},
                                                         {"click", draw_nothing, write_right_cell},
                                                         {"order", draw_order, write_right_order},
                                                         {"explain", draw_explanation, write_compared},
                                                         {"draw", draw_map_to_paint, draw_map_to_paint},
                                                         {"arrows", draw_arrows, draw_arrows},
                                                         {"row_by_hand", draw_row_by_hand, write_right_row}}};

}  // namespace

bool Question::draw_check(bool is_enabled) const {
  ImGui::BeginDisabled(!is_enabled);
  const bool is_clicked =
      draw_button(frame, mark("check"), fmt::format("{}##{}", words["check"], number).c_str(), words["check_tip"]);
  ImGui::EndDisabled();
  return is_clicked;
}

void Question::write(const std::string& text, shell::Color color) const {
  frame.ui.ensure_glyphs(text);
  write_wrapped(frame.ui.fonts().small, color, text);
}

void draw_question(const Question& question) {
  const auto kind = std::ranges::find(kQuestionKinds, question.subject().observation->name, &QuestionKind::name);
  if (question.player.is_card_done()) {
    if (kind != kQuestionKinds.end()) kind->draw_done(question);
    return;
  }
  if (kind != kQuestionKinds.end()) kind->draw(question);
  if (!question.standing().is_answered_wrong() || question.condition().hint.empty()) return;
  draw_rich_text(question.frame, question.condition().hint, ImGui::GetFont(), question.frame.ui.theme().warning);
  question.frame.mark("lesson.hint", last_item_rect());
  scroll_once(question.draft);
}

std::optional<double> typed_number(std::string text) {
  std::ranges::replace(text, ',', '.');
  std::ranges::replace(text, '\n', ' ');
  const auto first = text.find_first_not_of(" +"), last = text.find_last_not_of(' ');
  if (first == std::string::npos) return std::nullopt;
  double value = 0.0;
  const auto [end, error] = std::from_chars(text.data() + first, text.data() + last + 1, value);
  const bool is_number = error == std::errc() && end == text.data() + last + 1 && std::isfinite(value);
  return is_number ? std::optional(value) : std::nullopt;
}

}  // namespace headlight::app
