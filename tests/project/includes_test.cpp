// The tables of docs/ARCHITECTURE.md say which folder of src/ may use which, and which room of app/; these tests compare
// them with every #include, and for src/ with every target_link_libraries line.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "project/source_tree.h"

namespace headlight::test {
namespace {

/// folder → the entries of its row of the table: folders ("core") and single headers ("attention/stage.h").
using Table = std::map<std::string, std::set<std::string>>;

/// Reads the rows `| name | a, b, c/d.h | … |` below the line that starts with `heading`.
Table parse_table(const std::string& markdown, const std::string& heading = "| folder |") {
  Table table;
  std::istringstream lines(markdown);
  std::string line;
  bool inside = false;
  while (std::getline(lines, line)) {
    if (line.starts_with(heading)) inside = true;
    if (!inside || line.starts_with(heading) || line.starts_with("|--") || line.starts_with("| -")) continue;
    if (!line.starts_with('|')) {
      if (inside) break;
    }
    static const std::regex kRow(R"(^\|([^|]*)\|([^|]*)\|)");
    std::smatch row;
    if (!std::regex_search(line, row, kRow)) continue;
    static const std::regex kWord(R"([\w./]+)");
    const std::string folder_cell = row[1].str();
    const std::string uses_cell = row[2].str();
    std::smatch folder;
    if (!std::regex_search(folder_cell, folder, kWord)) continue;
    auto& uses = table[folder.str()];
    for (std::sregex_iterator word(uses_cell.begin(), uses_cell.end(), kWord), end; word != end; ++word)
      uses.insert(word->str());
  }
  return table;
}

Table table_below(const std::string& heading) {
  for (const auto& file : source_tree()) {
    if (file.path == "docs/ARCHITECTURE.md") return parse_table(file.text, heading);
  }
  return {};
}

const Table& table() {
  static const Table kTable = table_below("| folder |");
  return kTable;
}

const Table& rooms() {
  static const Table kRooms = table_below("| room |");
  return kRooms;
}

std::string first_folder(const std::string& path) { return path.substr(0, path.find('/')); }

/// Returns why a file of src/<folder> must not include `name`; empty where it may.
std::string objection(const std::string& folder, const std::string& name, const Table& rules) {
  static const std::set<std::string> kVulkanUsers = {"gpu"};
  const bool is_vulkan = name.starts_with("<vulkan/");
  if (is_vulkan && !kVulkanUsers.contains(folder)) return "only gpu/ may use Vulkan";
  if (name.starts_with("<glm/") && folder != "chart") return "geometry and colour are chart/'s and app/'s";
  if (name.find("imgui") != std::string::npos || name.starts_with("<GLFW/")) return "windows belong to app/";
  if (name.starts_with("app/") || name.starts_with("tests/")) return "src/ must not depend on app/ or tests/";
  if (name.starts_with('<') || name.find('/') == std::string::npos) return "";
  const std::string target = first_folder(name);
  if (target == folder || !rules.contains(target)) return "";
  const auto row = rules.find(folder);
  if (row == rules.end()) return "the table has no row for " + folder;
  if (row->second.contains(target) || row->second.contains(name)) return "";
  return folder + " may not use " + target;
}

/// "state" of app/state/undo.cpp, "frame.h" of app/frame.h.
std::string room_of(const std::string& path) { return first_folder(path.substr(4)); }

/// Returns why the file `path` of app/ must not include `name`; empty where it may.
std::string objection_in_app(const std::string& path, const std::string& name, const Table& rules) {
  if (!name.starts_with("app/")) return name.starts_with("tests/") ? "app/ must not depend on tests/" : "";
  const std::string from = room_of(path);
  const std::string to = room_of(name);
  // A view is a folder of app/views. Beside the folders are what each view implements and the table of all of them.
  const auto view_of = [](const std::string& file) {
    const std::size_t begin = std::string("app/views/").size();
    const std::size_t end = file.find('/', begin);
    return end == std::string::npos ? std::string() : file.substr(begin, end - begin);
  };
  if (from == to) {
    if (from != "views" || view_of(path).empty() || view_of(path) == view_of(name)) return "";
    if (name == "app/views/view_table.h") return "no view may use the table of all";
    return view_of(name).empty() ? "" : "no view may use another";
  }
  const auto row = rules.find(from);
  if (row == rules.end()) return "the table has no row for " + from;
  return row->second.contains(to) ? "" : from + " may not use " + to;
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("the rules find violations") {
    const Table rules = parse_table(
        "text\n| folder | may use | never |\n|---|---|---|\n| core | std | x |\n"
        "| view | core, `model/config.h` | x |\n| model | core | x |\n\n| folder | y |\n");
    CHECK(rules.size() == 3);
    CHECK(objection("core", "model/config.h", rules) == "core may not use model");
    CHECK(objection("view", "model/network.h", rules) == "view may not use model");
    CHECK(objection("view", "model/config.h", rules).empty());
    CHECK(objection("view", "core/error.h", rules).empty());
    CHECK(objection("view", "<vulkan/vulkan.h>", rules) == "only gpu/ may use Vulkan");
    CHECK(objection("chart", "<glm/vec2.hpp>", rules).empty());
    CHECK(objection("core", "<glm/vec2.hpp>", rules) == "geometry and colour are chart/'s and app/'s");
    CHECK(objection("view", "app/state/state.h", rules) == "src/ must not depend on app/ or tests/");
    CHECK_FALSE(objection("gpu", "<imgui.h>", rules).empty());
    CHECK(includes_of("#include <a>\n  # include \"b/c.h\"\n// #include <d>\n") == std::vector<std::string>{"<a>", "b/c.h"});
  }

  TEST_CASE("every folder of src/ has its row in docs/ARCHITECTURE.md") {
    for (const auto& file : source_tree()) {
      if (!file.path.starts_with("src/") || file.path == "src/CMakeLists.txt") continue;
      CAPTURE(file.path);
      CHECK(table().contains(first_folder(file.path.substr(4))));
    }
  }

  TEST_CASE("the include graph follows the table") {
    for (const auto& file : source_tree()) {
      if (!file.path.starts_with("src/") || (file.extension() != ".h" && file.extension() != ".cpp")) continue;
      const std::string folder = first_folder(file.path.substr(4));
      for (const auto& name : includes_of(file.text)) {
        CAPTURE(file.path);
        CAPTURE(name);
        CHECK(objection(folder, name, table()) == "");
      }
    }
  }

  TEST_CASE("rooms of app/ use what their table allows") {
    const Table rules = parse_table("| room | may use |\n|---|---|\n| state | |\n| views | state |\n", "| room |");
    CHECK(objection_in_app("app/views/head/a.cpp", "app/state/state.h", rules).empty());
    CHECK(objection_in_app("app/state/a.cpp", "app/views/head/a.h", rules) == "state may not use views");
    CHECK(objection_in_app("app/views/head/a.cpp", "app/views/grid/a.h", rules) == "no view may use another");
    CHECK(objection_in_app("app/views/head/a.cpp", "app/views/head/b.h", rules).empty());
    CHECK(objection_in_app("app/views/view_table.cpp", "app/views/head/b.h", rules).empty());
    CHECK(objection_in_app("app/views/head/a.cpp", "app/views/view.h", rules).empty());
    CHECK(objection_in_app("app/views/head/a.cpp", "app/views/view_table.h", rules) == "no view may use the table of all");
    CHECK(objection_in_app("app/cellar/a.cpp", "app/state/state.h", rules) == "the table has no row for cellar");
    for (const auto& file : source_tree()) {
      if (!file.path.starts_with("app/") || (file.extension() != ".h" && file.extension() != ".cpp")) continue;
      CAPTURE(file.path);
      for (const auto& name : includes_of(file.text)) {
        CAPTURE(name);
        CHECK(objection_in_app(file.path, name, rooms()) == "");
      }
    }
  }

  TEST_CASE("app/ has few files of its own") {
    std::size_t files = 0;
    for (const auto& file : source_tree()) {
      if (file.path.starts_with("app/") && file.path.find('/', 4) == std::string::npos) ++files;
    }
    CHECK(files >= 2);
    CHECK(files <= 5);
  }

  TEST_CASE("the libraries that a target links are in its row") {
    static const std::regex kLibrary(R"(\bheadlight_(\w+))");
    for (const auto& file : source_tree()) {
      static const std::regex kFolder(R"(^src/(\w+)/CMakeLists\.txt$)");
      std::smatch folder;
      if (!std::regex_match(file.path, folder, kFolder)) continue;
      for (std::sregex_iterator match(file.text.begin(), file.text.end(), kLibrary), end; match != end; ++match) {
        const std::string library = (*match)[1].str();
        if (!table().contains(library) || library == folder[1].str()) continue;
        CAPTURE(file.path);
        CAPTURE(library);
        const auto& uses = table().at(folder[1].str());
        const bool whole = uses.contains(library);
        const bool part =
            std::any_of(uses.begin(), uses.end(), [&](const auto& use) { return use.starts_with(library + "/"); });
        CHECK((whole || part));
      }
    }
  }
}

}  // namespace headlight::test
