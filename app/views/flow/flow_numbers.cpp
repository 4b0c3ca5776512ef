#include "app/views/flow/flow_numbers.h"

#include <string_view>

#include <fmt/format.h>

#include "app/cells/provenance.h"
#include "app/widgets/position_header.h"
#include "app/widgets/tile_numbers.h"
#include "export/csv.h"
#include "export/float_text.h"

namespace headlight::app {
namespace {

std::string_view share_of(FlowMethod method) {
  if (method == FlowMethod::Routes) return kFlowShare;
  return method == FlowMethod::Rollout ? kRolloutShare : kMaximumFlow;
}

}  // namespace

std::string flow_csv(const Frame& frame, const FlowLayout& layout, std::uint32_t batch) {
  std::string text = fmt::format("layer,from,to,kind,share,heads{}\n", layout.baseline ? ",baseline,change" : "");
  for (const attribution::FlowEdge& edge : layout.edges) {
    std::string heads;
    for (const attribution::HeadShare& head : edge.heads) {
      heads += fmt::format("{}{}:{:.6g}", heads.empty() ? "" : " ", head.head, head.share);
    }
    text += fmt::format("{},{},{},{},{},{}", edge.layer, edge.from, edge.to, edge.is_residual ? "residual" : "attention",
                        exporting::table_number(edge.share), heads);
    if (const auto before = layout.baseline_share(edge))
      text += fmt::format(",{},{}", exporting::table_number(*before), exporting::table_number(edge.share - *before));
    text += '\n';
  }
  text += "token,text\n";
  for (const auto& [token, column] : layout.columns) {
    text += fmt::format("{},{}\n", token, exporting::csv_field(predicted_token_text(frame.result, batch, token)));
  }
  return text;
}

NumberRef edge_number(const FlowChoices& flow, const FlowLayout& layout, const attribution::FlowEdge& edge,
                      std::uint32_t batch, float threshold) {
  NumberRef number{.of = std::string(share_of(flow.method)),
                   .block = encoder_block(edge.layer),
                   .batch = batch,
                   .head = edge.heads.empty() ? 0 : edge.heads.front().head,
                   .row = edge.to,
                   .column = edge.from,
                   .value = edge.share,
                   .notes = {{"edge", edge.is_residual ? "the residual stream" : "attention"}}};
  std::string heads;
  for (const attribution::HeadShare& head : edge.heads) {
    heads += fmt::format("{}head {}: {:.6g}", heads.empty() ? "" : ", ", head.head, head.share);
  }
  if (!heads.empty()) number.notes.emplace_back("sum of", heads);
  const bool is_route = flow.method == FlowMethod::Routes;
  number.notes.emplace_back(is_route ? "threshold" : "residual stream's weight",
                            fmt::format("{:.3g}", is_route ? threshold : flow.residual_weight));
  add_baseline(number, {.now = edge.share, .baseline = layout.baseline_share(edge)});
  return number;
}

}  // namespace headlight::app
