// Habits that no compiler checks.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include "project/source_tree.h"

namespace headlight::test {
namespace {

bool is_cpp(const SourceFile& file) { return file.extension() == ".h" || file.extension() == ".cpp"; }
bool is_shader(const SourceFile& file) {
  return file.extension() == ".comp" || file.extension() == ".frag" || file.extension() == ".vert";
}

/// The text of all build files, and of the scripts that compile sources against what they fetch.
const std::string& build_files() {
  static const std::string kText = [] {
    std::string text;
    for (const auto& file : source_tree()) {
      const bool builds =
          file.name() == "CMakeLists.txt" || file.extension() == ".cmake" || file.path == "scripts/bench-others";
      if (builds) text += file.text;
    }
    return text;
  }();
  return kText;
}

/// Is `name` in the build files as a whole file name? "mask.cpp" must not pass because of "padding_mask.cpp".
bool is_built(const std::string& name) {
  for (std::size_t at = build_files().find(name); at != std::string::npos; at = build_files().find(name, at + 1)) {
    const char before = at == 0 ? ' ' : build_files()[at - 1];
    const std::size_t end = at + name.size();
    const char after = end < build_files().size() ? build_files()[end] : ' ';
    const auto continues = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.'; };
    if (!continues(before) && !continues(after)) return true;
  }
  return false;
}

/// The first header, call or name in a source that POSIX, Linux, X11, Wayland, XDG or Windows has and others lack; empty:
/// none.
std::string name_of_one_system(const std::string& text) {
  static const std::regex kName(
      R"(#include <((sys|linux|X11|arpa|netinet|net)/.*|regex\.h|(unistd|fcntl|spawn|poll|signal|csignal|dlfcn|pthread|sched|termios|pwd|)"
      R"(netdb|dirent|langinfo|glob|fnmatch|link|execinfo|elf|wordexp|semaphore|strings|iconv|ucontext|syslog|malloc|)"
      R"(endian|libgen|windows|io)(\.h)?)>|"/(proc|dev|tmp|usr|etc)/|getenv\("(HOME|XDG_|DISPLAY|WAYLAND|LC_|LANG)[A-Z_]*"|)"
      R"(\b(isatty|setenv|popen|localtime_r|gmtime_r|mkstemp|clock_gettime|getrusage|sysconf|malloc_trim)\(|)"
      R"([\s(!]::(open|close|read|write|stat|lstat|fstat|unlink|mkdir|chmod|access|kill|getpid|geteuid|mmap|fork|poll)\()");
  std::smatch found;
  if (!std::regex_search(text, found, kName)) return {};
  const std::string name = found.str();
  return name.substr(name.find_first_not_of(" \n(!"));
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("the tree is found") {
    CHECK(source_tree().size() > 60);
    CHECK(is_built("includes_test.cpp"));
    CHECK_FALSE(is_built("ncludes_test.cpp"));
  }

  TEST_CASE("files are named after their content") {
    const std::regex vague(R"((^|_)(util|utils|utility|common|helper|helpers|misc|stuff)(_|$))");
    const std::regex snake(R"(^[a-z0-9]+(_[a-z0-9]+)*$)");
    for (const auto& file : source_tree()) {
      if (!is_cpp(file) && !is_shader(file) && file.extension() != ".glsl") continue;
      CAPTURE(file.path);
      const std::string stem = std::filesystem::path(file.path).stem().string();
      CHECK_FALSE(std::regex_search(stem, vague));
      CHECK(std::regex_match(stem, snake));
    }
  }

  TEST_CASE("no to-do marks, no paths of a developer's machine") {
    const std::regex later(std::string("\\b(TO") + "DO|FIX" + "ME|XX" + "X)\\b");
    const std::regex machine(std::string("(^|[\\s\"'(=:])/(wor") + "k|ro" + "ot)/");
    for (const auto& file : source_tree()) {
      CAPTURE(file.path);
      CHECK_FALSE(std::regex_search(file.text, later));
      CHECK_FALSE(std::regex_search(file.text, machine));
    }
  }

  TEST_CASE("places that are clicked go through click_area(), which bears a window without room") {
    std::size_t uses = 0;
    for (const auto& file : source_tree()) {
      if (!is_cpp(file) || !file.path.starts_with("app/")) continue;
      CAPTURE(file.path);
      if (file.text.find(" click_area(") != std::string::npos) ++uses;
      const bool is_bare = file.text.find("ImGui::InvisibleButton(") != std::string::npos;
      CHECK(is_bare == (file.path == "app/shell/click_area.h"));
    }
    CHECK(uses > 20);
  }

  TEST_CASE("tooltips go through Tooltip, which places them beside what they explain") {
    const std::regex tooltip(R"(ImGui::(Set(Item)?Tooltip|Begin(Item)?Tooltip)\w*\()");
    std::size_t uses = 0;
    for (const auto& file : source_tree()) {
      if (!is_cpp(file) || !file.path.starts_with("app/")) continue;
      CAPTURE(file.path);
      if (file.text.find("Tooltip tooltip(") != std::string::npos || file.text.find(" draw_tooltip(") != std::string::npos)
        ++uses;
      CHECK(std::regex_search(file.text, tooltip) == (file.path == "app/widgets/controls.cpp"));
    }
    CHECK(uses > 10);
  }

  TEST_CASE("files are read through core/, whose readers tell a read error from the end") {
    // Streams of the library stop at either; those of /proc may.
    const std::regex stream(R"(std::(cin|ifstream)|\b(fopen|fread|gzopen|gzread)\()");
    const std::regex call(R"([\s(=!]::p?read(v|64)?\()");
    for (const auto& file : source_tree()) {
      if (!is_cpp(file) || !(file.path.starts_with("src/") || file.path.starts_with("app/"))) continue;
      CAPTURE(file.path);
      std::istringstream lines(file.text);
      for (std::string line; std::getline(lines, line);) {
        CAPTURE(line);
        CHECK((!std::regex_search(line, stream) || line.find("\"/proc/") != std::string::npos));
      }
      CHECK(std::regex_search(file.text, call) <= file.path.starts_with("src/platform/"));
    }
  }

  TEST_CASE("headers, calls and names of one system are in src/platform alone") {
    CHECK(name_of_one_system("#include <sys/stat.h>\n#include <vector>\n") == "#include <sys/stat.h>");
    CHECK(name_of_one_system("#include <csignal>\n") == "#include <csignal>");
    CHECK(name_of_one_system("  x = ::getpid();\n") == "::getpid(");
    CHECK(name_of_one_system("std::getenv(\"HOME\")") == "getenv(\"HOME\"");
    CHECK(name_of_one_system("std::ifstream file(\"/proc/meminfo\");") == "\"/proc/");
    CHECK(name_of_one_system("#include <zlib.h>\n::crc32(0, nullptr, 0); std::getenv(\"HEADLIGHT_KERNELS\")").empty());
    std::size_t implementations = 0;
    for (const auto& file : source_tree()) {
      if (!is_cpp(file) || !(file.path.starts_with("src/") || file.path.starts_with("app/"))) continue;
      CAPTURE(file.path);
      const std::string name = name_of_one_system(file.text);
      const std::string room = "src/platform/";  // whose interfaces are for every system, beside a folder for each
      const bool is_implementation = file.path.starts_with(room) && file.path.find('/', room.size()) != std::string::npos;
      if (!is_implementation) CHECK(name == "");
      if (is_implementation && !name.empty()) ++implementations;
    }
    CHECK(implementations > 6);
  }

  TEST_CASE("paths become text in one function, which writes UTF-8 on every system") {
    const std::regex conversion(
        R"(\.(string|generic_string|u8string|generic_u8string)\(\)|(path|file|folder|filename\(\))\.native\()");
    std::size_t uses = 0;
    for (const auto& file : source_tree()) {
      if (!is_cpp(file) || !(file.path.starts_with("src/") || file.path.starts_with("app/"))) continue;
      if (file.path.starts_with("src/platform/")) continue;  // whose implementations take the system's own
      CAPTURE(file.path);
      std::istringstream lines(file.text);
      for (std::string line; std::getline(lines, line);) {
        CAPTURE(line);
        if (line.find(" utf8(") != std::string::npos) ++uses;
        // A node of JSON has a string, too.
        const bool is_of_json = file.path.starts_with("src/text/") && line.find("path") == std::string::npos;
        CHECK((!std::regex_search(line, conversion) || is_of_json || file.path == "src/core/utf8.cpp"));
      }
    }
    CHECK(uses > 200);
  }

  TEST_CASE("text files end in one newline and have no carriage returns") {
    for (const auto& file : source_tree()) {
      if (file.text.empty()) continue;
      CAPTURE(file.path);
      CHECK(file.text.back() == '\n');
      CHECK(file.text.find('\r') == std::string::npos);
    }
  }

  TEST_CASE("headers start with #pragma once") {
    for (const auto& file : source_tree()) {
      // shaders/params/*.h are read by GLSL too, which has include guards but no #pragma once.
      if (file.extension() != ".h" || file.path.starts_with("shaders/")) continue;
      CAPTURE(file.path);
      CHECK(file.text.starts_with("#pragma once\n"));
    }
  }

  TEST_CASE("every source and every shader is built") {
    // Folders whose sources CMake finds, by a call in them or one in app/ that names the room.
    std::set<std::string> searched;
    const std::regex call(R"(headlight_sources\(\w+([^)]*)\))");
    for (const auto& file : source_tree()) {
      if (file.name() != "CMakeLists.txt") continue;
      const std::string folder = file.path.substr(0, file.path.size() - file.name().size());
      for (std::sregex_iterator match(file.text.begin(), file.text.end(), call), end; match != end; ++match) {
        std::istringstream words((*match)[1].str());
        bool has_any = false;
        for (std::string word; words >> word && word != "EXCEPT"; has_any = true) searched.insert(folder + word + "/");
        if (!has_any) searched.insert(folder);
      }
    }
    CHECK(searched.size() > 20);
    for (const auto& file : source_tree()) {
      if (std::ranges::any_of(searched, [&](const std::string& folder) { return file.path.starts_with(folder); })) continue;
      const bool source = file.extension() == ".cpp";
      if (!source && !is_shader(file)) continue;
      CAPTURE(file.path);
      // A loop over kernels names shaders without their extension.
      const bool built = is_built(file.name()) || (!source && is_built(std::filesystem::path(file.path).stem().string()));
      CHECK(built);
    }
  }

  TEST_CASE("no member of a list in braces is awaited, whose value GCC 12 destroys twice") {
    const std::regex member(R"([{,] *\.\w+ = co_await)");
    for (const auto& file : source_tree()) {
      if (!is_cpp(file) || file.path.starts_with("tests/project/")) continue;
      CAPTURE(file.path);
      CHECK_FALSE(std::regex_search(file.text, member));
    }
  }

  TEST_CASE("links between documents have targets") {
    const std::filesystem::path root = HEADLIGHT_SOURCE_DIR;
    const std::regex link(R"(\]\(([^)#:\s]+)(#[^)]*)?\))");
    for (const auto& file : source_tree()) {
      if (file.extension() != ".md") continue;
      for (std::sregex_iterator match(file.text.begin(), file.text.end(), link), end; match != end; ++match) {
        CAPTURE(file.path);
        CAPTURE((*match)[1].str());
        CHECK(std::filesystem::exists(root / std::filesystem::path(file.path).parent_path() / (*match)[1].str()));
      }
    }
  }

  TEST_CASE("every column of a table that a view copies is one of the documentation") {
    std::string documented;
    for (const auto& file : source_tree()) {
      if (file.path == "docs/EXPORT.md") documented = file.text;
    }
    documented = documented.substr(documented.find("## Tables of views"));
    // Lists of names that become a table, or are added to one; a name with "{" is made of others.
    const std::regex list(R"~((?:named_columns\(|names(?: =)? ?)\{([^}]*)\}|names\.(?:push_back|insert)\(([^;]*);)~");
    const std::regex literal(R"~("([^"]*)")~");
    std::set<std::string> columns;
    for (const auto& file : source_tree()) {
      if (file.extension() != ".cpp" || !file.path.starts_with("app/") ||
          file.text.find("named_columns(") == std::string::npos) {
        continue;
      }
      if (file.name() == "every_position.cpp") continue;  // its table is on screen alone
      for (std::sregex_iterator match(file.text.begin(), file.text.end(), list), end; match != end; ++match) {
        const std::string names = (*match)[1].str() + (*match)[2].str();
        for (std::sregex_iterator name(names.begin(), names.end(), literal); name != end; ++name) {
          const std::string column = (*name)[1].str();
          if (column.find_first_of("{\\") != std::string::npos) continue;
          columns.insert(column);
          CAPTURE(file.path);
          CAPTURE(column);
          CHECK(documented.find("`" + column + "`") != std::string::npos);
        }
      }
    }
    CHECK(columns.size() > 50);
  }

  TEST_CASE("keywords of the Python package's survey() are flags of the command") {
    std::ostringstream keywords_file;
    keywords_file << std::ifstream(std::filesystem::path(HEADLIGHT_SOURCE_DIR) / "python/headlight/_surveys.py").rdbuf();
    const std::string keywords = keywords_file.str();
    std::string flags;
    for (const auto& file : source_tree()) {
      if (file.path.starts_with("app/cli/") || file.name() == "survey_settings.h") flags += file.text;
    }
    const std::regex line(R"~(\n    options (?:=|\|=) \{([^}]*)\})~"), keyword(R"~("(\w+)":)~");
    std::size_t found = 0;
    for (std::sregex_iterator match(keywords.begin(), keywords.end(), line), end; match != end; ++match) {
      const std::string named = (*match)[1].str();
      for (std::sregex_iterator name(named.begin(), named.end(), keyword); name != end; ++name, ++found) {
        CAPTURE((*name)[1].str());
        CHECK(flags.find("--" + (*name)[1].str() + "\"") != std::string::npos);
      }
    }
    CHECK(found == 9);
  }
}

}  // namespace headlight::test
