// The kernel's small text files, below a root that a test may put in place of "/".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace smelt {

class SystemFiles {
 public:
  // "" or a directory, without a slash at its end.
  explicit SystemFiles(std::string root = "") : root_(std::move(root)) {}

  std::string path(const std::string& file) const { return root_ + file; }  // `file` begins with a slash
  // Without the line's end; nullopt when there is no such file or it cannot be read. It has at most 4 MiB.
  std::optional<std::string> text(const std::string& file) const;
  std::optional<int64_t> number(const std::string& file) const;
  std::vector<uint32_t> cpu_list(const std::string& file) const;  // "0-3,8", ascending; empty when absent

 private:
  std::string root_;
};

// The control groups that this process is in and that may limit its CPUs, of version 1 or 2, or both. In a container
// the mount point is its own group, and the path below it may be the host's and not exist here.
struct CpuGroup {
  std::string mount;  // "/sys/fs/cgroup"
  std::string path;   // below it, "/" for the group itself
};
std::vector<CpuGroup> cpu_groups(const SystemFiles& files);

std::vector<uint32_t> cpus_of_list(const std::string& text);
std::string cpu_list_text(const std::vector<uint32_t>& cpus);  // ascending numbers: "0-3,8"

}  // namespace smelt
