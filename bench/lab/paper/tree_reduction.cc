#include "bench/lab/paper/tree_reduction.h"

#include <fmt/format.h>

#include <algorithm>

#include "profile/text/error.h"

namespace smelt::paper {

TreeReduction::TreeReduction(const std::string& pattern, uint32_t threads, const std::vector<uint32_t>& cpus,
                             size_t words)
    : words_(words), spinner_(threads > cpus.size()), places_(threads) {
  // A radix knows nothing of the machine. With more threads than CPUs there is no model of it either: any will do.
  const std::vector<double> none(size_t{threads} * threads, 0);
  smelt_model* model = nullptr;
  smelt_tree* tree = nullptr;
  int error = smelt_model_create(threads, none.data(), none.data(), nullptr, nullptr, &model);
  if (!error) error = smelt_tree_create(model, pattern.c_str(), threads, nullptr, 0, &tree);
  smelt_model_free(model);
  if (error) throw UserError(fmt::format("a tree of pattern {} for {} threads: errno {}", pattern, threads, -error));
  for (uint32_t i = 0; i < threads; ++i) {
    places_[i].children.resize(threads);
    const int count = smelt_tree_children(tree, i, places_[i].children.data(), threads);
    places_[i].children.resize(static_cast<size_t>(std::max(count, 0)));
    places_[i].shelves.assign(kShelves * words, 0);
  }
  smelt_tree_free(tree);
}

void TreeReduction::reduce(uint32_t thread, const double* in, double* result) {
  Place& mine = places_[thread];
  const uint32_t episode = ++mine.episodes;
  // The root's shelf is its own; the others' are free again when the parent has read what lay there.
  if (thread != 0 && episode > kShelves) mine.taken.await(episode - kShelves, spinner_);
  double* const sum = thread == 0 ? result : shelf(mine, episode);
  std::copy(in, in + words_, sum);
  for (const unsigned child : mine.children) {
    Place& below = places_[child];
    below.ready.await(episode, spinner_);
    const double* const part = shelf(below, episode);
    for (size_t k = 0; k < words_; ++k) sum[k] += part[k];
    below.taken.raise(episode);
  }
  if (thread != 0) mine.ready.raise(episode);
}

}  // namespace smelt::paper
