#include "cli/preload.h"

#include <elf.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <vector>

#include "base/options.h"
#include "smelt_config.h"

namespace smelt {
namespace {

namespace fs = std::filesystem;

bool is_file(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

// Dynamic executables name their loader in PT_INTERP; without one nothing reads LD_PRELOAD.
template <typename Header, typename Segment>
bool names_a_loader(std::ifstream& file) {
  Header header{};
  file.seekg(0);
  if (!file.read(reinterpret_cast<char*>(&header), sizeof header)) return true;
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    Segment segment{};
    file.seekg(static_cast<std::streamoff>(header.e_phoff + uint64_t{i} * header.e_phentsize));
    if (!file.read(reinterpret_cast<char*>(&segment), sizeof segment)) return true;
    if (segment.p_type == PT_INTERP) return true;
  }
  return false;
}

// A file of Smelt's: in `built`, a folder of the build tree, or in `installed`, a folder of the library directory.
std::string find_part(const char* built, const char* installed, const char* name) {
  std::error_code error;
  const fs::path here = fs::read_symlink("/proc/self/exe", error).parent_path();
  std::vector<fs::path> places;
  if (!error) {
    places.push_back(here / ".." / built);  // the build tree: core/smelt
    // An installed tree that was moved: the last parts of the libdir beside our own directory.
    const fs::path libdir = SMELT_LIBDIR;
    places.push_back(here / ".." / libdir.filename() / installed);
    places.push_back(here / ".." / libdir.parent_path().filename() / libdir.filename() / installed);
  }
  places.push_back(fs::path(SMELT_LIBDIR) / installed);
  for (const fs::path& place : places)
    if (is_file(place / name)) return fs::weakly_canonical(place / name, error).string();
  return "";
}

}  // namespace

std::string find_shim() { return find_part("gomp_shim", "", kShimName); }

std::string find_component() {
  return fs::path(find_part("ompi_coll_smelt", "smelt/openmpi", kComponentName)).parent_path().string();
}

std::string without_component(const std::string& path) {
  std::string others;
  for (size_t at = 0; at < path.size();) {
    size_t end = path.find(':', at);
    if (end == std::string::npos) end = path.size();
    const std::string folder = path.substr(at, end - at);
    if (!folder.empty() && !is_file(fs::path(folder) / kComponentName)) others += (others.empty() ? "" : ":") + folder;
    at = end + 1;
  }
  return others;
}

std::string preload_value(const char* before, const std::string& shim) {
  std::string value = shim;
  const std::string entries = before ? before : "";
  for (size_t at = 0; at < entries.size();) {
    size_t end = entries.find_first_of(": ", at);  // the loader takes both
    if (end == std::string::npos) end = entries.size();
    const std::string entry = entries.substr(at, end - at);
    if (!entry.empty() && fs::path(entry).filename() != kShimName) value += (value.empty() ? "" : ":") + entry;
    at = end + 1;
  }
  return value;
}

std::string find_program(const std::string& command) {
  if (command.find('/') != std::string::npos) return is_file(command) ? command : "";
  const char* variable = environment("PATH");
  const std::string path = variable ? variable : "/bin:/usr/bin";
  for (size_t at = 0; at <= path.size();) {
    size_t end = path.find(':', at);
    if (end == std::string::npos) end = path.size();
    const fs::path candidate = fs::path(end == at ? "." : path.substr(at, end - at)) / command;
    if (is_file(candidate) && ::access(candidate.c_str(), X_OK) == 0) return candidate.string();
    at = end + 1;
  }
  return "";
}

std::string preload_obstacle(const std::string& program) {
  std::ifstream file(program, std::ios::binary);
  unsigned char ident[EI_NIDENT] = {};
  if (!file.read(reinterpret_cast<char*>(ident), sizeof ident)) return "";
  if (std::string(reinterpret_cast<char*>(ident), SELFMAG) != ELFMAG) return "";  // a script: what it starts counts
  struct stat status {};
  if (::stat(program.c_str(), &status) == 0 && (status.st_mode & (S_ISUID | S_ISGID)))
    return "it runs with another user's rights";
  if (::getxattr(program.c_str(), "security.capability", nullptr, 0) > 0) return "it runs with file capabilities";
  const bool dynamic = ident[EI_CLASS] == ELFCLASS64 ? names_a_loader<Elf64_Ehdr, Elf64_Phdr>(file)
                                                     : names_a_loader<Elf32_Ehdr, Elf32_Phdr>(file);
  return dynamic ? "" : "it is statically linked";
}

}  // namespace smelt
