// The way of the acceptor's broadcast: a Smelt tree for these CPUs with the acceptor as its root, or the acceptor sends
// to one after the other.
#ifndef SMELT_EXAMPLES_ONEPAXOS_TREE_H
#define SMELT_EXAMPLES_ONEPAXOS_TREE_H

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <smelt/model.h>

#include "replica.h"

namespace onepaxos {

struct Tree {
  std::vector<int> parent;                      // -1: the root
  std::vector<std::vector<unsigned>> children;  // in the order in which they are sent to
};

class Trees {
 public:
  // Throws std::invalid_argument where Smelt does not know the pattern, or it is no tree.
  Trees(unsigned replicas, const Options& options);

  // Those in `silent` are the root's last children: nobody depends on them. Thread-safe.
  Tree make(unsigned root, uint64_t silent) const;

 private:
  struct Free {
    void operator()(smelt_model* model) const { smelt_model_free(model); }
  };
  unsigned replicas_;
  Broadcast broadcast_;
  std::string pattern_;
  std::unique_ptr<smelt_model, Free> model_;
  std::vector<unsigned> cpus_;
};

}  // namespace onepaxos

#endif
