/* hello.c, pingpong.c and alltoall.c one after the other in one job: a start takes longer than what they do.
 * The ping-pong is between the first and the last rank. Prints what they print; exits 1 if any of them would
 * exit with another code than 0. */
#include <mpi.h>

/* Each of them would begin and end MPI. */
#define MPI_Init(argc, argv) (void)0
#define MPI_Finalize() (void)0

#define main hello
#include "hello.c"
#undef main

#define main pingpong
#define pattern pattern_of_pingpong
#include "pingpong.c"
#undef pattern
#undef main

#define main alltoall
#include "alltoall.c"
#undef main

#undef MPI_Init
#undef MPI_Finalize

int main(int argc, char **argv)
{
    int failed;

    MPI_Init(&argc, &argv);
    failed = hello(1, argv);
    failed |= pingpong(1, argv);
    failed |= alltoall(1, argv);
    MPI_Finalize();
    return failed != 0;
}
