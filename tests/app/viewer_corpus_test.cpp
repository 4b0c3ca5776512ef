// The room of a survey: dots, table, a head's page, notes, texts in the window, and a survey that the window makes.
#include <fstream>
#include <thread>

#include <doctest/doctest.h>
#include <imgui.h>

#include "app/data/survey/survey_choices.h"
#include "app/state/corpus_settings.h"
#include "app/text_on_screen.h"
#include "app/ui_driver.h"
#include "support/temporary_directory.h"
#include "survey/written_survey.h"

namespace viewer_corpus_test {

using namespace headlight;
using namespace headlight::app;
using shell::kControl;
using shell::Key;

/// gpt2 with a survey of it in the view.
struct OpenSurvey {
  explicit OpenSurvey(const char* of = "gpt2", bool is_older = false) {
    test::write_small_survey(folder.path(), kGoldenModels + of);
    if (!is_older) test::write_attention(folder.path());
    show_golden_model(ui, "gpt2");
    ui.window().open_files({folder.path().string()});
    ui.settle();
  }

  /// Around the dots of some heads, as a hand would.
  void encircle(const std::vector<glm::vec2>& corners) {
    ui.feed({shell::MouseMove{corners.front()}, shell::MouseClick{}});
    for (const glm::vec2 corner : corners) ui.feed({shell::MouseMove{corner}});
    ui.feed({shell::MouseClick{.down = false}});
    ui.settle();
  }

  TemporaryDirectory folder;
  UiDriver ui;
};

/// Where the user's files for a while are, until the end of the scope.
struct CacheFolder {
  explicit CacheFolder(const std::string& path) {
    if (const char* before = std::getenv("XDG_CACHE_HOME")) old = before;
    setenv("XDG_CACHE_HOME", path.c_str(), 1);
  }
  ~CacheFolder() { old ? setenv("XDG_CACHE_HOME", old->c_str(), 1) : unsetenv("XDG_CACHE_HOME"); }
  std::optional<std::string> old;
};

/// Draws frames until it is so, a minute at most: it waits for other processes.
bool becomes(UiDriver& ui, const std::function<bool()>& is_so) {
  for (int moment = 0; moment < 1'200 && !is_so(); ++moment) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    ui.settle();
  }
  return is_so();
}

TEST_SUITE("gpu") {
  TEST_CASE("a dropped survey is shown, and a head that is clicked is selected in the whole window") {
    OpenSurvey of;
    CHECK(of.ui.state().view.tab == "corpus");
    CHECK(of.ui.state()[kCorpusView.folder] == of.folder.path().string());
    REQUIRE(of.ui.window().surveys().survey());
    CHECK(of.ui.sees("corpus.dots.3"));
    check_tips(of.ui);
    of.ui.click("corpus.dots.3");
    CHECK(of.ui.state().selection.block.layer.value == 1);
    CHECK(of.ui.state().selection.head == 1);
    of.ui.click("corpus.row.L0 H1");
    CHECK(of.ui.state().selection.block.layer.value == 0);
    of.ui.press(shell::Key::Down);
    CHECK(of.ui.state().selection.block.layer.value == 1);
    CHECK(of.ui.state().selection.head == 0);
    of.ui.move_to("corpus.dots.0");
    of.ui.wait(2.0);
    of.ui.settle();
    CHECK(of.ui.sees("tooltip"));
  }

  TEST_CASE("dots that are encircled are listed alone, until a click beside them") {
    OpenSurvey of;
    const glm::vec2 first = of.ui.rect("corpus.dots.0").origin;
    of.encircle({first + glm::vec2(-9.0F, -9.0F), first + glm::vec2(11.0F, -9.0F), first + glm::vec2(11.0F, 11.0F),
                 first + glm::vec2(-9.0F, 11.0F)});
    CHECK(of.ui.sees("corpus.row.L0 H0"));
    CHECK_FALSE(of.ui.sees("corpus.row.L0 H1"));
    CHECK_FALSE(of.ui.sees("corpus.row.L1 H1"));
    of.ui.click("corpus.free");
    CHECK(of.ui.sees("corpus.row.L1 H1"));
  }

  TEST_CASE("by layer and as a table, sorted by what is clicked; both pictures are figures") {
    OpenSurvey of;
    of.ui.click("corpus.mode.2");
    of.ui.click("corpus.order.induction");
    CHECK(of.ui.state()[kCorpusView.order] == "induction");
    CHECK(of.ui.rect("corpus.row.L1 H1").origin.y < of.ui.rect("corpus.row.L0 H0").origin.y);
    of.ui.click("corpus.order.induction");
    CHECK(of.ui.rect("corpus.row.L1 H1").origin.y > of.ui.rect("corpus.row.L0 H0").origin.y);
    check_tips(of.ui);
    of.ui.click("corpus.copy");
    const std::string csv = ImGui::GetClipboardText();
    CHECK(csv.find("name,kind,layer,head,label,induction,self,first,") == 0);
    CHECK(csv.find("\nL1H1,encoder,1,1,,0.4,0.4,0.25,") != std::string::npos);
    for (const char* mode : {"corpus.mode.0", "corpus.mode.1"}) {
      of.ui.click(mode);
      const std::filesystem::path file = of.folder.path() / "heads.svg";
      of.ui.window().write_figure(file);
      const std::string svg = read_file(file);
      CHECK(svg.find(mode == std::string("corpus.mode.0") ? "Heads over a corpus" : "by layer") != std::string::npos);
      CHECK(svg.find(of.folder.path().string()) == std::string::npos);  // no path of this machine
    }
    CHECK(of.ui.window().describe().find("|L1H1|") != std::string::npos);
  }

  TEST_CASE("a head's page is found by name, and by the label that was given it") {
    OpenSurvey of;
    of.ui.click("corpus.search");
    of.ui.type("l1h0");
    of.ui.press(shell::Key::Enter);
    CHECK(of.ui.state()[kCorpusView.mode] == CorpusMode::Head);
    CHECK(of.ui.state().selection.block.layer.value == 1);
    CHECK(of.ui.state().selection.head == 0);
    CHECK(of.ui.sees("corpus.map"));
    CHECK(of.ui.count_pixels("corpus.map", of.ui.ui().theme().hatch_ground) > 20);  // no weight outside of one column
    CHECK_FALSE(of.ui.sees("section.survey"));                                      // the right panel would say it again
    CHECK(of.ui.sees("corpus.distances"));
    CHECK(of.ui.sees("corpus.pair.0"));
    check_tips(of.ui);
    of.ui.fill_in("corpus.label", "copies");
    of.ui.press(shell::Key::Right);
    CHECK(of.ui.state().selection.head == 1);
    of.ui.click("corpus.previous");
    CHECK(of.ui.state().selection.head == 0);
    of.ui.click("corpus.mode.2");
    CHECK(of.ui.sees("section.survey"));
    of.ui.fill_in("corpus.search", "COPI");
    CHECK(of.ui.sees("corpus.row.L1 H0"));
    CHECK_FALSE(of.ui.sees("corpus.row.L1 H1"));
    of.ui.wait(5.0);
    CHECK(becomes(of.ui, [&] { return std::filesystem::exists(of.folder.path() / "notes.json"); }));
    CHECK(read_notes(of.folder.path()).at("L1H0").label == "copies");
  }

  TEST_CASE("a click on an example opens its tokens at the cell, as one step of the history") {
    OpenSurvey of;
    of.ui.click("corpus.mode.3");
    of.ui.click("corpus.decile.10");
    CHECK(of.ui.state()[kCorpusView.decile] == 10);
    REQUIRE(of.ui.sees("corpus.example.0"));
    CHECK_FALSE(of.ui.sees("corpus.example.1"));
    const State before = of.ui.state();
    of.ui.click("corpus.example.0");
    CHECK(of.ui.state().text() == "tenth 10");
    CHECK(of.ui.state().model().ids == std::vector<std::vector<std::uint32_t>>{{4, 5}});
    REQUIRE(of.ui.state().view.pinned);
    CHECK(of.ui.state().view.pinned->query == 1);
    CHECK(of.ui.result().shapes.begin()->second.queries == 2);
    of.ui.press(shell::Key::Z, shell::kControl);
    CHECK(of.ui.state() == before);
    of.ui.click("corpus.decile.0");
    CHECK(of.ui.sees("corpus.example.0"));
  }

  TEST_CASE("heads of all kinds are dots and rows, and a cross example opens source, target, head and cell in one step") {
    const TemporaryDirectory folder;
    test::write_pair_survey(folder.path(), kGoldenModels + "marian");
    UiDriver ui;
    show_golden_model(ui, "marian");
    ui.window().open_files({folder.path().string()});
    ui.settle();
    CHECK(ui.sees("corpus.dots.5"));  // by numbers that all heads have, though the first metrics aren't such
    ui.click("corpus.kind.cross");
    CHECK(ui.sees("corpus.row.cross L0 H0"));
    CHECK_FALSE(ui.sees("corpus.row.decoder L0 H0"));
    ui.click("corpus.free");
    CHECK(ui.sees("corpus.row.decoder L0 H0"));
    check_tips(ui);
    ui.click("corpus.copy");
    const std::string csv = ImGui::GetClipboardText();
    CHECK(csv.starts_with("name,kind,layer,head,label,duplicate,previous,entropy,"));
    CHECK(csv.find("\ndecoder L0H1,decoder,0,1,,,0.4,0.4,") != std::string::npos);
    CHECK(csv.find("\ncross L0H0,cross,0,0,,,,0.5,") != std::string::npos);
    ui.click("corpus.row.cross L0 H1");
    CHECK(ui.state().selection.block.kind == model::BlockKind::Cross);
    CHECK(ui.state().survey_head.head == 1);
    ui.click("section.survey");
    CHECK(ui.sees("survey.metric.0"));
    ui.click("corpus.mode.3");
    REQUIRE(ui.sees("corpus.example.0"));  // of entropy, the first metric that the head has
    const State before = ui.state();
    ui.click("corpus.example.0");
    ui.settle();
    CHECK(ui.state().text() == "text 5");
    CHECK(ui.state().model().ids == std::vector<std::vector<std::uint32_t>>{{5, 6, 7}});
    CHECK(ui.state().model().target_text.empty());  // which isn't of these tokens
    CHECK(ui.state().model().target_ids == std::vector<std::vector<std::uint32_t>>{{103, 9}});
    CHECK(ui.state().selection.block.kind == model::BlockKind::Cross);
    CHECK(ui.state().selection.head == 1);
    REQUIRE(ui.state().view.pinned);
    CHECK(ui.state().view.pinned->query == 1);
    CHECK(ui.state().view.pinned->key == 2);
    CHECK(ui.result().error.empty());
    const inference::BlockShape& shape = ui.result().shapes.at(ui.state().selection.block);
    CHECK(shape.queries == 2);
    CHECK(shape.keys == 3);
    ui.press(shell::Key::Z, shell::kControl);
    CHECK(ui.state() == before);
    // A metric that no head has gives a sentence instead of empty axes.
    ui.click("corpus.mode.0");
    ui.click("corpus.x");
    ui.click("corpus.x.duplicate");
    CHECK(ui.state()[kCorpusView.x] == "duplicate");
    CHECK(ui.sees("corpus.no_values"));
    CHECK_FALSE(ui.sees("corpus.dots"));
    ui.click("corpus.x");
    ui.click("corpus.x.previous");
    CHECK(ui.sees("corpus.dots.3"));
    CHECK_FALSE(ui.sees("corpus.dots.4"));  // of cross-attention
  }

  TEST_CASE("of an encoder–decoder whose encoder alone was measured the right panel says why a cross head has nothing") {
    const TemporaryDirectory folder;
    test::write_small_survey(folder.path(), kGoldenModels + "marian");
    UiDriver ui;
    show_golden_model(ui, "marian");
    ui.window().open_files({folder.path().string()});
    ui.settle();
    ui.click("grid.kind.0");
    ui.click("section.survey");
    CHECK(ui.sees("survey.metric.0"));
    ui.click("grid.kind.2");
    ui.settle();
    CHECK_FALSE(ui.sees("survey.metric.0"));
  }

  TEST_CASE("of another model that one is opened, with text, head and cell in the same step") {
    OpenSurvey of("llama");
    of.ui.click("corpus.mode.3");
    of.ui.press(shell::Key::Right);
    CHECK(of.ui.state().survey_head.head == 1);
    const State before = of.ui.state();
    of.ui.click("corpus.example.0");
    of.ui.settle();
    CHECK(model_path(of.ui.state().source).find("llama") != std::string::npos);
    CHECK(of.ui.state().text() == "text 1");
    CHECK(of.ui.state().selection.head == 1);
    REQUIRE(of.ui.state().view.pinned);
    CHECK(of.ui.result().error.empty());
    of.ui.press(shell::Key::Z, shell::kControl);
    of.ui.settle();
    CHECK(model_path(of.ui.state().source) == model_path(before.source));
    CHECK(of.ui.state().text() == before.text());
  }

  TEST_CASE("a bundled model, which a survey names without its folder, is found") {
    const TemporaryDirectory folder;
    test::write_small_survey(folder.path(), "captions-gpt2");
    UiDriver ui;
    show_golden_model(ui, "gpt2");
    ui.window().open_files({folder.path().string()});
    ui.settle();
    ui.click("corpus.mode.3");
    ui.click("corpus.example.0");
    ui.settle();
    CHECK(std::filesystem::path(model_path(ui.state().source)).filename() == "captions-gpt2");
    CHECK(ui.state().text() == "text 0");
    CHECK(ui.state().model().ids == std::vector<std::vector<std::uint32_t>>{{5, 6, 7}});
  }

  TEST_CASE("what an older survey lacks, no survey, and a broken one are sentences") {
    OpenSurvey of("gpt2", true);
    of.ui.click("corpus.mode.3");
    CHECK(of.ui.sees("corpus.older"));
    CHECK_FALSE(of.ui.sees("corpus.map"));
    of.ui.click("corpus.decile.3");
    CHECK(of.ui.sees("corpus.no_samples"));
    const TemporaryDirectory broken;
    test::write_small_survey(broken.path(), "gpt2");
    std::filesystem::remove(broken.path() / "heads.jsonl");
    of.ui.window().open_files({broken.path().string()});
    of.ui.settle();
    CHECK(of.ui.sees("corpus.empty"));
    CHECK(of.ui.window().surveys().error().find("heads.jsonl") != std::string::npos);
  }

  TEST_CASE("without a survey the view says how to come to one") {
    UiDriver ui;
    ui.show("corpus");
    CHECK(ui.sees("corpus.empty"));
    CHECK(ui.sees("corpus.begin"));
    check_tips(ui);
    ui.click("corpus.open");
    CHECK(ui.window().file_dialog().is_open());
  }

  TEST_CASE("one button surveys the captions that come along, and their heads are on screen") {
    const TemporaryDirectory cache;
    const CacheFolder variable(cache.path().string());
    UiDriver ui;
    CHECK_FALSE(ui.sees("corpus.example"));  // the playground has no model
    show_golden_model(ui, "gpt2");
    ui.show("corpus");
    REQUIRE(ui.sees("corpus.example"));
    check_tips(ui);
    ui.click("corpus.example");
    REQUIRE(becomes(ui, [&] { return ui.window().surveys().survey() != nullptr; }));
    CHECK(ui.window().surveys().survey()->texts == 40);
    CHECK(ui.state()[kCorpusView.folder].starts_with(cache.path().string()));
    CHECK(ui.sees("corpus.dots.0"));
  }

  TEST_CASE("the dialog of a survey is a door like others: typed into at once, Browse, a dropped file, Enter") {
    const TemporaryDirectory folder;
    const std::string text = (folder.path() / "few.txt").string();
    std::ofstream(text) << "the cat sat on the mat\n";
    UiDriver ui;
    show_golden_model(ui, "gpt2");
    ui.show("corpus");
    ui.click("corpus.begin");
    CHECK(ui.ui().is_typing());
    ui.type(folder.path().string() + "/");
    ui.click("corpus.form.file.browse");
    REQUIRE(ui.sees("folder.file.0"));
    ui.click("folder.file.0");
    REQUIRE(ui.sees("corpus.form.file"));
    ui.settle();
    ui.press(Key::Escape);
    CHECK_FALSE(ui.sees("corpus.form.file"));
    ui.click("corpus.begin");
    const std::string before = ui.state().text();
    ui.window().open_files({text});
    ui.settle();
    CHECK(ui.state().text() == before);
    ui.click("corpus.form.file");
    ui.press(Key::Enter);
    REQUIRE(becomes(ui, [&] { return ui.window().surveys().survey() != nullptr; }));
    CHECK(ui.state()[kCorpusView.folder] == (folder.path() / "few-survey").string());
  }

  TEST_CASE("a survey that the window makes is paused, goes on, and is open when it is whole") {
    // kMany texts are more than can be measured until "Pause" is clicked, however slow the window is beside other
    // processes, and are never measured to the end, since that time would have no limit; kFew are.
    constexpr int kMany = 1'000'000, kFew = 300;
    const TemporaryDirectory folder;
    const auto write = [&](const char* name, int texts) {
      std::ofstream lines(folder.path() / name);
      for (int i = 0; i < texts; ++i) lines << "the cat sat on the mat while the dog looked at it, " << i << " times\n";
      return (folder.path() / name).string();
    };
    // "Surveying many.txt: 3 of 4,000 shards, 780 texts".
    const auto texts_of = [](UiDriver& ui) {
      const std::string said = text_on_screen(ui.rect("corpus.progress"));
      const std::size_t end = said.find(" texts"), first = end == std::string::npos ? end : said.rfind(' ', end - 1);
      return first == std::string::npos ? 0UL : std::stoul(said.substr(first + 1));
    };
    const std::filesystem::path made = folder.path() / "made";
    UiDriver ui;
    const auto fill = [&](const char* field, const std::string& text) {
      ui.click(field);
      ui.press(Key::A, kControl);
      ui.type(text);
    };
    show_golden_model(ui, "gpt2");
    ui.show("corpus");
    ui.click("corpus.begin");
    check_tips(ui);
    fill("corpus.form.file", write("many.txt", kMany));
    fill("corpus.form.folder", (folder.path() / "large").string());
    ui.click("corpus.form.start");
    REQUIRE(becomes(ui, [&] { return ui.sees("corpus.pause") && texts_of(ui) > 0; }));
    ui.click("corpus.pause");
    REQUIRE(becomes(ui, [&] { return ui.sees("corpus.resume"); }));
    CHECK_FALSE(ui.window().surveys().survey());
    const std::size_t paused = texts_of(ui);
    ui.click("corpus.resume");
    REQUIRE(becomes(ui, [&] { return texts_of(ui) > paused; }));
    ui.click("corpus.pause");
    REQUIRE(becomes(ui, [&] { return ui.sees("corpus.resume"); }));
    ui.click("corpus.begin");
    fill("corpus.form.file", write("few.txt", kFew));
    fill("corpus.form.folder", made.string());
    ui.click("corpus.form.all");  // the options, which are the command's
    check_tips(ui);
    ui.click("corpus.form.top.more");
    ui.click("corpus.form.precision.1");
    ui.click("corpus.form.start");
    REQUIRE(becomes(ui, [&] { return ui.window().surveys().survey() != nullptr; }));
    CHECK(ui.state()[kCorpusView.folder] == made.string());
    CHECK(ui.window().surveys().survey()->texts == kFew);
    CHECK(ui.window().surveys().survey()->metrics.size() == evaluation::kHeadMetrics);
    const SurveyChoices measured = read_choices(made);
    CHECK(measured[kSurveyCorpus.top] == 21);
    CHECK(measured[kSurveyCorpus.samples] == 50);
    CHECK(measured[kSurveyModel.precision] == inference::Precision::F16);
    CHECK_FALSE(ui.sees("corpus.progress"));
    // A corpus that can't be measured is refused in the program's own words.
    ui.click("corpus.begin");
    fill("corpus.form.file", (folder.path() / "nothing.txt").string());
    fill("corpus.form.folder", (folder.path() / "other").string());
    ui.click("corpus.form.start");
    CHECK(becomes(ui, [&] { return ui.sees("corpus.resume"); }));
    CHECK(ui.sees("corpus.progress"));
  }
}

}  // namespace viewer_corpus_test
