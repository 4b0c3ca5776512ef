// The paths of Multi30k's texts.
#include <doctest/doctest.h>

#include "core/file.h"
#include "evaluation/multi30k.h"
#include "support/error_message.h"
#include "support/temporary_directory.h"

namespace multi30k_test {

using namespace headlight;
using evaluation::find_multi30k;

TEST_SUITE("cpu") {
  TEST_CASE("Multi30k's texts are in one folder, or as in the dataset's repository") {
    const TemporaryDirectory folder;
    std::filesystem::create_directories(folder.path() / "data/task1/raw");
    write_file_atomically(folder.path() / "data/task1/raw/val.de.gz", "x");
    write_file_atomically(folder.path() / "val.en", "x");
    CHECK(find_multi30k(folder.path(), "val.de") == folder.path() / "data/task1/raw/val.de.gz");
    CHECK(find_multi30k(folder.path(), "val.en") == folder.path() / "val.en");
    CHECK(test::error_message([&] {
            find_multi30k(folder.path(), "val.fr");
          }).starts_with(folder.path().string() + " has no val.fr or val.fr.gz: "));
  }
}

}  // namespace multi30k_test
