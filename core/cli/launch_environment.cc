#include "cli/launch_environment.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstring>

#include "base/options.h"
#include "smelt_config.h"

namespace smelt {
namespace {

constexpr const char* kEntryEnds = ": ";  // the loader takes both

bool is_file(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash);
}
std::string name_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// Open for reading as long as it lives.
class File {
 public:
  explicit File(const std::string& path) : fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  ~File() {
    if (fd_ >= 0) ::close(fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  // False: the file is shorter; what there is has been read.
  template <typename T>
  bool read_at(uint64_t offset, T* out) const {
    return ::pread(fd_, out, sizeof *out, static_cast<off_t>(offset)) == static_cast<ssize_t>(sizeof *out);
  }

 private:
  const int fd_;
};

// An executable's demands on its loader.
template <typename Header, typename Segment, typename Dynamic>
struct Elf {
  const File& file;
  std::vector<Segment> segments;
  bool complete = false;

  explicit Elf(const File& opened) : file(opened) {
    Header header{};
    if (!file.read_at(0, &header)) return;
    for (unsigned i = 0; i < header.e_phnum; ++i) {
      Segment segment{};
      if (!file.read_at(header.e_phoff + uint64_t{i} * header.e_phentsize, &segment)) return;
      segments.push_back(segment);
    }
    complete = true;
  }

  // Dynamic executables name their loader in PT_INTERP; without one nothing reads LD_PRELOAD.
  bool names_a_loader() const {
    for (const Segment& segment : segments)
      if (segment.p_type == PT_INTERP) return true;
    return !complete;
  }

  uint64_t offset_of(uint64_t address) const {
    for (const Segment& segment : segments)
      if (segment.p_type == PT_LOAD && address >= segment.p_vaddr && address - segment.p_vaddr < segment.p_filesz)
        return segment.p_offset + (address - segment.p_vaddr);
    return 0;
  }

  std::vector<std::string> needed() const {
    std::vector<std::string> names;
    for (const Segment& segment : segments) {
      if (segment.p_type != PT_DYNAMIC) continue;
      std::vector<uint64_t> at;
      uint64_t strings = 0;
      Dynamic entry{};
      for (uint64_t i = 0; i < segment.p_filesz && file.read_at(segment.p_offset + i, &entry); i += sizeof entry) {
        if (entry.d_tag == DT_NULL) break;
        if (entry.d_tag == DT_NEEDED) at.push_back(entry.d_un.d_val);
        if (entry.d_tag == DT_STRTAB) strings = offset_of(entry.d_un.d_ptr);
      }
      for (const uint64_t name : at) {
        char text[256] = "";
        file.read_at(strings + name, &text);  // short at the end of the file: the bytes that are there, then zeros
        names.emplace_back(text, strnlen(text, sizeof text));
      }
    }
    return names;
  }
};
using Elf64 = Elf<Elf64_Ehdr, Elf64_Phdr, Elf64_Dyn>;
using Elf32 = Elf<Elf32_Ehdr, Elf32_Phdr, Elf32_Dyn>;

// ELFCLASS64, ELFCLASS32, or ELFCLASSNONE for a file that is no ELF file.
unsigned char elf_class(const File& file) {
  unsigned char ident[EI_NIDENT] = {};
  if (!file.read_at(0, &ident) || std::memcmp(ident, ELFMAG, SELFMAG) != 0) return ELFCLASSNONE;
  return ident[EI_CLASS];
}

// GCC's, and clang's where it was told -shared-libasan.
bool is_sanitizer_runtime(const std::string& path) {
  const std::string name = name_of(path);
  return name.starts_with("libasan.so") || name.starts_with("libclang_rt.asan");
}

// Appends to a list with colons between.
void append_entry(std::string* value, const std::string& entry) {
  if (!entry.empty()) *value += (value->empty() ? "" : ":") + entry;
}

bool is_set(const char* name) {
  const char* value = environment(name);
  return value && *value;
}

void add_preload(const LaunchParts& parts, std::vector<EnvironmentChange>& changes) {
  const std::string preload = preload_value(environment("LD_PRELOAD"), parts.shims, parts.sanitizer);
  if (!preload.empty())
    changes.push_back({"LD_PRELOAD", preload});
  else if (is_set("LD_PRELOAD"))
    changes.push_back({"LD_PRELOAD", std::nullopt});
}

void add_components(const LaunchParts& parts, std::vector<EnvironmentChange>& changes) {
  const std::string before = is_set(kComponentPath) ? environment(kComponentPath) : "";
  const std::string others = without_components(before, parts.component.empty() || !parts.messages.empty());
  std::string ours = parts.component;
  if (!parts.messages.empty() && parts.messages != parts.component) ours += (ours.empty() ? "" : ":") + parts.messages;
  if (!ours.empty()) {
    changes.push_back({kComponentPath, ours + ":" + (others.empty() ? kOpenMpisOwn : others)});
    if (pmix_would_warn() && !is_set(kPmixPath)) changes.push_back({kPmixPath, kNoFolder});
    if (!parts.component.empty() && !is_set(kPriority) && !is_set("SMELT_PRIORITY"))
      changes.push_back({kPriority, kUsed});
    if (!parts.messages.empty() && !is_set(kMessages)) changes.push_back({kMessages, kEnabled});
  } else if (others != before) {
    changes.push_back({kComponentPath, others == kOpenMpisOwn ? std::nullopt : std::optional(others)});
    if (is_set(kPmixPath) && std::string(environment(kPmixPath)) == kNoFolder)
      changes.push_back({kPmixPath, std::nullopt});
    if (is_set(kPriority) && std::string(environment(kPriority)) == kUsed) changes.push_back({kPriority, std::nullopt});
    if (is_set(kMessages) && std::string(environment(kMessages)) == kEnabled)
      changes.push_back({kMessages, std::nullopt});
  }
}

}  // namespace

std::string find_part(const std::string& built, const std::string& installed, const std::string& name) {
  std::vector<std::string> places;
  char here[PATH_MAX];
  if (const ssize_t length = ::readlink("/proc/self/exe", here, sizeof here); length > 0) {
    const std::string around = folder_of(std::string(here, static_cast<size_t>(length))) + "/../";
    places.push_back(around + built);  // the build tree: core/smelt
    // An installed tree that was moved: the last parts of the libdir beside our own directory, or we are in there.
    const std::string libdir = SMELT_LIBDIR, last = name_of(libdir);
    places.push_back(around + last + "/" + installed);
    places.push_back(around + name_of(folder_of(libdir)) + "/" + last + "/" + installed);
    places.push_back(around + installed);
  }
  places.push_back(std::string(SMELT_LIBDIR) + "/" + installed);
  for (const std::string& place : places)
    if (const std::string path = place + "/" + name; is_file(path) && ::realpath(path.c_str(), here)) return here;
  return "";
}

std::string find_main() { return find_part("core", "smelt", kMainName); }

std::string find_shim() { return find_part("gomp_shim", "smelt", kShimName); }

std::string find_kmp_shim() { return find_part("kmp_shim", "smelt", kKmpShimName); }

std::string find_component() { return folder_of(find_part("ompi_coll_smelt", "smelt/openmpi", kComponentName)); }

std::string find_messages_component() { return folder_of(find_part("ompi_pml_smelt", "smelt/openmpi", kMessagesName)); }

std::vector<std::string> entries_of(const std::string& list, const char* ends) {
  std::vector<std::string> entries;
  for (size_t at = 0; at < list.size();) {
    const size_t end = std::min(list.find_first_of(ends, at), list.size());
    if (end > at) entries.push_back(list.substr(at, end - at));
    at = end + 1;
  }
  return entries;
}

std::string without_components(const std::string& path, bool messages) {
  const auto is_ours = [messages](const std::string& folder) {
    return is_file(folder + "/" + kComponentName) || (messages && is_file(folder + "/" + kMessagesName));
  };
  std::string others;
  for (const std::string& folder : entries_of(path, ":"))
    if (!is_ours(folder)) append_entry(&others, folder);
  return others;
}

std::string join_shims(const std::vector<std::string>& paths, std::string* unfit) {
  std::string joined;
  for (const std::string& path : paths) {
    if (path.find_first_of(kEntryEnds) != std::string::npos) *unfit = path;
    append_entry(&joined, path);
  }
  return joined;
}

std::string preload_value(const char* before, const std::string& shims, const std::string& sanitizer) {
  std::string first, rest;
  for (const std::string& entry : entries_of(before ? before : "", kEntryEnds))
    if (const std::string name = name_of(entry); name != kShimName && name != kKmpShimName)
      append_entry(is_sanitizer_runtime(entry) ? &first : &rest, entry);
  if (first.empty() && !shims.empty()) first = sanitizer;
  append_entry(&first, shims);
  append_entry(&first, rest);
  return first;
}

std::string find_program(const std::string& command) {
  if (command.find('/') != std::string::npos) return is_file(command) ? command : "";
  const char* variable = environment("PATH");
  const std::string path = variable ? variable : "/bin:/usr/bin";
  for (size_t at = 0; at <= path.size();) {
    size_t end = path.find(':', at);
    if (end == std::string::npos) end = path.size();
    const std::string candidate = (end == at ? "." : path.substr(at, end - at)) + "/" + command;
    if (is_file(candidate) && ::access(candidate.c_str(), X_OK) == 0) return candidate;
    at = end + 1;
  }
  return "";
}

std::string mpi_launcher(const std::string& command) {
  const std::string name = name_of(command);
  for (const char* const launcher :
       {"mpirun", "mpiexec", "orterun", "prterun", "oshrun", "mpirun.openmpi", "mpiexec.openmpi"})
    if (name == launcher) return name;
  return "";
}

std::string sanitizer_runtime(const std::string& program) {
  const File file(program);
  const unsigned char kind = elf_class(file);
  if (kind == ELFCLASSNONE) return "";
  for (const std::string& name : kind == ELFCLASS64 ? Elf64(file).needed() : Elf32(file).needed())
    if (is_sanitizer_runtime(name) && name.find_first_of(kEntryEnds) == std::string::npos) return name;
  return "";
}

std::string preload_obstacle(const std::string& program) {
  const File file(program);
  const unsigned char kind = elf_class(file);
  if (kind == ELFCLASSNONE) return "";  // a script: the program that it starts counts
  struct stat status {};
  // The loader minds only rights that the user who starts it does not have.
  if (::stat(program.c_str(), &status) == 0 && (((status.st_mode & S_ISUID) && status.st_uid != ::getuid()) ||
                                                ((status.st_mode & S_ISGID) && status.st_gid != ::getgid())))
    return "it runs with another user's rights";
  if (::getuid() != 0 && ::getxattr(program.c_str(), "security.capability", nullptr, 0) > 0)
    return "it runs with file capabilities";
  const bool dynamic = kind == ELFCLASS64 ? Elf64(file).names_a_loader() : Elf32(file).names_a_loader();
  return dynamic ? "" : "it is statically linked";
}

bool pmix_would_warn() { return SMELT_OPEN_MPI_MAJOR >= 5; }

std::vector<EnvironmentChange> run_environment(const LaunchParts& parts) {
  std::vector<EnvironmentChange> changes;
  add_preload(parts, changes);
  add_components(parts, changes);
  changes.insert(changes.end(), parts.more.begin(), parts.more.end());
  if (parts.verbose && !(is_set("SMELT_VERBOSE") && *environment("SMELT_VERBOSE") > '1'))
    changes.push_back({"SMELT_VERBOSE", "1"});
  return changes;
}

std::string shell_word(const std::string& text) {
  constexpr const char* kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+:,./-";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string::npos) return text;
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string as_shell_prefix(const std::vector<EnvironmentChange>& changes) {
  std::string unset, set;
  for (const EnvironmentChange& change : changes) {
    if (change.value)
      set += change.name + "=" + shell_word(*change.value) + " ";
    else
      unset += "-u " + change.name + " ";
  }
  return (unset.empty() ? "" : "env " + unset) + set;
}

}  // namespace smelt
