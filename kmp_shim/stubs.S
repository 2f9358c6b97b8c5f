// The entry points of libomp that are taken in assembly (symbols.def), but for those of stubs_<isa>.S. A call goes on to
// the function that the caller means, as it came but for the thread's number; where it returns to stays the program's.

#define SMELT_SYMBOLS "kmp_shim/symbols.def"
#include "openmp/stubs.S"

        // The shortcuts (hot_team.h): two tables in the same order.
        .macro  SHORTCUT_TO name
        .section .data.smelt_kmp_shortcuts, "aw", %progbits
        .globl  smelt_kmp_shortcut_\name
        .hidden smelt_kmp_shortcut_\name
smelt_kmp_shortcut_\name:
        .quad   smelt_kmp_long_\name
        .section .data.rel.ro.smelt_kmp_detours, "aw", %progbits
        .quad   smelt_kmp_long_\name, smelt_real_\name
        .text
        .endm

        .section .data.smelt_kmp_shortcuts, "aw", %progbits
        .balign 64
        .globl  smelt_kmp_shortcuts
        .hidden smelt_kmp_shortcuts
smelt_kmp_shortcuts:
        .section .data.rel.ro.smelt_kmp_detours, "aw", %progbits
        .balign 16
        .globl  smelt_kmp_detours
        .hidden smelt_kmp_detours
smelt_kmp_detours:
        .text

#ifdef __x86_64__
#include "stubs_x86_64.S"
#else
#include "stubs_aarch64.S"
#endif

        // tasks.cc says what for.
        .macro LONG_WAY name
        .hidden smelt_kmp_long_way_\name
        FUNCTION smelt_kmp_long_way_\name
        KEEP
        KEPT_JUMP \name, smelt_kmp_mark_and_find
        END     smelt_kmp_long_way_\name
        .endm
        LONG_WAY __kmpc_omp_task_alloc
        LONG_WAY __kmpc_omp_target_task_alloc
        LONG_WAY __kmpc_omp_task
        LONG_WAY __kmpc_omp_task_with_deps
        LONG_WAY __kmpc_taskloop

        // Those whose stubs are in C++.
        SHORTCUT_TO __kmpc_barrier
        SHORTCUT_TO __kmpc_reduce
        SHORTCUT_TO __kmpc_end_reduce
        SHORTCUT_TO __kmpc_global_thread_num
        SHORTCUT_TO __kmpc_omp_task_alloc
        SHORTCUT_TO __kmpc_omp_task

        .macro  OF name, register
        FUNCTION \name
        SHORTCUT \name
        EXCHANGE \register
        GO_ON   \name
        .endm

        .macro  BEGIN name, register
        FUNCTION \name
        SHORTCUT \name
        IS_OWN  \register
        KEEP
        INVOKE  smelt_kmp_before_leaving
        RESTORE
        EXCHANGE \register
        GO_ON   \name
        .endm

        .macro  BEFORE name, what
        FUNCTION \name
        SHORTCUT \name
        KEEP
        INVOKE  \what
        RESTORE
        GO_ON   \name
        .endm

#define OF_THREAD(name) OF name, SECOND
#define BEGINS(name) BEGIN name, SECOND
#define BEGINS_1(name) BEGIN name, FIRST
#define SETS(name) BEFORE name, smelt_kmp_before_setting
#define LEAVES(name) BEFORE name, smelt_kmp_before_leaving
#define SYMBOL(name)
#include "symbols.def"

        .section .data.smelt_kmp_shortcuts, "aw", %progbits
        .globl  smelt_kmp_shortcuts_end
        .hidden smelt_kmp_shortcuts_end
smelt_kmp_shortcuts_end:
