// Stubs that are taken often (stubs.S).

        .macro MARKING_STUB name
        FUNCTION \name
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
        FUNCTION \name
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

        .macro NOTING_STUB name
        FUNCTION \name
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
