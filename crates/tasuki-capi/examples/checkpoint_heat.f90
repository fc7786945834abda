! checkpoint_heat SIDE STEPS: checkpoint_heat.c in Fortran. Heat spreads in a square, cut into strips, one for
! each process of an MPI. The program saves its state once in a while, and goes on from there when it is
! started again.
!
!     mpif90 -O2 /usr/include/tasuki_checkpoint.f90 checkpoint_heat.f90 -ltasuki -lpthread -ldl -lm
!     TASUKI_CHECKPOINT=/var/tmp/heat tasuki run -n 4 ./a.out 2000 10000
program checkpoint_heat
    use mpi
    use tasuki_checkpoints
    implicit none
    integer, target :: step = 0
    real(8), allocatable, target :: now(:, :)
    real(8), allocatable :: next(:, :)
    real(8) :: own = 0, all
    integer :: rank, processes, side, steps, rows, row, column, code, failed
    type(tasuki_checkpoint) :: checkpoint
    type(tasuki_checkpoint_counters) :: counters

    call MPI_Init(failed)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, failed)
    call MPI_Comm_size(MPI_COMM_WORLD, processes, failed)
    side = argument(1)
    steps = argument(2)
    if (side < 3 .or. steps < 1 .or. side < processes) then
        print '(a)', 'usage: checkpoint_heat SIDE STEPS (a strip for each process)'
        call MPI_Abort(MPI_COMM_WORLD, 2, failed)
    end if
    rows = side / processes
    if (rank < mod(side, processes)) rows = rows + 1
    ! A row of the square is a column here, since these lie in one piece.
    allocate (now(side, 0:rows + 1), next(side, 0:rows + 1))
    now = 0
    if (rank == 0) now(:, 0) = 1000
    next = now

    call check(tasuki_checkpoint_open_mpi(MPI_COMM_WORLD, checkpoint))
    call check(tasuki_checkpoint_add(checkpoint, 0, step))
    call check(tasuki_checkpoint_add(checkpoint, 1, now))
    code = tasuki_checkpoint_restore(checkpoint)
    call check(code)
    if (code > 0 .and. rank == 0) then
        print '(a, i0)', 'goes on from step ', step
        if (len(tasuki_checkpoint_notes(checkpoint)) > 0) print '(a)', tasuki_checkpoint_notes(checkpoint)
        flush (6)
    end if
    next = now
    do while (step < steps)
        call spread_heat()
        step = step + 1
        now = next
        code = tasuki_checkpoint_is_due(checkpoint)
        call check(code)
        if (code > 0) then
            if (tasuki_checkpoint_save(checkpoint) < 0 .and. rank == 0) &
                print '(2a)', 'goes on without this checkpoint: ', tasuki_checkpoint_error()
        end if
    end do
    do row = 1, rows
        do column = 1, side
            own = own + now(column, row) * (row * 7 + mod(column - 1, 13))
        end do
    end do
    call MPI_Reduce(own, all, 1, MPI_DOUBLE_PRECISION, MPI_SUM, 0, MPI_COMM_WORLD, failed)
    call check(tasuki_checkpoint_count(checkpoint, counters))
    call check(tasuki_checkpoint_finish(checkpoint))
    call tasuki_checkpoint_close(checkpoint)
    if (rank == 0) print '(a, es24.16, a, i0, a, f0.3, a)', 'heat ', all, ', ', counters%saved, &
        ' checkpoints in ', counters%all_us / 1d6, ' s'
    call MPI_Finalize(failed)

contains

    ! A number that the command was given.
    integer function argument(which)
        integer, intent(in) :: which
        character(32) :: text
        integer :: wrong
        call get_command_argument(which, text)
        read (text, *, iostat=wrong) argument
        if (wrong /= 0) argument = 0
    end function

    subroutine check(result)
        integer, intent(in) :: result
        if (result >= 0) return
        print '(2a)', 'checkpoint_heat: ', tasuki_checkpoint_error()
        call MPI_Abort(MPI_COMM_WORLD, 1, failed)
    end subroutine

    ! A step: the borders come from the neighbours, then every point takes the mean of its own four.
    subroutine spread_heat()
        integer :: above, below, i, j
        above = merge(rank - 1, MPI_PROC_NULL, rank > 0)
        below = merge(rank + 1, MPI_PROC_NULL, rank < processes - 1)
        call MPI_Sendrecv(now(1, 1), side, MPI_DOUBLE_PRECISION, above, 0, now(1, rows + 1), side, &
                          MPI_DOUBLE_PRECISION, below, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE, failed)
        call MPI_Sendrecv(now(1, rows), side, MPI_DOUBLE_PRECISION, below, 1, now(1, 0), side, &
                          MPI_DOUBLE_PRECISION, above, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, failed)
        do j = 1, rows
            do i = 2, side - 1
                next(i, j) = 0.25d0 * (now(i - 1, j) + now(i + 1, j) + now(i, j - 1) + now(i, j + 1))
            end do
        end do
    end subroutine

end program
