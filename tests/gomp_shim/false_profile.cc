// Writes a packed profile that says what is not so, but carries this machine's fingerprint.
//   false_profile FILE NS                        this machine, every hop takes so many nanoseconds: what a stale
//                                                profile looks like
//   false_profile FILE SHAPE [CHANGE ...]        a machine of that shape, in hwloc's notation, at typical costs
//                                                (pretended_cpus.c), but:
//     PATTERN:N        that pattern has won among its first N CPUs
//     busy=SHARE       a sender or receiver is busy for this share of a hop
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <numeric>
#include <string>

#include "base/fingerprint.h"
#include "discover/machine.h"
#include "generate/registry.h"
#include "profile/profile.h"
#include "profile/text/error.h"
#include "profile/text/image.h"
#include "schedule/choose.h"
#include "schedule/winner.h"

using namespace smelt;

namespace {

ProfileImage stale_image(float hop) {
  Profile guess;
  if (guess_profile(nullptr, &guess) != 0) throw UserError("no guess of this machine");
  ProfileImage image = image_from_profile(guess);
  const uint32_t n = image.n();
  for (uint32_t i = 0; i < n; ++i)
    for (uint32_t j = 0; j < n; ++j)
      if (i != j) image.hop[i * n + j] = hop;
  return image;
}

void make_busy(ProfileImage& image, float share) {
  for (size_t pair = 0; pair < image.hop.size(); ++pair)
    image.send_busy[pair] = image.recv_busy[pair] = image.ready_read[pair] = share * image.hop[pair];
}

void add_winner(ProfileImage& image, const std::string& text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string::npos) throw UserError(text + " is no PATTERN:N");
  const auto n = static_cast<uint32_t>(std::stoul(text.substr(colon + 1)));
  std::vector<uint16_t> members(n);
  std::iota(members.begin(), members.end(), uint16_t{0});
  MappedArena arena(2 * generation_bytes(n));
  Costs costs;
  Pattern pattern;
  Choice choice;
  if (find_pattern(text.substr(0, colon).c_str(), &pattern) != 0 ||
      subset_costs(image.costs(), members, arena, &costs) != 0 ||
      build(pattern, Operation::kBarrier, -1, costs, arena, &choice) != 0)
    throw UserError(text + " cannot be planned");
  std::vector<uint32_t> words(winner_words(choice.schedule));
  write_winner(choice.schedule, members.data(), words.data());
  Winner winner{};
  winner.operation = static_cast<uint32_t>(Operation::kBarrier);
  winner.participants = n;
  winner.predicted = winner.measured = winner.hop = static_cast<float>(choice.predicted);
  pattern_text(pattern, winner.pattern, sizeof winner.pattern);
  image.add_winner(winner, words);
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 3) return 1;
  char* end = nullptr;
  const float hop = std::strtof(argv[2], &end);
  ProfileImage image = *end == '\0' ? stale_image(hop) : guess_image(machine_from_synthetic(argv[2]));
  const uint32_t n = image.n();
  image.header.fingerprint = machine_fingerprint();
  image.header.created = std::time(nullptr);
  image.header.pairs_measured = n * (n - 1);
  set_text(image.header.method, sizeof image.header.method, "made up");
  for (int i = 3; i < argc; ++i) {
    const std::string change = argv[i];
    if (change.starts_with("busy="))
      make_busy(image, std::stof(change.substr(5)));
    else
      add_winner(image, change);
  }
  const auto bytes = image.pack();
  std::FILE* file = std::fopen(argv[1], "wb");
  const bool written = file && std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
  return written && std::fclose(file) == 0 ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "false_profile: %s\n", error.what());
  return 1;
}
