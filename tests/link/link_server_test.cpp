// A window's end of a live link, with programs that keep to the protocol and programs that don't.
#include <doctest/doctest.h>

#include <sys/stat.h>

#include <atomic>

#include "app/data/link/linked_steps.h"
#include "app/state/source.h"
#include "capture/capture_file.h"
#include "core/error.h"
#include "core/file.h"
#include "link/link_program.h"
#include "support/temporary_directory.h"

namespace link_server_test {

using namespace headlight;
using namespace headlight::app;
namespace fs = std::filesystem;

namespace {

/// A private folder with a server in it.
struct ServerInFolder {
  explicit ServerInFolder(LinkOptions options = {}) {
    fs::permissions(folder.path(), fs::perms::owner_all);
    options.folder = folder.path();
    options.wake = [this] { ++wakes; };
    server = std::make_unique<LinkServer>(std::move(options));
  }
  TemporaryDirectory folder;
  std::atomic<int> wakes = 0;
  std::unique_ptr<LinkServer> server;
};

void greet(const LinkProgram& program) {
  program.send(LinkKind::Hello, "train.py");
  CHECK(program.answer().kind == static_cast<int>(LinkKind::Welcome));
}

constexpr int kKept = static_cast<int>(LinkKind::Kept), kRefused = static_cast<int>(LinkKind::Refused);

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("captures that a program sends are there, the newest known, and nothing is left when the window closes") {
    ServerInFolder in;
    struct stat found = {};
    REQUIRE(::stat(in.server->socket_path().c_str(), &found) == 0);
    CHECK((found.st_mode & 0777U) == 0600U);
    const LinkProgram program(in.server->socket_path());
    REQUIRE(program.is_connected());
    greet(program);
    CHECK(in.server->snapshot()->session == 0);
    program.send(LinkKind::Capture, captured(), 20);
    const LinkProgram::Answer answer = program.answer();
    CHECK(answer.kind == kKept);
    CHECK(answer.step == 20);
    program.send(LinkKind::Capture, captured(), 10);
    CHECK(program.answer().kind == kKept);
    const auto link = in.server->snapshot();
    CHECK(link->session == 1);
    CHECK(link->name == "train.py");
    CHECK(link->is_linked);
    CHECK(link->newest == 10);
    REQUIRE(link->steps.size() == 2);
    CHECK(link->steps[0].step == 10);
    CHECK(link->bytes == 2 * captured().size());
    CHECK(is_linked_step(link->steps[0].file));
    CHECK(are_linked_steps(link->steps[0].file, link->steps[1].file));
    CHECK(read_file(link->steps[1].file) == captured());
    CHECK(capture::CaptureFile(link->steps[1].file).blocks().size() == 2);
    CHECK(in.wakes > 0);
    in.server.reset();
    CHECK(fs::is_empty(in.folder.path()));
  }

  TEST_CASE("one program at a time; the next one's first capture replaces what the last one sent") {
    ServerInFolder in;
    LinkProgram first(in.server->socket_path());
    greet(first);
    first.send(LinkKind::Capture, captured(), 1);
    CHECK(first.answer().kind == kKept);
    const LinkProgram second(in.server->socket_path());
    CHECK(second.answer().kind == static_cast<int>(LinkKind::Busy));
    CHECK(second.answer().kind == 0);
    first.close();
    for (int i = 0; i < 1000 && in.server->snapshot()->is_linked; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    CHECK_FALSE(in.server->snapshot()->is_linked);
    CHECK(in.server->snapshot()->steps.size() == 1);
    const LinkProgram third(in.server->socket_path());
    greet(third);
    CHECK(in.server->snapshot()->steps.size() == 1);
    third.send(LinkKind::Capture, captured(), 9);
    CHECK(third.answer().kind == kKept);
    CHECK(in.server->snapshot()->session == 2);
    REQUIRE(in.server->snapshot()->steps.size() == 1);
    CHECK(in.server->snapshot()->steps[0].step == 9);
  }

  TEST_CASE("programs of other users are refused before they say anything") {
    ServerInFolder in({.user = ::geteuid() + 1});
    const LinkProgram program(in.server->socket_path());
    program.send(LinkKind::Hello, "mallory");
    CHECK(program.answer().kind == 0);
    CHECK_FALSE(in.server->snapshot()->is_linked);
  }

  TEST_CASE("what is no capture is refused with its reason, and the link goes on") {
    ServerInFolder in({.budget = {.bytes = 3 * captured().size(), .steps = 10}});
    const LinkProgram program(in.server->socket_path());
    greet(program);
    for (const std::string& bad : {std::string(), std::string("nonsense"), captured().substr(0, captured().size() / 2),
                                   std::string(8, '\xFF') + "{}"}) {
      program.send(LinkKind::Capture, bad, 3);
      const LinkProgram::Answer answer = program.answer();
      CHECK(answer.kind == kRefused);
      CHECK(answer.step == 3);
      CAPTURE(answer.text);
      CHECK(answer.text.find("step 3") != std::string::npos);
      CHECK(answer.text.find(in.folder.path().string()) == std::string::npos);
      CHECK(in.server->snapshot()->refusal == answer.text);
    }
    CHECK(in.server->snapshot()->steps.empty());
    for (int step = 0; step < 8; ++step) {
      program.send(LinkKind::Capture, captured(), step);
      CHECK(program.answer().kind == kKept);
    }
    CHECK(in.server->snapshot()->steps.size() == 3);
    CHECK(in.server->snapshot()->thinned == 5);
    CHECK(in.server->snapshot()->refusal.empty());
  }

  TEST_CASE("a program that breaks the protocol is told why and left; the next one is served") {
    const auto head_of = [](const LinkHead& head) {
      const auto bytes = encode(head);
      return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    };
    std::vector<std::pair<std::string, std::string>> broken;
    broken.emplace_back("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", "doesn't begin with HLNK");
    broken.emplace_back(head_of({.kind = LinkKind::Capture, .step = 1, .payload_bytes = 10}), "says hello first");
    broken.emplace_back(head_of({.kind = LinkKind::Hello, .payload_bytes = 2}), "isn't UTF-8");
    broken.back().first.append(2, '\xFF');
    broken.emplace_back("HLN", "didn't go on");
    ServerInFolder in({.most_capture_bytes = 100, .patience_ms = 200});
    for (const auto& sent : broken) {
      const auto& bytes = sent.first;
      const std::string why = sent.second;
      CAPTURE(why);
      const LinkProgram program(in.server->socket_path());
      program.send(bytes);
      const LinkProgram::Answer answer = program.answer();
      CHECK(answer.kind == kRefused);
      CHECK(answer.text.find(why) != std::string::npos);
      CHECK(program.answer().kind == 0);
    }
    const LinkProgram program(in.server->socket_path());
    greet(program);
    program.send(LinkKind::Capture, std::string(101, 'x'), 1);
    CHECK(program.answer().text.find("a payload of 101 bytes is more than 100") == 0);
    CHECK(program.answer().kind == 0);
  }

  TEST_CASE("a silent program is left within a message, and kept between messages") {
    ServerInFolder in({.patience_ms = 100});
    const LinkProgram program(in.server->socket_path());
    greet(program);
    std::this_thread::sleep_for(std::chrono::milliseconds(400));
    program.send(LinkKind::Capture, captured(), 1);
    CHECK(program.answer().kind == kKept);
  }

  TEST_CASE("a folder that others can read has no socket; what a killed window left is removed") {
    const TemporaryDirectory folder;
    fs::permissions(folder.path(), fs::perms::owner_all | fs::perms::others_read);
    CHECK_THROWS_AS(make_private_folder(folder.path()), Error);
    fs::permissions(folder.path(), fs::perms::owner_all);
    CHECK_NOTHROW(make_private_folder(folder.path()));
    fs::create_directory(folder.path() / "viewer-1.steps");
    write_file_atomically(folder.path() / "viewer-1.steps" / "step-1.1.safetensors", "x");
    write_file_atomically(folder.path() / "viewer-1.sock", "");
    write_file_atomically(folder.path() / "something", "");
    const LinkServer server({.folder = folder.path()});
    CHECK_FALSE(fs::exists(folder.path() / "viewer-1.steps"));
    CHECK_FALSE(fs::exists(folder.path() / "viewer-1.sock"));
    CHECK(fs::exists(folder.path() / "something"));
  }
}

}  // namespace link_server_test
