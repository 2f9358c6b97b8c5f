#include "cli/profile_verify.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cerrno>
#include <ctime>
#include <optional>
#include <vector>

#include "base/fingerprint.h"
#include "cli/class_figures.h"
#include "cli/command.h"
#include "cli/picture.h"
#include "cli/terminal.h"
#include "discover/machine.h"
#include "model/distance.h"
#include "profile/text/diff.h"
#include "profile/text/error.h"
#include "profile/text/io.h"
#include "profile/text/read.h"

namespace smelt {
namespace {

// The system's profile of this machine. Throws UserError: there is none, or it was refused.
ProfileImage system_profile(std::string* path) {
  *path = shared_profile_path();
  Profile profile;
  Refusal why;
  const int error = load_own_profile_file(path->c_str(), &profile, &why);
  if (error == -ENOENT)
    throw UserError(
        fmt::format("{}: there is none of this machine, as it is now; run 'smelt calibrate --system'", *path));
  if (error != 0) throw UserError(why.text);
  ProfileImage image = image_from_profile(profile);
  unload_profile(&profile);
  return image;
}

// This machine's profile, or why it has none.
std::optional<ProfileImage> own_profile(bool system, std::string* path, std::string* why_not) {
  try {
    ProfileImage image = system ? system_profile(path) : present_profile(path);
    if (image.measured()) return image;
    *why_not = fmt::format("{}: nothing was measured in it; run 'smelt calibrate'", *path);
  } catch (const UserError& error) {
    *why_not = error.what();
  }
  return std::nullopt;
}

// Which of what makes a fingerprint is another, as far as the profile tells.
std::string difference_to_here(const ProfileImage& there) {
  const ProfileImage here = guess_image(discover_machine());
  std::vector<std::string> differs;
  const auto compare = [&differs](const char* what, const std::string& a, const std::string& b) {
    if (a != b)
      differs.push_back(
          fmt::format("{} is {} there, {} here", what, a.empty() ? "unknown" : a, b.empty() ? "unknown" : b));
  };
  compare("the CPU", one_line(there.header.machine), one_line(here.header.machine));
  compare("the kernel", one_line(there.header.kernel), one_line(here.header.kernel));
  compare("the microcode", one_line(there.header.microcode), one_line(here.header.microcode));
  return differs.empty() ? "what differs is the hypervisor, which CPUs are online, or which share caches and nodes"
                         : fmt::format("{}", fmt::join(differs, "; "));
}

// A fleet's machines are alike within what a calibration scatters by.
void compare_costs(const ProfileImage& should, const ProfileImage& is, std::vector<std::string>* reasons) {
  const ProfileChange change = compare_profiles(should, is);
  if (!change.only_a.empty()) reasons->push_back(fmt::format("CPUs that are not here: {}", cpu_ranges(change.only_a)));
  if (!change.only_b.empty()) reasons->push_back(fmt::format("CPUs that are only here: {}", cpu_ranges(change.only_b)));
  for (const ClassChange& one : change.classes) {
    const double ratio = one.change.ratio[0];  // of hops
    if (ratio > 1 + kLargeChange || (ratio > 0 && ratio * (1 + kLargeChange) < 1))
      reasons->push_back(fmt::format("{}: a hop takes {:.1f} {} here, {:.1f} there", distance_name(one.distance),
                                     one.change.b, cost_unit_name(is.costs().unit), one.change.a));
  }
}

}  // namespace

int verify_profile(const VerifyArguments& arguments) {
  std::string own_path, why_not;
  const std::optional<ProfileImage> own = own_profile(arguments.system, &own_path, &why_not);
  std::optional<ProfileImage> wanted;
  std::vector<std::string> reasons;
  if (!arguments.file.empty()) {
    wanted = read_profile(arguments.file);
    if (wanted->header.fingerprint != machine_fingerprint())
      reasons.push_back(fmt::format("this is machine {:016x}, the profile is of {:016x}: {}", machine_fingerprint(),
                                    wanted->header.fingerprint, difference_to_here(*wanted)));
    if (own) compare_costs(*wanted, *own, &reasons);
  } else if (!own) {
    reasons.push_back(why_not);
  }
  const ProfileImage* const judged = own ? &*own : wanted ? &*wanted : nullptr;
  const std::string conditions =
      judged ? conditions_of(judged->header.conditions, judged->header.others) : std::string();
  if (arguments.steady && !conditions.empty())
    reasons.push_back(fmt::format("it was measured {}; run 'smelt calibrate' when the machine is quiet", conditions));

  const ProfileImage* const shown = wanted ? &*wanted : own ? &*own : nullptr;
  const std::string path = wanted ? arguments.file : own_path;
  if (arguments.json) {
    const Document out = {{"holds", reasons.empty()},
                          {"fingerprint", fmt::format("{:016x}", machine_fingerprint())},
                          {"profile", shown ? Document(path) : Document(nullptr)},
                          {"compared", wanted && own},
                          {"reasons", reasons}};
    put(document_text(out));
  } else if (!arguments.quiet) {
    std::string page;
    if (shown)
      page += fact("profile", fmt::format("{}: {:%Y-%m-%dT%H:%M:%SZ}, {}", path,
                                          fmt::gmtime(static_cast<std::time_t>(shown->header.created)),
                                          one_line(shown->header.machine)));
    for (const std::string& reason : reasons) page += fact("differs", one_line(reason));
    if (reasons.empty()) page += fact("holds", fmt::format("for this machine, {:016x}", machine_fingerprint()));
    if (!arguments.steady && !conditions.empty()) page += fact("beware", "it was measured " + conditions);
    if (wanted && !own) page += fact("about", "its costs were not compared: " + one_line(why_not));
    put_page(page);
  }
  return reasons.empty() ? 0 : kExitWarning;
}

}  // namespace smelt
