// The smelt program on two other hosts: linked to it with --wrap, these answer in the place of the functions that ask
// the CPU, the kernel and the build. OTHER_HOST=poor is a virtual machine of one CPU, which hides what it can. Any
// other is the host itself, but no virtual machine, and every way to copy is there and fast.
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "transport/copy.h"

namespace {

bool is_poor() {
  const char* const host = std::getenv("OTHER_HOST");
  return host && std::strcmp(host, "poor") == 0;
}

}  // namespace

// By the names that the linker knows them by. The host's own answer is asked for where the test does not notice that a
// function has another name now: then this does not link.
extern "C" {

bool __wrap__ZN5smelt7is_fastENS_7CopyWayE(smelt::CopyWay) { return !is_poor(); }

bool __wrap__ZN5smelt11can_copy_byENS_7CopyWayE(smelt::CopyWay way) {
  return !is_poor() || way == smelt::CopyWay::kLibc;
}

bool __wrap__ZN5smelt18is_virtual_machineEv() { return is_poor(); }

uint64_t __real__ZN5smelt19machine_fingerprintEv();
uint64_t __wrap__ZN5smelt19machine_fingerprintEv() { return is_poor() ? 1 : __real__ZN5smelt19machine_fingerprintEv(); }

uint32_t __real__ZN5smelt2os12allowed_cpusEv();
uint32_t __wrap__ZN5smelt2os12allowed_cpusEv() { return is_poor() ? 1 : __real__ZN5smelt2os12allowed_cpusEv(); }

uint32_t __real__ZN5smelt2os16allowed_cpu_listEPjj(uint32_t* cpus, uint32_t room);
uint32_t __wrap__ZN5smelt2os16allowed_cpu_listEPjj(uint32_t* cpus, uint32_t room) {
  const uint32_t all = __real__ZN5smelt2os16allowed_cpu_listEPjj(cpus, room);
  return is_poor() ? 1 : all;
}

uint32_t __real__ZN5smelt2os16cgroup_cpu_quotaEPKcS2_(const char* mount, const char* membership);
uint32_t __wrap__ZN5smelt2os16cgroup_cpu_quotaEPKcS2_(const char* mount, const char* membership) {
  return is_poor() ? 1 : __real__ZN5smelt2os16cgroup_cpu_quotaEPKcS2_(mount, membership);
}

int64_t __real__ZN5smelt2os15read_small_fileEPKcPcm(const char* path, char* buffer, size_t bytes);
int64_t __wrap__ZN5smelt2os15read_small_fileEPKcPcm(const char* path, char* buffer, size_t bytes) {
  return is_poor() ? -ENOENT : __real__ZN5smelt2os15read_small_fileEPKcPcm(path, buffer, bytes);
}

}  // extern "C"
