#include "discover/system_files.h"

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "base/os/os.h"

namespace smelt {

std::optional<std::string> SystemFiles::text(const std::string& file) const {
  // /proc/stat has a line per CPU and one that counts every interrupt: tens of kilobytes on large machines.
  for (size_t room = 8192; room <= 4u << 20; room *= 8) {
    std::string content(room, '\0');
    const int64_t length = os::read_small_file(path(file).c_str(), content.data(), room);
    if (length < 0) return std::nullopt;
    if (static_cast<size_t>(length) + 1 >= room) continue;
    content.resize(static_cast<size_t>(length));
    while (!content.empty() && (content.back() == '\n' || content.back() == ' ')) content.pop_back();
    return content;
  }
  return std::nullopt;
}

std::optional<int64_t> SystemFiles::number(const std::string& file) const {
  const auto content = text(file);
  if (!content) return std::nullopt;
  char* end = nullptr;
  const long long value = std::strtoll(content->c_str(), &end, 10);
  return end == content->c_str() ? std::nullopt : std::optional<int64_t>(value);
}

std::vector<uint32_t> SystemFiles::cpu_list(const std::string& file) const {
  return cpus_of_list(text(file).value_or(""));
}

std::vector<CpuGroup> cpu_groups(const SystemFiles& files) {
  std::vector<CpuGroup> groups;
  std::istringstream lines(files.text("/proc/self/cgroup").value_or(""));
  for (std::string line; std::getline(lines, line);) {  // hierarchy:controllers:path
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = fmt::format(",{},", line.substr(first + 1, second - first - 1));
    if (controllers != ",," && controllers.find(",cpu,") == std::string::npos) continue;
    groups.push_back({controllers == ",," ? "/sys/fs/cgroup" : "/sys/fs/cgroup/cpu", line.substr(second + 1)});
  }
  return groups;
}

std::vector<uint32_t> cpus_of_list(const std::string& text) {
  constexpr unsigned long kMost = 65536;  // more CPUs than any kernel has: a larger number is no list
  std::vector<uint32_t> cpus;
  const char* at = text.c_str();
  while (*at) {
    char* end = nullptr;
    const unsigned long first = std::strtoul(at, &end, 10);
    if (end == at) break;
    unsigned long last = first;
    if (*end == '-') {
      at = end + 1;
      last = std::strtoul(at, &end, 10);
      if (end == at) break;
    }
    if (last >= kMost) break;
    for (unsigned long cpu = first; cpu <= last; ++cpu) cpus.push_back(static_cast<uint32_t>(cpu));
    at = *end == ',' ? end + 1 : end;
    if (at == end) break;
  }
  std::sort(cpus.begin(), cpus.end());
  cpus.erase(std::unique(cpus.begin(), cpus.end()), cpus.end());
  return cpus;
}

std::string cpu_list_text(const std::vector<uint32_t>& cpus) {
  std::string out;
  for (size_t i = 0; i < cpus.size();) {
    size_t last = i;
    while (last + 1 < cpus.size() && cpus[last + 1] == cpus[last] + 1) ++last;
    if (!out.empty()) out += ',';
    out += std::to_string(cpus[i]);
    if (last > i) out += '-' + std::to_string(cpus[last]);
    i = last + 1;
  }
  return out;
}

}  // namespace smelt
