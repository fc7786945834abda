! fields THREADS: Fortran as OpenMP codes have it. Allocatable arrays, a module's data, threadprivate, a
! reduction over an array, critical, ordered, locks that are taken again, and formatted output. What is
! printed does not depend on the number of threads.
module store
    use omp_lib
    implicit none
    integer, parameter :: side = 128
    double precision, allocatable :: now(:, :), next(:, :)
    double precision :: total
    ! A lock with what must not change on both sides.
    type guarded
        sequence
        integer(8) :: before
        integer(omp_nest_lock_kind) :: lock
        integer(8) :: after
    end type
    type(guarded) :: kept
    integer :: mine = 0
    !$omp threadprivate(mine)
contains
    subroutine step(from, to)
        double precision, intent(in) :: from(:, :)
        double precision, intent(inout) :: to(:, :)
        integer :: i, j
        !$omp parallel do private(i) schedule(static)
        do j = 2, side - 1
            do i = 2, side - 1
                to(i, j) = 0.25d0 * (from(i - 1, j) + from(i + 1, j) + from(i, j - 1) + from(i, j + 1))
            end do
        end do
        !$omp end parallel do
    end subroutine
end module

program fields
    use omp_lib
    use store
    implicit none
    integer :: round, i, j, threads, wanted, passes, order(20), place
    integer :: histogram(0:9)
    character(len=16) :: argument
    call get_command_argument(1, argument)
    read (argument, *) wanted
    allocate (now(side, side), next(side, side))
    !$omp parallel do private(i)
    do j = 1, side
        do i = 1, side
            now(i, j) = merge(1d0, 0d0, j == 1)
            next(i, j) = now(i, j)
        end do
    end do
    !$omp end parallel do
    do round = 1, 30
        call step(now, next)
        call step(next, now)
    end do
    total = 0
    !$omp parallel do reduction(+ : total) private(i)
    do j = 1, side
        do i = 1, side
            total = total + now(i, j)
        end do
    end do
    !$omp end parallel do
    print '(a, f12.6)', 'field ', total

    histogram = 0
    !$omp parallel do reduction(+ : histogram) schedule(dynamic, 7)
    do i = 1, 1000
        histogram(mod(i * i, 10)) = histogram(mod(i * i, 10)) + 1
    end do
    !$omp end parallel do
    print '(a, 10i5)', 'histogram', histogram

    passes = 0
    threads = 0
    !$omp parallel
    mine = omp_get_thread_num() + 1
    !$omp barrier
    !$omp critical
    threads = threads + 1
    passes = passes + mine
    !$omp end critical
    !$omp end parallel
    print '(a, l2, l2)', 'threads', threads == wanted, passes == wanted * (wanted + 1) / 2

    place = 0
    !$omp parallel do ordered schedule(dynamic)
    do i = 1, 20
        !$omp ordered
        place = place + 1
        order(place) = i
        !$omp end ordered
    end do
    !$omp end parallel do
    print '(a, l2)', 'ordered', all(order == [(i, i=1, 20)])

    kept%before = 123
    kept%after = 456
    passes = 0
    call omp_init_nest_lock(kept%lock)
    !$omp parallel
    call omp_set_nest_lock(kept%lock)
    call omp_set_nest_lock(kept%lock)
    passes = passes + 1
    call omp_unset_nest_lock(kept%lock)
    call omp_unset_nest_lock(kept%lock)
    !$omp end parallel
    call omp_destroy_nest_lock(kept%lock)
    print '(a, l2, l2)', 'nested', passes == wanted, kept%before == 123 .and. kept%after == 456
    deallocate (now, next)
end program
