// What the stubs of both shims are written with (gomp_shim/stubs_<isa>.S, kmp_shim/stubs_<isa>.S).
//
// A stub stands in front of an entry point whose arguments are none of our business: it jumps on to the runtime's with
// all argument registers and the stack as the caller left them.

        .section .note.GNU-stack, "", %progbits
        .text

        .macro FUNCTION name
        .globl  \name
        .type   \name, %function
        .p2align 4
\name:
        .cfi_startproc
        .endm

        .macro END name
        .cfi_endproc
        .size   \name, . - \name
        .endm

        // KEEP and RESTORE: the arguments' registers out of the way of a call, and back. The stack before is as at the
        // entry of a function.
        // KEPT_JUMP: behind KEEP, goes on to what `find` answers, by default what the name means to the caller
        // (openmp/callers.h).
#ifdef __x86_64__
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

        .macro INVOKE function
        call    \function
        .endm

        .macro KEPT_JUMP name, find=smelt_openmp_meant
        leaq    smelt_real_\name(%rip), %rdi
        movq    56(%rsp), %rsi                  // where the call returns to
        call    \find
        movq    %rax, %r11
        RESTORE
        jmp     *%r11
        .endm
#else
        .macro KEEP
        stp     x29, x30, [sp, #-96]!
        .cfi_adjust_cfa_offset 96
        .cfi_rel_offset 29, 0
        .cfi_rel_offset 30, 8
        stp     x0, x1, [sp, #16]
        stp     x2, x3, [sp, #32]
        stp     x4, x5, [sp, #48]
        stp     x6, x7, [sp, #64]
        str     x8, [sp, #80]
        .endm

        .macro RESTORE
        ldp     x0, x1, [sp, #16]
        ldp     x2, x3, [sp, #32]
        ldp     x4, x5, [sp, #48]
        ldp     x6, x7, [sp, #64]
        ldr     x8, [sp, #80]
        ldp     x29, x30, [sp], #96
        .cfi_adjust_cfa_offset -96
        .cfi_restore 29
        .cfi_restore 30
        .endm

        .macro INVOKE function
        bl      \function
        .endm

        .macro KEPT_JUMP name, find=smelt_openmp_meant
        adrp    x0, smelt_real_\name
        add     x0, x0, :lo12:smelt_real_\name
        ldr     x1, [sp, #8]                    // where the call returns to
        bl      \find
        mov     x16, x0
        RESTORE
        br      x16
        .endm
#endif

        // The slots (openmp/symbols.h): SLOT for each name follows.
        .macro SLOT name
        .globl  smelt_real_\name
        .hidden smelt_real_\name
smelt_real_\name:
        .zero   8
        .endm

        .section .bss.smelt_real, "aw", %nobits
        .balign 64
        .globl  smelt_real
        .hidden smelt_real
smelt_real:
#define SYMBOL(name) SLOT name
#include SMELT_SYMBOLS
        .text
