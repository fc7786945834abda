/* One side dies while the other waits for nothing from it: death SECONDS. Side 0 goes on for so many seconds,
 * unless the provider ends it, and then exits with 7. */
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
	/* The sides have exchanged something. */
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
