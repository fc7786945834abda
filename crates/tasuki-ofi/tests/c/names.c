/* Two endpoints meet by node and service, as fi_getinfo(3) and fi_av(3) have it: names. Side 0 is the named
 * one. */
#include "pair.h"

#include <arpa/inet.h>

enum { ADDRESS = 48 };

static int contexts[2];

/* A TCP port that no socket gets which asks for any: it is above the kernel's range for these. */
static int own_port(void)
{
	return 65535 - (int)(getpid() % 2000);
}

static void greet(const char *text)
{
	OK(fi_tsend(ep, text, strlen(text) + 1, NULL, other, 1, &contexts[0]));
	done(&contexts[0]);
}

static void heed(const char *expected)
{
	char text[100];

	OK(fi_trecv(ep, text, sizeof text, NULL, ANY, 1, 0, &contexts[1]));
	done(&contexts[1]);
	CHECK(!strcmp(text, expected));
}

static void named(const char *port)
{
	struct fi_info *hints = pair_hints();
	struct fid_ep *second = NULL;
	uint8_t address[ADDRESS];

	OK(fi_getinfo(fi_version(), NULL, port, FI_SOURCE, hints, &info));
	pair_objects(FI_AV_TABLE, false);
	/* The port is this endpoint's, and nobody else's. */
	CHECK(fi_endpoint(domain, info, &second, NULL) == -FI_EADDRINUSE);
	meet();
	/* The stranger's address comes as its first message. */
	OK(fi_trecv(ep, address, sizeof address, NULL, ANY, 1, 0, &contexts[1]));
	CHECK(done(&contexts[1]).len == ADDRESS);
	CHECK(fi_av_insert(av, address, 1, &other, 0, NULL) == 1);
	greet("by address");
	heed("by name");
	fi_freeinfo(hints);
}

static void by_name(const char *port)
{
	struct fi_info *hints = pair_hints();
	uint8_t address[ADDRESS], found[ADDRESS];
	size_t len = sizeof address;
	fi_addr_t again;
	int error = 0;

	meet();
	OK(fi_getinfo(fi_version(), "localhost", port, 0, hints, &info));
	pair_objects(FI_AV_TABLE, false);
	CHECK(info->dest_addrlen == ADDRESS);
	CHECK(fi_av_insert(av, info->dest_addr, 1, &other, 0, NULL) == 1);
	OK(fi_getname(&ep->fid, address, &len));
	OK(fi_tsend(ep, address, len, NULL, other, 1, &contexts[0]));
	done(&contexts[0]);
	heed("by address");
	/* Another name of the same endpoint. */
	CHECK(fi_av_insertsvc(av, "127.0.0.1", port, &again, 0, NULL) == 1);
	OK(fi_av_lookup(av, again, address, &len));
	OK(fi_av_lookup(av, other, found, &len));
	CHECK(!memcmp(address, found, ADDRESS));
	other = again;
	greet("by name");
	/* Where nobody listens there is no endpoint; the error says so. */
	CHECK(fi_av_insertsvc(av, "127.0.0.1", "1", &again, FI_SYNC_ERR, &error) == 0);
	CHECK(again == FI_ADDR_NOTAVAIL && error == FI_ECONNREFUSED);
	CHECK(fi_av_insertsvc(av, "127.0.0.1", "no such service", &again, FI_SYNC_ERR, &error) == 0);
	CHECK(error == FI_EADDRNOTAVAIL);
	fi_freeinfo(hints);
}

int main(void)
{
	char port[20];

	snprintf(port, sizeof port, "%d", own_port());
	pair_fork();
	if (me == 0)
		named(port);
	else
		by_name(port);
	pair_close();
	return 0;
}
