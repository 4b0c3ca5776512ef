#pragma once

// Pages in a real browser: Debian's chromium without a window.
#include <cstdlib>
#include <string>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "core/file.h"
#include "support/temporary_directory.h"

namespace headlight::test {

inline bool has_browser() { return std::system("command -v chromium >/dev/null 2>&1") == 0; }

/// Returns the page's document after its scripts, and those of `probe`, have run.
inline std::string document_of(const std::filesystem::path& page, const std::string& probe) {
  std::string text = read_file(page);
  const std::string errors =
      "<script>window.problems=[];addEventListener('error',(e)=>problems.push(e.message));"
      "console.error=(...all)=>problems.push(all.join(' '));</script>";
  text.insert(text.find("<title>"), errors);
  text.insert(text.rfind("</body>"), "<script>" + probe + "</script>");
  const TemporaryDirectory folder;
  const std::filesystem::path probed = folder.path() / "probed.html", out = folder.path() / "out",
                              log = folder.path() / "log";
  write_file_atomically(probed, text);
  const std::string command = fmt::format(
      "HOME='{0}' timeout 120 chromium --headless --no-sandbox --disable-gpu --window-size=1200,900 "
      "--user-data-dir='{0}/profile' "
      "--enable-logging=stderr --dump-dom 'file://{1}' >'{2}' 2>'{3}'",
      folder.path().string(), probed.string(), out.string(), log.string());
  REQUIRE(std::system(command.c_str()) == 0);
  const std::string messages = read_file(log);
  CHECK_MESSAGE(messages.find("CONSOLE") == std::string::npos, messages);
  return read_file(out);
}

inline std::string between(const std::string& text, const std::string& begin, const std::string& end) {
  const std::size_t from = text.find(begin);
  REQUIRE(from != std::string::npos);
  return text.substr(from + begin.size(), text.find(end, from + begin.size()) - from - begin.size());
}

/// Puts what happened into the document's title, which is read back as text.
inline constexpr const char* kTell = "document.title='TOLD'+JSON.stringify({problems,told})+'END';";

}  // namespace headlight::test
