#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <string>

#include "app/state/session_file.h"
#include "core/file.h"
#include "support/program.h"
#include "support/temporary_directory.h"

namespace run_command_test {

using namespace headlight;
namespace fs = std::filesystem;
using nlohmann::json;

TEST_SUITE("gpu") {
  TEST_CASE("a session without a record gets one, and is then computed to the same bits") {
    const TemporaryDirectory folder;
    const std::string file = (folder.path() / "notes.headlight.json").string();
    app::State state;
    state.text() = "one two three";
    app::save_session(file, state);
    Outcome outcome = run_headlight({"run", file});
    CHECK(outcome.status == 0);
    CHECK(outcome.out.find("record: the file has none") != std::string::npos);
    CHECK_FALSE(app::load_record(file).has_value());
    outcome = run_headlight({"run", file, "--record"});
    CHECK(outcome.status == 0);
    REQUIRE(app::load_record(file).has_value());
    CHECK(app::load_session(file).value() == state);
    const fs::path out = folder.path() / "out";
    // `run` is `export --check-record --session`, wherever the file is.
    outcome = run_headlight({"run", "--out", out.string(), file, "--format", "npy,png"});
    CHECK(outcome.status == 0);
    CHECK(outcome.out.find("notes: 3 tokens\n") == 0);
    CHECK(outcome.out.find("compared numbers are as saved, bit for bit") != std::string::npos);
    CHECK(fs::exists(out / "weights.npy"));
    CHECK(fs::exists(out / "run.json"));

    app::SessionRecord other = app::load_record(file).value();
    other.weights.front() += 0.25F;
    app::save_session(file, state, &other);
    outcome = run_headlight({"run", file});
    CHECK(outcome.status == 1);
    CHECK(outcome.out.find("1 of ") != std::string::npos);
    const Outcome same = run_headlight({"export", "--session", file, "--check-record"});
    CHECK(same.status == 1);
    CHECK(same.out == outcome.out);
    // Files that are written beside it don't change the status.
    CHECK(run_headlight({"run", file, "--format", "npy", "--out", out.string()}).status == 1);
    CHECK(run_headlight({"export", "--session", file, "--record"}).status == 0);
    CHECK(run_headlight({"run", file}).status == 0);
  }

  TEST_CASE("the experiments among the examples compute what their records say") {
    for (const char* name : {"induction", "mask_that_cheats"}) {
      const fs::path file = fs::path(HEADLIGHT_EXAMPLES_DIR) / "experiments" / (std::string(name) + ".headlight.json");
      const Outcome outcome = run_headlight({"run", file.string()});
      CAPTURE(outcome.out);
      CAPTURE(outcome.err);
      CHECK(outcome.status == 0);
      CHECK(outcome.out.find("compared numbers") != std::string::npos);
      CHECK(outcome.out.find("are not those it was saved with") == std::string::npos);
    }
  }
}

TEST_SUITE("cpu") {
  TEST_CASE("what can't be run is told in one line") {
    const TemporaryDirectory folder;
    CHECK(complaint({"run"}, 2) == "--check-record: name a session, as in --session notes.headlight.json");
    CHECK(complaint({"run", "a.svg", "--record"}, 2) == "--record: a.svg is a figure; save it as a session");
    const Outcome missing = run_headlight({"run", (folder.path() / "none.json").string()});
    CHECK(missing.status == 1);
    CHECK(missing.err.find("none.json") != std::string::npos);
    const fs::path file = folder.path() / "broken.json";
    write_file_atomically(file, json{{"headlight", 1}, {"state", json::object()}, {"record", 7}}.dump());
    const Outcome broken = run_headlight({"run", file.string()});
    CHECK(broken.status == 1);
    CHECK(broken.err.find("record: expected an object") != std::string::npos);
  }

  TEST_CASE("the session written for GPT-2 opens wherever GPT-2 is, and says what is missing where it isn't") {
    const TemporaryDirectory folder;
    const fs::path file = fs::path(HEADLIGHT_EXAMPLES_DIR) / "experiments" / "indirect_object.headlight.json";
    REQUIRE(app::load_session(file));
    const Outcome outcome = run_headlight({"run", file.string()}, "HF_HUB_CACHE='" + folder.path().string() + "'");
    CHECK(outcome.status == 1);
    CHECK(outcome.err.find("openai-community/gpt2") != std::string::npos);
  }
}

}  // namespace run_command_test
