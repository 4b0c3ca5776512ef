// What an AppImage begins with: a static program, after which comes a squashfs image. It mounts the image by FUSE where that
// works, else unpacks it into a temporary folder, and starts AppRun there with its own arguments. The mount, or the folder,
// is gone when the program has ended.
//   --appimage-extract [FOLDER]  unpacks the image (squashfs-root) and ends
//   --appimage-offset            prints where in the file the image begins
//   APPIMAGE_EXTRACT_AND_RUN=1   in the environment: doesn't try FUSE
#include <elf.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

extern "C" {
#include <squashfuse/ll.h>
#include <squashfuse/squashfuse.h>
}

namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const std::string& what) { throw std::runtime_error(what); }

/// The end of the ELF file that this program is: its section headers come last.
std::size_t image_offset(const fs::path& program) {
  Elf64_Ehdr header{};
  std::ifstream file(program, std::ios::binary);
  if (!file.read(reinterpret_cast<char*>(&header), sizeof(header))) fail("can't read " + program.string());
  return header.e_shoff + std::size_t{header.e_shnum} * header.e_shentsize;
}

fs::path temporary_folder() {
  const char* base = std::getenv("TMPDIR");
  std::string name = (base != nullptr && *base == '/' ? fs::path(base) : fs::path("/tmp")) / "headlight-appimage-XXXXXX";
  if (::mkdtemp(name.data()) == nullptr) fail("can't make a folder like " + name + ": " + std::strerror(errno));
  return name;
}

void copy_file(sqfs& image, sqfs_inode& inode, const fs::path& to) {
  std::ofstream file(to, std::ios::binary);
  std::vector<char> bytes(std::size_t{1} << 20U);
  for (sqfs_off_t at = 0; static_cast<std::uint64_t>(at) < inode.xtra.reg.file_size;) {
    auto count = static_cast<sqfs_off_t>(bytes.size());
    if (sqfs_read_range(&image, &inode, at, &count, bytes.data()) != SQFS_OK || count == 0)
      fail("this file is damaged; download it again");
    file.write(bytes.data(), count);
    at += count;
  }
  file.close();
  if (!file) fail("can't write " + to.string() + ": " + std::strerror(errno));
  fs::permissions(to, static_cast<fs::perms>(inode.base.mode & 0777U));
}

void unpack(const fs::path& program, std::size_t offset, const fs::path& folder) {
  sqfs image{};
  if (sqfs_open_image(&image, program.c_str(), offset) != SQFS_OK) fail("this file is damaged; download it again");
  sqfs_traverse walk{};
  sqfs_err error = sqfs_traverse_open(&walk, &image, sqfs_inode_root(&image));
  while (error == SQFS_OK && sqfs_traverse_next(&walk, &error)) {
    if (walk.dir_end) continue;
    sqfs_inode inode{};
    if (sqfs_inode_get(&image, &inode, sqfs_dentry_inode(&walk.entry)) != SQFS_OK)
      fail("this file is damaged; download it again");
    const fs::path to = folder / walk.path;
    if (S_ISDIR(inode.base.mode)) {
      fs::create_directories(to);
    } else if (S_ISLNK(inode.base.mode)) {
      std::size_t size = 0;
      sqfs_readlink(&image, &inode, nullptr, &size);
      std::string target(size, '\0');
      sqfs_readlink(&image, &inode, target.data(), &size);
      fs::create_symlink(target.c_str(), to);
    } else {
      copy_file(image, inode, to);
    }
  }
  if (error != SQFS_OK) fail("this file is damaged; download it again");
  sqfs_traverse_close(&walk);
  sqfs_destroy(&image);
  sqfs_fd_close(image.fd);
}

/// Answers the kernel's requests until `started` is closed by the last process that has its other end, then unmounts.
void serve(fuse_session* session, int started) {
  fuse_buf buffer{};
  pollfd waits[] = {{.fd = fuse_session_fd(session), .events = POLLIN, .revents = 0},
                    {.fd = started, .events = POLLIN, .revents = 0}};
  while (fuse_session_exited(session) == 0) {
    if (::poll(waits, 2, -1) < 0 && errno != EINTR) break;
    if (waits[1].revents != 0) break;
    if (waits[0].revents == 0) continue;
    const int received = fuse_session_receive_buf(session, &buffer);
    if (received > 0) fuse_session_process_buf(session, &buffer);
    if (received == 0 || (received < 0 && received != -EINTR)) break;
  }
  std::free(buffer.mem);
}

/// In a process of its own: mounts the image at `folder`, says so by closing `mounted` after one byte, serves it, and
/// removes the folder.
[[noreturn]] void mount_and_serve(const fs::path& program, std::size_t offset, const fs::path& folder, int mounted,
                                  int started) {
  ::setsid();  // a signal from the terminal is the program's
  const int silent = ::open("/dev/null", O_RDWR);
  ::dup2(silent, STDERR_FILENO);  // what FUSE says where it isn't allowed
  sqfs_ll* image = sqfs_ll_open(program.c_str(), offset);
  fuse_lowlevel_ops operations{};
  operations.getattr = sqfs_ll_op_getattr;
  operations.opendir = sqfs_ll_op_opendir;
  operations.releasedir = sqfs_ll_op_releasedir;
  operations.readdir = sqfs_ll_op_readdir;
  operations.lookup = sqfs_ll_op_lookup;
  operations.open = sqfs_ll_op_open;
  operations.release = sqfs_ll_op_release;
  operations.read = sqfs_ll_op_read;
  operations.readlink = sqfs_ll_op_readlink;
  operations.forget = sqfs_ll_op_forget;
  std::string name = "headlight", flag = "-o", options = "ro,nodev,fsname=headlight";
  char* words[] = {name.data(), flag.data(), options.data(), nullptr};
  fuse_args arguments = FUSE_ARGS_INIT(3, words);
  fuse_session* session = image == nullptr ? nullptr : fuse_session_new(&arguments, &operations, sizeof(operations), image);
  const bool works = session != nullptr && fuse_session_mount(session, folder.c_str()) == 0;
  if (works) {
    if (::write(mounted, "m", 1) == 1) {
      ::close(mounted);
      ::dup2(silent, STDIN_FILENO);
      ::dup2(silent, STDOUT_FILENO);
      serve(session, started);
    }
    fuse_session_unmount(session);
    ::rmdir(folder.c_str());
  }
  ::_exit(works ? 0 : 1);
}

bool mount_image(const fs::path& program, std::size_t offset, const fs::path& folder) {
  int mounted[2], started[2];
  // The program inherits the end of `started` that the server waits for; nothing else does.
  if (::pipe2(mounted, O_CLOEXEC) != 0 || ::pipe(started) != 0) return false;
  const pid_t server = ::fork();
  if (server < 0) return false;
  if (server == 0) {
    ::close(mounted[0]);
    ::close(started[1]);
    // Once more, so that the server isn't a child of the program, which might wait for it.
    const pid_t inner = ::fork();
    if (inner != 0) ::_exit(inner < 0 ? 1 : 0);
    mount_and_serve(program, offset, folder, mounted[1], started[0]);
  }
  ::close(mounted[1]);
  ::close(started[0]);
  ::waitpid(server, nullptr, 0);
  char answer = 0;
  const bool works = ::read(mounted[0], &answer, 1) == 1;
  ::close(mounted[0]);
  if (!works) ::close(started[1]);
  return works;
}

[[noreturn]] void start(const fs::path& program, const fs::path& folder, char** argv) {
  ::setenv("APPIMAGE", program.c_str(), 1);
  ::setenv("APPDIR", folder.c_str(), 1);
  const fs::path entry = folder / "AppRun";
  ::execv(entry.c_str(), argv);
  fail("can't start " + entry.string() + ": " + std::strerror(errno) +
       "; is the folder of temporary files mounted with noexec? TMPDIR names another");
}

pid_t running = 0;
void forward(int signal) { ::kill(running, signal); }

int run_unpacked(const fs::path& program, std::size_t offset, const fs::path& folder, char** argv) {
  try {
    unpack(program, offset, folder);
  } catch (...) {
    fs::remove_all(folder);
    throw;
  }
  running = ::fork();
  if (running == 0) start(program, folder, argv);
  std::signal(SIGINT, SIG_IGN);  // the terminal sends it to the program too
  for (const int signal : {SIGTERM, SIGHUP}) std::signal(signal, forward);
  int status = 0;
  while (::waitpid(running, &status, 0) < 0 && errno == EINTR) {
  }
  std::error_code failure;
  fs::remove_all(folder, failure);
  if (!WIFSIGNALED(status)) return WEXITSTATUS(status);
  std::signal(WTERMSIG(status), SIG_DFL);
  ::raise(WTERMSIG(status));
  return 128 + WTERMSIG(status);
}

}  // namespace

int main(int argc, char** argv) try {
  const fs::path program = fs::read_symlink("/proc/self/exe");
  const std::size_t offset = image_offset(program);
  const std::string first = argc > 1 ? argv[1] : "";
  if (first == "--appimage-offset") {
    std::printf("%zu\n", offset);
    return 0;
  }
  if (first == "--appimage-extract") {
    const fs::path folder = argc > 2 ? argv[2] : "squashfs-root";
    fs::create_directories(folder);
    unpack(program, offset, folder);
    return 0;
  }
  const fs::path folder = temporary_folder();
  const char* unpacks = std::getenv("APPIMAGE_EXTRACT_AND_RUN");
  if ((unpacks == nullptr || *unpacks == '\0') && mount_image(program, offset, folder)) start(program, folder, argv);
  return run_unpacked(program, offset, folder, argv);
} catch (const std::exception& error) {
  std::fprintf(stderr, "headlight: %s\n", error.what());
  return 1;
}
