#include "platform/process.h"

#include <array>
#include <cstdlib>

#include "platform/windows/handles.h"

#include <shellapi.h>

namespace headlight::platform {
namespace {

std::wstring wide(std::string_view text) {
  const int bytes = static_cast<int>(text.size());
  std::wstring result(static_cast<std::size_t>(::MultiByteToWideChar(CP_UTF8, 0, text.data(), bytes, nullptr, 0)), L'\0');
  ::MultiByteToWideChar(CP_UTF8, 0, text.data(), bytes, result.data(), static_cast<int>(result.size()));
  return result;
}

std::string narrow(std::wstring_view text) {
  const int letters = static_cast<int>(text.size());
  const int bytes = ::WideCharToMultiByte(CP_UTF8, 0, text.data(), letters, nullptr, 0, nullptr, nullptr);
  std::string result(static_cast<std::size_t>(bytes), '\0');
  ::WideCharToMultiByte(CP_UTF8, 0, text.data(), letters, result.data(), bytes, nullptr, nullptr);
  return result;
}

/// One line that programs take apart into these words: quotes, and backslashes before quotes, get a backslash.
std::wstring command_line(const std::vector<std::string>& command) {
  std::wstring line;
  for (const std::string& word : command) {
    line += line.empty() ? L"\"" : L" \"";
    std::size_t backslashes = 0;
    for (const wchar_t letter : wide(word)) {
      if (letter == L'"') line.append(backslashes + 1, L'\\');
      backslashes = letter == L'\\' ? backslashes + 1 : 0;
      line += letter;
    }
    line.append(backslashes, L'\\') += L'"';
  }
  return line;
}

/// A handle that a program inherits. `path`: a file, or NUL, which has nothing to read and takes everything.
HANDLE open_for_child(const wchar_t* path, DWORD access) {
  SECURITY_ATTRIBUTES inherited{.nLength = sizeof(inherited), .lpSecurityDescriptor = nullptr, .bInheritHandle = TRUE};
  return ::CreateFileW(path, access, FILE_SHARE_READ | FILE_SHARE_WRITE, &inherited, OPEN_EXISTING, 0, nullptr);
}

std::string version_value(const wchar_t* name) {
  std::array<wchar_t, 128> text{};
  DWORD bytes = sizeof(text);
  const LSTATUS status = ::RegGetValueW(HKEY_LOCAL_MACHINE, L"SOFTWARE\\Microsoft\\Windows NT\\CurrentVersion", name,
                                        RRF_RT_REG_SZ, nullptr, text.data(), &bytes);
  return status == ERROR_SUCCESS ? narrow(text.data()) : std::string();
}

}  // namespace

std::uint32_t process_id() { return ::GetCurrentProcessId(); }

/// Users have no numbers here.
std::uint32_t user_id() { return 0; }

std::string host_name() {
  std::array<wchar_t, 256> name{};
  auto size = static_cast<DWORD>(name.size());
  return ::GetComputerNameExW(ComputerNameDnsHostname, name.data(), &size) != 0 ? narrow(name.data()) : std::string();
}

std::string system_release() {
  return "ID=windows\nPRETTY_NAME=\"" + version_value(L"ProductName") + "\"\nVERSION_ID=\"" +
         version_value(L"CurrentBuild") + "\"\n";
}

std::string user_language() {
  std::array<wchar_t, LOCALE_NAME_MAX_LENGTH> name{};
  ::GetUserDefaultLocaleName(name.data(), static_cast<int>(name.size()));
  std::string language = narrow(name.data());  // "de-DE"
  if (const std::size_t at = language.find('-'); at != std::string::npos) language[at] = '_';
  return language;
}

void set_variable(const char* name, const std::string& value) { ::_wputenv_s(wide(name).c_str(), wide(value).c_str()); }

std::optional<Child> start_program(const std::vector<std::string>& command, const std::filesystem::path& input) {
  STARTUPINFOW start{};
  start.cb = sizeof(start);
  start.dwFlags = STARTF_USESTDHANDLES;
  start.hStdInput = open_for_child(input.empty() ? L"NUL" : input.c_str(), GENERIC_READ);
  start.hStdOutput = start.hStdError = open_for_child(L"NUL", GENERIC_WRITE);
  std::wstring line = command_line(command);
  PROCESS_INFORMATION process{};
  const bool is_started = ::CreateProcessW(nullptr, line.data(), nullptr, nullptr, TRUE, CREATE_NO_WINDOW, nullptr, nullptr,
                                           &start, &process) != 0;
  ::CloseHandle(start.hStdInput);
  ::CloseHandle(start.hStdOutput);
  if (!is_started) return std::nullopt;
  ::CloseHandle(process.hThread);
  return Child{reinterpret_cast<std::intptr_t>(process.hProcess)};
}

int wait_for(Child child) {
  const auto process = reinterpret_cast<HANDLE>(child.id);
  DWORD status = 0;
  ::WaitForSingleObject(process, INFINITE);
  ::GetExitCodeProcess(process, &status);
  ::CloseHandle(process);
  return static_cast<int>(status);
}

std::string show_folder(const std::filesystem::path& folder) {
  const HINSTANCE result = ::ShellExecuteW(nullptr, L"explore", folder.c_str(), nullptr, nullptr, SW_SHOWNORMAL);
  constexpr std::intptr_t kLastError = 32;
  return reinterpret_cast<std::intptr_t>(result) > kLastError ? std::string()
                                                              : "Windows doesn't show " + narrow(folder.native());
}

/// Copies the image under the name that programs have agreed on for a PNG.
std::string copy_image(const std::filesystem::path& png) {
  std::error_code error;
  const Descriptor file = open_to_read(png, error);
  const std::size_t bytes = file ? stamp_of(file.number())->bytes : 0;
  const HGLOBAL image = ::GlobalAlloc(GMEM_MOVEABLE, bytes);
  const bool is_read =
      bytes > 0 && read_at(file.number(), static_cast<char*>(::GlobalLock(image)), bytes, 0, error) == bytes;
  ::GlobalUnlock(image);
  if (is_read && ::OpenClipboard(nullptr) != 0) {
    ::EmptyClipboard();
    const bool is_taken = ::SetClipboardData(::RegisterClipboardFormatW(L"PNG"), image) != nullptr;
    ::CloseClipboard();
    if (is_taken) return {};
  }
  ::GlobalFree(image);
  return "the clipboard didn't take the image; export the figure instead";
}

}  // namespace headlight::platform
