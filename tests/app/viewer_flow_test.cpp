// The Flow tab, in the whole window.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "app/state/flow_settings.h"
#include "app/text_on_screen.h"
#include "app/ui_driver.h"
#include "app/views/flow/flow_graph_panel.h"
#include "app/widgets/prediction_bars.h"
#include "inference/reference_run.h"

namespace viewer_flow_test {

using namespace headlight;
using namespace headlight::app;
using shell::kControl;
using shell::Key;

namespace {

/// An edge of attention on screen that is no token's to itself: its layer, from and to.
std::optional<std::array<std::uint32_t, 3>> some_edge(UiDriver& ui) {
  for (std::uint32_t layer = 0; layer < 2; ++layer) {
    for (std::uint32_t to = 0; to < 16; ++to) {
      for (std::uint32_t from = 0; from < to; ++from) {
        if (ui.sees(fmt::format("flow.edge.{}.{}.{}", layer, from, to))) return {{layer, from, to}};
      }
    }
  }
  return std::nullopt;
}

/// The logits of a state, written out in double precision: the stack's final norm, then a dot product with each token's row.
std::vector<double> logits_of(const model::Layers& layers, std::span<const double> state) {
  const model::Norm& norm = *layers.encoder_norm;
  const auto size = static_cast<double>(state.size());
  const bool has_mean = norm.kind == model::Norm::Kind::Layer;
  const double mean = has_mean ? std::accumulate(state.begin(), state.end(), 0.0) / size : 0.0;
  double squares = 0.0;
  for (const double value : state) squares += (value - mean) * (value - mean);
  const double deviation = std::sqrt(squares / size + double{norm.epsilon});
  const Tensor gains = norm.weight.tensor(), unembedding = layers.unembedding->linear.weight.tensor();
  const Tensor biases = norm.bias.is_empty() ? Tensor() : norm.bias.tensor();
  std::vector<double> normed;
  for (std::size_t i = 0; i < state.size(); ++i) {
    const double bias = biases.values.empty() ? 0.0 : double{biases.values[i]};
    normed.push_back((state[i] - mean) / deviation * double{gains.values[i]} + bias);
  }
  std::vector<double> logits(unembedding.axis(0));
  for (std::size_t id = 0; id < logits.size(); ++id) {
    for (std::size_t i = 0; i < normed.size(); ++i) {
      logits[id] += normed[i] * double{unembedding.values[id * normed.size() + i]};
    }
  }
  return logits;
}

/// Returns the newest frame's text between two words, without spaces; empty: the frame doesn't have them.
std::string said_between(UiDriver& ui, std::string_view begin, std::string_view end) {
  ui.settle();  // of a frame that is drawn only the changed rectangles are left
  const std::string text = letters_on_screen();
  const std::size_t at = text.find(begin);
  if (at == std::string::npos) return {};
  const std::string behind = text.substr(at + begin.size());
  return end.empty() ? behind : behind.substr(0, behind.find(end));
}

/// "“cat”+1.204,“dog”+0.311" against the largest of `changes`; signs are those of the list. Returns the largest difference,
/// of numbers that are written with three decimals; infinity where a token is another one.
double compare_list(UiDriver& ui, std::string said, const std::vector<double>& changes, double sign) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr std::size_t kListed = 4;
  std::vector<std::uint32_t> ids(changes.size());
  std::iota(ids.begin(), ids.end(), 0U);
  std::ranges::stable_sort(ids, [&](auto a, auto b) { return sign * changes[a] > sign * changes[b]; });
  double worst = 0.0;
  for (std::size_t i = 0; i < kListed; ++i) {
    std::string label = fmt::format("\u201C{}\u201D", candidate_label(ui.result(), ids[i]));
    std::erase(label, ' ');
    if (!said.starts_with(label)) return kInfinity;
    said.erase(0, label.size());
    const bool is_minus = said.starts_with("\u2212");
    if (is_minus != (sign < 0.0)) return kInfinity;
    said.erase(0, is_minus ? std::string_view("\u2212").size() : 1);
    char* end = nullptr;
    const double number = std::strtod(said.c_str(), &end);
    if (end == said.c_str()) return kInfinity;
    said.erase(0, static_cast<std::size_t>(end - said.c_str()));
    if (said.starts_with(",")) said.erase(0, 1);
    const double off = std::abs((is_minus ? -number : number) - changes[ids[i]]);
    worst = std::isnan(off) ? kInfinity : std::max(worst, off);
  }
  return worst;
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("an automatic threshold is the largest of two digits that leaves enough edges") {
    const auto of_shares = [](std::vector<float> shares, float least) {
      return automatic_threshold(least, [&](float threshold) {
        return static_cast<std::size_t>(std::ranges::count_if(shares, [&](float share) { return share >= threshold; }));
      });
    };
    std::vector<float> shares(kAutomaticEdges - 1, 0.4F);
    shares.push_back(0.0637F);
    shares.resize(200, 0.02F);
    CHECK(of_shares(shares, 0.001F) == 0.063F);
    CHECK(of_shares(shares, 0.04F) == 0.063F);
    shares[kAutomaticEdges - 1] = 0.02F;
    CHECK(of_shares(shares, 0.001F) == 0.02F);
    CHECK(of_shares({0.3F, 0.2F}, 0.005F) == 0.005F);  // fewer than enough: all that was looked for
    CHECK(of_shares({}, 0.001F) == 0.001F);
    CHECK(of_shares(std::vector(100, 0.9F), 0.001F) == kMaxFlowThreshold);
    CHECK(least_share(0.5F) == 40);
    CHECK(least_share(0.04F) == 40);
    CHECK(least_share(0.039F) == 20);
    CHECK(least_share(0.02F) == 20);
    CHECK(least_share(0.0051F) == 5);
    CHECK(least_share(kMinFlowThreshold) == 1);
  }
}

TEST_SUITE("gpu") {
  TEST_CASE("every node tells which tokens its layer promoted and suppressed, and by how much") {
    for (const char* model : {"gpt2", "llama"}) {
      CAPTURE(model);
      State state = with_text("the cat sat on the mat", "flow");
      state.set(kFlowView.threshold, kMinFlowThreshold);
      UiDriver ui(state, open_gpu_runner);
      show_golden_model(ui, model);
      REQUIRE(ui.result().network);
      const model::Layers& layers = *ui.result().network->layers;
      const auto sees_before = [](model::BlockRef, std::uint32_t, std::uint32_t, std::uint32_t query, std::uint32_t key) {
        return key <= query;
      };
      const model::reference::Run run = model::reference::run(*ui.result().network, *ui.result().input, sees_before,
                                                              -std::numeric_limits<double>::infinity());
      const auto logits_at = [&](std::uint32_t layer, std::uint32_t token) {
        const model::reference::Array& states = run.encoder_hidden.at(layer);
        const std::size_t width = states.shape.back();
        return logits_of(layers, std::span(states.values).subspan(token * width, width));
      };
      const auto changes_at = [&](std::uint32_t layer, std::uint32_t token) {
        std::vector<double> changes = logits_at(layer, token);
        const std::vector<double> before = logits_at(layer - 1, token);
        for (std::size_t id = 0; id < changes.size(); ++id) changes[id] -= before[id];
        return changes;
      };
      // The keyboard chooses the last token's state after the last layer, in the line above the graph.
      ui.press(Key::Down);
      REQUIRE(ui.sees("flow.chosen_text"));
      const auto last = static_cast<std::uint32_t>(run.encoder_hidden.size()) - 1;
      const std::vector<double> changes_of_last = changes_at(last, ui.result().input->source.length - 1);
      CHECK(compare_list(ui, said_between(ui, "Promoted:", ".Suppressed:"), changes_of_last, 1.0) < 6e-4);
      CHECK(compare_list(ui, said_between(ui, "Suppressed:", {}), changes_of_last, -1.0) < 6e-4);
      ui.press(Key::Escape);
      std::set<std::string> said;
      std::set<std::string> nodes;
      for (int start = 0; start < 3; ++start) {  // of the last tokens
        for (std::uint32_t layer = 1; layer < run.encoder_hidden.size(); ++layer) {
          for (std::uint32_t token = 0; token < ui.result().input->source.length; ++token) {
            const std::string name = fmt::format("flow.node.{}.{}", layer, token);
            if (!ui.sees(name) || !nodes.insert(name).second) continue;
            CAPTURE(name);
            ui.move_to(name);
            const std::vector<double> changes = changes_at(layer, token);
            const std::string in_tooltip = said_between(ui, "layer'sMLPis", {});  // behind the line above the graph
            const std::size_t at = in_tooltip.find("Promoted:"), then = in_tooltip.find("Suppressed:");
            REQUIRE(at != std::string::npos);
            REQUIRE(then != std::string::npos);
            const std::string promoted = in_tooltip.substr(at + 9, then - at - 9), suppressed = in_tooltip.substr(then + 11);
            CAPTURE(promoted);
            CAPTURE(suppressed);
            const double up = compare_list(ui, promoted, changes, 1.0);
            const double down = compare_list(ui, suppressed, changes, -1.0);
            CHECK(up < 6e-4);    // half a unit of the last decimal, and what the device's float32 differs by
            CHECK(down < 6e-4);  // observed of either: 5.0e-4 at most, of ten nodes of gpt2 and nine of llama
            said.insert(promoted + suppressed);
          }
        }
        ui.click("flow.previous");
      }
      CHECK(nodes.size() >= 6);
      CHECK(said.size() == nodes.size());  // no node says another one's
    }
  }

  TEST_CASE("routes, rollout and flow are drawn; an edge opens its head at its cell") {
    UiDriver ui(with_text("the cat sat on the mat", "flow"));
    show_golden_model(ui, "gpt2");
    CHECK(ui.sees("flow.graph"));
    CHECK(ui.sees("flow.summary"));
    CHECK(ui.sees("flow.threshold"));
    CHECK_FALSE(ui.sees("flow.residual"));
    CHECK(ui.sees("flow.legend.residual stream"));
    int named = ui.sees("flow.legend.several heads") ? 1 : 0;
    for (std::uint32_t head = 0; head < ui.result().shapes.begin()->second.heads; ++head) {
      if (ui.sees(fmt::format("flow.legend.head {}", head))) ++named;
    }
    CHECK(named >= 2);
    CHECK(plain_text(ui.window().sentence()).starts_with("Beside its own residual stream, "));
    const std::uint32_t last = ui.result().input->source.length - 1;
    CHECK(ui.sees(fmt::format("flow.node.2.{}", last)));
    ui.move_to(fmt::format("flow.node.2.{}", last));  // its tooltip asks for predictions
    CHECK(ui.sees("flow.graph"));
    for (const FlowMethod method : {FlowMethod::Rollout, FlowMethod::MaximumFlow, FlowMethod::Routes}) {
      ui.wait(2.0);
      ui.click(fmt::format("flow.method.{}", static_cast<int>(method)));
      CHECK(ui.state()[kFlowView.method] == method);
      CHECK(ui.window().undo().undo_label() == "Choose what flows");
      CHECK(ui.sees("flow.graph"));
      CHECK(ui.sees("flow.residual") == (method != FlowMethod::Routes));
      CHECK(ui.sees("flow.legend.residual stream (assumed)") == (method != FlowMethod::Routes));
    }
    const auto edge = some_edge(ui);
    REQUIRE(edge);
    ui.click(fmt::format("flow.edge.{}.{}.{}", (*edge)[0], (*edge)[1], (*edge)[2]));
    CHECK(ui.state().view.tab == "head");
    REQUIRE(ui.state().view.pinned);
    CHECK(ui.sees("head.map"));
    ui.wait(2.0);
    ui.press(shell::Key::Left, shell::kAlt);
    CHECK(ui.state().view.tab == "flow");
  }

  TEST_CASE("an edge is of one head where that gives more than half of it, and is told of before a residual stream") {
    using attribution::FlowEdge;
    const FlowEdge one{.layer = 1, .from = 0, .to = 2, .share = 0.3, .heads = {{3, 0.2}, {1, 0.1}}};
    const FlowEdge even{.layer = 1, .from = 1, .to = 2, .share = 0.2, .heads = {{0, 0.1}, {2, 0.1}}};
    const FlowEdge stream{.layer = 1, .from = 2, .to = 2, .share = 0.5, .is_residual = true};
    CHECK(main_head(one) == 3);
    CHECK_FALSE(main_head(even));
    CHECK_FALSE(main_head(stream));
    const FlowLayout layout({stream, one, even}, 2, 2);
    CHECK(layout.edges.at(told_edge_into(layout, {.layer = 2, .token = 2}).value()).from == 0);
    CHECK(FlowLayout({stream}, 2, 2).edges.at(0).is_residual);
    CHECK(told_edge_into(FlowLayout({stream}, 2, 2), {.layer = 2, .token = 2}) == 0);
  }

  TEST_CASE("the threshold is the largest that leaves enough edges, until the user chooses one; a double click goes back") {
    UiDriver ui(with_text("the cat sat on the mat and looked at the dog", "flow"));
    show_golden_model(ui, "gpt2");
    const auto is_automatic = [] { return letters_on_screen().find("(auto)") != std::string::npos; };
    const auto edges_on_screen = [&] {
      std::size_t count = 0;
      const std::uint32_t tokens = ui.result().input->source.length;
      for (std::uint32_t layer = 0; layer < 2; ++layer) {
        for (std::uint32_t to = 0; to < tokens; ++to) {
          for (std::uint32_t from = 0; from <= to; ++from) {
            if (ui.sees(fmt::format("flow.edge.{}.{}.{}", layer, from, to))) ++count;
          }
        }
      }
      return count;
    };
    CHECK_FALSE(ui.state()[kFlowView.threshold]);
    CHECK(is_automatic());
    const std::size_t automatic = edges_on_screen();
    CHECK(automatic >= kAutomaticEdges);
    CHECK(automatic <= 60);
    ui.click_within("flow.threshold", 0.9F, 0.5F);
    REQUIRE(ui.state()[kFlowView.threshold]);
    CHECK(*ui.state()[kFlowView.threshold] > 0.2F);
    CHECK_FALSE(is_automatic());
    CHECK(edges_on_screen() < automatic);
    const std::optional<float> chosen = ui.state()[kFlowView.threshold];
    ui.fill_in("text.edit", "the dog sat on the mat and looked at the cat");
    CHECK(ui.state()[kFlowView.threshold] == chosen);
    ui.wait(5.0);
    const glm::vec2 place = ui.rect("flow.threshold").center();
    std::vector<shell::InputEvent> twice = shell::click_at(place);
    for (const shell::InputEvent& event : shell::click_at(place)) twice.push_back(event);
    ui.feed(twice);
    CHECK_FALSE(ui.state()[kFlowView.threshold]);
    CHECK(edges_on_screen() >= kAutomaticEdges);
    ui.wait(2.0);
    ui.press(shell::Key::Left, shell::kAlt);
    CHECK(ui.state()[kFlowView.threshold] == chosen);
    check_tips(ui);
  }

  TEST_CASE("arrow keys walk through the graph, Enter opens the strongest edge's head") {
    UiDriver ui(with_text("the cat sat on the mat", "flow"));
    show_golden_model(ui, "gpt2");
    CHECK_FALSE(ui.sees("flow.chosen"));
    const Selection before = ui.state().selection;
    ui.press(Key::Down);
    REQUIRE(ui.sees("flow.chosen"));
    const float top = ui.rect("flow.chosen").origin.y;
    ui.press(Key::Down);
    CHECK(ui.rect("flow.chosen").origin.y > top);
    CHECK(ui.sees("flow.chosen_text"));
    ui.press(Key::Up);
    CHECK(ui.rect("flow.chosen").origin.y == top);
    ui.press(Key::Left);
    CHECK(ui.rect("flow.chosen").origin.y == top);  // the last layer has one node
    CHECK(ui.state().selection.head == before.head);
    ui.press(Key::Enter);
    CHECK(ui.state().view.tab == "head");
    CHECK(ui.state().view.pinned);
  }

  TEST_CASE("where routes can't be followed rollout is shown and says why, and routes stay the choice for other models") {
    UiDriver ui(with_text("the cat", "flow"));
    show_golden_model(ui, "bert");
    CHECK(ui.state()[kFlowView.method] == FlowMethod::Routes);
    CHECK(ui.sees("flow.graph"));
    CHECK(ui.sees("flow.residual"));
    ui.draw_every_frame();
    ui.settle();
    CHECK(letters_on_screen().find("Routescan'tbefollowedhere:") != std::string::npos);
    show_golden_model(ui, "gpt2");
    CHECK_FALSE(ui.sees("flow.residual"));
    show_golden_model(ui, "bert");
    ui.click("flow.method.1");  // shown already; the click chooses it
    CHECK(ui.state()[kFlowView.method] == FlowMethod::Rollout);
    ui.draw_every_frame();
    ui.settle();
    CHECK(letters_on_screen().find("Routescan'tbefollowedhere:") == std::string::npos);
    show_golden_model(ui, "marian");
    CHECK(ui.sees("view.unavailable"));
    CHECK_FALSE(ui.sees("flow.graph"));
  }

  TEST_CASE("what is predicted stands above the graph, heads at their edges, and a token's attention beside its residual") {
    UiDriver ui(with_text("the cat sat on the mat", "flow"));
    show_golden_model(ui, "gpt2");
    ui.resize(2560, 1440);
    const std::uint32_t last = ui.result().input->source.length - 1;
    const chart::Rect top = ui.rect(fmt::format("flow.node.2.{}", last));
    REQUIRE(ui.sees("flow.prediction"));
    CHECK(ui.rect("flow.prediction").end().y <= top.origin.y);
    int named = 0, aside = 0;
    for (std::uint32_t layer = 0; layer < 2; ++layer) {
      for (std::uint32_t token = 0; token <= last; ++token) {
        for (std::uint32_t from = 0; from <= token; ++from)
          named += ui.sees(fmt::format("flow.head.{}.{}.{}", layer, from, token));
        const std::string edge = fmt::format("flow.edge.{}.{}.{}", layer, token, token);
        if (!ui.sees(edge)) continue;
        ++aside;
        CHECK(ui.rect(edge).center().x > ui.rect(fmt::format("flow.node.{}.{}", layer, token)).center().x + 4.0F);
      }
    }
    CHECK(named >= 2);
    CHECK(aside >= 1);
  }

  TEST_CASE("a small window scrolls the graph instead of leaving its region") {
    UiDriver ui(with_text("the cat sat on the mat and looked at the dog", "flow"));
    show_golden_model(ui, "gpt2");
    ui.resize(1024, 640);
    CHECK(ui.sees("flow.graph"));
    CHECK(ui.sees("flow.copy"));
  }

  TEST_CASE("a graph that is wider than its region begins at the predicted token, and stays where it is scrolled to") {
    State state = with_text("the cat sat on the mat and looked at the dog", "flow");
    state.set(kFlowView.method, FlowMethod::Rollout);
    state.set(kFlowView.threshold, kMinFlowThreshold);
    UiDriver ui(state);
    show_golden_model(ui, "gpt2");
    ui.resize(640, 640);
    const auto start = [&] { return fmt::format("flow.node.2.{}", ui.result().input->source.length - 1); };
    CHECK(ui.rect(start()).origin.x < 640.0F);
    CHECK(ui.rect("flow.graph").origin.x < 0.0F);
    const glm::vec2 inside(560.0F, ui.rect("flow.graph").center().y);
    for (int turn = 0; turn < 200; ++turn) {
      ui.feed({shell::MouseMove{inside}, shell::MouseWheel{.steps = {1.0F, 0.0F}}});
    }
    CHECK(ui.rect(start()).origin.x > ui.window().center().end().x);
  }
}

}  // namespace viewer_flow_test
