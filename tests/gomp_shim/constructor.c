// A library that runs a parallel region while it is being loaded: dlopen holds the loader's lock then, and the region's
// threads wait for each other, in this library's own code and in that of one it needs.
int constructor_counted(int unused);
void needed_barrier(void);

static int counted;

__attribute__((constructor)) static void run(void) {
  for (int round = 0; round < 5; ++round) {
#pragma omp parallel num_threads(2)
    for (int i = 0; i < 50; ++i) {
#pragma omp barrier
#pragma omp atomic
      ++counted;
      needed_barrier();
#pragma omp for schedule(dynamic)
      for (int j = 0; j < 4; ++j) __asm__ volatile("");
    }
  }
}

int constructor_counted(int unused) { return counted + unused; }
