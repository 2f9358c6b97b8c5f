// Is the test built for a sanitizer, which is slow, takes memory for itself, and has signal handlers of its own?
#pragma once

namespace smelt::test {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace smelt::test
