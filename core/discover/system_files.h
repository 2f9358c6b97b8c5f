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
  // Without the line's end; nullopt when there is no such file or it cannot be read. At most 4 MiB.
  std::optional<std::string> text(const std::string& file) const;
  std::optional<int64_t> number(const std::string& file) const;
  std::vector<uint32_t> cpu_list(const std::string& file) const;  // "0-3,8", ascending; empty when absent

 private:
  std::string root_;
};

std::vector<uint32_t> cpus_of_list(const std::string& text);
std::string cpu_list_text(const std::vector<uint32_t>& cpus);  // ascending numbers: "0-3,8"

}  // namespace smelt
