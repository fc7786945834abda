/* One side dies while the other wants nothing of it: death SECONDS. Side 0 goes on for so long, unless the provider ends it, and says so by its exit code 7. */
#include "pair.h"

#include <time.h>

int main(int argc, char **argv)
{
	CHECK(argc == 2);
	static char byte;
	static int context;
	struct fi_cq_tagged_entry entry;

	pair_fork();
	pair_open(FI_AV_TABLE, false);
	/* They have spoken with each other. */
	OK(fi_tinject(ep, "x", 1, other, 1));
	OK(fi_trecv(ep, &byte, 1, NULL, other, 1, 0, &context));
	done(&context);
	meet();
	if (me == 1)
		_exit(0);
	for (time_t end = time(NULL) + atoi(argv[1]); time(NULL) < end;)
		CHECK(fi_cq_read(cq, &entry, 1) == -FI_EAGAIN);
	return 7;
}
