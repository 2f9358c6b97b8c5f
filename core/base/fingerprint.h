// Which machine is this? 64 bits over everything that changes the cost of a message: CPU vendor, family, model,
// stepping and brand, hypervisor, microcode, kernel release, and the CPUs' topology (online CPUs, their cores, caches,
// nodes). The affinity of the calling process is left out, because a profile serves every subset of its machine.
#pragma once

#include <cstdint>

namespace smelt {

// Computed once per process (reads a few small files under /sys; safe to call from several threads).
uint64_t machine_fingerprint();

// Under a hypervisor, which may move the CPUs at any time: two CPUs that were measured near may be far now. The CPUID
// bit on x86; Xen and others say so under /sys. Elsewhere it is unknown, and taken as "no". Looks anew at every call.
bool is_virtual_machine();

// FNV-1a, 64 bits: tiny, no tables, good enough against accidents (not against attackers: ownership is).
inline constexpr uint64_t kFnvStart = 0xcbf29ce484222325ull;
uint64_t fnv1a(const void* data, uint64_t bytes, uint64_t hash = kFnvStart);

}  // namespace smelt
