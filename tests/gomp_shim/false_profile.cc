// Writes a packed profile of this machine in which every hop takes so many nanoseconds: what a stale profile looks like.
//   false_profile FILE NS
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "discover/profile_image.h"

using namespace smelt;

int main(int argc, char** argv) {
  Profile guess;
  if (argc != 3 || guess_profile(nullptr, &guess) != 0) return 1;
  ProfileImage image = image_from_profile(guess);
  const uint32_t n = image.n();
  for (uint32_t i = 0; i < n; ++i)
    for (uint32_t j = 0; j < n; ++j)
      if (i != j) image.hop[i * n + j] = std::strtof(argv[2], nullptr);
  image.header.created = std::time(nullptr);
  image.header.pairs_measured = n * (n - 1);
  set_text(image.header.method, sizeof image.header.method, "made up");
  const auto bytes = image.pack();
  std::FILE* file = std::fopen(argv[1], "wb");
  const bool written = file && std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
  return written && std::fclose(file) == 0 ? 0 : 1;
}
