// Gives a measured profile, JSON on standard input, what Smelt chooses under its costs as the winners, and writes it
// packed: what `smelt calibrate` leaves, but for the race. It runs on the real machine, because to plan takes a core of
// the simulator minutes.
//   plan PROFILE
#include <cstdio>
#include <exception>
#include <fstream>
#include <iostream>
#include <iterator>
#include <numeric>
#include <string>
#include <vector>

#include "generate/registry.h"
#include "profile/text/error.h"
#include "profile/text/image.h"
#include "schedule/choose.h"
#include "schedule/winner.h"

using namespace smelt;

namespace {

void add_winner(Operation op, int root, ProfileImage* image) {
  const uint32_t n = image->n();
  MappedArena arena(generation_bytes(n));
  Choice choice;
  if (choose_best(op, root, image->costs(), arena, &choice) != 0) throw UserError("no pattern serves this machine");
  std::vector<uint16_t> members(n);
  std::iota(members.begin(), members.end(), uint16_t{0});
  std::vector<uint32_t> words(winner_words(choice.schedule));
  write_winner(choice.schedule, members.data(), words.data());
  Winner winner{};
  winner.operation = static_cast<uint32_t>(op);
  winner.participants = n;
  winner.predicted = static_cast<float>(choice.predicted);
  choice_text(choice, winner.pattern, sizeof winner.pattern);
  image->add_winner(winner, words);
}

}  // namespace

int main(int count, char** words) try {
  if (count != 2) throw UserError("usage: plan PROFILE <JSON");
  const std::string text{std::istreambuf_iterator<char>(std::cin), {}};
  ProfileImage image = profile_from_json(text, "standard input");
  add_winner(Operation::kBarrier, -1, &image);
  add_winner(Operation::kBroadcast, 0, &image);
  const auto bytes = image.pack();
  std::ofstream file(words[1]);
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size())).flush();
  if (!file) throw UserError(std::string("cannot write ") + words[1]);
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "plan: %s\n", error.what());
  return 1;
}
