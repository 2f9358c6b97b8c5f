// The library that constructor.c needs.
void needed_barrier(void);

void needed_barrier(void) {
#pragma omp barrier
  __asm__ volatile("");  // no tail call: the barrier must return to here
}
