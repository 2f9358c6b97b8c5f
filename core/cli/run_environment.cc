#include "cli/run_environment.h"

#include "base/options.h"
#include "cli/preload.h"
#include "smelt_config.h"

namespace smelt {
namespace {

// mpirun hands variables that begin with OMPI_MCA_ to all ranks.
constexpr const char* kPath = "OMPI_MCA_mca_base_component_path";
// mpirun of Open MPI 5.0 and later hands that path on to PMIx as well, unless PMIx has one of its own, and PMIx warns
// of each folder that is not for it. It looks where its own components are in any case, so that a path without a folder
// is right. With an empty one Open MPI 5.0's mpirun dies where it starts its daemon on another node (5.0.7, 5.0.10).
constexpr const char* kPmixPath = "PMIX_MCA_mca_base_component_path";
constexpr const char* kNoFolder = ":";
constexpr bool kPmixWouldWarn = SMELT_OPEN_MPI_MAJOR >= 5;
constexpr const char* kPriority = "OMPI_MCA_coll_smelt_priority";
constexpr const char* kMessages = "OMPI_MCA_pml_smelt_enable";
constexpr const char* kUsed = "90";  // above all of Open MPI's own
constexpr const char* kEnabled = "1";
constexpr const char* kOpenMpisOwn = "SYSTEM_DEFAULT:USER_DEFAULT";  // where it looks when told nothing

bool is_set(const char* name) {
  const char* value = environment(name);
  return value && *value;
}

void add_preload(const RunParts& parts, std::vector<EnvironmentChange>& changes) {
  const std::string preload = preload_value(environment("LD_PRELOAD"), parts.shims, parts.sanitizer);
  if (!preload.empty())
    changes.push_back({"LD_PRELOAD", preload});
  else if (is_set("LD_PRELOAD"))
    changes.push_back({"LD_PRELOAD", std::nullopt});
}

void add_components(const RunParts& parts, std::vector<EnvironmentChange>& changes) {
  const std::string before = is_set(kPath) ? environment(kPath) : "";
  const std::string others = without_components(before, parts.component.empty() || !parts.messages.empty());
  std::string ours = parts.component;
  if (!parts.messages.empty() && parts.messages != parts.component) ours += (ours.empty() ? "" : ":") + parts.messages;
  if (!ours.empty()) {
    changes.push_back({kPath, ours + ":" + (others.empty() ? kOpenMpisOwn : others)});
    if (kPmixWouldWarn && !is_set(kPmixPath)) changes.push_back({kPmixPath, kNoFolder});
    if (!parts.component.empty() && !is_set(kPriority) && !is_set("SMELT_PRIORITY"))
      changes.push_back({kPriority, kUsed});
    if (!parts.messages.empty() && !is_set(kMessages)) changes.push_back({kMessages, kEnabled});
  } else if (others != before) {
    changes.push_back({kPath, others == kOpenMpisOwn ? std::nullopt : std::optional(others)});
    if (is_set(kPmixPath) && std::string(environment(kPmixPath)) == kNoFolder)
      changes.push_back({kPmixPath, std::nullopt});
    if (is_set(kPriority) && std::string(environment(kPriority)) == kUsed) changes.push_back({kPriority, std::nullopt});
    if (is_set(kMessages) && std::string(environment(kMessages)) == kEnabled)
      changes.push_back({kMessages, std::nullopt});
  }
}

std::string mca(const Parameter& parameter) { return "OMPI_MCA_" + parameter.name; }

}  // namespace

std::vector<EnvironmentChange> run_environment(const RunParts& parts) {
  std::vector<EnvironmentChange> changes;
  add_preload(parts, changes);
  add_components(parts, changes);
  changes.insert(changes.end(), parts.threads.begin(), parts.threads.end());
  for (const Parameter& one : parts.networks) changes.push_back({mca(one), one.value});
  if (parts.verbose && !(is_set("SMELT_VERBOSE") && *environment("SMELT_VERBOSE") > '1'))
    changes.push_back({"SMELT_VERBOSE", "1"});
  return changes;
}

std::string users_network_variable(const std::vector<Parameter>& networks) {
  constexpr const char* kExclude = "OMPI_MCA_btl_tcp_if_exclude";
  if (is_set(kExclude)) return kExclude;
  for (const Parameter& one : networks) {
    const char* value = environment(mca(one).c_str());
    if (value && value != one.value) return mca(one);
  }
  return "";
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
