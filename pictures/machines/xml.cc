#include "pictures/machines/xml.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include <fmt/format.h>

#include "discover/topology.h"
#include "profile/profile.h"
#include "profile/text/error.h"
#include "profile/text/read.h"

namespace smelt {
namespace {

Topology topology_from_xml(const std::string& text) {
  Topology topology = new_topology();
  if (hwloc_topology_set_xmlbuffer(topology.get(), text.c_str(), static_cast<int>(text.size() + 1)) != 0 ||
      hwloc_topology_load(topology.get()) != 0)
    return nullptr;
  return topology;
}

// hwloc believes what it reads: an object without a cpuset ends the process (2.9). So a child reads it first, and we
// know the child's fate before we do the same.
bool is_read_by_hwloc(const std::string& text) {
  // A number of billions where a CPU's stands is sets of billions. The numbers of real machines take a tenth of a
  // second.
  constexpr unsigned kSeconds = 30, kCpuSeconds = 2;
  const pid_t child = ::fork();
  if (child < 0) throw UserError(fmt::format("no process can be started to read XML ({})", std::strerror(errno)));
  if (child == 0) {
    constexpr rlimit kNone{0, 0}, kLittle{kCpuSeconds, kCpuSeconds};
    ::setrlimit(RLIMIT_CORE, &kNone);
    ::setrlimit(RLIMIT_CPU, &kLittle);
    if (const int nothing = ::open("/dev/null", O_WRONLY | O_CLOEXEC); nothing >= 0) ::dup2(nothing, STDERR_FILENO);
    ::signal(SIGALRM, SIG_DFL);
    ::alarm(kSeconds);
    bool good = false;
    try {
      const Topology topology = topology_from_xml(text);
      if (topology) machine_from(topology.get());
      good = topology != nullptr;
    } catch (const UserError&) {
      good = true;  // hwloc has read it; the parent says what we have against it
    }
    ::_exit(good ? 0 : 1);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// The version that hwloc's XML says to be of, "2.0"; hwloc 1 says none. Empty: none, or what it says is no number.
std::string xml_version(const std::string& text) {
  constexpr std::string_view kBegin = "<topology version=\"";
  const size_t at = text.find(kBegin);
  if (at == text.npos) return "";
  const size_t begin = at + kBegin.size(), end = text.find_first_not_of("0123456789.", begin);
  return end != text.npos && text[end] == '"' && end - begin < 12 ? text.substr(begin, end - begin) : "";
}

}  // namespace

Machine machine_from_xml(const std::string& path) {
  const std::string text = read_text_file(path, "");
  size_t pus = 0;  // hwloc connects all objects before it can be asked how many there are
  for (size_t at = 0; (at = text.find("type=\"PU\"", at)) != text.npos; ++at) ++pus;
  if (pus > kMaxProfileCpus) refuse_size(path + ": ", pus);
  const Topology topology = is_read_by_hwloc(text) ? topology_from_xml(text) : nullptr;
  if (topology) return machine_from(topology.get());
  const std::string version = xml_version(text);
  if (const int major = std::atoi(version.c_str()); major > HWLOC_API_VERSION >> 16)
    throw UserError(
        fmt::format("{}: XML of hwloc {}, and this Smelt's hwloc {} reads none that is newer than itself ('lstopo "
                    "--export-xml-flags V2 file.xml' of hwloc 3 writes what hwloc 2 reads)",
                    path, version, HWLOC_API_VERSION >> 16));
  throw UserError(fmt::format("{}: not an hwloc XML file ('lstopo file.xml' writes one)", path));
}

}  // namespace smelt
