// What stands in front of a started program and under Open MPI, by the C library alone (launch.cc): Smelt's files, what
// the program's own file allows, and the changes to its environment.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace smelt {

inline constexpr const char* kShimName = "libsmelt_gomp.so";
inline constexpr const char* kKmpShimName = "libsmelt_kmp.so";  // for LLVM's libomp
inline constexpr const char* kComponentName = "mca_coll_smelt.so";
inline constexpr const char* kMessagesName = "mca_pml_smelt.so";

// The program that `smelt` becomes for all that it does not do itself (launch.cc).
inline constexpr const char* kMainName = "smelt-main";

// mpirun hands variables that begin with OMPI_MCA_ to all ranks.
inline constexpr const char* kComponentPath = "OMPI_MCA_mca_base_component_path";
// mpirun of Open MPI 5.0 and later hands that path on to PMIx as well, unless PMIx has one of its own, and PMIx warns
// of each folder that is not for it. It looks where its own components are in any case, so that a path without a folder
// is right. With an empty one Open MPI 5.0's mpirun dies where it starts its daemon on another node (5.0.7, 5.0.10).
inline constexpr const char* kPmixPath = "PMIX_MCA_mca_base_component_path";
inline constexpr const char* kNoFolder = ":";
bool pmix_would_warn();
inline constexpr const char* kPriority = "OMPI_MCA_coll_smelt_priority";
inline constexpr const char* kMessages = "OMPI_MCA_pml_smelt_enable";
inline constexpr const char* kUsed = "90";  // above all of Open MPI's own
inline constexpr const char* kEnabled = "1";
inline constexpr const char* kOpenMpisOwn = "SYSTEM_DEFAULT:USER_DEFAULT";  // where it looks when told nothing

// A file of Smelt's, in `built`, a folder of the build tree, or in `installed`, a folder of the library directory:
// beside this executable as built or as installed, wherever the tree was moved to; else in the configured libdir. ""
// when there is none.
std::string find_part(const std::string& built, const std::string& installed, const std::string& name);

std::string find_main();
std::string find_shim();
std::string find_kmp_shim();

// The folder of the Open MPI component, in the same places; "" when there is none, as in a build without Open MPI.
std::string find_component();
// ... and of the one for messages, which is the same folder where both are installed.
std::string find_messages_component();

// The entries of a list, as PATH and LD_PRELOAD are ones, that are not "".
std::vector<std::string> entries_of(const std::string& list, const char* ends);

// Those of the paths that are not "", as LD_PRELOAD wants them. `unfit`: one that it cannot hold, because a colon or a
// space is in it.
std::string join_shims(const std::vector<std::string>& paths, std::string* unfit);

// `before` (LD_PRELOAD as it was, or nullptr) without any shim, and with `shims` in front, "" for none. Before them
// only AddressSanitizer's runtime, which ends a program that loads another library first: the one in `before`, or
// else `sanitizer`.
std::string preload_value(const char* before, const std::string& shims, const std::string& sanitizer);

// The library that holds AddressSanitizer's runtime, as this program names it; "" when it needs none, or has it inside,
// and so before all libraries. A program that a wrapper (mpirun, sh) starts is not looked at.
std::string sanitizer_runtime(const std::string& program);

// `path` (folders with colons between) without those that hold Smelt's collectives for Open MPI, or, `messages`, its
// messages.
std::string without_components(const std::string& path, bool messages);

// The file that execvp would run for `command`, "" when there is none.
std::string find_program(const std::string& command);

// The name of the program that starts Open MPI's ranks, "" where the command is none.
std::string mpi_launcher(const std::string& command);

// Why a preloaded library cannot work in this program, as the rest of a sentence; "" when it can, as far as one sees.
std::string preload_obstacle(const std::string& program);

struct EnvironmentChange {
  std::string name;
  std::optional<std::string> value;  // nothing: the variable goes
};

struct LaunchParts {
  std::string shims;      // the OpenMP shims, with colons between, "" for none
  std::string component;  // folder of the Open MPI component, "" for none
  std::string messages;   // ... and of the one for messages, "" where nobody has asked for it
  bool verbose = false;
  std::string sanitizer;                // AddressSanitizer's runtime that the program needs, "" for none
  std::vector<EnvironmentChange> more;  // of --fit, --bind and --networks
};

// Against the environment as it is. Parts that are "" are taken away where an earlier smelt run put them. The user's
// own settings stay: other libraries and folders, a priority; and messages that the user or an outer smelt run has
// asked for, unless there is no `component` either.
std::vector<EnvironmentChange> run_environment(const LaunchParts& parts);

// As one would type it before a command, with a blank at the end; "" for no changes.
std::string as_shell_prefix(const std::vector<EnvironmentChange>& changes);

// Quoted only where the shell asks for it.
std::string shell_word(const std::string& text);

}  // namespace smelt
