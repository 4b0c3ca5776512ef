// Checkpoints of one model in the window: found, chosen, compared, played, measured.
#include <doctest/doctest.h>

#include "app/data/checkpoints/checkpoint_room.h"
#include "app/data/checkpoints/trainer_state.h"
#include "app/models/starter_view.h"
#include "app/ui_driver.h"
#include "app/widgets/step_plot.h"
#include "support/retrained_model.h"
#include "support/temporary_directory.h"

namespace viewer_checkpoints_test {

using namespace headlight;
using namespace headlight::app;
namespace fs = std::filesystem;

namespace {

/// A training's folder: checkpoints 0, 50 and 1,000, of which the second has other weights; and folders that are none.
struct Training {
  Training() {
    test::copy_of_golden("gpt2", folder.path() / "checkpoint-0");
    test::retrained(test::copy_of_golden("gpt2", folder.path() / "checkpoint-50"));
    test::copy_of_golden("gpt2", folder.path() / "checkpoint-1000");
    test::copy_of_golden("llama", folder.path() / "checkpoint-7");  // another network
    test::copy_of_golden("gpt2", folder.path() / "notes");
    fs::create_directory(folder.path() / "checkpoint-60");
  }
  std::string at(int step) const { return (folder.path() / fmt::format("checkpoint-{}", step)).string(); }
  TemporaryDirectory folder;
};

State of_training() {
  State state = with_text("the cat sat on the mat and the cat sat on the mat");
  return state;
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("steps are in names of checkpoints") {
    CHECK(step_in_name("checkpoint-500") == 500);
    CHECK(step_in_name("step1000") == 1000);
    CHECK(step_in_name("step_1000") == 1000);
    CHECK(step_in_name("global_step12") == 12);
    CHECK(step_in_name("iter_0000100") == 100);
    CHECK(step_in_name("epoch-3") == 3);
    CHECK(step_in_name("stage1-step2000-tokens9B") == 2000);
    for (const char* none : {"main", "gpt2", "footstep3", "step", "step-x", "step1234567890123456"}) {
      CAPTURE(none);
      CHECK_FALSE(step_in_name(none));
    }
  }

  TEST_CASE("checkpoints of the same network are found beside a model, in the order of their steps") {
    const Training training;
    const StepSeries series = find_checkpoints(training.at(50));
    REQUIRE(series.steps.size() == 3);
    CHECK(series.steps[0].step == 0);
    CHECK(series.steps[1].name == "checkpoint-50");
    CHECK(series.steps[2].path == training.at(1000));
    CHECK(series.find(training.at(50)) == 1);
    CHECK(find_checkpoints(training.at(7)).steps.empty());
    CHECK(find_checkpoints(training.folder.path() / "nothing").steps.empty());
  }

  TEST_CASE("what a Trainer logged comes with its checkpoints, without times") {
    const Training training;
    const fs::path file = fs::path(training.at(1000)) / kTrainerState;
    write_file_atomically(file, std::string(R"({"global_step": 1000, "log_history": [
      {"step": 10, "epoch": 0.1, "loss": 2.5, "learning_rate": 1e-3},
      {"step": 10, "eval_loss": 2.25, "eval_accuracy": 0.5, "eval_runtime": 3.0, "eval_samples_per_second": 9},
      {"step": 20, "loss": 2, "note": "text", "list": [1]}, {"step": 1000, "train_runtime": 60, "total_flos": 1e12}]})"));
    const ScalarCurves& logged = find_checkpoints(training.at(0)).scalars;
    CHECK(logged == ScalarCurves{{"eval_accuracy", {{10, 0.5}}},
                                 {"eval_loss", {{10, 2.25}}},
                                 {"learning_rate", {{10, 1e-3}}},
                                 {"loss", {{10, 2.5}, {20, 2.0}}}});
  }

  TEST_CASE("what isn't a Trainer's log is refused in one line, and the checkpoints are shown all the same") {
    const Training training;
    const fs::path file = fs::path(training.at(1000)) / kTrainerState;
    std::string many;
    for (int i = 0; i < 65; ++i) many += fmt::format(R"(, "n{}": {})", i, i);
    const std::vector<std::pair<std::string, std::string>> refused = {
        {"{", "not JSON"},
        {"[]", "has no list log_history"},
        {R"({"log_history": {}})", "has no list log_history"},
        {R"({"log_history": [3]})", "log_history[0]: expected an object with a step from 0 to 2^53, found 3"},
        {R"({"log_history": [{"loss": 1}]})", "log_history[0]: expected an object with a step"},
        {R"({"log_history": [{"step": -1}]})", "log_history[0]: expected an object with a step"},
        {R"({"log_history": [{"step": 1.5}]})", "log_history[0]: expected an object with a step"},
        {R"({"log_history": [{"step": 9007199254740993}]})", "log_history[0]: expected an object with a step"},
        {R"({"log_history": [{"step": 1}, {"step": 1, "\u0000": 1}]})", "log_history[1]: scalars: a name has 1 to 100"},
        {R"({"log_history": [{"step": 1)" + many + "}]}", "log_history[0]: scalars: expected an object of at most 64"},
        {R"({"log_history": [{"step": 1, "loss": NaN}]})", "not JSON"}};
    for (const auto& one : refused) {
      const std::string &text = one.first, &says = one.second;
      CAPTURE(text);
      write_file_atomically(file, text);
      const StepSeries series = find_checkpoints(training.at(0));
      CHECK(series.steps.size() == 3);
      CHECK(series.scalars.empty());
      CHECK(series.trouble.find(file.string()) != std::string::npos);
      CHECK(series.trouble.find(says) != std::string::npos);
      CHECK(series.trouble.find('\n') == std::string::npos);
    }
  }

  TEST_CASE("the nearest step of a series has a number") {
    StepSeries series;
    CHECK_FALSE(series.nearest(3));
    series.steps = {{.step = 0}, {.step = 10}, {.step = 30}, {.name = "main"}};
    CHECK(series.nearest(19) == 1);
    CHECK(series.nearest(21) == 2);
    CHECK(series.nearest(5000) == 2);
  }

  TEST_CASE("adapters of one model are checkpoints too") {
    const TemporaryDirectory folder;
    const std::string gpt2 = test::copy_of_golden("gpt2", folder.path() / "gpt2"),
                      llama = test::copy_of_golden("llama", folder.path() / "llama");
    for (const auto& [step, model] : {std::pair{10, gpt2}, {20, gpt2}, {30, llama}}) {
      const fs::path adapter = folder.path() / fmt::format("checkpoint-{}", step);
      fs::create_directory(adapter);
      write_file_atomically(adapter / "adapter_model.safetensors", std::string("weights"));
      write_file_atomically(adapter / "adapter_config.json",
                            fmt::format(R"({{"peft_type": "LORA", "base_model_name_or_path": "{}"}})", model));
    }
    const StepSeries series = find_checkpoints(folder.path() / "checkpoint-20");
    REQUIRE(series.steps.size() == 2);
    CHECK(series.steps[0].step == 10);
  }

  TEST_CASE("revisions of a repository in the cache are steps by the names of their branches") {
    const TemporaryDirectory folder;
    const fs::path repository = folder.path() / "models--a--b";
    for (const char* commit : {"aaa", "bbb", "ccc"}) test::copy_of_golden("gpt2", repository / "snapshots" / commit);
    fs::create_directories(repository / "refs");
    write_file_atomically(repository / "refs" / "step1000", std::string("aaa"));
    write_file_atomically(repository / "refs" / "step5", std::string("bbb\n"));
    write_file_atomically(repository / "refs" / "main", std::string("aaa"));
    write_file_atomically(repository / "refs" / "step9", std::string("../../../etc"));
    const StepSeries series = find_checkpoints(repository / "snapshots" / "aaa");
    REQUIRE(series.steps.size() == 2);
    CHECK(series.steps[0].name == "step5");
    CHECK(series.steps[1].name == "step1000");
    // One without a name is shown all the same, after the others.
    const StepSeries unnamed = find_checkpoints(repository / "snapshots" / "ccc");
    REQUIRE(unnamed.steps.size() == 3);
    CHECK_FALSE(unnamed.steps[2].step);
  }

  TEST_CASE("numbers of any size are written in a plot") {
    CHECK(plot_number(2.5) == "2.500");
    CHECK(plot_number(1.5e300) == "1.5e+300");
    CHECK(plot_number(-1e308) == "\u22121e+308");
  }

  TEST_CASE("step 0 has a place on a log axis") {
    const std::vector<std::int64_t> steps = {0, 10, 100, 1000};
    const chart::PlotAxis axis = step_axis(steps, true);
    CHECK(axis.share(0) > 0.0F);
    CHECK(axis.share(0) < axis.share(10));
    CHECK(axis.at(100) - axis.at(10) == doctest::Approx(axis.at(1000) - axis.at(100)));
    CHECK(step_ticks(axis, 600.0F).front() == std::pair<std::int64_t, std::string>{0, "0"});
    CHECK(step_axis(std::vector<std::int64_t>{0}, true).share(0) == doctest::Approx(0.5F));
  }
}

TEST_SUITE("gpu") {
  TEST_CASE("the slider shows another checkpoint: text and masks stay, the numbers are its own; undo goes back") {
    const Training training;
    UiDriver ui(of_training());
    ui.window().open_model(training.at(0));
    ui.settle();
    REQUIRE(ui.sees("series.step"));
    check_tips(ui);
    const attention::Tile first = weights(ui);
    ui.click("grid.encoder.1.2");
    ui.wait(5.0);
    ui.click("series.later");
    ui.settle();
    CHECK(model_path(ui.state().source) == training.at(50));
    CHECK(ui.state().text() == of_training().text());
    CHECK(ui.state().selection.head == 2);
    ui.click("grid.encoder.0.0");
    CHECK(weights(ui).values != first.values);
    ui.wait(5.0);
    ui.press(shell::Key::PageDown, shell::kControl);
    ui.settle();
    CHECK(model_path(ui.state().source) == training.at(1000));
    CHECK(weights(ui).values == first.values);
    ui.press(shell::Key::Z, shell::kControl);
    ui.settle();
    CHECK(model_path(ui.state().source) == training.at(50));
    // The baseline is another checkpoint's run.
    ui.click("series.compare");
    ui.wait(5.0);
    ui.click("series.earlier");
    ui.settle();
    CHECK(ui.result().baseline_error.empty());
    CHECK(model_path(ui.state().compare.baseline->inputs.source) == training.at(50));
  }

  TEST_CASE("play goes on to the last checkpoint and is one step of the history") {
    const Training training;
    UiDriver ui(of_training());
    ui.window().open_model(training.at(0));
    ui.settle();
    const std::size_t before = ui.window().undo().step_count();
    ui.wait(5.0);
    ui.click("series.play");
    ui.settle();
    CHECK(model_path(ui.state().source) == training.at(1000));
    CHECK(ui.window().undo().step_count() == before + 1);
    ui.press(shell::Key::Z, shell::kControl);
    ui.settle();
    CHECK(model_path(ui.state().source) == training.at(0));
  }

  TEST_CASE("the view measures every checkpoint in the background; a click goes to a step") {
    const Training training;
    UiDriver ui(of_training());
    ui.window().open_model(training.at(0));
    ui.settle();
    CHECK(ui.window().checkpoints().measured() == 0);
    ui.show("checkpoints");
    ui.settle();
    CHECK(plain_text(ui.window().sentence()).find(" at step ") != std::string::npos);
    const CheckpointRoom& room = ui.window().checkpoints();
    REQUIRE(room.measured() == 3);
    check_tips(ui);
    const StepNumbers &first = *room.numbers(0), &second = *room.numbers(1), &last = *room.numbers(2);
    CHECK(first.error == "");
    CHECK(first.heads.size() == 12);
    REQUIRE(first.loss);
    CHECK(*first.loss == *last.loss);  // the same weights
    CHECK(*first.loss != *second.loss);
    CHECK(ui.sees("checkpoints.loss"));
    const std::string words = ui.window().describe();
    CHECK(words.find("step of training (log axis)|0|50|1000|\n") != std::string::npos);
    for (const char* head : {"\n|L0 H0|", "\n|L1 H5|", "12 lines of 3 places"}) CHECK(words.find(head) != std::string::npos);
    ui.click("checkpoints.loss.1");
    ui.settle();
    CHECK(model_path(ui.state().source) == training.at(50));
    CHECK(room.measured() == 3);  // the same question: nothing is measured again
    CHECK(ui.sees("checkpoints.heads"));
  }

  TEST_CASE("an empty view opens the copy task's training, whose loss and accuracy are curves by step") {
    UiDriver ui(with_text("the cat sat"));
    ui.show("checkpoints");
    ui.settle();
    REQUIRE(ui.sees("checkpoints.copy_training"));
    check_tips(ui);
    ui.click("checkpoints.copy_training");
    ui.settle();
    CHECK(model_path(ui.state().source) == find_bundled_model(kCopyStarter.model)->string());
    const CheckpointRoom& room = ui.window().checkpoints();
    REQUIRE(room.series().steps.size() == 19);
    CHECK(room.failure() == "");
    REQUIRE(room.measured() == 19);
    for (const char* curve : {"eval_loss", "eval_accuracy"}) {
      CAPTURE(curve);
      CHECK(ui.sees(fmt::format("checkpoints.scalar.{}", curve)));
      CHECK(room.series().scalars.at(curve).back().first == 1000);
    }
    CHECK(room.series().scalars.at("eval_accuracy").front().second < 0.05);
    CHECK(room.series().scalars.at("eval_accuracy").back().second > 0.99);
    // The head that is shown finds nothing at the first step, and nearly always what it looks for at the last.
    const auto induction = [&](std::size_t step) {
      return room.numbers(step)->heads.at(ui.state().selection.head_ref()).value(evaluation::HeadMetric::Induction).value();
    };
    CHECK(induction(0) < 0.2);
    CHECK(induction(18) > 0.9);
    ui.click("checkpoints.scalar.eval_loss.0");
    ui.settle();
    CHECK(model_path(ui.state().source).ends_with("copy-training/checkpoint-0"));
  }

  TEST_CASE("a translator's steps have the loss and the perplexity of the pair on screen") {
    const TemporaryDirectory folder;
    test::copy_of_golden("marian", folder.path() / "checkpoint-1");
    test::retrained(test::copy_of_golden("marian", folder.path() / "checkpoint-2"));
    UiDriver ui;
    ui.window().open_model((folder.path() / "checkpoint-1").string());
    ui.settle();
    ui.show("checkpoints");
    ui.settle();
    const CheckpointRoom& room = ui.window().checkpoints();
    REQUIRE(room.measured() == 2);
    CHECK(room.failure() == "");
    REQUIRE(room.numbers(0)->loss);
    REQUIRE(room.numbers(1)->loss);
    CHECK(*room.numbers(0)->loss != *room.numbers(1)->loss);
    CHECK_FALSE(room.numbers(0)->in_context);
    CHECK(ui.sees("checkpoints.loss"));
    CHECK(ui.sees("checkpoints.perplexity"));
    check_tips(ui);
  }

  TEST_CASE("a metric that no head has a value of is a sentence in place of the axes") {
    const Training training;
    UiDriver ui(with_text("the cat sat on a mat"));  // repeats nothing, so that there is no induction
    ui.window().open_model(training.at(0));
    ui.settle();
    ui.show("checkpoints");
    ui.settle();
    CHECK(ui.sees("checkpoints.no_value"));
    CHECK_FALSE(ui.sees("checkpoints.heads"));
    CHECK(ui.sees("checkpoints.loss"));
    CHECK_THROWS_WITH(ui.window().describe(),
                      "No head has a value of \u201Cinduction\u201D in this text: choose another metric.");
    check_tips(ui);
  }
}

}  // namespace viewer_checkpoints_test
