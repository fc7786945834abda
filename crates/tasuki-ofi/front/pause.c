/* The second that Open MPI's btl/ofi sleeps when it is closed, left out: a part of `libtasuki-openmpi.so`
 * (docs/adr/0037-one-sided-operations-of-open-mpi-5.md).
 *
 * `mca_btl_ofi_component_close` of 4.1 and 5.0 ends with sleep(1), for the sake of libfabric's provider
 * `sockets`, as its comment says. Every other sleep of the process takes its time. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

/* The beginning of `mca_base_component_t`, which is so in 4.1 and 5.0. */
struct component {
	unsigned char before[40];
	char type[32];
	int type_version[3];
	char name[64];
	int version[3];
	int (*open)(void);
	int (*close)(void);
};

/* The function that closes is no longer than this, bytes. */
enum { CLOSE_MAX = 512 };

/* Whether the code at this address is in the function by which btl/ofi is closed. */
static int closes_btl_ofi(void *caller)
{
	Dl_info place;
	void *library = dladdr(caller, &place) && place.dli_fname ?
				dlopen(place.dli_fname, RTLD_NOW | RTLD_NOLOAD) :
				NULL;
	if (!library)
		return 0;
	const struct component *found = dlsym(library, "mca_btl_ofi_component");
	int closes = found && !strncmp(found->type, "btl", sizeof found->type) &&
		     !strncmp(found->name, "ofi", sizeof found->name) && found->close &&
		     (uintptr_t)caller - (uintptr_t)found->close < CLOSE_MAX;
	dlclose(library);
	return closes;
}

__attribute__((visibility("default"))) unsigned sleep(unsigned seconds)
{
	if (seconds == 1 && closes_btl_ofi(__builtin_return_address(0)))
		return 0;
	/* As sleep(3) says: what is left if a signal handler has interrupted it. */
	struct timespec left = { .tv_sec = seconds };
	return nanosleep(&left, &left) ? (unsigned)left.tv_sec : 0;
}
