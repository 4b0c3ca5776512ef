#include "platform/folders.h"

#include <initguid.h>

#include <knownfolders.h>
#include <shlobj.h>

#include <cstdlib>

namespace headlight::platform {
namespace {

namespace fs = std::filesystem;

fs::path known_folder(const KNOWNFOLDERID& id) {
  wchar_t* text = nullptr;
  const fs::path folder = ::SHGetKnownFolderPath(id, 0, nullptr, &text) == S_OK ? fs::path(text) : fs::path();
  ::CoTaskMemFree(text);
  return folder;
}

}  // namespace

std::optional<fs::path> path_variable(const char* name) {
  const wchar_t* value = ::_wgetenv(fs::path(name).c_str());
  return value != nullptr && *value != L'\0' ? std::optional<fs::path>(value) : std::nullopt;
}

/// Returns the folder that Python's expanduser() takes for "~", in which Hugging Face's cache is.
fs::path home_folder() {
  std::optional<fs::path> profile = path_variable("USERPROFILE");
  return profile ? *std::move(profile) : known_folder(FOLDERID_Profile);
}

fs::path user_folder(UserFolder which, std::string& trouble) {
  fs::path folder = known_folder(which == UserFolder::Settings ? FOLDERID_RoamingAppData : FOLDERID_LocalAppData);
  if (folder.empty()) trouble = "this user has no folder of application data";
  return folder;
}

/// The user's own folder of local data is closed to others, and so is a folder in it.
fs::path meeting_folder() { return known_folder(FOLDERID_LocalAppData) / "headlight-windows"; }
void make_private_folder(const fs::path& folder, std::error_code& error) { fs::create_directory(folder, error); }

fs::path program_file() {
  constexpr std::size_t kLongestPath = 32'768;
  std::wstring name(kLongestPath, L'\0');
  name.resize(::GetModuleFileNameW(nullptr, name.data(), static_cast<DWORD>(name.size())));
  return name;
}

}  // namespace headlight::platform
