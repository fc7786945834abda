/* Stands for Open MPI's libraries: with COMPONENT it is one with a component of this name, whose function to
 * close sleeps for a second; without, the program that says how often which of them has slept. */
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define TEXT(word) TEXT_OF(word)
#define TEXT_OF(word) #word
#define NAME(component, what) NAME_OF(component, what)
#define NAME_OF(component, what) mca_btl_##component##_##what

/* As `mca_base_component_t` of 4.1 and 5.0 begins: versions and name of the project, then these. */
struct component {
	unsigned char before[40];
	char type[32];
	int type_version[3];
	char name[64];
	int version[3];
	int (*open)(void);
	int (*close)(void);
};

#ifdef COMPONENT
static int pause_at_the_end(void)
{
	return sleep(1) == 0;
}

struct component NAME(COMPONENT, component) = {
	.type = "btl", .name = TEXT(COMPONENT), .close = pause_at_the_end
};

/* Longer than the function that closes is. */
int NAME(COMPONENT, elsewhere)(void)
{
	__asm__ volatile(".skip 1024, 0x90");
	return sleep(1) == 0;
}
#else
extern struct component mca_btl_ofi_component, mca_btl_tcp_component;
int mca_btl_ofi_elsewhere(void);

static int sleeps;

int nanosleep(const struct timespec *time, struct timespec *left)
{
	(void)left;
	sleeps += time->tv_sec == 1 && time->tv_nsec == 0;
	return 0;
}

/* How often it has slept. (Without the library under test all would sleep for real, in the C library.) */
static int count(int (*function)(void))
{
	sleeps = 0;
	return function() ? sleeps : -1;
}

static int own(void)
{
	return sleep(1) == 0;
}

int main(void)
{
	printf("closing ofi %d, ", count(mca_btl_ofi_component.close));
	printf("another in ofi %d, ", count(mca_btl_ofi_elsewhere));
	printf("closing tcp %d, ", count(mca_btl_tcp_component.close));
	printf("own %d\n", count(own));
	return 0;
}
#endif
