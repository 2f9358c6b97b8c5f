! Nested regions in Fortran: 2 threads outside, each with a team of its own inside that works on its half of the
! columns, by loops, a reduction, and a single whose result all take home.
!
!   nested_loops_f90 [N] [SWEEPS] [ROUNDS]
!
! The inner teams have half the threads that the program was given, at least 2. Sums are of whole numbers, so their
! order does not matter: the result is that of the serial run.
program nested_loops
  use, intrinsic :: iso_fortran_env, only: int64, error_unit
  use omp_lib
  implicit none

  integer(int64), parameter :: modulus = 2147483647_int64
  integer(int64), allocatable :: matrix(:, :), expected(:, :)
  integer(int64) :: total, expected_total
  integer :: n, sweeps, rounds, round, i, j, inner

  n = size_argument(1, 60, 2, 10000)
  sweeps = size_argument(2, 15, 1, 100000)
  rounds = size_argument(3, 2, 1, 100000)
  allocate(matrix(n, n), expected(n, n))
  inner = max(2, omp_get_max_threads() / 2)
  call omp_set_max_active_levels(2)

  do round = 1, rounds
    do j = 1, n
      do i = 1, n
        expected(i, j) = modulo(int(i, int64) * 1013904223_int64 + int(j, int64) * 69069_int64 + round, modulus)
      end do
    end do
    matrix = expected
    expected_total = 0
    do i = 1, sweeps
      do j = 1, n
        call stir(expected(:, j), i, expected_total)
      end do
    end do
    total = 0
    !$omp parallel num_threads(2) default(none) shared(matrix, n, sweeps, inner) private(i) reduction(+: total)
    do i = 1, sweeps
      call half_of(omp_get_thread_num(), omp_get_num_threads(), i, total)
      !$omp barrier
    end do
    !$omp end parallel
    if (any(matrix /= expected)) call fail('another matrix than in serial')
    if (total /= expected_total) call fail('another total than in serial')
    print '(a, i0, a, i0, a, i0, a, i0)', 'round ', round, ': ', n, ' columns, ', sweeps, ' sweeps, total ', total
  end do

contains

  subroutine half_of(me, threads, sweep, sum)
    integer, intent(in) :: me, threads, sweep
    integer(int64), intent(inout) :: sum
    integer(int64) :: part, told
    integer :: k, first, last

    first = n * me / threads + 1
    last = n * (me + 1) / threads
    part = 0
    !$omp parallel num_threads(inner) default(none) shared(matrix, first, last, sweep, part, n) private(told)
    if (omp_get_level() /= 2) call fail('another level')
    if (modulo(sweep, 2) == 0) then
      !$omp do reduction(+: part)
      do k = first, last
        call stir(matrix(:, k), sweep, part)
      end do
      !$omp end do
    else
      !$omp do reduction(+: part) schedule(dynamic, 3)
      do k = first, last
        call stir(matrix(:, k), sweep, part)
      end do
      !$omp end do
    end if
    !$omp single
    told = part
    !$omp end single copyprivate(told)
    if (told /= part) call fail('another sum than the single''s')
    !$omp end parallel
    sum = sum + part
  end subroutine

  subroutine stir(column, sweep, sum)
    integer(int64), intent(inout) :: column(:)
    integer, intent(in) :: sweep
    integer(int64), intent(inout) :: sum
    integer :: k

    do k = 1, size(column)
      column(k) = modulo(column(k) * 48271_int64 + sweep, modulus)
      sum = sum + modulo(column(k), 1000_int64)
    end do
  end subroutine

  integer function size_argument(position, otherwise, least, most_allowed) result(value)
    integer, intent(in) :: position, otherwise, least, most_allowed
    character(len=32) :: word
    integer :: status

    value = otherwise
    if (position > command_argument_count()) return
    call get_command_argument(position, word, status=status)
    if (status == 0) read (word, *, iostat=status) value
    if (status == 0 .and. value >= least .and. value <= most_allowed) return
    write (error_unit, '(3a, i0, a, i0)') 'argument "', trim(word), '" is not a number between ', least, ' and ', &
      most_allowed
    stop 2
  end function

  subroutine fail(what)
    character(len=*), intent(in) :: what
    write (error_unit, '(2a)') 'wrong result: ', what
    stop 1
  end subroutine

end program
