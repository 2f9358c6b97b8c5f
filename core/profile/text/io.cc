// Writing a profile so that nobody ever sees half of one.
//
//   1. make the directories, take the lock: writers go one after the other
//   2. write both forms to temporary files beside their places, flush them to disk
//   3. rename both: readers see the old file or the new one, and after a power cut as well
// An error up to 2. leaves the old pair as it was. The packed form comes last: it is the one that processes trust.
#include "profile/text/io.h"

#include <cerrno>
#include <cstring>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/os/descriptor.h"
#include "profile/text/error.h"

namespace smelt {
namespace {

[[noreturn]] void fail(const std::string& path, const char* what) {
  const char* why = std::strerror(errno);
  throw UserError(fmt::format("{}: {} ({}); the profile there, if any, is unchanged", path, what, why));
}

std::string directory_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == path.npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

void make_directories(const std::string& directory, mode_t mode) {
  struct stat status {};
  if (directory.empty() || ::stat(directory.c_str(), &status) == 0) return;
  make_directories(directory_of(directory), mode);
  const bool made = ::mkdir(directory.c_str(), mode) == 0;
  if (!made && errno != EEXIST) fail(directory, "the directory cannot be made");
  // The mode is meant as it is, whatever the umask: a shared profile behind a closed directory helps nobody.
  if (made && ::chmod(directory.c_str(), mode) != 0) fail(directory, "its mode cannot be set");
}

// A complete file beside its final place, removed again unless it gets there.
class Draft {
 public:
  Draft(std::string place, const void* data, size_t bytes)
      : place_(std::move(place)), path_(fmt::format("{}.{}.tmp", place_, ::getpid())) {
    ::unlink(path_.c_str());  // left over from a crash; the lock says that nobody is using it
    const Descriptor file(::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (file.get() < 0) fail(path_, "cannot be written");
    const auto give_up = [this] {
      const int error = errno;
      ::unlink(path_.c_str());
      errno = error;
      fail(place_, "cannot be written");
    };
    for (size_t done = 0; done < bytes;) {
      const ssize_t written = ::write(file.get(), static_cast<const char*>(data) + done, bytes - done);
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) give_up();
      done += static_cast<size_t>(written);
    }
    // The loader refuses files that others can write; everybody may read, the directory decides for whom.
    if (::fchmod(file.get(), 0644) != 0 || ::fsync(file.get()) != 0) give_up();
  }
  ~Draft() {
    if (!placed_) ::unlink(path_.c_str());
  }
  Draft(const Draft&) = delete;
  Draft& operator=(const Draft&) = delete;

  void put_in_place() {
    if (::rename(path_.c_str(), place_.c_str()) != 0) fail(place_, "cannot be replaced");
    placed_ = true;
  }

 private:
  const std::string place_, path_;
  bool placed_ = false;
};

// The lock of a directory's writers, held as long as the descriptor is open.
int locked(const std::string& directory) {
  const std::string path = directory + "/lock";
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) fail(path, "cannot be opened");
  while (::flock(fd, LOCK_EX) != 0)
    if (errno != EINTR) {
      const Descriptor closed(fd);
      fail(path, "cannot be locked");
    }
  return fd;
}

void flush_directory(const std::string& directory) {
  const Descriptor in(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (in.get() >= 0) ::fsync(in.get());  // not every file system can: the files themselves are safe already
}

}  // namespace

std::string default_profile_path() {
  char path[sizeof Profile::path];
  switch (user_profile_path(path, sizeof path)) {
    case 0: return path;
    case -ENOENT: throw UserError("neither XDG_CACHE_HOME nor HOME names a directory to keep the profile in; set one");
    default: throw UserError("the directory for the profile has too long a name; set XDG_CACHE_HOME to a shorter one");
  }
}

std::string shared_profile_path() {
  char path[sizeof Profile::path];
  if (system_profile_path(path, sizeof path) != 0)
    throw UserError("the system's profile path is too long; use --output");
  return path;
}

void prepare_profile_place(const std::string& packed_path, bool shared) {
  const std::string directory = directory_of(packed_path);
  try {
    make_directories(directory, shared ? 0755 : 0700);
    if (::faccessat(AT_FDCWD, directory.c_str(), W_OK | X_OK, AT_EACCESS) != 0) fail(directory, "cannot be written");
  } catch (const UserError& error) {
    if (!shared) throw;
    throw UserError(fmt::format("{}; the system's profile is root's to write, yours needs no --system", error.what()));
  }
}

WrittenProfile write_profile(const ProfileImage& image, const std::string& packed_path, bool shared) {
  constexpr std::string_view kEnding = ".profile";
  if (!packed_path.ends_with(kEnding)) throw UserError(packed_path + ": a profile's name ends in .profile");
  const std::string stem = packed_path.substr(0, packed_path.size() - kEnding.size());
  const WrittenProfile paths{packed_path, stem + ".json"};
  const std::vector<std::byte> packed = image.pack();
  write_forms(profile_to_json(image), paths.json, {reinterpret_cast<const char*>(packed.data()), packed.size()},
              paths.packed, shared);
  return paths;
}

void write_forms(std::string_view text, const std::string& path, std::string_view packed,
                 const std::string& packed_path, bool shared) {
  const std::string directory = directory_of(path);
  prepare_profile_place(path, shared);  // 1.
  const Descriptor lock(locked(directory));
  Draft draft(path, text.data(), text.size());  // 2.
  Draft packed_draft(packed_path, packed.data(), packed.size());
  draft.put_in_place();  // 3.
  packed_draft.put_in_place();
  flush_directory(directory);
}

}  // namespace smelt
