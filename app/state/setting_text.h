#pragma once

#include <nlohmann/json_fwd.hpp>

#include "app/state/json_reader.h"
#include "app/state/setting.h"

namespace headlight::app {

// Settings as files and the command line have them.

nlohmann::json write_setting(const AnySetting& setting, const Choices& choices);
/// Reads the setting's member of `object`; without one the value stays. Throws Error naming the key and what was expected.
void read_setting(const AnySetting& setting, const JsonReader& object, Choices& choices);

std::vector<std::string> option_names(const AnySetting& setting);
/// "on|off", "dark|light", "N"
std::string flag_value_name(const AnySetting& setting);
std::string flag_help(const AnySetting& setting);
/// Returns what stands after the flag for the value that is chosen.
std::string flag_text(const AnySetting& setting, const Choices& choices);
/// Returns the value that was typed after the flag. Throws UsageError.
SettingValue parse_setting(const AnySetting& setting, const std::string& flag, const std::string& typed);

}  // namespace headlight::app
