! Tasks in Fortran: quicksort, one task per part above the cutoff with taskwait at every level, and the height of the search
! tree that the sorting went through, returned through the tasks. The array is filled by a taskloop before.
!
!   quicksort_f90 [NUMBERS] [CUTOFF] [ROUNDS]
!
! The pivots depend on the numbers alone, so whoever runs which task, the sorted array and the tree are the same: both are
! checked against a serial run.
program quicksort
  use, intrinsic :: iso_fortran_env, only: int64, error_unit
  implicit none

  integer(int64), allocatable :: numbers(:), expected(:)
  integer :: count, cutoff, rounds, round, i, height, expected_height

  count = size_argument(1, 60000, 1, 100000000)
  cutoff = size_argument(2, 600, 1, 100000000)
  rounds = size_argument(3, 3, 1, 1000)
  allocate(numbers(count), expected(count))

  do round = 1, rounds
    do i = 1, count
      expected(i) = random_number_of(i, round)
    end do
    call sort_in_serial(expected, 1, count, expected_height)

    !$omp parallel default(none) shared(numbers, count, cutoff, round, height) private(i)
    !$omp single
    !$omp taskloop default(none) shared(numbers, count, round) private(i) num_tasks(8)
    do i = 1, count
      numbers(i) = random_number_of(i, round)
    end do
    !$omp end taskloop
    call sort(numbers, 1, count, cutoff, height)
    !$omp end single
    !$omp end parallel

    do i = 2, count
      if (numbers(i - 1) > numbers(i)) call fail('not sorted')
    end do
    if (any(numbers /= expected)) call fail('other numbers than in serial')
    if (height /= expected_height) call fail('another tree than in serial')
    print '(a, i0, a, i0, a, i0, a, i0, a, i0, a, z16.16)', 'round ', round, ': ', count, ' numbers from ', numbers(1), &
      ' to ', numbers(count), ', tree height ', height, ', checksum ', checksum(numbers)
  end do

contains

  ! Park and Miller's multiplier, a few steps on from a seed made of both: in 1 .. 2^31 - 2, and below 2^62 on the way.
  pure integer(int64) function random_number_of(place, seed) result(x)
    integer, intent(in) :: place, seed
    integer(int64), parameter :: modulus = 2147483647_int64, multiplier = 48271_int64
    integer :: step

    x = 1 + modulo(int(place, int64) * 1013904223_int64 + int(seed, int64) * 69069_int64, modulus - 1)
    do step = 1, 3
      x = modulo(x * multiplier, modulus)
    end do
  end function

  ! Splits values(low:high): afterwards everything up to `middle` is no greater than everything from middle + 1 on.
  subroutine partition(values, low, high, middle)
    integer(int64), intent(inout) :: values(:)
    integer, intent(in) :: low, high
    integer, intent(out) :: middle
    integer(int64) :: pivot, moved
    integer :: left, right

    pivot = values(low + (high - low) / 2)
    left = low - 1
    right = high + 1
    do
      do
        left = left + 1
        if (values(left) >= pivot) exit
      end do
      do
        right = right - 1
        if (values(right) <= pivot) exit
      end do
      if (left >= right) exit
      moved = values(left)
      values(left) = values(right)
      values(right) = moved
    end do
    middle = right
  end subroutine

  recursive subroutine sort(values, low, high, cutoff_size, tree_height)
    integer(int64), intent(inout) :: values(:)
    integer, intent(in) :: low, high, cutoff_size
    integer, intent(out) :: tree_height
    integer :: middle, left_height, right_height

    if (high - low < cutoff_size) then
      call sort_in_serial(values, low, high, tree_height)
      return
    end if
    call partition(values, low, high, middle)
    !$omp task default(none) shared(values, left_height) firstprivate(low, middle, cutoff_size)
    call sort(values, low, middle, cutoff_size, left_height)
    !$omp end task
    !$omp task default(none) shared(values, right_height) firstprivate(middle, high, cutoff_size)
    call sort(values, middle + 1, high, cutoff_size, right_height)
    !$omp end task
    !$omp taskwait
    tree_height = 1 + max(left_height, right_height)
  end subroutine

  recursive subroutine sort_in_serial(values, low, high, tree_height)
    integer(int64), intent(inout) :: values(:)
    integer, intent(in) :: low, high
    integer, intent(out) :: tree_height
    integer :: middle, left_height, right_height

    tree_height = 0
    if (low >= high) return
    call partition(values, low, high, middle)
    call sort_in_serial(values, low, middle, left_height)
    call sort_in_serial(values, middle + 1, high, right_height)
    tree_height = 1 + max(left_height, right_height)
  end subroutine

  ! Rotates and mixes by exclusive or: a different bit anywhere shows, and no integer overflows.
  integer(int64) function checksum(values)
    integer(int64), intent(in) :: values(:)
    integer :: k

    checksum = 0
    do k = 1, size(values)
      checksum = ieor(ishftc(checksum, 5), values(k))
    end do
  end function

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
