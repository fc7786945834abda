/* In hpcc's place, for the burn-in's test. -DWRONG: ends well, but its results say that a test failed.
 * -DSILENT: writes none. -DFAILING: ends with an error. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	int rank;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
#ifdef WRONG
	if (rank == 0) {
		FILE *file = fopen("hpccoutf.txt", "w");

		if (!file)
			return 3;
		fprintf(file, "This is the DARPA/DOE HPC Challenge Benchmark version 1.5.0\n"
			      "Begin of HPL section.\n||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)= 4711.0 ...... FAILED\n"
			      "End of HPL section.\nEnd of HPC Challenge tests.\n");
		fclose(file);
	}
#endif
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Finalize();
#ifdef FAILING
	return 7;
#else
	return 0;
#endif
}
