! Heat in a plate, as Fortran programs say it: array statements in a workshare, loops over columns, and a single whose result
! every thread takes home by copyprivate.
!
!   stencil_f90 [N] [SWEEPS] [ROUNDS]
!
! The residual is summed per column by whoever has the column, then over the columns in their order, in the single. So
! every bit is the same for any team, and equal to the serial run that it is checked against.
program stencil
  use, intrinsic :: iso_fortran_env, only: real64, int64, error_unit
  implicit none

  real(real64), parameter :: small = 5.0e-4_real64  ! residual at which we stop
  real(real64), allocatable :: plate(:, :), expected(:, :)
  real(real64) :: residual, expected_residual
  integer :: n, most, rounds, round, sweeps, expected_sweeps

  n = size_argument(1, 80, 1, 10000)
  most = size_argument(2, 5000, 1, 1000000)
  rounds = size_argument(3, 3, 1, 100000)
  allocate(plate(0:n + 1, 0:n + 1), expected(0:n + 1, 0:n + 1))

  call in_serial(expected, expected_sweeps, expected_residual)
  if (any(expected < 0 .or. expected > 1)) call fail('hotter or colder than the edges')
  do round = 1, rounds
    call in_parallel(plate, sweeps, residual)
    if (sweeps /= expected_sweeps) call fail('another number of sweeps than in serial')
    if (bits(residual) /= bits(expected_residual)) call fail('another residual than in serial')
    if (any(bits(plate) /= bits(expected))) call fail('another grid than in serial')
    print '(a, i0, a, i0, a, i0, a, i0, a, z16.16, a, z16.16)', 'round ', round, ': ', n, ' x ', n, ', ', sweeps, &
      ' sweeps, residual ', bits(residual), ', grid ', checksum(plate)
  end do

contains

  subroutine in_parallel(grid, done, change)
    real(real64), intent(out) :: grid(0:, 0:)
    integer, intent(out) :: done
    real(real64), intent(out) :: change
    real(real64), allocatable :: next(:, :), per_column(:)
    real(real64) :: mine      ! each thread's copy of the residual
    integer :: column, sweep

    allocate(next(0:n + 1, 0:n + 1), per_column(n))
    done = 0
    change = 0
    !$omp parallel default(shared) private(column, sweep, mine)
    !$omp workshare
    grid = 0
    grid(0, :) = 1
    next = 0
    !$omp end workshare
    do sweep = 1, most
      !$omp do schedule(static)
      do column = 1, n
        call sweep_column(grid, next, column, per_column(column))
      end do
      !$omp end do
      !$omp single
      mine = in_order(per_column)
      change = mine
      done = sweep
      !$omp end single copyprivate(mine)
      !$omp workshare
      grid(1:n, 1:n) = next(1:n, 1:n)
      !$omp end workshare
      if (mine <= small) exit  ! all threads have the same copy: all leave, or none
    end do
    !$omp end parallel
  end subroutine

  subroutine in_serial(grid, done, change)
    real(real64), intent(out) :: grid(0:, 0:)
    integer, intent(out) :: done
    real(real64), intent(out) :: change
    real(real64), allocatable :: next(:, :), per_column(:)
    integer :: column

    allocate(next(0:n + 1, 0:n + 1), per_column(n))
    grid = 0
    grid(0, :) = 1
    next = 0
    change = 0
    do done = 1, most
      do column = 1, n
        call sweep_column(grid, next, column, per_column(column))
      end do
      change = in_order(per_column)
      grid(1:n, 1:n) = next(1:n, 1:n)
      if (change <= small) return
    end do
    done = most
  end subroutine

  ! One column of one sweep; `change` becomes the sum of the squared changes.
  subroutine sweep_column(from, to, column, change)
    real(real64), intent(in) :: from(0:, 0:)
    real(real64), intent(inout) :: to(0:, 0:)
    integer, intent(in) :: column
    real(real64), intent(out) :: change
    integer :: row

    change = 0
    do row = 1, n
      to(row, column) = 0.25_real64 * ((from(row - 1, column) + from(row + 1, column)) &
                                       + (from(row, column - 1) + from(row, column + 1)))
      change = change + (to(row, column) - from(row, column))**2
    end do
  end subroutine

  real(real64) function in_order(values) result(total)
    real(real64), intent(in) :: values(:)
    integer :: i

    total = 0
    do i = 1, size(values)
      total = total + values(i)
    end do
  end function

  elemental integer(int64) function bits(value)
    real(real64), intent(in) :: value
    bits = transfer(value, bits)
  end function

  ! Rotates and mixes by exclusive or: a different bit anywhere shows, and no integer overflows.
  integer(int64) function checksum(values)
    real(real64), intent(in) :: values(:, :)
    integer :: i, j

    checksum = 0
    do j = 1, size(values, 2)
      do i = 1, size(values, 1)
        checksum = ieor(ishftc(checksum, 5), bits(values(i, j)))
      end do
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
