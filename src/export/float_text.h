#pragma once

#include <string>

namespace headlight::exporting {

/// Appends the shortest decimal text that reads back as exactly this float32: "0.1", "-1e+09"; "-inf", "inf", "nan".
void append_float(std::string& text, float value);

/// A number of a copied table: nine significant digits; "-inf", "inf", "nan".
std::string table_number(double value);

}  // namespace headlight::exporting
