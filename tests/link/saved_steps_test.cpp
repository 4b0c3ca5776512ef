// Numbers that a program logs, and files of saved steps.
#include <doctest/doctest.h>

#include "app/data/link/saved_steps.h"
#include "app/state/source.h"
#include "core/error.h"
#include "core/file.h"
#include "export/file_array.h"
#include "link/link_program.h"
#include "support/temporary_directory.h"

namespace saved_steps_test {

using namespace headlight;
using namespace headlight::app;
namespace fs = std::filesystem;

namespace {

std::string why_refused(const fs::path& file) {
  try {
    const SavedSteps steps(file);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("scalars are an object of finite numbers with printable names") {
    CHECK(read_scalars(R"({"loss": 0.5, "lr": 1e-4})") == std::map<std::string, double>{{"loss", 0.5}, {"lr", 1e-4}});
    for (const char* wrong :
         {"[1]", "{", R"({"a": "b"})", R"({"": 1})", R"({"a": null})", R"({"a": 1e999})", R"({"a\n": 1})"}) {
      CAPTURE(wrong);
      CHECK_THROWS_AS(read_scalars(wrong), Error);
    }
    std::string many = "{";
    for (std::size_t i = 0; i <= kMaxScalars; ++i) many += fmt::format("{}\"s{}\": 1", i == 0 ? "" : ",", i);
    CHECK_THROWS_AS(read_scalars(many + "}"), Error);
  }

  TEST_CASE("curves are ascending, a step that comes again replaces its number, and they are bounded") {
    ScalarCurves curves;
    for (const std::int64_t step : {100, 0, 50}) add_scalars(curves, step, {{"loss", static_cast<double>(step)}});
    add_scalars(curves, 50, {{"loss", 7.0}});
    CHECK(curves["loss"] == std::vector<std::pair<std::int64_t, double>>{{0, 0.0}, {50, 7.0}, {100, 100.0}});
    const auto more = static_cast<std::int64_t>(kMaxScalarSteps) + 1;
    for (std::int64_t step = 0; step < more; ++step) add_scalars(curves, step, {{"long", 1.0}});
    CHECK(curves["long"].size() <= kMaxScalarSteps);
    CHECK(curves["long"].front().first == 0);
    CHECK(curves["long"].back().first == more - 1);
    std::map<std::string, double> many;
    for (std::size_t i = 0; i < kMaxScalars; ++i) many[fmt::format("s{}", i)] = 1.0;
    CHECK_THROWS_AS(add_scalars(curves, 0, many), Error);
    CHECK(curves.size() == 2);
  }

  TEST_CASE("a program logs scalars with and without a capture; wrong ones are refused and the link goes on") {
    const TemporaryDirectory folder;
    fs::permissions(folder.path(), fs::perms::owner_all);
    const LinkServer server({.folder = folder.path()});
    const LinkProgram program(server.socket_path());
    program.send(LinkKind::Hello, "train.py");
    CHECK(program.answer().text.find("\"scalars\": true}") != std::string::npos);
    program.send(LinkKind::Scalars, R"({"loss": 2.5})", 10);
    CHECK(program.answer().kind == static_cast<int>(LinkKind::Kept));
    program.send(LinkKind::Scalars, R"({"loss": "high"})", 20);
    CHECK(program.answer().kind == static_cast<int>(LinkKind::Refused));
    program.send(LinkKind::Capture, captured(), 20);
    CHECK(program.answer().kind == static_cast<int>(LinkKind::Kept));
    const std::shared_ptr<const LinkSnapshot> now = server.snapshot();
    CHECK(now->scalars->at("loss") == std::vector<std::pair<std::int64_t, double>>{{10, 2.5}});
    CHECK(now->steps.size() == 1);
    CHECK(now->session == 1);
  }

  TEST_CASE("saved steps are the same when they are opened, and their folder goes with them") {
    const TemporaryDirectory folder;
    LinkSnapshot steps;
    for (const std::int64_t step : {0, 100}) {
      const fs::path file = folder.path() / fmt::format("step-{}.1.safetensors", step);
      write_file_atomically(file, captured());
      steps.steps.push_back({.step = step, .file = file, .bytes = captured().size()});
    }
    steps.scalars = std::make_shared<const ScalarCurves>(ScalarCurves{{"loss", {{0, 3.0}, {50, 2.0}}}});
    const fs::path zip = folder.path() / "steps.zip";
    save_steps(zip, steps);
    fs::path unpacked;
    {
      const SavedSteps saved(zip);
      CHECK(saved.snapshot().name == "steps.zip");
      CHECK(*saved.snapshot().scalars == *steps.scalars);
      REQUIRE(saved.snapshot().steps.size() == 2);
      CHECK(saved.snapshot().steps[1].step == 100);
      unpacked = saved.snapshot().steps[1].file;
      CHECK(is_linked_step(unpacked));
      CHECK(read_file(unpacked) == captured());
    }
    CHECK_FALSE(fs::exists(unpacked.parent_path()));
  }

  TEST_CASE("files that aren't saved steps are refused in one line, and nothing of them is left") {
    const TemporaryDirectory folder;
    const fs::path zip = folder.path() / "wrong.zip";
    const auto refused = [&](const std::map<std::string, std::string>& members) {
      exporting::write_zip(zip, {}, members);
      return why_refused(zip);
    };
    CHECK(refused({{"a.txt", "x"}}).find("it has no steps.json") != std::string::npos);
    CHECK(refused({{"steps.json", "{"}}).find("steps.json: ") != std::string::npos);
    CHECK(refused({{"steps.json", R"({"headlight_steps": 2, "steps": [1]})"}}).find("another version") != std::string::npos);
    CHECK(refused({{"steps.json", R"({"headlight_steps": 1, "steps": []})"}}).find("0 steps") != std::string::npos);
    CHECK(refused({{"steps.json", R"({"headlight_steps": 1, "steps": [1]})"}}).find("it has no step-1") !=
          std::string::npos);
    CHECK(refused({{"steps.json", R"({"headlight_steps": 1, "steps": ["../../x"]})"}}).find("whole number") !=
          std::string::npos);
    CHECK(refused({{"steps.json", R"({"headlight_steps": 1, "steps": [1]})"}, {"step-1.safetensors", "no capture"}})
              .find("step 1: ") != std::string::npos);
    CHECK(refused({{"steps.json", R"({"headlight_steps": 1, "steps": [1], "scalars": {"a": [[1, "b"]]}})"}}).find("'a'") !=
          std::string::npos);
    write_file_atomically(zip, std::string("PK no archive"));
    const std::string why = why_refused(zip);
    CHECK(why.find("can't be opened as steps") != std::string::npos);
    CHECK(why.find('\n') == std::string::npos);
  }
}

}  // namespace saved_steps_test
