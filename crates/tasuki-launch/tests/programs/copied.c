/* Reads a number from `data/input` in its working folder, adds it up over all ranks, and prints the sum with
 * a word from a library of its own. Built with -DLIBRARY it is that library.
 *   copied [wait | write | fail]    waits to be ended; writes `result` on rank 0; ends with 7 */
#ifdef LIBRARY
const char *word(void)
{
    return "greetings";
}
#else
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

const char *word(void);

int main(int argc, char **argv)
{
    int rank, number = 0, sum = 0;
    const char *what = argc > 1 ? argv[1] : "";
    FILE *file = fopen("data/input", "r");

    if (file == NULL || fscanf(file, "%d", &number) != 1)
        number = -1000;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Allreduce(&number, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%s, sum %d\n", word(), sum);
    fflush(stdout);
    while (strcmp(what, "wait") == 0)
        sleep(1);
    if (strcmp(what, "write") == 0 && rank == 0 && (file = fopen("result", "w")) != NULL)
        fclose(file);
    MPI_Finalize();
    return strcmp(what, "fail") == 0 ? 7 : 0;
}
#endif
