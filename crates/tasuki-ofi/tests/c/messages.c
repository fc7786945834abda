/* All calls for messages, between two processes. Arguments: the type of address vector (map or table), and
 * what to test (all, selective, gone, gone-leaving-child or selective-gone). */
#include "pair.h"

static uint8_t out[1 << 20], in[1 << 20];
static struct fi_context contexts[64];

static void sizes(void)
{
	static const size_t lens[] = { 0, 1, 100, 4096, 4097, 65536, 1000000 };

	for (unsigned i = 0; i < LEN(lens) * 2; i++) {
		size_t len = lens[i / 2];
		bool tagged = i % 2;
		fi_addr_t source;

		if (me == 0) {
			fill(out, len, i);
			if (tagged)
				OK(fi_tsend(ep, out, len, NULL, other, i, &contexts[0]));
			else
				OK(fi_send(ep, out, len, NULL, other, &contexts[0]));
			CHECK(done(&contexts[0]).flags == (FI_SEND | (tagged ? FI_TAGGED : FI_MSG)));
		} else {
			if (tagged)
				OK(fi_trecv(ep, in, sizeof in, NULL, ANY, 0, i, &contexts[1]));
			else
				OK(fi_recv(ep, in, sizeof in, NULL, ANY, &contexts[1]));
			struct fi_cq_tagged_entry entry = done_from(&contexts[1], &source);
			CHECK(entry.len == len);
			CHECK(entry.flags == (FI_RECV | (tagged ? FI_TAGGED : FI_MSG)));
			CHECK(!tagged || entry.tag == i);
			CHECK(source == other);
			same(in, len, i);
		}
	}
}

static void injected(void)
{
	struct fi_cq_tagged_entry entry;

	if (me == 0) {
		for (unsigned i = 0; i < 4; i++) {
			fill(out, 4000, i);
			if (i == 0)
				OK(fi_inject(ep, out, 4000, other));
			else if (i == 1)
				OK(fi_injectdata(ep, out, 4000, 0x123456789, other));
			else if (i == 2)
				OK(fi_tinject(ep, out, 4000, other, 7));
			else
				OK(fi_tinjectdata(ep, out, 4000, 0x987654321, other, 7));
		}
		CHECK(fi_inject(ep, out, sizeof out, other) == -FI_EMSGSIZE);
		fill(out, 10, 4);
		OK(fi_tsenddata(ep, out, 10, NULL, 5, other, 8, &contexts[2]));
		done(&contexts[2]);
	} else {
		for (unsigned i = 0; i < 4; i++) {
			if (i < 2)
				OK(fi_recv(ep, in, sizeof in, NULL, other, &contexts[i]));
			else
				OK(fi_trecv(ep, in, sizeof in, NULL, other, 7, 0, &contexts[i]));
			entry = done(&contexts[i]);
			CHECK(entry.len == 4000);
			CHECK(!(entry.flags & FI_REMOTE_CQ_DATA) == !(i % 2));
			CHECK(entry.data == (i == 1 ? 0x123456789 : i == 3 ? 0x987654321 : 0));
			same(in, 4000, i);
		}
		OK(fi_trecv(ep, in, sizeof in, NULL, other, 8, 0, &contexts[9]));
		entry = done(&contexts[9]);
		CHECK(entry.data == 5 && entry.len == 10);
		same(in, 10, 4);
	}
	meet();
	nothing();
}

static void pieces(void)
{
	struct iovec iov[4];

	for (unsigned len = 3; len < 300000; len *= 11) {
		size_t a = len / 3, b = len / 2;

		if (me == 0) {
			fill(out, len, len);
			iov[0] = (struct iovec){ out, a };
			iov[1] = (struct iovec){ out + a, b - a };
			iov[2] = (struct iovec){ out + b, len - b };
			OK(fi_tsendv(ep, iov, NULL, 3, other, 1, &contexts[0]));
			done(&contexts[0]);
			struct fi_msg msg = { iov, NULL, 3, other, &contexts[1], 77 };
			OK(fi_sendmsg(ep, &msg, FI_COMPLETION | FI_REMOTE_CQ_DATA));
			done(&contexts[1]);
		} else {
			memset(in, 0, sizeof in);
			iov[0] = (struct iovec){ in, 1 };
			iov[1] = (struct iovec){ in + 1, 0 };
			iov[2] = (struct iovec){ in + 1, len - 2 };
			iov[3] = (struct iovec){ in + len - 1, 1 };
			OK(fi_trecvv(ep, iov, NULL, 4, other, 1, 0, &contexts[0]));
			CHECK(done(&contexts[0]).len == len);
			same(in, len, len);
			memset(in, 0, sizeof in);
			struct fi_msg msg = { iov, NULL, 4, other, &contexts[1], 0 };
			OK(fi_recvmsg(ep, &msg, FI_COMPLETION));
			CHECK(done(&contexts[1]).data == 77);
			same(in, len, len);
		}
	}
}

/* Peeks until the message is there. */
static struct fi_cq_tagged_entry found(struct fi_msg_tagged *msg, uint64_t flags)
{
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry error = { 0 };
	ssize_t n;

	for (;;) {
		OK(fi_trecvmsg(ep, msg, flags | FI_PEEK | FI_COMPLETION));
		while ((n = fi_cq_read(cq, &entry, 1)) == -FI_EAGAIN)
			;
		if (n == 1) {
			CHECK(entry.op_context == msg->context);
			return entry;
		}
		CHECK(fi_cq_readerr(cq, &error, 0) == 1);
		CHECK(error.err == FI_ENOMSG && error.op_context == msg->context);
	}
}

static void probes(void)
{
	struct iovec iov = { in, sizeof in };
	struct fi_msg_tagged msg = { .addr = ANY, .tag = 40, .ignore = 7, .context = &contexts[0] };

	if (me == 0) {
		/* Tag 40 twice, once eager and once by rendezvous; tags 41 to 43 once each. */
		static const struct { unsigned tag, len; } sends[] = {
			{ 40, 50 }, { 40, 500000 }, { 41, 60 }, { 42, 70 }, { 43, 80 }
		};
		for (unsigned i = 0; i < LEN(sends); i++) {
			fill(out, sends[i].len, i);
			OK(fi_tsend(ep, out, sends[i].len, NULL, other, sends[i].tag, &contexts[i]));
			done(&contexts[i]);
			meet();
		}
		return;
	}
	struct fi_msg_tagged absent = { .addr = other, .tag = 99, .context = &contexts[3] };
	OK(fi_trecvmsg(ep, &absent, FI_PEEK));
	failed(&contexts[3], FI_ENOMSG);

	CHECK(found(&msg, 0).len == 50);
	struct fi_cq_tagged_entry entry = found(&msg, FI_CLAIM);
	CHECK(entry.len == 50 && entry.tag == 40);
	meet();
	/* A claimed message is invisible: what follows matches the second one. */
	struct fi_msg_tagged second = { .addr = other, .tag = 40, .context = &contexts[1] };
	CHECK(found(&second, 0).len == 500000);
	OK(fi_trecv(ep, in, sizeof in, NULL, other, 40, 0, &contexts[2]));
	CHECK(done(&contexts[2]).len == 500000);
	same(in, 500000, 1);
	msg.msg_iov = &iov;
	msg.iov_count = 1;
	memset(in, 0, sizeof in);
	OK(fi_trecvmsg(ep, &msg, FI_CLAIM | FI_COMPLETION));
	entry = done(&contexts[0]);
	CHECK(entry.len == 50 && entry.tag == 40);
	same(in, 50, 0);
	CHECK(fi_trecvmsg(ep, &msg, FI_CLAIM) == -FI_EINVAL);
	meet();

	msg.tag = 41;
	msg.ignore = 0;
	CHECK(found(&msg, FI_DISCARD).len == 60);
	meet();
	msg.tag = 42;
	CHECK(found(&msg, FI_CLAIM).len == 70);
	OK(fi_trecvmsg(ep, &msg, FI_CLAIM | FI_DISCARD | FI_COMPLETION));
	done(&contexts[0]);
	meet();
	OK(fi_trecv(ep, in, sizeof in, NULL, other, 40, 7, &contexts[4]));
	entry = done(&contexts[4]);
	CHECK(entry.tag == 43 && entry.len == 80);
	same(in, 80, 4);
	meet();
}

static void cancels(void)
{
	OK(fi_trecv(ep, in, 10, NULL, other, 5, 0, &contexts[0]));
	OK(fi_trecv(ep, in, 10, NULL, other, 5, 0, &contexts[1]));
	OK(fi_cancel(&ep->fid, &contexts[0]));
	failed(&contexts[0], FI_ECANCELED);
	CHECK(fi_cancel(&ep->fid, &contexts[0]) != 0);
	meet();
	OK(fi_tinject(ep, "abc", 3, other, 5));
	CHECK(done(&contexts[1]).len == 3);
	CHECK(!memcmp(in, "abc", 3));
	CHECK(fi_cancel(&ep->fid, &contexts[1]) != 0);
	meet();
}

static void truncated(void)
{
	static const size_t lens[] = { 100, 700000 };

	for (unsigned i = 0; i < LEN(lens); i++) {
		if (me == 0) {
			fill(out, lens[i], 3);
			OK(fi_tsend(ep, out, lens[i], NULL, other, 6, &contexts[0]));
			done(&contexts[0]);
		} else {
			memset(in, 0xee, sizeof in);
			OK(fi_trecv(ep, in, 60, NULL, other, 6, 0, &contexts[0]));
			struct fi_cq_err_entry error = failed(&contexts[0], FI_ETRUNC);
			CHECK(error.len == 60 && error.olen == lens[i] - 60 && error.tag == 6);
			same(in, 60, 3);
			CHECK(in[60] == 0xee);
		}
	}
}

static void several(void)
{
	size_t least = 300, len = sizeof least;
	struct iovec iov = { in, 1000 };
	struct fi_msg msg = { &iov, NULL, 1, ANY, &contexts[5], 0 };

	OK(fi_setopt(&ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &least, sizeof least));
	least = 0;
	OK(fi_getopt(&ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &least, &len));
	CHECK(least == 300);
	if (me == 0) {
		for (unsigned i = 0; i < 4; i++) {
			fill(out, 200, i);
			OK(fi_inject(ep, out, 200, other));
		}
	} else {
		OK(fi_recvmsg(ep, &msg, FI_MULTI_RECV | FI_COMPLETION));
		/* After the fourth message 1000 - 4 * 200 bytes are left, fewer than 300. */
		for (unsigned i = 0; i < 4; i++) {
			struct fi_cq_tagged_entry entry = done(&contexts[5]);
			CHECK(entry.buf == in + 200 * i && entry.len == 200);
			same(entry.buf, 200, i);
			if (entry.flags & FI_MULTI_RECV)
				CHECK(i == 3);
			else if (i == 3)
				CHECK(done(&contexts[5]).flags & FI_MULTI_RECV);
		}
		/* The failure that ends such a receive gives its buffer back. */
		OK(fi_recvmsg(ep, &msg, FI_MULTI_RECV | FI_COMPLETION));
		OK(fi_cancel(&ep->fid, &contexts[5]));
		CHECK(failed(&contexts[5], FI_ECANCELED).flags & FI_MULTI_RECV);
	}
	meet();
	nothing();
}

static void directed(void)
{
	fi_addr_t source;

	/* Each side sends to itself and to the other, and receives in the other order. */
	OK(fi_tinject(ep, "own", 4, own, 11));
	OK(fi_tinject(ep, "other", 6, other, 11));
	OK(fi_trecv(ep, in, 100, NULL, other, 11, 0, &contexts[0]));
	CHECK(done_from(&contexts[0], &source).len == 6 && source == other);
	CHECK(!strcmp((char *)in, "other"));
	OK(fi_trecv(ep, in, 100, NULL, own, 11, 0, &contexts[0]));
	CHECK(done_from(&contexts[0], &source).len == 4 && source == own);
	CHECK(!strcmp((char *)in, "own"));
	meet();
}

static void head_to_head(void)
{
	fill(out, sizeof out, me);
	OK(fi_tsend(ep, out, sizeof out, NULL, other, 12, &contexts[0]));
	meet();
	OK(fi_trecv(ep, in, sizeof in, NULL, other, 12, 0, &contexts[1]));
	for (int i = 0; i < 2; i++) {
		struct fi_cq_tagged_entry entry;

		while (fi_cq_sread(cq, &entry, 1, NULL, 1000) == -FI_EAGAIN)
			;
		CHECK(entry.op_context == &contexts[0] || entry.op_context == &contexts[1]);
	}
	same(in, sizeof in, 1 - me);
	meet();
}

static void delivered(void)
{
	struct iovec iov = { out, 20 };
	struct fi_msg_tagged msg = { .msg_iov = &iov, .iov_count = 1, .addr = other, .tag = 13,
				     .context = &contexts[0] };

	if (me == 0) {
		OK(fi_tsendmsg(ep, &msg, FI_DELIVERY_COMPLETE | FI_COMPLETION));
		nothing();
		tell(0);
		done(&contexts[0]);
	} else {
		hear();
		OK(fi_trecv(ep, in, 20, NULL, other, 13, 0, &contexts[1]));
		done(&contexts[1]);
	}
	meet();
}

static void forgotten(void)
{
	struct fi_cq_tagged_entry entry;
	uint8_t address[64];
	size_t len = sizeof address;
	fi_addr_t source, again;

	CHECK(fi_cq_sread(cq, &entry, 1, NULL, 20) == -FI_EAGAIN);
	if (me == 0) {
		OK(fi_tinject(ep, "1", 1, other, 50));
		meet();
		OK(fi_tinject(ep, "2", 1, other, 50));
		for (unsigned i = 0; i < 2; i++) {
			OK(fi_trecv(ep, in, 1, NULL, other, 51, 0, &contexts[0]));
			done(&contexts[0]);
			if (i == 0)
				meet();
		}
		OK(fi_tinject(ep, "5", 1, other, 50));
		meet();
		return;
	}
	OK(fi_av_lookup(av, other, address, &len));
	OK(fi_av_remove(av, &other, 1, 0));
	CHECK(fi_av_remove(av, &other, 1, 0) != 0);
	CHECK(fi_tinject(ep, "x", 1, other, 1) == -FI_EINVAL);
	/* A message from a removed address is received all the same; its sender is named again once the
	 * address is inserted. */
	OK(fi_trecv(ep, in, 1, NULL, ANY, 50, 0, &contexts[0]));
	CHECK(done_from(&contexts[0], &source).len == 1 && source == FI_ADDR_NOTAVAIL);
	CHECK(fi_av_insert(av, address, 1, &again, 0, NULL) == 1);
	CHECK(again != other && again != own);
	meet();
	OK(fi_trecv(ep, in, 1, NULL, ANY, 50, 0, &contexts[0]));
	CHECK(done_from(&contexts[0], &source).len == 1 && source == again);
	OK(fi_tinject(ep, "3", 1, again, 51));
	meet();
	/* Of two names of an address the one is used and the other removed: messages come from the one. */
	fi_addr_t names[2];
	OK(fi_av_remove(av, &again, 1, 0));
	for (unsigned i = 0; i < LEN(names); i++)
		CHECK(fi_av_insert(av, address, 1, &names[i], 0, NULL) == 1);
	OK(fi_tinject(ep, "4", 1, names[1], 51));
	OK(fi_av_remove(av, &names[0], 1, 0));
	OK(fi_trecv(ep, in, 1, NULL, ANY, 50, 0, &contexts[0]));
	CHECK(done_from(&contexts[0], &source).len == 1 && source == names[1]);
	meet();
}

/* Selective completion: operations that ask for a completion are reported, and all are counted. */
static void counted(void)
{
	struct iovec iov = { in, 100 };
	struct fi_msg_tagged msg = { .msg_iov = &iov, .iov_count = 1, .addr = other, .tag = 1,
				     .context = &contexts[1] };

	if (me == 0) {
		OK(fi_tsend(ep, out, 50, NULL, other, 1, &contexts[0]));
		OK(fi_tinject(ep, out, 50, other, 1));
		OK(fi_tsendmsg(ep, &msg, FI_COMPLETION));
		done(&contexts[1]);
		OK(fi_cntr_wait(sent, 3, -1));
		CHECK(fi_cntr_read(sent) == 3 && fi_cntr_read(received) == 0 && fi_cntr_readerr(sent) == 0);
		CHECK(fi_cntr_wait(sent, 4, 20) == -FI_ETIMEDOUT);
	} else {
		OK(fi_trecv(ep, in, 100, NULL, other, 1, 0, &contexts[0]));
		OK(fi_trecv(ep, in, 100, NULL, other, 1, 0, &contexts[0]));
		OK(fi_cntr_wait(received, 2, -1));
		OK(fi_trecvmsg(ep, &msg, FI_COMPLETION));
		CHECK(done(&contexts[1]).len == 100);
		CHECK(fi_cntr_read(received) == 3);
	}
	nothing();
	meet();
}

/* Selective completion: that a receive of several messages is over is told though nobody has asked for it
 * (fi_msg(3), FI_MULTI_RECV). */
static void consumed(void)
{
	size_t least = 300;
	struct iovec iov = { in, 1000 };
	struct fi_msg msg = { &iov, NULL, 1, ANY, &contexts[5], 0 };

	OK(fi_setopt(&ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &least, sizeof least));
	meet();
	if (me == 0) {
		for (unsigned i = 0; i < 4; i++)
			OK(fi_inject(ep, out, 200, other));
	} else {
		uint64_t before = fi_cntr_read(received);

		OK(fi_recvmsg(ep, &msg, FI_MULTI_RECV));
		OK(fi_cntr_wait(received, before + 4, -1));
		CHECK(done(&contexts[5]).flags & FI_MULTI_RECV);
	}
	nothing();
	meet();
}

/* The other side dies without closing its endpoint: a send fails that has no context and asks for nothing. */
static void gone_unasked(void)
{
	meet();
	if (me == 1)
		_exit(0);
	OK(fi_tsend(ep, out, sizeof out, NULL, other, 2, NULL));
	failed(NULL, FI_ECONNRESET);
	OK(fi_close(&ep->fid));
}

/* The other side dies without closing its endpoint, and perhaps leaves a child behind, which has all that
 * fork(2) gives it. */
static void gone(bool child)
{
	fi_addr_t source;

	OK(fi_tinject(ep, "x", 1, other, 1));
	OK(fi_trecv(ep, in, 1, NULL, other, 1, 0, &contexts[0]));
	CHECK(done_from(&contexts[0], &source).len == 1);
	meet();
	if (me == 1) {
		if (child)
			leave_child();
		_exit(0);
	}
	OK(fi_trecv(ep, in, 1, NULL, other, 2, 0, &contexts[1]));
	fill(out, sizeof out, 0);
	OK(fi_tsend(ep, out, sizeof out, NULL, other, 2, &contexts[2]));
	/* Both operations fail, in any order. */
	void *left = &contexts[1];
	for (int i = 0; i < 2; i++) {
		struct fi_cq_tagged_entry entry;
		struct fi_cq_err_entry error = { 0 };
		ssize_t n;

		while ((n = fi_cq_sread(cq, &entry, 1, NULL, 1000)) == -FI_EAGAIN)
			;
		CHECK(n == -FI_EAVAIL && fi_cq_readerr(cq, &error, 0) == 1);
		CHECK(error.err == FI_ECONNRESET);
		CHECK(error.op_context == left || (i == 0 && error.op_context == &contexts[2]));
		if (error.op_context == left)
			left = &contexts[2];
	}
	CHECK(fi_tinject(ep, "x", 1, other, 1) == -FI_ECONNRESET);
	OK(fi_close(&ep->fid));
}

int main(int argc, char **argv)
{
	CHECK(argc == 3);
	bool selective = !strncmp(argv[2], "selective", strlen("selective"));

	pair_fork();
	pair_open(strcmp(argv[1], "map") ? FI_AV_TABLE : FI_AV_MAP, selective);
	if (!strncmp(argv[2], "gone", strlen("gone"))) {
		gone(!strcmp(argv[2], "gone-leaving-child"));
		return 0;
	}
	if (!strcmp(argv[2], "selective-gone")) {
		gone_unasked();
		return 0;
	}
	if (selective) {
		counted();
		consumed();
	} else {
		static void (*const tests[])(void) = { sizes, injected, pieces, probes, cancels, truncated,
						       several, directed, head_to_head, delivered,
						       forgotten };
		for (unsigned i = 0; i < LEN(tests); i++) {
			meet();
			tests[i]();
		}
	}
	pair_close();
	return 0;
}
