#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace headlight::evaluation {

/// The lines of a text file, plain or compressed by gzip, without their line ends ("\n" or "\r\n"); text after the last
/// line end is a line when it isn't empty. Throws Error in one line: the file can't be read, holds no line, or a line isn't
/// UTF-8.
std::vector<std::string> read_lines(const std::filesystem::path& file);

}  // namespace headlight::evaluation
