! tasuki_checkpoint.f90 - tasuki_checkpoint.h for Fortran and MPI.
!
! A source file of Fortran 2018, since modules that one compiler has built are of no use to another one: compile it with the
! program, by the MPI's compiler.
!
!     mpif90 -O2 /usr/include/tasuki_checkpoint.f90 program.f90 -ltasuki -lpthread -ldl -lm
!
!     use tasuki_checkpoints
!     type(tasuki_checkpoint) :: checkpoint
!     integer, target :: step
!     real(8), allocatable, target :: field(:, :)
!
!     code = tasuki_checkpoint_open_mpi(MPI_COMM_WORLD, checkpoint)
!     code = tasuki_checkpoint_add(checkpoint, 0, step)
!     code = tasuki_checkpoint_add(checkpoint, 1, field)
!     code = tasuki_checkpoint_restore(checkpoint)
!     do while (step < steps)
!         if (tasuki_checkpoint_is_due(checkpoint) > 0) code = tasuki_checkpoint_save(checkpoint)
!         call compute(field)
!     end do
!     code = tasuki_checkpoint_finish(checkpoint)
!     call tasuki_checkpoint_close(checkpoint)
!
! All functions return 0 or more, or a negative code, of which tasuki_checkpoint_error() says more. What
! they do is said in tasuki_checkpoint.h. With the module mpi_f08 the communicator is COMM%MPI_VAL.
module tasuki_checkpoints
    use, intrinsic :: iso_c_binding
    use mpi
    implicit none
    private

    public :: tasuki_checkpoint, tasuki_checkpoint_counters
    public :: tasuki_checkpoint_open_mpi, tasuki_checkpoint_close
    public :: tasuki_checkpoint_add, tasuki_checkpoint_remove, tasuki_checkpoint_restore
    public :: tasuki_checkpoint_is_due, tasuki_checkpoint_save, tasuki_checkpoint_finish
    public :: tasuki_checkpoint_count, tasuki_checkpoint_notes, tasuki_checkpoint_error

    ! A process's part in the checkpoints of its program.
    type, bind(c) :: tasuki_checkpoint
        type(c_ptr) :: handle = c_null_ptr
    end type

    ! Registers memory under a number: a variable or a whole array, with the attribute target; or the c_loc of
    ! one of any other type, and its bytes.
    interface tasuki_checkpoint_add
        module procedure add_memory, add_int32, add_int64, add_real32, add_real64, add_complex64
    end interface

    ! What has happened at this process, as in tasuki_checkpoint.h.
    type, bind(c) :: tasuki_checkpoint_counters
        integer(c_int64_t) :: epoch, saved, failed, bytes, copied, last_us, all_us, aim_us
    end type

    ! tasuki_checkpoint_group
    type, bind(c) :: group_t
        integer(c_int32_t) :: rank, size
        type(c_ptr) :: context
        type(c_funptr) :: gather, exchange, release
    end type

    ! tasuki_checkpoint_options
    type, bind(c) :: options_t
        integer(c_size_t) :: size
        type(c_ptr) :: folder, host
        integer(c_int64_t) :: every_seconds, failures_seconds
        integer(c_int32_t) :: copies, keep
    end type

    interface
        integer(c_int) function c_options_init(options, size) bind(c, name='tasuki_checkpoint_options_init')
            import :: c_int, c_size_t, options_t
            type(options_t) :: options
            integer(c_size_t), value :: size
        end function

        integer(c_int) function c_open(group, options, checkpoint) bind(c, name='tasuki_checkpoint_open')
            import :: c_int, group_t, options_t, tasuki_checkpoint
            type(group_t) :: group
            type(options_t) :: options
            type(tasuki_checkpoint) :: checkpoint
        end function

        subroutine c_close(handle) bind(c, name='tasuki_checkpoint_close')
            import :: c_ptr
            type(c_ptr), value :: handle
        end subroutine

        integer(c_int) function c_add(handle, number, memory, bytes) bind(c, name='tasuki_checkpoint_add')
            import :: c_int, c_int32_t, c_ptr, c_size_t
            type(c_ptr), value :: handle, memory
            integer(c_int32_t), value :: number
            integer(c_size_t), value :: bytes
        end function

        integer(c_int) function c_remove(handle, number) bind(c, name='tasuki_checkpoint_remove')
            import :: c_int, c_int32_t, c_ptr
            type(c_ptr), value :: handle
            integer(c_int32_t), value :: number
        end function

        integer(c_int) function c_restore(handle) bind(c, name='tasuki_checkpoint_restore')
            import :: c_int, c_ptr
            type(c_ptr), value :: handle
        end function

        integer(c_int) function c_is_due(handle) bind(c, name='tasuki_checkpoint_is_due')
            import :: c_int, c_ptr
            type(c_ptr), value :: handle
        end function

        integer(c_int) function c_save(handle) bind(c, name='tasuki_checkpoint_save')
            import :: c_int, c_ptr
            type(c_ptr), value :: handle
        end function

        integer(c_int) function c_finish(handle) bind(c, name='tasuki_checkpoint_finish')
            import :: c_int, c_ptr
            type(c_ptr), value :: handle
        end function

        integer(c_int) function c_count(handle, counters) bind(c, name='tasuki_checkpoint_count')
            import :: c_int, c_ptr, tasuki_checkpoint_counters
            type(c_ptr), value :: handle
            type(tasuki_checkpoint_counters) :: counters
        end function

        integer(c_int) function c_notes(handle, buffer, size) bind(c, name='tasuki_checkpoint_notes')
            import :: c_char, c_int, c_ptr, c_size_t
            type(c_ptr), value :: handle
            character(kind=c_char) :: buffer(*)
            integer(c_size_t), value :: size
        end function

        type(c_ptr) function c_error() bind(c, name='tasuki_last_error')
            import :: c_ptr
        end function

        integer(c_size_t) function c_length(text) bind(c, name='strlen')
            import :: c_ptr, c_size_t
            type(c_ptr), value :: text
        end function
    end interface

contains

    ! Opens the folder for the processes of a communicator, of which it keeps a duplicate. What is left out is
    ! as tasuki_checkpoint_options_init has it.
    integer function tasuki_checkpoint_open_mpi(communicator, checkpoint, folder, every_seconds, &
                                                failures_seconds, copies, keep) result(code)
        integer, intent(in) :: communicator
        type(tasuki_checkpoint), intent(out) :: checkpoint
        character(*), intent(in), optional :: folder
        integer, intent(in), optional :: every_seconds, failures_seconds, copies, keep
        character(kind=c_char), allocatable, target :: path(:)
        integer, pointer :: own
        type(options_t) :: options
        type(group_t) :: group
        integer :: at, failed

        code = c_options_init(options, c_sizeof(options))
        if (code < 0) return
        if (present(folder)) then
            allocate (path(len_trim(folder) + 1))
            do at = 1, len_trim(folder)
                path(at) = folder(at:at)
            end do
            path(size(path)) = c_null_char
            options%folder = c_loc(path)
        end if
        if (present(every_seconds)) options%every_seconds = every_seconds
        if (present(failures_seconds)) options%failures_seconds = failures_seconds
        if (present(copies)) options%copies = copies
        if (present(keep)) options%keep = keep

        allocate (own)
        call MPI_Comm_dup(communicator, own, failed)
        call MPI_Comm_rank(own, at, failed)
        group%rank = at
        call MPI_Comm_size(own, at, failed)
        group%size = at
        group%context = c_loc(own)
        group%gather = c_funloc(gather)
        group%exchange = c_funloc(exchange)
        group%release = c_funloc(release)
        code = c_open(group, options, checkpoint)
    end function

    ! Frees the handle; what was saved stays. Before MPI_Finalize.
    subroutine tasuki_checkpoint_close(checkpoint)
        type(tasuki_checkpoint), intent(inout) :: checkpoint
        call c_close(checkpoint%handle)
        checkpoint%handle = c_null_ptr
    end subroutine

    integer function add_memory(checkpoint, number, memory, bytes) result(code)
        type(tasuki_checkpoint), intent(in) :: checkpoint
        integer, intent(in) :: number
        type(c_ptr), intent(in) :: memory
        integer(c_size_t), intent(in) :: bytes
        code = c_add(checkpoint%handle, int(number, c_int32_t), memory, bytes)
    end function

    integer function add_int32(checkpoint, number, memory) result(code)
        type(tasuki_checkpoint), intent(in) :: checkpoint
        integer, intent(in) :: number
        integer(c_int32_t), dimension(..), contiguous, target, intent(in) :: memory
        code = add_memory(checkpoint, number, c_loc(memory), &
                          bytes_of(size(memory, kind=c_size_t), storage_size(memory)))
    end function

    integer function add_int64(checkpoint, number, memory) result(code)
        type(tasuki_checkpoint), intent(in) :: checkpoint
        integer, intent(in) :: number
        integer(c_int64_t), dimension(..), contiguous, target, intent(in) :: memory
        code = add_memory(checkpoint, number, c_loc(memory), &
                          bytes_of(size(memory, kind=c_size_t), storage_size(memory)))
    end function

    integer function add_real32(checkpoint, number, memory) result(code)
        type(tasuki_checkpoint), intent(in) :: checkpoint
        integer, intent(in) :: number
        real(c_float), dimension(..), contiguous, target, intent(in) :: memory
        code = add_memory(checkpoint, number, c_loc(memory), &
                          bytes_of(size(memory, kind=c_size_t), storage_size(memory)))
    end function

    integer function add_real64(checkpoint, number, memory) result(code)
        type(tasuki_checkpoint), intent(in) :: checkpoint
        integer, intent(in) :: number
        real(c_double), dimension(..), contiguous, target, intent(in) :: memory
        code = add_memory(checkpoint, number, c_loc(memory), &
                          bytes_of(size(memory, kind=c_size_t), storage_size(memory)))
    end function

    integer function add_complex64(checkpoint, number, memory) result(code)
        type(tasuki_checkpoint), intent(in) :: checkpoint
        integer, intent(in) :: number
        complex(c_double_complex), dimension(..), contiguous, target, intent(in) :: memory
        code = add_memory(checkpoint, number, c_loc(memory), &
                          bytes_of(size(memory, kind=c_size_t), storage_size(memory)))
    end function

    ! Bytes of so many elements of so many bits.
    integer(c_size_t) function bytes_of(elements, bits)
        integer(c_size_t), intent(in) :: elements
        integer, intent(in) :: bits
        bytes_of = elements * (bits / 8)
    end function

    ! Forgets memory.
    integer function tasuki_checkpoint_remove(checkpoint, number) result(code)
        type(tasuki_checkpoint), intent(in) :: checkpoint
        integer, intent(in) :: number
        code = c_remove(checkpoint%handle, int(number, c_int32_t))
    end function

    ! Fills the memory from the newest epoch that is complete. 1: so it did; 0: there is none.
    integer function tasuki_checkpoint_restore(checkpoint) result(code)
        type(tasuki_checkpoint), intent(in) :: checkpoint
        code = c_restore(checkpoint%handle)
    end function

    ! Counts a step of the program. 1: it should save now; 0: not yet.
    integer function tasuki_checkpoint_is_due(checkpoint) result(code)
        type(tasuki_checkpoint), intent(in) :: checkpoint
        code = c_is_due(checkpoint%handle)
    end function

    ! Writes an epoch, and waits until all disks have it.
    integer function tasuki_checkpoint_save(checkpoint) result(code)
        type(tasuki_checkpoint), intent(in) :: checkpoint
        code = c_save(checkpoint%handle)
    end function

    ! Removes all epochs: the program has reached its end.
    integer function tasuki_checkpoint_finish(checkpoint) result(code)
        type(tasuki_checkpoint), intent(in) :: checkpoint
        code = c_finish(checkpoint%handle)
    end function

    ! What has happened at this process.
    integer function tasuki_checkpoint_count(checkpoint, counters) result(code)
        type(tasuki_checkpoint), intent(in) :: checkpoint
        type(tasuki_checkpoint_counters), intent(out) :: counters
        code = c_count(checkpoint%handle, counters)
    end function

    ! What the last restore found wrong with newer epochs and with single images, a line for each.
    function tasuki_checkpoint_notes(checkpoint) result(text)
        type(tasuki_checkpoint), intent(in) :: checkpoint
        character(:), allocatable :: text
        character(kind=c_char), target :: buffer(8192)
        buffer(1) = c_null_char
        if (c_notes(checkpoint%handle, buffer, size(buffer, kind=c_size_t)) < 0) buffer(1) = c_null_char
        text = words(c_loc(buffer))
    end function

    ! What was wrong in the last call that failed.
    function tasuki_checkpoint_error() result(text)
        character(:), allocatable :: text
        text = words(c_error())
    end function

    ! A text of C.
    function words(from) result(text)
        type(c_ptr), intent(in) :: from
        character(:), allocatable :: text
        character(kind=c_char), pointer :: letters(:)
        integer :: at
        call c_f_pointer(from, letters, [c_length(from)])
        allocate (character(size(letters)) :: text)
        do at = 1, size(letters)
            text(at:at) = letters(at)
        end do
    end function

    ! Every process gives as many bytes, and gets those of all.
    integer(c_int) function gather(context, mine, all, bytes) bind(c) result(code)
        type(c_ptr), value :: context, mine, all
        integer(c_size_t), value :: bytes
        integer, pointer :: own
        integer(c_int8_t), pointer :: from(:), into(:)
        integer :: processes, failed
        call c_f_pointer(context, own)
        call MPI_Comm_size(own, processes, failed)
        call c_f_pointer(mine, from, [bytes])
        call c_f_pointer(all, into, [bytes * processes])
        call MPI_Allgather(from, int(bytes), MPI_BYTE, into, int(bytes), MPI_BYTE, own, failed)
        code = merge(0, 1, failed == MPI_SUCCESS)
    end function

    ! Sends bytes to the process to while it receives from the process from; -1: there is nothing.
    integer(c_int) function exchange(context, out, out_bytes, to, in, in_bytes, from) bind(c) result(code)
        type(c_ptr), value :: context, out, in
        integer(c_size_t), value :: out_bytes, in_bytes
        integer(c_int), value :: to, from
        integer, pointer :: own
        integer(c_int8_t), pointer :: sent(:), taken(:)
        integer(c_int8_t), target :: nothing(1)
        integer :: failed, ends(2)
        call c_f_pointer(context, own)
        sent => nothing
        taken => nothing
        if (out_bytes > 0) call c_f_pointer(out, sent, [out_bytes])
        if (in_bytes > 0) call c_f_pointer(in, taken, [in_bytes])
        ends = merge(MPI_PROC_NULL, [integer :: to, from], [to, from] < 0)
        call MPI_Sendrecv(sent, int(out_bytes), MPI_BYTE, ends(1), 0, taken, int(in_bytes), MPI_BYTE, &
                          ends(2), 0, own, MPI_STATUS_IGNORE, failed)
        code = merge(0, 1, failed == MPI_SUCCESS)
    end function

    ! Called once, when the handle is freed.
    subroutine release(context) bind(c)
        type(c_ptr), value :: context
        integer, pointer :: own
        logical :: is_over
        integer :: failed
        call c_f_pointer(context, own)
        call MPI_Finalized(is_over, failed)
        if (.not. is_over) call MPI_Comm_free(own, failed)
        deallocate (own)
    end subroutine

end module
