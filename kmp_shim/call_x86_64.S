// Calls a function with as many words as arguments as there are.
//   void smelt_kmp_call(void* function, uint64_t count, void* const* words)
// The first six go in registers, the others on the stack, the last one highest. AL, the number of vector registers with
// arguments, is 0: the function may be variadic.

        .text

        // The arguments' registers out of the way of a call, and back.
        .macro KEEP
        .irp    reg, rdi, rsi, rdx, rcx, r8, r9, rax
        pushq   %\reg
        .cfi_adjust_cfa_offset 8
        .endr
        .endm

        .macro RESTORE
        .irp    reg, rax, r9, r8, rcx, rdx, rsi, rdi
        popq    %\reg
        .cfi_adjust_cfa_offset -8
        .endr
        .endm

        .globl  smelt_kmp_call
        .hidden smelt_kmp_call
        .type   smelt_kmp_call, @function
        .p2align 4
smelt_kmp_call:
        .cfi_startproc
        pushq   %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset %rbp, -16
        movq    %rsp, %rbp
        .cfi_def_cfa_register %rbp
        movq    %rdi, %r11                      // the function
        movq    %rdx, %r10                      // the words
        cmpq    $6, %rsi
        jbe     2f
        // An even number of slots keeps the stack aligned: with an odd number of words, one is left below the caller's.
        testq   $1, %rsi
        je      1f
        subq    $8, %rsp
1:      decq    %rsi
        pushq   (%r10,%rsi,8)
        cmpq    $6, %rsi
        ja      1b
2:      cmpq    $6, %rsi
        jae     6f
        cmpq    $5, %rsi
        je      5f
        cmpq    $4, %rsi
        je      4f
        cmpq    $3, %rsi
        je      3f
        cmpq    $2, %rsi
        je      8f
        cmpq    $1, %rsi
        je      7f
        jmp     9f
6:      movq    40(%r10), %r9
5:      movq    32(%r10), %r8
4:      movq    24(%r10), %rcx
3:      movq    16(%r10), %rdx
8:      movq    8(%r10), %rsi
7:      movq    (%r10), %rdi
9:      xorl    %eax, %eax
        call    *%r11
        leave
        .cfi_def_cfa %rsp, 8
        ret
        .cfi_endproc
        .size   smelt_kmp_call, . - smelt_kmp_call

        // The program's way in. Once the shim has stepped aside (1 in smelt_kmp_aside), libomp's own function takes the
        // call as it came, for a tool is told where it returns to; a frame of ours would stand there otherwise. So it
        // does, and costs least, where a function is handed on (HandedOn in region.h). AL is the caller's.
        .globl  __kmpc_fork_call
        .type   __kmpc_fork_call, @function
        .p2align 4
__kmpc_fork_call:
        .cfi_startproc
0:      cmpb    $2, smelt_kmp_aside(%rip)
        jne     2f
        movq    smelt_kmp_handed_on@gottpoff(%rip), %r11
        movq    %rdx, %r10                      // the function
        shrq    $4, %r10
        andl    $31, %r10d
        cmpl    $1, %fs:(%r11)                  // .open
        jne     6f
        cmpq    %rdx, %fs:32(%r11,%r10,8)       // .functions[]
        jne     smelt_kmp_fork_call
        cmpl    $1, %fs:8(%r11)                 // .pushed
        je      smelt_kmp_fork_call
        cmpb    $0, smelt_openmp_several(%rip)
        jne     smelt_kmp_fork_call
        movq    %fs:24(%r11), %r10              // .regions
        incq    (%r10)                          // nobody else writes it
        movq    $0, %fs:8(%r11)                 // .pushed, .clause
        movq    %rdx, %fs:16(%r11)              // .last
        jmp     *smelt_real___kmpc_fork_call(%rip)
6:      jb      smelt_kmp_fork_call
        cmpq    %rdx, %fs:288(%r11,%r10,8)      // .inner[]
        jne     smelt_kmp_fork_call
        movl    %fs:4(%r11), %r10d              // .inner_pushed
        cmpl    %fs:8(%r11), %r10d              // .pushed
        jne     smelt_kmp_fork_call
        cmpb    $0, smelt_openmp_several(%rip)
        jne     smelt_kmp_fork_call
        cmpl    $0, %fs:544(%r11)               // .inner_left
        je      smelt_kmp_fork_call
        decl    %fs:544(%r11)
        movq    $0, %fs:8(%r11)                 // .pushed, .clause
        jmp     *smelt_real___kmpc_fork_call(%rip)
2:      cmpb    $0, smelt_kmp_aside(%rip)
        je      1f
        cmpb    $0, smelt_openmp_several(%rip)
        jne     smelt_kmp_fork_call
        cmpb    $0, smelt_kmp_hot(%rip)         // a thread with a parked team, perhaps
        jne     smelt_kmp_fork_call
        movq    smelt_kmp_handed_on@gottpoff(%rip), %r11
        cmpl    $1, %fs:8(%r11)                 // .pushed
        je      5f
        ja      4f
3:      movl    $0, %fs:8(%r11)
        jmp     *smelt_real___kmpc_fork_call(%rip)
4:      cmpl    $0, %fs:(%r11)                  // .open: libomp has been told
        jne     3b
5:      KEEP
        call    smelt_kmp_tell_clause
        RESTORE
        jmp     *smelt_real___kmpc_fork_call(%rip)
1:      KEEP
        call    smelt_kmp_look
        RESTORE
        jmp     0b
        .cfi_endproc
        .size   __kmpc_fork_call, . - __kmpc_fork_call

        // tasks.cc says what for.
        .macro LONG_WAY name
        .globl  smelt_kmp_long_way_\name
        .hidden smelt_kmp_long_way_\name
        .type   smelt_kmp_long_way_\name, @function
        .p2align 4
smelt_kmp_long_way_\name:
        .cfi_startproc
        KEEP
        leaq    smelt_real_\name(%rip), %rdi
        movq    56(%rsp), %rsi                  // where the call returns to
        call    smelt_kmp_mark_and_find
        movq    %rax, %r11
        RESTORE
        jmpq    *%r11
        .cfi_endproc
        .size   smelt_kmp_long_way_\name, . - smelt_kmp_long_way_\name
        .endm
        LONG_WAY __kmpc_omp_task_alloc
        LONG_WAY __kmpc_omp_target_task_alloc
        LONG_WAY __kmpc_omp_task
        LONG_WAY __kmpc_omp_task_with_deps
        LONG_WAY __kmpc_taskloop

        // The hot team's stubs (symbols.def). A call goes on to the function that the caller means, as it came but for
        // the thread's number; where it returns to stays the program's.
        .macro  STUB name
        .globl  \name
        .type   \name, @function
        .p2align 4
\name:
        .cfi_startproc
        .endm
        // By the shortcut (hot_team.h).
        .macro  SHORTCUT name
        jmp     *smelt_kmp_shortcut_\name(%rip)
        .p2align 4
smelt_kmp_long_\name:
        SHORTCUT_TO \name
        .endm
        .macro  SHORTCUT_TO name
        .section .data.smelt_kmp_shortcuts, "aw", @progbits
        .globl  smelt_kmp_shortcut_\name
        .hidden smelt_kmp_shortcut_\name
smelt_kmp_shortcut_\name:
        .quad   smelt_kmp_long_\name
        .section .data.rel.ro.smelt_kmp_detours, "aw", @progbits
        .quad   smelt_kmp_long_\name, smelt_real_\name
        .text
        .endm
        .macro  GO_ON name
1:      cmpb    $0, smelt_openmp_several(%rip)
        jne     2f
        movq    smelt_real_\name(%rip), %r11
        testq   %r11, %r11
        je      2f
        jmp     *%r11
2:      KEEP
        leaq    smelt_real_\name(%rip), %rdi
        movq    56(%rsp), %rsi                  // where the call returns to
        call    smelt_openmp_meant
        movq    %rax, %r11
        RESTORE
        jmp     *%r11
        .cfi_endproc
        .size   \name, . - \name
        .endm

        .section .data.smelt_kmp_shortcuts, "aw", @progbits
        .balign 64
        .globl  smelt_kmp_shortcuts
        .hidden smelt_kmp_shortcuts
smelt_kmp_shortcuts:
        .section .data.rel.ro.smelt_kmp_detours, "aw", @progbits
        .balign 16
        .globl  smelt_kmp_detours
        .hidden smelt_kmp_detours
smelt_kmp_detours:
        .text

        // Those whose stubs are in C++.
        SHORTCUT_TO __kmpc_barrier
        SHORTCUT_TO __kmpc_reduce
        SHORTCUT_TO __kmpc_end_reduce
        SHORTCUT_TO __kmpc_global_thread_num
        SHORTCUT_TO __kmpc_omp_task_alloc
        SHORTCUT_TO __kmpc_omp_task

        // Leagues of teams. As __kmpc_fork_call; but the end of a league is noted. Here, where nothing else is to be done,
        // and all arguments are in registers.
        STUB    __kmpc_fork_teams
0:      cmpb    $1, smelt_kmp_aside(%rip)
        ja      3f
        je      1f
        KEEP
        call    smelt_kmp_look
        RESTORE
        jmp     0b
3:      movq    smelt_kmp_handed_on@gottpoff(%rip), %r11
        cmpl    $0, %fs:8(%r11)                 // .pushed
        jne     smelt_kmp_fork_teams
        addq    %fs:0, %r11
        cmpq    %r11, smelt_kmp_league(%rip)    // .master
        jne     smelt_kmp_fork_teams
        cmpb    $0, 8+smelt_kmp_league(%rip)    // .at_work
        jne     smelt_kmp_fork_teams
        cmpl    $3, %esi
        ja      smelt_kmp_fork_teams
        cmpb    $0, smelt_openmp_several(%rip)
        jne     smelt_kmp_fork_teams
        movq    smelt_kmp_identity@gottpoff(%rip), %r11
        cmpl    $0, %fs:(%r11)                  // a parked team is to end
        jge     smelt_kmp_fork_teams
        movb    $1, 8+smelt_kmp_league(%rip)
        movb    $3, smelt_kmp_aside(%rip)
        subq    $8, %rsp
        .cfi_adjust_cfa_offset 8
        call    *smelt_real___kmpc_fork_teams(%rip)
        addq    $8, %rsp
        .cfi_adjust_cfa_offset -8
        movb    $0, 8+smelt_kmp_league(%rip)
        movb    $2, smelt_kmp_aside(%rip)
        ret
        GO_ON   __kmpc_fork_teams

        // Identity in identity.h: .own and .serial.
        .macro  OF name, register
        STUB    \name
        SHORTCUT  \name
        movq    smelt_kmp_identity@gottpoff(%rip), %r11
        cmpl    %fs:(%r11), %\register
        jne     1f
        movl    %fs:4(%r11), %\register
        GO_ON   \name
        .endm

        .macro  BEGIN name, register
        STUB    \name
        SHORTCUT  \name
        movq    smelt_kmp_identity@gottpoff(%rip), %r11
        cmpl    %fs:(%r11), %\register
        jne     1f
        KEEP
        call    smelt_kmp_before_leaving
        RESTORE
        movq    smelt_kmp_identity@gottpoff(%rip), %r11
        cmpl    %fs:(%r11), %\register
        jne     1f
        movl    %fs:4(%r11), %\register
        GO_ON   \name
        .endm

        .macro  BEFORE name, what
        STUB    \name
        SHORTCUT  \name
        KEEP
        call    \what
        RESTORE
        GO_ON   \name
        .endm

#define OF_THREAD(name) OF name, esi
#define BEGINS(name) BEGIN name, esi
#define BEGINS_1(name) BEGIN name, edi
#define SETS(name) BEFORE name, smelt_kmp_before_setting
#define LEAVES(name) BEFORE name, smelt_kmp_before_leaving
#define SYMBOL(name)
#include "symbols.def"

        // The region of an `if` clause that is false: clauses that were announced (HandedOn: .pushed, .clause) are its
        // own.
        STUB    __kmpc_serialized_parallel
        movq    smelt_kmp_handed_on@gottpoff(%rip), %r11
        movq    $0, %fs:8(%r11)
        SHORTCUT  __kmpc_serialized_parallel
        movq    smelt_kmp_identity@gottpoff(%rip), %r11
        cmpl    %fs:(%r11), %esi
        jne     1f
        movl    %fs:4(%r11), %esi
        GO_ON   __kmpc_serialized_parallel

        // The end of a single's block, of which libomp has nothing to note (real.cc).
        STUB    __kmpc_end_single
        cmpb    $0, smelt_kmp_ends_singles(%rip)
        je      1f
        cmpb    $0, smelt_openmp_several(%rip)
        jne     2f
        ret
        GO_ON   __kmpc_end_single

        // HandedOn: .pushed. What is not positive counts as no clause.
        STUB    __kmpc_push_num_threads
        movq    smelt_kmp_handed_on@gottpoff(%rip), %r11
        xorl    %r10d, %r10d
        testl   %edx, %edx
        cmovgl  %edx, %r10d
        movl    %r10d, %fs:8(%r11)
        cmpl    $1, %edx
        je      3f
        cmpl    $0, %fs:(%r11)                  // .open
        je      3f
2:      SHORTCUT __kmpc_push_num_threads
        movq    smelt_kmp_identity@gottpoff(%rip), %r11
        cmpl    %fs:(%r11), %esi
        jne     1f
        ret                                     // libomp is told if it is to run the region
3:      cmpb    $1, smelt_kmp_aside(%rip)
        je      4f
        jb      5f
        cmpb    $0, smelt_openmp_several(%rip)
        jne     2b
        ret
4:      movq    smelt_kmp_handed_on@gottpoff(%rip), %r11
        movl    $0, %fs:8(%r11)                 // nobody else is to tell it
        jmp     2b
5:      KEEP
        call    smelt_kmp_look
        RESTORE
        jmp     3b
        GO_ON   __kmpc_push_num_threads

        .section .data.smelt_kmp_shortcuts, "aw", @progbits
        .globl  smelt_kmp_shortcuts_end
        .hidden smelt_kmp_shortcuts_end
smelt_kmp_shortcuts_end:
        .text

        // The slots (openmp/symbols.h).
        .macro SLOT name
        .globl  smelt_real_\name
        .hidden smelt_real_\name
smelt_real_\name:
        .zero   8
        .endm

        .section .bss.smelt_real, "aw", @nobits
        .balign 64
        .globl  smelt_real
        .hidden smelt_real
smelt_real:
#define SYMBOL(name) SLOT name
#include "symbols.def"

        .section .note.GNU-stack, "", @progbits
