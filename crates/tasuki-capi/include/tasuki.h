/*
 * tasuki.h - messages between programs on hosts that Tasuki has joined; no MPI is needed.
 *
 * A program opens an endpoint, gives its address to others by any means it likes (a file, a pipe, a job's launcher), makes
 * theirs known with tasuki_add_peer, and posts sends and receives. Nothing here waits but tasuki_wait and tasuki_close:
 * operations are posted, and completions tell later what has become of them. tasuki(3) is the manual.
 *
 * RETURN VALUES. Every function that returns int gives 0 or a positive number for success and one of the negative
 * TASUKI_E... codes for failure; tasuki_strerror says what a code means, tasuki_last_error what was wrong this time. A null
 * pointer where a pointer is needed is TASUKI_EINVAL, never a crash. An endpoint that was closed must not be used again.
 *
 * THREADS. Any number of threads may use one endpoint at once. Only tasuki_close needs it for itself.
 *
 * FORK. A child may not use an endpoint of its parent; tasuki_close of it does nothing there. It may open its own.
 *
 * MEMORY. Memory of a send must not change, memory of a receive must not be used, from the call to the completion (with
 * TASUKI_INJECT: to the return). Pieces in an iovec array are read before the call returns, and so is every structure
 * and every string that is passed in. Strings that are returned belong to the library.
 */
#ifndef TASUKI_H
#define TASUKI_H

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Version of this header. An application works with libraries of the same minor version. */
#define TASUKI_VERSION "0.1.0"
#define TASUKI_VERSION_MAJOR 0
#define TASUKI_VERSION_MINOR 1

/* Version of the library, as TASUKI_VERSION. Never NULL. */
const char *tasuki_version(void);

/* ---- Errors ---------------------------------------------------------------------------------------------------- */

enum {
    TASUKI_OK = 0,
    TASUKI_EINVAL = -1,      /* an argument is null, out of range, or a flag that the call does not know */
    TASUKI_EOPEN = -2,       /* the endpoint cannot be opened */
    TASUKI_EENV = -3,        /* a TASUKI_... variable of the environment cannot be used */
    TASUKI_EADDRESS = -4,    /* these bytes or this text are no address of an endpoint of this version */
    TASUKI_EPEER = -5,       /* no such peer */
    TASUKI_ECLOSED = -6,     /* the endpoint is closing */
    TASUKI_ECLAIM = -7,      /* no message is claimed under this name */
    TASUKI_ELOST = -8,       /* the claimed message is lost with its sender */
    TASUKI_ENOTFOUND = -9,   /* there is no such operation, or it is too late */
    TASUKI_ECANCELLED = -10, /* the operation was cancelled */
    TASUKI_EFAILED = -11,    /* the peer has died, or broke the protocol */
    TASUKI_EGONE = -12,      /* the peer has closed its endpoint */
    TASUKI_ETRUNCATED = -13, /* the message was longer than the memory for it; the rest is lost */
    TASUKI_EREFUSED = -14,   /* the peer has no memory under this key, or the transfer would leave it */
    TASUKI_EINTERNAL = -15,  /* a defect of the library */
    TASUKI_EBUSY = -16       /* transfers are under way in this memory: poll and try again */
};

/* What a code means. Never NULL; valid for ever. */
const char *tasuki_strerror(int code);

/*
 * What was wrong in the last call of this thread that failed, with names of files, addresses and what to do. Never NULL, empty
 * if no call has failed. Valid until the next call of this thread that fails.
 */
const char *tasuki_last_error(void);

/* ---- Endpoints ------------------------------------------------------------------------------------------------- */

/* One end of conversations. A program may have many. */
typedef struct tasuki_endpoint tasuki_endpoint;

/* How an endpoint is to be opened. tasuki_options_init fills it; change what you want after that. */
typedef struct tasuki_options {
    size_t size;             /* sizeof(tasuki_options) of the caller; set by tasuki_options_init */
    const char *identity;    /* IP address of this host among the others; NULL: TASUKI_IDENTITY, or found by itself */
    const char *rails;       /* file that describes the rails; NULL: TASUKI_RAILS, or the one that `tasuki apply` writes */
    uint64_t pool_bytes;     /* bound on the memory for messages that nobody has asked for, bytes */
    uint64_t peer_bytes;     /* most of it that one peer may hold, bytes */
    uint32_t expected_peers; /* peers to reckon with from the start, at least 1 */
    uint32_t linger_ms;      /* how long tasuki_close waits at most for the last acknowledgement, milliseconds */
    int32_t shm;             /* messages within the host go through shared memory where possible: 0 or 1 */
    int32_t stats;           /* a page for `tasuki stats` is kept: 0 or 1 */
    int32_t dump;            /* on SIGUSR2 the endpoint's state is printed to stderr: 0 or 1 */
    int32_t reserved;        /* 0 */
} tasuki_options;

/*
 * Fills *options with the defaults as changed by the environment (tasuki(3) lists the variables). size is
 * sizeof(tasuki_options). Fails with TASUKI_EENV if a variable says something that cannot be.
 */
int tasuki_options_init(tasuki_options *options, size_t size);

/*
 * Opens an endpoint and stores it in *endpoint (NULL there on failure). options may be NULL: as tasuki_options_init says. The
 * endpoint is the caller's until tasuki_close.
 */
int tasuki_open(const tasuki_options *options, tasuki_endpoint **endpoint);

/*
 * Parts from all peers and frees the endpoint. Waits, at most options.linger_ms, until everything that was sent has
 * arrived. Memory of operations that have not completed is the program's again when it returns; their completions are lost.
 * No other thread may use the endpoint any more when this is called. NULL does nothing.
 */
void tasuki_close(tasuki_endpoint *endpoint);

/*
 * Writes the state of the endpoint as text, for people who look for the reason of a hang: operations, peers, rails. At most size
 * bytes with the final NUL are written, none if size is 0 (buffer may then be NULL). Returns the length of the whole text
 * without the NUL.
 */
int tasuki_describe(tasuki_endpoint *endpoint, char *buffer, size_t size);

/* ---- Addresses and peers --------------------------------------------------------------------------------------- */

/* Bytes of an address. */
#define TASUKI_ADDRESS_LEN 48

/* Bytes of an address as text, hexadecimal digits, with the final NUL. */
#define TASUKI_ADDRESS_TEXT_LEN 97

/*
 * Writes the endpoint's address into address, TASUKI_ADDRESS_LEN bytes. It is what peers need, and whoever holds it may send to
 * the endpoint: hand it to nobody else.
 */
int tasuki_address(tasuki_endpoint *endpoint, void *address);

/* The same as text, TASUKI_ADDRESS_TEXT_LEN bytes with the final NUL. */
int tasuki_address_text(tasuki_endpoint *endpoint, char *text);

/* Reads an address from text into TASUKI_ADDRESS_LEN bytes. White space around it is skipped. */
int tasuki_address_parse(const char *text, void *address);

/* A peer as an endpoint knows it: counted from 0 in the order in which peers became known, never reused. */
typedef uint32_t tasuki_peer;

/* In place of a peer in receives and probes: whoever it comes from. */
#define TASUKI_ANY_SOURCE UINT32_MAX

/*
 * Makes a peer known, by its address of TASUKI_ADDRESS_LEN bytes, and stores its number in *peer. The same address always gives
 * the same number. Nothing is sent yet. An endpoint may be its own peer. Peers that send first become known by that.
 */
int tasuki_add_peer(tasuki_endpoint *endpoint, const void *address, tasuki_peer *peer);

/* Writes the address of a peer, TASUKI_ADDRESS_LEN bytes. */
int tasuki_peer_address(tasuki_endpoint *endpoint, tasuki_peer peer, void *address);

/*
 * Writes why a peer was declared failed (TASUKI_EFAILED), as tasuki_describe does. Returns the length; 0 if it has not failed.
 */
int tasuki_peer_failure(tasuki_endpoint *endpoint, tasuki_peer peer, char *buffer, size_t size);

/* ---- Sending and receiving ------------------------------------------------------------------------------------- */

/* Flags of operations. */
enum {
    TASUKI_INJECT = 1,   /* sends: the bytes are copied before the call returns */
    TASUKI_QUIET = 2,    /* no completion if it succeeds */
    TASUKI_DELIVERY = 4, /* sends: complete only when the message has been placed in the receiver's memory */
    TASUKI_TAGGED = 8,   /* tasuki_message, completions: for the tagged queue */
    TASUKI_DATA = 16,    /* tasuki_message of a send, completions: the message carries `data` */
    TASUKI_MULTI = 32,   /* tasuki_message of a receive, completions: one receive takes several messages */
    TASUKI_LAST = 64     /* completions: the memory is the program's again */
};

/*
 * Messages from one endpoint to another are received in the order in which they were sent, as far as receives accept
 * them. Tagged and untagged messages are for receives of their own kind. A tagged receive accepts a message whose tag
 * equals its own in all bits that are not set in ignore. context is the program's name of the operation; it comes back in
 * the completion. These calls never wait and never ask to try again; a message nobody asks for waits, in the sender's memory if
 * need be.
 */

/* Sends len bytes, untagged. flags: TASUKI_INJECT, TASUKI_QUIET, TASUKI_DELIVERY. */
int tasuki_send(tasuki_endpoint *endpoint, tasuki_peer peer, const void *bytes, size_t len, uint32_t flags,
                uint64_t context);

/* The same with a tag. */
int tasuki_tsend(tasuki_endpoint *endpoint, tasuki_peer peer, uint64_t tag, const void *bytes, size_t len, uint32_t flags,
                 uint64_t context);

/* Receives one untagged message of at most len bytes. flags: TASUKI_QUIET. */
int tasuki_recv(tasuki_endpoint *endpoint, tasuki_peer source, void *bytes, size_t len, uint32_t flags, uint64_t context);

/* The same with a tag. */
int tasuki_trecv(tasuki_endpoint *endpoint, tasuki_peer source, uint64_t tag, uint64_t ignore, void *bytes, size_t len,
                 uint32_t flags, uint64_t context);

/* An operation in full: memory in pieces, data, receives for many messages. Fields that the flags do not name are ignored. */
typedef struct tasuki_message {
    tasuki_peer peer;        /* to whom; of a receive: from whom, or TASUKI_ANY_SOURCE */
    uint32_t flags;          /* TASUKI_TAGGED and those that tasuki_sendmsg or tasuki_recvmsg name */
    uint64_t tag;            /* TASUKI_TAGGED */
    uint64_t ignore;         /* TASUKI_TAGGED, receives: bits of the tag that do not matter */
    uint64_t data;           /* TASUKI_DATA, sends: 64 bits that travel beside the message */
    const struct iovec *iov; /* the memory, one piece behind the other */
    size_t iov_count;        /* pieces; 0 for an empty message */
    uint64_t min_free;       /* TASUKI_MULTI, receives: ends when less than so many bytes are left; at least 1 */
    uint64_t context;        /* the program's name of the operation */
} tasuki_message;

/* Posts a send. Flags: TASUKI_TAGGED, TASUKI_DATA, TASUKI_INJECT, TASUKI_QUIET, TASUKI_DELIVERY. */
int tasuki_sendmsg(tasuki_endpoint *endpoint, const tasuki_message *message);

/* Posts a receive. Flags: TASUKI_TAGGED, TASUKI_QUIET, TASUKI_MULTI. */
int tasuki_recvmsg(tasuki_endpoint *endpoint, const tasuki_message *message);

/*
 * Takes back a receive with this context that has no message yet, or else a send that has not started; puts and gets cannot be
 * taken back. 0: a completion with TASUKI_ECANCELLED follows. TASUKI_ENOTFOUND: it is too late, or there is none; if there was one its
 * own completion comes.
 */
int tasuki_cancel(tasuki_endpoint *endpoint, uint64_t context);

/* ---- Probing --------------------------------------------------------------------------------------------------- */

/* A message that has come and that nobody has asked for. */
typedef struct tasuki_found {
    tasuki_peer source; /* its sender */
    uint32_t flags;     /* TASUKI_TAGGED, TASUKI_DATA */
    uint64_t tag;       /* 0 if untagged */
    uint64_t data;      /* if TASUKI_DATA */
    uint64_t len;       /* bytes */
    uint64_t claim;     /* of tasuki_claim and tasuki_tclaim: its name; 0 otherwise */
} tasuki_found;

/*
 * Looks for an untagged message: 1 and *found filled if there is one that a receive with the same source would get, 0 if not.
 * Takes in what has arrived first.
 */
int tasuki_probe(tasuki_endpoint *endpoint, tasuki_peer source, tasuki_found *found);

/* The same for a tagged message. */
int tasuki_tprobe(tasuki_endpoint *endpoint, tasuki_peer source, uint64_t tag, uint64_t ignore, tasuki_found *found);

/*
 * The same, and reserves the message: no receive and no probe sees it any more. found->claim names it, until
 * tasuki_recv_claimed or tasuki_discard_claimed.
 */
int tasuki_claim(tasuki_endpoint *endpoint, tasuki_peer source, tasuki_found *found);
int tasuki_tclaim(tasuki_endpoint *endpoint, tasuki_peer source, uint64_t tag, uint64_t ignore, tasuki_found *found);

/* Receives a claimed message, as tasuki_recv. Whatever it returns but TASUKI_EINVAL, the claim is gone. */
int tasuki_recv_claimed(tasuki_endpoint *endpoint, uint64_t claim, void *bytes, size_t len, uint32_t flags,
                        uint64_t context);

/* Drops a claimed message. */
int tasuki_discard_claimed(tasuki_endpoint *endpoint, uint64_t claim);

/* ---- Put and get ----------------------------------------------------------------------------------------------- */

/*
 * Lets peers write to and read from len bytes at memory, and stores in *key what they need for that, besides the address of the
 * endpoint. Keys are random: who was not told it cannot guess it. The memory must stay valid until tasuki_unregister succeeds or
 * tasuki_close returns. It may change at any time without a call of this program, which must read it accordingly (C11
 * atomics, or a message that says that it is ready).
 */
int tasuki_register(tasuki_endpoint *endpoint, void *memory, size_t len, uint64_t *key);

/*
 * Ends what tasuki_register began. After TASUKI_OK nobody touches the memory any more. TASUKI_EBUSY: transfers of peers are under way;
 * no new ones begin; poll and call again. TASUKI_ENOTFOUND: there is no such key.
 */
int tasuki_unregister(tasuki_endpoint *endpoint, uint64_t key);

/*
 * Writes len bytes into memory that a peer has registered, offset bytes from its beginning. Its completion, of kind
 * TASUKI_PUT, says that they are there. The peer's program need not call anything. Puts and gets that are under way at once happen in
 * any order. flags: TASUKI_QUIET. What is wrong with key, offset or len is told by the completion: TASUKI_EREFUSED.
 */
int tasuki_put(tasuki_endpoint *endpoint, tasuki_peer peer, uint64_t key, uint64_t offset, const void *bytes, size_t len,
               uint32_t flags, uint64_t context);

/* Reads len bytes from memory that a peer has registered. Its completion, of kind TASUKI_GET, says that they are here. */
int tasuki_get(tasuki_endpoint *endpoint, tasuki_peer peer, uint64_t key, uint64_t offset, void *bytes, size_t len,
               uint32_t flags, uint64_t context);

/* ---- Completions ----------------------------------------------------------------------------------------------- */

/* What kind of operation is over. */
enum {
    TASUKI_SEND = 1,
    TASUKI_RECV = 2,
    TASUKI_PUT = 3,
    TASUKI_GET = 4
};

/* An operation is over, or a receive with TASUKI_MULTI has taken a message. */
typedef struct tasuki_completion {
    uint64_t context; /* as posted */
    int32_t kind;     /* TASUKI_SEND, TASUKI_RECV, TASUKI_PUT, TASUKI_GET */
    int32_t status;   /* TASUKI_OK, or why it failed */
    tasuki_peer peer; /* with whom; TASUKI_ANY_SOURCE if a receive failed before that was known */
    uint32_t flags;   /* TASUKI_TAGGED, TASUKI_DATA, TASUKI_MULTI, TASUKI_LAST */
    uint64_t tag;     /* receives: of the message; 0 if untagged */
    uint64_t data;    /* receives, if TASUKI_DATA */
    void *bytes;      /* receives: where the message begins; NULL if it is empty */
    uint64_t len;     /* receives: bytes received; puts and gets: as posted */
    uint64_t total;   /* receives: bytes sent; more than len with TASUKI_ETRUNCATED */
} tasuki_completion;

/*
 * Moves things on, stores up to max completions and returns their number. Never sleeps. A program that computes need not call it
 * for its peers' sake: a thread of the endpoint steps in.
 */
int tasuki_poll(tasuki_endpoint *endpoint, tasuki_completion *completions, size_t max);

/*
 * The same, but waits until there is at least one completion: at most timeout_ms milliseconds (then it returns 0), for ever if
 * timeout_ms is negative. Polls for some microseconds before it sleeps.
 */
int tasuki_wait(tasuki_endpoint *endpoint, tasuki_completion *completions, size_t max, int timeout_ms);

#ifdef __cplusplus
}
#endif

#endif /* TASUKI_H */
