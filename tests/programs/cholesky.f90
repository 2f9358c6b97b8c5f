! Cholesky factorisation of a dense matrix of tiles in Fortran, by tasks with dependences on elements of an array, with
! tasks without before them; see cholesky.c.
!
!   cholesky_f90 [TILES TO A SIDE] [ROWS OF A TILE] [ROUNDS]
!
! A tile is changed by one task at a time, in the order in which the tasks were made, so every bit is the same as in
! the serial run that the result is checked against.
program cholesky
  use, intrinsic :: iso_fortran_env, only: real64, int64, error_unit
  implicit none

  real(real64), allocatable :: tiles(:, :, :, :), expected(:, :, :, :)  ! row, column of the tile; of the tiles
  integer :: side, rows, rounds, round

  side = size_argument(1, 7, 1, 1000)
  rows = size_argument(2, 14, 1, 1000)
  rounds = size_argument(3, 4, 1, 100000)
  allocate(tiles(rows, rows, side, side), expected(rows, rows, side, side))

  expected = 0
  call in_serial
  do round = 1, rounds
    tiles = 0
    call by_tasks
    if (any(bits(tiles) /= bits(expected))) call fail('other factors than in serial')
    print '(a, i0, a, i0, a, i0, a, z16.16)', 'round ', round, ': ', side, ' tiles to a side of ', rows, &
      ' rows, checksum ', checksum(reshape(tiles, [size(tiles)]))
  end do

contains

  subroutine in_serial
    integer :: i, j, k

    do j = 1, side
      do i = j, side
        call fill(expected(:, :, i, j), i, j)
      end do
    end do
    do k = 1, side
      call factor(expected(:, :, k, k))
      do i = k + 1, side
        call solve(expected(:, :, k, k), expected(:, :, i, k))
      end do
      do i = k + 1, side
        do j = k + 1, i
          call subtract_product(expected(:, :, i, k), expected(:, :, j, k), expected(:, :, i, j))
        end do
      end do
    end do
  end subroutine

  subroutine by_tasks
    integer :: i, j, k

    !$omp parallel default(none) shared(tiles, side) private(i, j, k)
    !$omp single
    do j = 1, side
      do i = j, side
        !$omp task default(none) shared(tiles) firstprivate(i, j)
        call fill(tiles(:, :, i, j), i, j)
        !$omp end task
      end do
    end do
    !$omp taskwait
    do k = 1, side
      !$omp task default(none) shared(tiles) firstprivate(k) depend(inout: tiles(1, 1, k, k))
      call factor(tiles(:, :, k, k))
      !$omp end task
      do i = k + 1, side
        !$omp task default(none) shared(tiles) firstprivate(i, k) depend(in: tiles(1, 1, k, k)) &
        !$omp& depend(inout: tiles(1, 1, i, k))
        call solve(tiles(:, :, k, k), tiles(:, :, i, k))
        !$omp end task
      end do
      do i = k + 1, side
        do j = k + 1, i
          !$omp task default(none) shared(tiles) firstprivate(i, j, k) &
          !$omp& depend(in: tiles(1, 1, i, k), tiles(1, 1, j, k)) depend(inout: tiles(1, 1, i, j))
          call subtract_product(tiles(:, :, i, k), tiles(:, :, j, k), tiles(:, :, i, j))
          !$omp end task
        end do
      end do
    end do
    !$omp end single
    !$omp end parallel
  end subroutine

  ! Symmetric, with a heavy diagonal.
  subroutine fill(tile, i, j)
    real(real64), intent(out) :: tile(:, :)
    integer, intent(in) :: i, j
    integer :: r, c, row, column

    do c = 1, rows
      do r = 1, rows
        row = (i - 1) * rows + r
        column = (j - 1) * rows + c
        tile(r, c) = sin(real(max(row, column) * side * rows + min(row, column), real64))
        if (row == column) tile(r, c) = tile(r, c) + side * rows
      end do
    end do
  end subroutine

  subroutine factor(tile)
    real(real64), intent(inout) :: tile(:, :)
    integer :: i, j, k

    do k = 1, rows
      tile(k, k) = sqrt(tile(k, k))
      do i = k + 1, rows
        tile(i, k) = tile(i, k) / tile(k, k)
      end do
      do j = k + 1, rows
        do i = j, rows
          tile(i, j) = tile(i, j) - tile(i, k) * tile(j, k)
        end do
        tile(k, j) = 0
      end do
    end do
  end subroutine

  subroutine solve(diagonal, tile)
    real(real64), intent(in) :: diagonal(:, :)
    real(real64), intent(inout) :: tile(:, :)
    integer :: i, j, k

    do k = 1, rows
      do j = 1, k - 1
        do i = 1, rows
          tile(i, k) = tile(i, k) - tile(i, j) * diagonal(k, j)
        end do
      end do
      do i = 1, rows
        tile(i, k) = tile(i, k) / diagonal(k, k)
      end do
    end do
  end subroutine

  subroutine subtract_product(left, right, tile)
    real(real64), intent(in) :: left(:, :), right(:, :)
    real(real64), intent(inout) :: tile(:, :)
    integer :: i, j, k

    do k = 1, rows
      do j = 1, rows
        do i = 1, rows
          tile(i, j) = tile(i, j) - left(i, k) * right(j, k)
        end do
      end do
    end do
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
