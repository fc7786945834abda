/* Programs of which it is known whether they can go on: `PROGRAM NAME` runs one, `PROGRAM` lists all. Each
   rank says where it will be: "at RANK CALL LINE WHOM", WHOM being the ranks that it waits for there, "any"
   or "-" (unknown). The list has for each the number of ranks and what `tasuki hang` may say. Programs end
   after five minutes. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, size;
static char *buffer;
static MPI_Comm world, other, part;
enum { LONG = 1 << 20 };

/* To stand on the line of the call. */
#define AT(call, whom) (printf("at %d %s %d %s\n", rank, call, __LINE__, whom), fflush(stdout))
#define RECV(from, tag, comm) MPI_Recv(buffer, LONG, MPI_BYTE, from, tag, comm, MPI_STATUS_IGNORE)
#define SEND(bytes, to, tag, comm) MPI_Send(buffer, bytes, MPI_BYTE, to, tag, comm)
#define IRECV(from, tag, request) MPI_Irecv(buffer, LONG, MPI_BYTE, from, tag, world, request)
#define WAIT(request) MPI_Wait(request, MPI_STATUS_IGNORE)

static inline const char *name_of(int who)
{
    static char names[4][16];
    static int next;
    char *name = names[next++ % 4];
    snprintf(name, sizeof names[0], "%d", who);
    return name;
}

#define NEXT ((rank + 1) % size)
#define LAST ((rank + size - 1) % size)

struct program {
    const char *name;
    int ranks;
    const char *said;
    void (*run)(void);
};

static inline int start(int argc, char **argv, const struct program *all, size_t count)
{
    if (argc < 2) {
        for (size_t i = 0; i < count; i++)
            printf("%s %d %s\n", all[i].name, all[i].ranks, all[i].said);
        return 0;
    }
    int level;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    alarm(300);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    world = MPI_COMM_WORLD;
    MPI_Comm_dup(world, &other);
    MPI_Comm_split(world, rank == size - 1, -rank, &part);
    buffer = calloc(2, LONG);
    MPI_Barrier(world);
    printf("begun\n");
    fflush(stdout);
    for (size_t i = 0; i < count; i++)
        if (!strcmp(argv[1], all[i].name))
            all[i].run();
    MPI_Finalize();
    return 0;
}

#define MAIN(all) \
    int main(int argc, char **argv) \
    { \
        return start(argc, argv, all, sizeof all / sizeof *all); \
    }
