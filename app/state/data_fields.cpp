#include "app/state/field.h"
#include "app/state/field_types.h"
#include "app/state/field_values.h"
#include "app/state/state_names.h"
#include "app/state/usage.h"

namespace headlight::app {
namespace {

template <auto... members>
auto in_corpus() {
  return at<&State::corpus, members...>();
}
template <auto member>
auto in_prompts() {
  return at<&State::prompts, member>();
}

NamedChoice metric_choice(const Member<evaluation::HeadMetric>& metric) {
  NamedChoice choice;
  for (std::size_t i = 0; i < evaluation::kHeadMetrics; ++i)
    choice.names.push_back(evaluation::metric_name(static_cast<evaluation::HeadMetric>(i)));
  choice.get = [metric](const State& state) { return static_cast<std::size_t>(metric(state)); };
  choice.set = [metric](State& state, std::size_t i) { metric(state) = static_cast<evaluation::HeadMetric>(i); };
  return choice;
}

/// What the view of a survey shows.
void add_corpus(std::vector<Field>& fields) {
  const auto text = [&](const char* key, const char* label, const Member<std::string>& at) {
    fields.push_back(plain_field("corpus", key, label, at));
  };
  text("folder", "Open survey", in_corpus<&CorpusChoices::folder>());
  fields.push_back(choice_field("corpus", "mode", "Choose what is shown of the survey", in_corpus<&CorpusChoices::mode>(),
                                kCorpusModes,
                                {.name = "--corpus",
                                 .help = "the view Corpus: dots by two numbers, by layer, a table, or one head's page",
                                 .tells_default = false}));
  text("x", "Choose what places heads", in_corpus<&CorpusChoices::x>());
  text("y", "Choose what places heads", in_corpus<&CorpusChoices::y>());
  text("color", "Choose what colours heads", in_corpus<&CorpusChoices::color>());
  text("order", "Order heads", in_corpus<&CorpusChoices::order>());
  fields.push_back(switch_field("corpus", "lowest_first", "Order heads", in_corpus<&CorpusChoices::lowest_first>()));
  text("metric", "Choose examples", in_corpus<&CorpusChoices::metric>());
  fields.push_back(number_field("corpus", "decile", "Choose examples", in_corpus<&CorpusChoices::decile>(), 0U, kDeciles));
  constexpr auto kChosen = &CorpusChoices::chosen;
  const auto kind = in_corpus<kChosen, &HeadRef::block, &model::BlockRef::kind>();
  const auto layer = in_corpus<kChosen, &HeadRef::block, &model::BlockRef::layer, &LayerIndex::value>();
  fields.push_back(continuous(choice_field("corpus", "kind", "Select head", kind, kKinds)));
  fields.push_back(continuous(number_field("corpus", "layer", "Select head", layer, 0U, kLastIndex)));
  fields.push_back(
      continuous(number_field("corpus", "head", "Select head", in_corpus<kChosen, &HeadRef::head>(), 0U, kLastIndex)));
}

/// What is drawn over the steps of a training.
void add_checkpoints(std::vector<Field>& fields) {
  fields.push_back(choice_field("checkpoints", "metric", "Choose curves",
                                metric_choice(at<&State::checkpoints, &CheckpointChoices::metric>()),
                                {.name = "--curves",
                                 .help = "the view Checkpoints: the metric of every head that is drawn over the steps",
                                 .tells_default = false}));
  fields.push_back(switch_field("checkpoints", "log_axis", "Choose the axis of steps",
                                at<&State::checkpoints, &CheckpointChoices::is_log>(),
                                {.name = "--log-steps", .help = "the view Checkpoints: a log axis of steps"}));
}

/// What is asked of a set of prompts.
void add_prompts(std::vector<Field>& fields) {
  Field set = plain_field("prompts", "set", "Choose prompts", in_prompts<&PromptChoices::set>());
  set.flag = {.name = "--prompts",
              .value_name = "SET|FILE",
              .help =
                  "the view Prompts: a set that comes along (ioi, greater-than, induction, docstring, subject-verb, "
                  "color), or a .jsonl file of prompts",
              .parse = [](const std::string& flag, const std::string& text) -> StateEdit {
                const std::vector<std::string> names = {"ioi",       "greater-than", "induction",
                                                        "docstring", "subject-verb", "color"};
                std::error_code ignored;
                const bool is_lines = text.ends_with(".jsonl") || text.ends_with(".gz");
                if (!is_lines && std::filesystem::is_regular_file(text, ignored))
                  throw UsageError("{}: {} doesn't end in .jsonl: a file of prompts has a JSON object a line", flag, text);
                if (!is_lines) parse_choice(flag, text, names);
                return [text](State& state) { state.prompts.set = text; };
              }};
  fields.push_back(set);
  fields.push_back(choice_field(
      "prompts", "experiment", "Choose what is asked of prompts", in_prompts<&PromptChoices::experiment>(),
      kPromptExperiments,
      {.name = "--experiment", .help = "the view Prompts: what is asked of every prompt", .tells_default = false}));
  fields.push_back(choice_field("prompts", "lens", "Choose what layers say of answers", in_prompts<&PromptChoices::lens>(),
                                kLensMeasures));
  fields.push_back(
      choice_field("prompts", "metric", "Choose metric of prompts", metric_choice(in_prompts<&PromptChoices::metric>())));
  fields.push_back(number_field("prompts", "layer", "Choose cell", in_prompts<&PromptChoices::layer>(), 0U, kLastLayer));
  fields.push_back(plain_field("prompts", "position", "Choose cell", in_prompts<&PromptChoices::position>()));
  fields.push_back(choice_field("prompts", "order", "Order prompts", in_prompts<&PromptChoices::order>(), kPromptOrders));
}

}  // namespace

void add_data_fields(std::vector<Field>& fields) {
  for (const auto add : {add_corpus, add_checkpoints, add_prompts}) add(fields);
}

}  // namespace headlight::app
