! Dynamic loops over a triangle in Fortran: column i has i elements. Loops of several forms, combined with the region
! and not, up and down, with chunks, with and without a barrier at the end; see triangle.c.
!
!   triangle_f90 [COLUMNS] [ROUNDS]
!
! Each column is written once, by whoever has it: every bit is that of the serial run, and how often each was done is
! counted.
program triangle
  use, intrinsic :: iso_fortran_env, only: real64, int64, error_unit
  implicit none

  integer, parameter :: forms = 5
  real(real64), allocatable :: matrix(:, :), expected(:, :), square(:, :, :)
  integer, allocatable :: done(:, :), once(:)
  integer :: n, rounds, round, i, form, last

  n = size_argument(1, 90, 1, 10000)
  rounds = size_argument(2, 6, 1, 100000)
  allocate(matrix(n, n), expected(n, n), square(n, n, forms), done(n, forms), once(n))

  do round = 1, rounds
    do i = 1, n
      matrix(:, i) = [(sin(real(round * n * n + i * n + last, real64)), last = 1, n)]
    end do
    expected = 0
    once = 0
    do i = 1, n
      call square_column(expected(:, i), once(i), i)
    end do
    square = 0
    done = 0
    call in_loops
    do form = 1, forms
      if (any(done(:, form) /= 1)) call fail('a column was not done once')
      if (any(bits(square(:, :, form)) /= bits(expected))) call fail('another square than in serial')
    end do
    if (last /= n) call fail('another last column than in serial')
    print '(a, i0, a, i0, a, i0, a, z16.16)', 'round ', round, ': ', n, ' columns, ', forms, &
      ' forms of loop, checksum ', checksum(reshape(expected, [n * n]))
  end do

contains

  subroutine in_loops
    integer :: k, missing

    !$omp parallel do schedule(dynamic) default(none) shared(square, done, n)
    do k = 1, n
      call square_column(square(:, k, 1), done(k, 1), k)
    end do
    !$omp end parallel do
    !$omp parallel default(none) shared(square, done, n, last) private(missing)
    !$omp do schedule(dynamic)
    do k = n, 1, -1
      call square_column(square(:, k, 2), done(k, 2), k)
    end do
    !$omp end do nowait
    !$omp do schedule(dynamic, 3)
    do k = 1, n
      call square_column(square(:, k, 3), done(k, 3), k)
    end do
    !$omp end do
    missing = count(done(:, 3) /= 1) + count(done(:, 2) /= 1)  ! both loops are over behind the barrier
    if (missing /= 0) call fail('a column is missing behind the barrier')
    !$omp do schedule(dynamic, 4) lastprivate(last)
    do k = 1, n
      call square_column(square(:, k, 4), done(k, 4), k)
      last = k
    end do
    !$omp end do
    !$omp do schedule(guided)
    do k = 1, n
      call square_column(square(:, k, 5), done(k, 5), k)
    end do
    !$omp end do
    !$omp end parallel
  end subroutine

  ! Column i of the square of the upper triangle.
  subroutine square_column(column, times, i)
    real(real64), intent(inout) :: column(:)
    integer, intent(inout) :: times
    integer, intent(in) :: i
    integer :: j, k

    column = 0
    do k = 1, i
      do j = 1, k
        column(j) = column(j) + matrix(j, k) * matrix(k, i)
      end do
    end do
    times = times + 1
  end subroutine

  elemental integer(int64) function bits(x)
    real(real64), intent(in) :: x
    bits = transfer(x, bits)
  end function

  integer(int64) function checksum(values)
    real(real64), intent(in) :: values(:)
    integer :: k

    checksum = 0
    do k = 1, size(values)
      checksum = ieor(ishftc(checksum, 5), bits(values(k)))
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
