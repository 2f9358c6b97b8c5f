#include "epcc/program.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

namespace smelt::epcc {

namespace fs = std::filesystem;

Progress terminal_progress() {
  if (!isatty(STDERR_FILENO)) return [](size_t, size_t, const std::string&) {};
  return [](size_t done, size_t total, const std::string& what) {
    fmt::print(stderr, "\r\033[K[{}/{}] {}", done, total, what);
    std::fflush(stderr);
  };
}

void end_progress() {
  if (isatty(STDERR_FILENO)) fmt::print(stderr, "\r\033[K");
}

std::string own_directory() {
  std::error_code error;
  return fs::read_symlink("/proc/self/exe", error).parent_path();
}

std::string find_program(const std::vector<std::string>& names) {
  const char* path = std::getenv("PATH");
  const std::string directories = path ? path : "/usr/bin:/bin";
  std::error_code error;
  for (const std::string& name : names) {
    if (name.find('/') != name.npos) {
      if (access(name.c_str(), X_OK) == 0) return name;
      continue;
    }
    for (size_t start = 0; start <= directories.size();) {
      const size_t end = std::min(directories.find(':', start), directories.size());
      const fs::path candidate = fs::path(directories.substr(start, end - start)) / name;
      if (fs::is_regular_file(candidate, error) && access(candidate.c_str(), X_OK) == 0) return candidate;
      start = end + 1;
    }
  }
  return "";
}

int complain(const char* program, const std::string& line, int status) {
  end_progress();
  fmt::print(stderr, "{}: {}\n", program, line);
  return status;
}

}  // namespace smelt::epcc
