#include "app/engine/analyses/retrieval.h"

#include "core/error.h"

namespace headlight::app {

Task<RetrievalFound> analyse(RetrievalQuestion question, AnalysisSubject subject) {
  if (!subject.model) throw Error("a needle in a haystack takes a language model");
  const inference::LanguageModel& model = *subject.model;
  const model::TokenBatch& tokens = subject.input->source;
  if (tokens.ids.size() < std::size_t{question.batch + 1} * tokens.length) throw Error("the tokens have no ids");
  const attention::KeyRange real = real_tokens(tokens, question.batch, tokens.length);
  const std::span<const std::uint32_t> line =
      std::span(tokens.ids).subspan(std::size_t{question.batch} * tokens.length + real.begin, real.end - real.begin);
  std::vector<evaluation::NeedleText> texts = evaluation::needle_texts(model, line, question.grid);
  RetrievalFound found;
  found.all_texts = texts.size();
  found.heads = model.description.heads;
  for (evaluation::NeedleText& text : texts) {
    evaluation::NeedleFound one{.text = std::move(text)};
    const auto pass =
        std::make_shared<const inference::PassInputs>(evaluation::needle_pass(model, subject.network, one.text));
    for (std::uint32_t layer = 0; layer < model.description.layers; ++layer) {
      Reads reads;
      reads.own_pass = pass;
      reads.tiles = evaluation::needle_rows(model, one.text, layer);
      if (layer == 0) reads.logits = evaluation::needle_states(model, one.text);
      const Answers read = co_await std::move(reads);
      if (layer == 0) one.add_logits(read.logits);
      for (const attention::Tile& tile : read.tiles) one.add_head(tile.values);
    }
    found.texts.push_back(std::move(one));
    co_yield found;
  }
  co_return found;
}

}  // namespace headlight::app
