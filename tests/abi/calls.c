/* Which system calls a program makes, it and all that it starts, and what becomes of it when others end it.
 *
 *   calls FILE PROGRAM [ARGUMENT...]           writes the number of each call that was made to FILE, one a line
 *   calls --only FILE PROGRAM [ARGUMENT...]    allows the calls of FILE; any other ends the process (SIGSYS)
 *
 * Exit status: the program's, 128 and the signal's number if one ended it; 77: the kernel has no such filters.
 *
 * By seccomp's filters. To look on, each call is handed to us, noted, and let go on: slow, and seen by nobody. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kCalls = 1024, kSkipped = 77 };

static int set_filter(struct sock_filter* code, unsigned length, unsigned flags) {
  struct sock_fprog program = {(unsigned short)length, code};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -1;
  return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
}

static int status_of(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static int only(const char* path, char** program) {
  static struct sock_filter code[2 * kCalls + 2];
  unsigned length = 0;
  code[length++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
  FILE* file = fopen(path, "r");
  unsigned number = 0;
  while (file && fscanf(file, "%u", &number) == 1 && length + 3 < sizeof code / sizeof *code) {
    code[length++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1);
    code[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  }
  if (!file || length == 1) return fprintf(stderr, "calls: nothing in %s\n", path), 2;
  fclose(file);
  code[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
  const pid_t child = fork();
  if (child == 0) {
    if (set_filter(code, length, 0) != 0) _exit(kSkipped);
    execvp(program[0], program);
    _exit(127);
  }
  return status_of(child);
}

static void note_calls(int listener, unsigned char* seen) {
  struct pollfd events = {listener, POLLIN, 0};
  for (;;) {
    if (poll(&events, 1, -1) < 0 && errno == EINTR) continue;
    if (!(events.revents & POLLIN)) return; /* nobody is left whom the filter is for */
    struct seccomp_notif call;
    memset(&call, 0, sizeof call);
    if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &call) != 0) continue; /* it was killed meanwhile */
    if (call.data.nr >= 0 && call.data.nr < kCalls) seen[call.data.nr] = 1;
    struct seccomp_notif_resp answer = {call.id, 0, 0, SECCOMP_USER_NOTIF_FLAG_CONTINUE};
    ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
  }
}

int main(int argc, char** argv) {
  if (argc >= 4 && strcmp(argv[1], "--only") == 0) return only(argv[2], argv + 3);
  if (argc < 3) return fprintf(stderr, "usage: calls [--only] FILE PROGRAM [ARGUMENT...]\n"), 2;
  /* The child shares our descriptors until it becomes the program, so that the listener that it gets is ours too; which
     one that is, it says without a call. */
  volatile int* listener = mmap(NULL, sizeof *listener, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (listener == MAP_FAILED) return 2;
  *listener = -1;
  const pid_t child = (pid_t)syscall(SYS_clone, CLONE_FILES | SIGCHLD, NULL, NULL, NULL, NULL);
  if (child == 0) {
    struct sock_filter code[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF)};
    const int got = set_filter(code, 1, SECCOMP_FILTER_FLAG_NEW_LISTENER);
    if (got < 0) _exit(kSkipped);
    *listener = got;
    execvp(argv[2], argv + 2);
    _exit(127);
  }
  if (child < 0) return 2;
  int status = 0;
  while (*listener < 0) {
    if (waitpid(child, &status, WNOHANG) == child) return WEXITSTATUS(status);
    sched_yield();
  }
  unsigned char seen[kCalls] = {0};
  note_calls(*listener, seen);
  FILE* file = fopen(argv[1], "w");
  for (int i = 0; file && i < kCalls; ++i) {
    if (seen[i]) fprintf(file, "%d\n", i);
  }
  if (!file || fclose(file) != 0) return fprintf(stderr, "calls: %s cannot be written\n", argv[1]), 2;
  return status_of(child);
}
