/* One-sided access, by side 0 on memory of side 1. Arguments: the type of address vector (map or table), and
 * what to test (all, selective or gone). */
#include "pair.h"

enum { SIZE = 1 << 20, KEY = 7, MARGIN = 64 };

static uint8_t window[SIZE + 2 * MARGIN], mine[SIZE];
static struct fid_mr *mr;
static int contexts[4];
static const uint64_t BOTH = FI_REMOTE_READ | FI_REMOTE_WRITE;

/* Writes change the bytes that they name, and no others. */
static void writes(void)
{
	static const size_t sizes[] = { 0, 1, 8, 4096, 4097, 65536, SIZE };

	for (unsigned i = 0; i < LEN(sizes); i++) {
		size_t len = sizes[i];

		if (me == 1)
			memset(window, 0xee, sizeof window);
		meet();
		if (me == 0) {
			fill(mine, len, i);
			OK(fi_write(ep, mine, len, NULL, other, MARGIN, KEY, &contexts[i % 4]));
			struct fi_cq_tagged_entry entry = done(&contexts[i % 4]);
			CHECK((entry.flags & (FI_RMA | FI_WRITE)) == (FI_RMA | FI_WRITE));
		}
		meet();
		if (me == 1) {
			same(window + MARGIN, len, i);
			for (size_t j = 0; j < MARGIN; j++)
				CHECK(window[j] == 0xee && window[MARGIN + len + j] == 0xee);
		}
	}
}

static void reads(void)
{
	static const size_t sizes[] = { 0, 1, 8, 4096, 4097, 65536, SIZE };

	for (unsigned i = 0; i < LEN(sizes); i++) {
		size_t len = sizes[i];

		if (me == 1)
			fill(window + MARGIN, len, 100 + i);
		meet();
		if (me == 0) {
			memset(mine, 0, sizeof mine);
			OK(fi_read(ep, mine, len, NULL, other, MARGIN, KEY, &contexts[i % 4]));
			struct fi_cq_tagged_entry entry = done(&contexts[i % 4]);
			CHECK((entry.flags & (FI_RMA | FI_READ)) == (FI_RMA | FI_READ));
			same(mine, len, 100 + i);
			CHECK(len == SIZE || mine[len] == 0);
		}
		meet();
	}
}

/* The two sides' pieces are cut differently: 10 + 5000 + 90 bytes here, 3000 + 2100 bytes there. */
static void in_pieces(void)
{
	struct iovec iov[] = { { mine, 10 }, { mine + 10, 5000 }, { mine + 5010, 90 } };
	struct fi_rma_iov riov[] = { { MARGIN, 3000, KEY }, { 100000, 2100, KEY } };
	struct fi_msg_rma msg = { .msg_iov = iov, .iov_count = 3, .addr = other, .rma_iov = riov,
				  .rma_iov_count = 2, .context = &contexts[1] };

	if (me == 0) {
		fill(mine, 5100, 9);
		OK(fi_writemsg(ep, &msg, FI_COMPLETION | FI_DELIVERY_COMPLETE));
		done(&contexts[1]);
		memset(mine, 0, 5100);
		OK(fi_readmsg(ep, &msg, FI_COMPLETION));
		done(&contexts[1]);
		same(mine, 5100, 9);
		OK(fi_writev(ep, iov, NULL, 3, other, 200000, KEY, &contexts[2]));
		done(&contexts[2]);
		memset(mine, 0, 5100);
		OK(fi_readv(ep, iov, NULL, 3, other, 200000, KEY, &contexts[2]));
		done(&contexts[2]);
		same(mine, 5100, 9);
		riov[1].len--;
		CHECK(fi_writemsg(ep, &msg, FI_COMPLETION) == -FI_EINVAL);
	}
	meet();
	if (me == 1) {
		same(window + 200000, 5100, 9);
		memmove(window + MARGIN + 3000, window + 100000, 2100);
		same(window + MARGIN, 5100, 9);
	}
	meet();
}

/* Injected bytes may change when the call returns; the operation is counted and has no completion. */
static void injects(void)
{
	if (me == 0) {
		uint64_t before = fi_cntr_read(accessed);

		for (unsigned i = 0; i < 100; i++) {
			fill(mine, 4096, i);
			OK(fi_inject_write(ep, mine, 4096, other, 4096 * i, KEY));
		}
		OK(fi_cntr_wait(accessed, before + 100, -1));
		CHECK(fi_cntr_read(accessed) == before + 100 && fi_cntr_readerr(accessed) == 0);
		CHECK(fi_inject_write(ep, mine, 4097, other, 0, KEY) == -FI_EMSGSIZE);
		nothing();
	}
	meet();
	for (unsigned i = 0; me == 1 && i < 100; i++)
		same(window + 4096 * i, 4096, i);
	meet();
}

/* The target hears of a write that carries data, by its data, when the bytes are in their place. */
static void written(uint64_t data, uint64_t offset, size_t len, unsigned seed)
{
	static const uint64_t flags = FI_RMA | FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA;
	fi_addr_t source;
	struct fi_cq_tagged_entry entry = done_from(NULL, &source);

	CHECK(entry.flags == flags && entry.data == data && entry.len == len && source == other);
	same(window + offset, len, seed);
}

static void with_data(void)
{
	static const size_t sizes[] = { 0, 8, 4096, 4097, SIZE };

	for (unsigned i = 0; i < LEN(sizes); i++) {
		if (me == 0) {
			fill(mine, sizes[i], i);
			OK(fi_writedata(ep, mine, sizes[i], NULL, UINT64_MAX - i, other, MARGIN, KEY,
					&contexts[0]));
			CHECK((done(&contexts[0]).flags & (FI_RMA | FI_WRITE)) == (FI_RMA | FI_WRITE));
		} else {
			written(UINT64_MAX - i, MARGIN, sizes[i], i);
		}
		meet();
	}
	nothing();
	meet();
	/* Injected, and in pieces that are cut differently here and there; the second place lies before the
	 * first. */
	struct iovec iov[] = { { mine, 5000 }, { mine + 5000, 5000 } };
	struct fi_rma_iov riov[] = { { 6000, 4000, KEY }, { 0, 6000, KEY } };
	struct fi_msg_rma msg = { .msg_iov = iov, .iov_count = 2, .addr = other, .rma_iov = riov,
				  .rma_iov_count = 2, .context = &contexts[1], .data = 42 };
	if (me == 0) {
		fill(mine, 4096, 7);
		OK(fi_inject_writedata(ep, mine, 4096, 41, other, MARGIN, KEY));
		meet();
		fill(mine, 10000, 8);
		OK(fi_writemsg(ep, &msg, FI_REMOTE_CQ_DATA | FI_COMPLETION));
		done(&contexts[1]);
		/* Without the flag there is no data; a write that is refused, even in part, has none. */
		OK(fi_writemsg(ep, &msg, FI_COMPLETION));
		done(&contexts[1]);
		OK(fi_writedata(ep, mine, 8, NULL, 43, other, 0, KEY + 1, &contexts[0]));
		failed(&contexts[0], FI_EACCES);
		riov[1].key++;
		OK(fi_writemsg(ep, &msg, FI_REMOTE_CQ_DATA | FI_COMPLETION));
		failed(&contexts[1], FI_EACCES);
		CHECK(fi_readmsg(ep, &msg, FI_REMOTE_CQ_DATA) == -FI_EBADFLAGS);
	} else {
		written(41, MARGIN, 4096, 7);
		meet();
		/* Of several places the length is not told. */
		written(42, 0, 0, 8);
		memmove(window + 10000, window, 6000);
		same(window + 6000, 10000, 8);
	}
	meet();
	nothing();
	meet();
}

/* One registration of several pieces: offsets count through all of them. */
static void of_pieces(void)
{
	struct fid_mr *several;
	struct iovec iov[17];
	struct fi_mr_attr attr = { .mr_iov = iov, .iov_count = 16, .access = BOTH, .requested_key = KEY + 3 };

	for (unsigned i = 0; i < LEN(iov); i++)
		iov[i] = (struct iovec){ window + 1000 * (16 - i), 300 + i };
	if (me == 1) {
		memset(window, 0xee, sizeof window);
		CHECK(fi_mr_regv(domain, iov, 17, BOTH, 0, KEY + 3, 0, &several, NULL) == -FI_EINVAL);
		OK(fi_mr_regattr(domain, &attr, 0, &several));
		CHECK(fi_mr_key(several) == KEY + 3);
	}
	meet();
	if (me == 0) {
		/* 300 + 301 + ... + 315 bytes. */
		fill(mine, 4920, 3);
		OK(fi_write(ep, mine, 4920, NULL, other, 0, KEY + 3, &contexts[0]));
		done(&contexts[0]);
		memset(mine, 0, 4920);
		OK(fi_read(ep, mine, 4919, NULL, other, 1, KEY + 3, &contexts[0]));
		done(&contexts[0]);
		memmove(mine + 1, mine, 4919);
		mine[0] = 3;
		same(mine, 4920, 3);
		fill(mine, 100, 4);
		OK(fi_write(ep, mine, 100, NULL, other, 250, KEY + 3, &contexts[0]));
		done(&contexts[0]);
		OK(fi_write(ep, mine, 2, NULL, other, 4919, KEY + 3, &contexts[0]));
		failed(&contexts[0], FI_EACCES);
	}
	meet();
	if (me == 1) {
		uint8_t whole[4920], *at = whole;

		for (unsigned i = 0; i < 16; i++) {
			memcpy(at, iov[i].iov_base, iov[i].iov_len);
			at += iov[i].iov_len;
			CHECK(window[1000 * (16 - i) + 300 + i] == 0xee);
		}
		same(whole + 250, 100, 4);
		fill(mine, 4920, 3);
		CHECK(!memcmp(whole, mine, 250) && !memcmp(whole + 350, mine + 350, 4920 - 350));
		OK(fi_close(&several->fid));
		OK(fi_mr_regv(domain, iov, 2, FI_REMOTE_READ, 0, KEY + 3, 0, &several, NULL));
		OK(fi_close(&several->fid));
	}
	meet();
}

/* What is registered for reading alone is not written, and the other way round. */
static void rights(void)
{
	struct fid_mr *readable, *writable;

	if (me == 1) {
		fill(window, 100000, 5);
		OK(fi_mr_reg(domain, window, 100000, FI_REMOTE_READ, 0, KEY + 4, 0, &readable, NULL));
		OK(fi_mr_reg(domain, window, 100000, FI_REMOTE_WRITE, 0, KEY + 5, 0, &writable, NULL));
	}
	meet();
	for (size_t len = 8; me == 0 && len <= 80000; len *= 10000) {
		OK(fi_read(ep, mine, len, NULL, other, 0, KEY + 4, &contexts[0]));
		done(&contexts[0]);
		same(mine, len, 5);
		OK(fi_write(ep, mine, len, NULL, other, 0, KEY + 5, &contexts[0]));
		done(&contexts[0]);
		memset(mine, 0, len);
		OK(fi_write(ep, mine, len, NULL, other, 0, KEY + 4, &contexts[0]));
		failed(&contexts[0], FI_EACCES);
		OK(fi_read(ep, mine, len, NULL, other, 0, KEY + 5, &contexts[0]));
		failed(&contexts[0], FI_EACCES);
	}
	meet();
	if (me == 1) {
		same(window, 100000, 5);
		OK(fi_close(&readable->fid));
		OK(fi_close(&writable->fid));
	}
	meet();
}

/* The other side's program does not call libfabric meanwhile: it waits for a number through the pipe. */
static void absent(void)
{
	meet();
	if (me == 0) {
		fill(mine, SIZE, 5);
		OK(fi_write(ep, mine, SIZE, NULL, other, 0, KEY, &contexts[0]));
		done(&contexts[0]);
		memset(mine, 0, SIZE);
		OK(fi_read(ep, mine, SIZE, NULL, other, 0, KEY, &contexts[0]));
		done(&contexts[0]);
		same(mine, SIZE, 5);
		tell(1);
	} else {
		CHECK(hear() == 1);
		same(window, SIZE, 5);
	}
	meet();
}

/* Memory that is not registered is not reached; refused operations are reported and counted. */
static void refused(void)
{
	struct fid_mr *again = NULL;

	if (me == 0) {
		uint64_t before = fi_cntr_readerr(accessed);
		static const struct { uint64_t key, offset; size_t len; } wrong[] = {
			{ KEY + 1, 0, 8 },	{ KEY, sizeof window - 7, 8 },	{ KEY, UINT64_MAX - 3, 8 },
			{ KEY + 1, 0, SIZE },	{ KEY, sizeof window + 1, 0 },
		};
		for (unsigned i = 0; i < LEN(wrong); i++) {
			size_t len = wrong[i].len;
			uint64_t at = wrong[i].offset, key = wrong[i].key;

			OK(fi_write(ep, mine, len, NULL, other, at, key, &contexts[0]));
			failed(&contexts[0], FI_EACCES);
			OK(fi_read(ep, mine, len, NULL, other, at, key, &contexts[1]));
			failed(&contexts[1], FI_EACCES);
		}
		OK(fi_inject_write(ep, mine, 8, other, 0, KEY + 1));
		failed(NULL, FI_EACCES);
		CHECK(fi_cntr_readerr(accessed) == before + 2 * LEN(wrong) + 1);
	} else {
		CHECK(fi_mr_reg(domain, window, 8, BOTH, 0, KEY, 0, &again, NULL) == -FI_ENOKEY);
		CHECK(fi_mr_reg(domain, NULL, SIZE, BOTH, 0, KEY + 1, 0, &again, NULL) == -FI_EINVAL);
		/* Memory registered for this side alone has no key that could be taken. */
		OK(fi_mr_reg(domain, window, 8, FI_SEND | FI_RECV, 0, KEY, 0, &again, NULL));
		OK(fi_close(&again->fid));
	}
	meet();
	if (me == 1) {
		OK(fi_close(&mr->fid));
		OK(fi_mr_reg(domain, window, 16, BOTH, 0, KEY, 0, &mr, NULL));
	}
	meet();
	if (me == 0) {
		OK(fi_read(ep, mine, 17, NULL, other, 0, KEY, &contexts[0]));
		failed(&contexts[0], FI_EACCES);
		OK(fi_read(ep, mine, 16, NULL, other, 0, KEY, &contexts[0]));
		done(&contexts[0]);
	}
	meet();
}

/* Selective completion: operations that ask for a completion are reported, and all are counted. */
static void counted(void)
{
	struct iovec iov = { mine, 100 };
	struct fi_rma_iov riov = { 0, 100, KEY };
	struct fi_msg_rma msg = { .msg_iov = &iov, .iov_count = 1, .addr = other, .rma_iov = &riov,
				  .rma_iov_count = 1, .context = &contexts[1] };

	if (me == 0) {
		OK(fi_write(ep, mine, 100, NULL, other, 0, KEY, &contexts[0]));
		OK(fi_writemsg(ep, &msg, FI_DELIVERY_COMPLETE));
		OK(fi_cntr_wait(accessed, 2, -1));
		nothing();
		OK(fi_readmsg(ep, &msg, FI_COMPLETION));
		done(&contexts[1]);
		OK(fi_cntr_wait(accessed, 3, -1));
		CHECK(fi_cntr_read(sent) == 0);
		CHECK(fi_cntr_wait(accessed, 4, 20) == -FI_ETIMEDOUT);
		/* A write that carries data is reported at the target in any case. */
		fill(mine, 100, 4);
		OK(fi_inject_writedata(ep, mine, 100, 77, other, 0, KEY));
		OK(fi_cntr_wait(accessed, 4, -1));
	} else {
		written(77, 0, 100, 4);
	}
	meet();
}

/* The other side dies without closing its endpoint: operations that are under way fail, and so do those that
 * follow. */
static void gone(void)
{
	OK(fi_tinject(ep, "x", 1, other, 1));
	OK(fi_trecv(ep, mine, 1, NULL, other, 1, 0, &contexts[0]));
	done(&contexts[0]);
	meet();
	if (me == 1)
		_exit(0);
	OK(fi_read(ep, mine, SIZE, NULL, other, 0, KEY, &contexts[1]));
	failed(&contexts[1], FI_ECONNRESET);
	CHECK(fi_cntr_readerr(accessed) == 1);
	OK(fi_write(ep, mine, SIZE, NULL, other, 0, KEY, &contexts[2]));
	failed(&contexts[2], FI_ECONNRESET);
	OK(fi_read(ep, mine, 8, NULL, other, 0, KEY, &contexts[3]));
	failed(&contexts[3], FI_ECONNRESET);
	CHECK(fi_inject_write(ep, mine, 8, other, 0, KEY) == -FI_ECONNRESET);
	OK(fi_close(&ep->fid));
}

int main(int argc, char **argv)
{
	CHECK(argc == 3);
	bool selective = !strcmp(argv[2], "selective");

	pair_fork();
	pair_open(strcmp(argv[1], "map") ? FI_AV_TABLE : FI_AV_MAP, selective);
	if (me == 1)
		OK(fi_mr_reg(domain, window, sizeof window, BOTH, 0, KEY, 0, &mr, NULL));
	meet();
	if (!strcmp(argv[2], "gone")) {
		gone();
		return 0;
	}
	static void (*const tests[])(void) = { writes,	  reads,  in_pieces, injects, with_data,
					      of_pieces, rights, absent,	 refused };
	for (unsigned i = 0; !selective && i < LEN(tests); i++) {
		meet();
		tests[i]();
	}
	if (selective)
		counted();
	if (mr)
		OK(fi_close(&mr->fid));
	pair_close();
	return 0;
}
