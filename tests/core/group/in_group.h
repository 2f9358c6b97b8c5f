// A body run by every member of one group of real processes, each under the same settings.
#pragma once

#include <cstdlib>

#include <smelt/group.h>

#include "here.h"
#include "processes.h"

namespace smelt::test {

struct Setting {
  const char* name;
  const char* value;
};

// The number of processes that failed, as run_processes.
inline int in_group(unsigned n, const std::vector<Setting>& settings,
                    const std::function<int(smelt_group*, Seat&)>& body, unsigned timeout_s = 120) {
  return run_processes(
      n,
      [&](Seat& seat) {
        for (const Setting& setting : settings) set_setting(setting.name, setting.value);
        const smelt_host host = host_of(&seat);
        smelt_group* group = nullptr;
        const int error = smelt_group_create(&host, n, seat.me, &group);
        EXPECT_HERE(error == 0, "create: %d", error);
        const int result = body(group, seat);
        smelt_group_free(group);
        smelt_groups_end();
        return result;
      },
      timeout_s);
}

// What is not in one piece: every eight bytes are followed by eight that nobody touches.
struct Apart {
  static void pack(void* context, size_t offset, size_t bytes, void* to) {
    const char* from = static_cast<const char*>(context);
    for (size_t i = 0; i < bytes; ++i) static_cast<char*>(to)[i] = from[(offset + i) / 8 * 16 + (offset + i) % 8];
  }
  static void unpack(void* context, size_t offset, size_t bytes, const void* from) {
    char* to = static_cast<char*>(context);
    for (size_t i = 0; i < bytes; ++i) to[(offset + i) / 8 * 16 + (offset + i) % 8] = static_cast<const char*>(from)[i];
  }
};

}  // namespace smelt::test
