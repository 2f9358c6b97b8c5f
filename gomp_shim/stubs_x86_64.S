// Tail-jump stubs in front of libgomp's entry points whose arguments are none of our business: symbols.def says which.
//
// MARKED (tasks.h), usual case, four instructions: not in a region that the shim serves, or its next barrier is marked
// already. COOLED (hot_team.h) is a rare call and always takes the long way. NOTED has two arguments at most, and one call
// notes and answers.
// All argument registers and the stack are as the caller left them when libgomp's function is entered.

        .text

        // The arguments' registers out of the way of a call, and back. The stack before is as at the entry of a
        // function.
        .macro KEEP
        pushq   %rdi
        .cfi_adjust_cfa_offset 8
        pushq   %rsi
        .cfi_adjust_cfa_offset 8
        pushq   %rdx
        .cfi_adjust_cfa_offset 8
        pushq   %rcx
        .cfi_adjust_cfa_offset 8
        pushq   %r8
        .cfi_adjust_cfa_offset 8
        pushq   %r9
        .cfi_adjust_cfa_offset 8
        subq    $8, %rsp                        // the ABI's 16-byte alignment at a call
        .cfi_adjust_cfa_offset 8
        .endm

        .macro RESTORE
        addq    $8, %rsp
        .cfi_adjust_cfa_offset -8
        popq    %r9
        .cfi_adjust_cfa_offset -8
        popq    %r8
        .cfi_adjust_cfa_offset -8
        popq    %rcx
        .cfi_adjust_cfa_offset -8
        popq    %rdx
        .cfi_adjust_cfa_offset -8
        popq    %rsi
        .cfi_adjust_cfa_offset -8
        popq    %rdi
        .cfi_adjust_cfa_offset -8
        .endm

        .macro BEGIN name
        .globl  \name
        .type   \name, @function
        .p2align 4
\name:
        .cfi_startproc
        .endm

        .macro END name
        .cfi_endproc
        .size   \name, . - \name
        .endm

        // Calls `function` and goes on to what the name means to the caller (openmp/callers.h).
        .macro LONG_WAY name, function
        KEEP
        call    \function
        leaq    smelt_real_\name(%rip), %rdi
        movq    56(%rsp), %rsi                  // where the call returns to
        call    smelt_openmp_meant
        movq    %rax, %r11
        RESTORE
        jmpq    *%r11
        .endm

        .macro MARKING_STUB name
        BEGIN   \name
        movq    smelt_gomp_position@gottpoff(%rip), %r11
        cmpl    $0, %fs:(%r11)                  // Position::unmarked
        jne     1f
        jmpq    *smelt_real_\name(%rip)
1:      LONG_WAY \name, smelt_gomp_mark
        END     \name
        .endm

        // GOMP_task: deferred in %r9b, flags at 8(%rsp). What is run at once anyway is libgomp's, without a look at the
        // rest: undeferred tasks without dependences, not final ones (own_tasks.h); and any without dependences when the
        // thread's deque is long. Both where the position allows it.
        .macro MAKING_STUB name
        BEGIN   \name
        cmpb    $0, smelt_openmp_several(%rip)
        jne     smelt_gomp_\name
        movq    smelt_gomp_position@gottpoff(%rip), %r11
        testb   %r9b, %r9b
        jne     1f
        testl   $10, 8(%rsp)                    // final, depend
        jne     2f
        cmpb    $0, %fs:54(%r11)                // Position::unseen
        je      2f
        jmpq    *smelt_real_\name(%rip)
1:      movq    %fs:72(%r11), %r10              // Position::deque
        testq   %r10, %r10
        je      2f
        movq    (%r10), %rax                    // pushed, seen
        subq    8(%r10), %rax
        cmpq    $64, %rax
        jl      2f
        movq    128(%r10), %rax                 // top
        movq    %rax, 8(%r10)
        subq    (%r10), %rax
        cmpq    $-64, %rax
        jg      2f
        testl   $~21, 8(%rsp)                   // but untied, mergeable, priority
        jne     2f
        cmpb    $0, %fs:54(%r11)
        je      2f
        xorl    %r9d, %r9d
        jmpq    *smelt_real_\name(%rip)
2:      cmpl    $0, %fs:(%r11)                  // Position::unmarked
        jne     smelt_gomp_\name
        cmpb    $0, smelt_gomp_found(%rip)
        je      smelt_gomp_\name
        cmpb    $0, smelt_openmp_several(%rip)
        jne     smelt_gomp_\name
        jmpq    *smelt_real_\name(%rip)
        END     \name
        .endm

        .macro STUB name, function
        BEGIN   \name
        LONG_WAY \name, \function
        END     \name
        .endm

        .macro NOTING_STUB name
        BEGIN   \name
        pushq   %rdi
        .cfi_adjust_cfa_offset 8
        pushq   %rsi
        .cfi_adjust_cfa_offset 8
        leaq    smelt_real_\name(%rip), %rdi
        movq    16(%rsp), %rsi                  // where the call returns to
        subq    $8, %rsp                        // the ABI's 16-byte alignment at a call
        .cfi_adjust_cfa_offset 8
        call    smelt_gomp_note
        addq    $8, %rsp
        .cfi_adjust_cfa_offset -8
        popq    %rsi
        .cfi_adjust_cfa_offset -8
        popq    %rdi
        .cfi_adjust_cfa_offset -8
        jmpq    *%rax
        END     \name
        .endm

#define SYMBOL(name)
#define MAKES(name) MAKING_STUB name
#define MARKED(name) MARKING_STUB name
#define LEFT(name) STUB name, smelt_gomp_leave
#define COOLED(name) STUB name, smelt_gomp_cool
#define NOTED(name) NOTING_STUB name
#include "symbols.def"

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
