/*
 * tasuki.h - messages between programs on hosts that Tasuki has joined; no MPI is needed.
 *
 * A program opens an endpoint, gives the endpoint's address to others by any means (a file, a pipe, a job's
 * launcher), makes their addresses known with tasuki_add_peer, and posts sends and receives. No call waits
 * except tasuki_wait and tasuki_close: operations are posted, and completions tell later what has become of
 * them. tasuki(3) is the manual.
 *
 * RETURN VALUES. Every function that returns int returns 0 or a positive number for success, and one of the
 * negative TASUKI_E... codes for failure. tasuki_strerror says what a code means, tasuki_last_error what was
 * wrong this time. A null pointer where a pointer is needed gives TASUKI_EINVAL, never a crash. An endpoint
 * that was closed must not be used again.
 *
 * THREADS. Any number of threads may use one endpoint at once. Only during tasuki_close no other thread may
 * use it.
 *
 * FORK. A child process may not use an endpoint of its parent, except that tasuki_close may be called for it
 * and does nothing. A child may open endpoints of its own.
 *
 * MEMORY. From the call to the completion, memory of a send must not change and memory of a receive must not
 * be used. With TASUKI_INJECT memory of a send may change when the call returns. An iovec array, and every
 * structure and string that is passed in, is read before the call returns. Strings that are returned belong
 * to the library.
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

/* ---- Errors -------------------------------------------------------------------------------------------- */

enum {
    TASUKI_OK = 0,
    TASUKI_EINVAL = -1,      /* an argument is null or out of range, or a flag is none of the call's */
    TASUKI_EOPEN = -2,       /* the endpoint cannot be opened */
    TASUKI_EENV = -3,        /* a TASUKI_... variable of the environment cannot be used */
    TASUKI_EADDRESS = -4,    /* the bytes or the text are not an address of an endpoint of this version */
    TASUKI_EPEER = -5,       /* no such peer */
    TASUKI_ECLOSED = -6,     /* the endpoint is closing */
    TASUKI_ECLAIM = -7,      /* no claimed message has this name */
    TASUKI_ELOST = -8,       /* the claimed message is lost with its sender */
    TASUKI_ENOTFOUND = -9,   /* there is no such operation, or it is too late */
    TASUKI_ECANCELLED = -10, /* the operation was cancelled */
    TASUKI_EFAILED = -11,    /* the peer has died, or broke the protocol */
    TASUKI_EGONE = -12,      /* the peer has closed its endpoint */
    TASUKI_ETRUNCATED = -13, /* the message was longer than the memory for it; the rest is lost */
    TASUKI_EREFUSED = -14,   /* the peer has no memory under this key, or the transfer would leave it */
    TASUKI_EINTERNAL = -15,  /* a defect of the library */
    TASUKI_EBUSY = -16,      /* transfers are under way in this memory: poll and try again */
    TASUKI_ECHECKPOINT = -17 /* a checkpoint cannot be written or read */
};

/* The meaning of a code, in words. Never NULL; valid for ever. */
const char *tasuki_strerror(int code);

/*
 * What was wrong in this thread's last call that failed, with names of files, addresses, and what to do.
 * Never NULL; empty if no call has failed. Valid until the thread's next call that fails.
 */
const char *tasuki_last_error(void);

/* ---- Endpoints ----------------------------------------------------------------------------------------- */

/* An endpoint: it sends to and receives from any number of others. A program may have many. */
typedef struct tasuki_endpoint tasuki_endpoint;

/* How an endpoint is to be opened. tasuki_options_init fills all fields; the program then changes those it
 * wants. */
typedef struct tasuki_options {
    size_t size;             /* sizeof(tasuki_options) of the caller; set by tasuki_options_init */
    const char *identity;    /* this host's identity address (IP); NULL: as TASUKI_IDENTITY says, or found */
    const char *rails;       /* file with the rails; NULL: as TASUKI_RAILS says, or that of `tasuki apply` */
    uint64_t pool_bytes;     /* bound on memory for messages that no receive was posted for, bytes */
    uint64_t peer_bytes;     /* the part of it that one peer may use, bytes */
    uint32_t expected_peers; /* number of peers that the endpoint prepares for, at least 1 */
    uint32_t linger_ms;      /* longest time that tasuki_close waits for acknowledgements, milliseconds */
    int32_t shm;             /* 1: messages within the host go through shared memory where possible; or 0 */
    int32_t stats;           /* 1: a statistics page is kept for `tasuki stats`; or 0 */
    int32_t dump;            /* 1: SIGUSR2 prints the endpoint's state to stderr; or 0 */
    int32_t reserved;        /* must be 0 */
} tasuki_options;

/*
 * Fills *options with the defaults, as changed by the environment (tasuki(3) lists the variables). size is
 * sizeof(tasuki_options). TASUKI_EENV: a variable has a value that cannot be.
 */
int tasuki_options_init(tasuki_options *options, size_t size);

/*
 * Opens an endpoint and stores it in *endpoint, or stores NULL on failure. If options is NULL they are those
 * of tasuki_options_init. The endpoint is the caller's until tasuki_close.
 */
int tasuki_open(const tasuki_options *options, tasuki_endpoint **endpoint);

/*
 * Disconnects from all peers and frees the endpoint. Waits, for at most options.linger_ms, until everything
 * that was sent has arrived. When it returns, memory of operations that have not completed is the program's
 * again, and their completions are lost. No other thread may use the endpoint during this call or after it.
 * NULL does nothing.
 */
void tasuki_close(tasuki_endpoint *endpoint);

/*
 * Writes the state of the endpoint as text, for people who look for the reason of a hang: operations, peers,
 * rails. Writes at most size bytes, including the final NUL; none if size is 0, in which case buffer may be
 * NULL. Returns the length of the whole text without the NUL.
 */
int tasuki_describe(tasuki_endpoint *endpoint, char *buffer, size_t size);

/* ---- Addresses and peers ------------------------------------------------------------------------------- */

/* Length of an address, bytes. */
#define TASUKI_ADDRESS_LEN 48

/* Length of an address as text (hexadecimal digits), bytes, with the final NUL. */
#define TASUKI_ADDRESS_TEXT_LEN 97

/*
 * Writes the endpoint's address into address, TASUKI_ADDRESS_LEN bytes. Peers need it. Everybody who holds it
 * may send to the endpoint, so that it should be given to nobody else.
 */
int tasuki_address(tasuki_endpoint *endpoint, void *address);

/* Writes the endpoint's address as text, TASUKI_ADDRESS_TEXT_LEN bytes with the final NUL. */
int tasuki_address_text(tasuki_endpoint *endpoint, char *text);

/* Reads an address from text, and writes its TASUKI_ADDRESS_LEN bytes. White space around the text is
 * skipped. */
int tasuki_address_parse(const char *text, void *address);

/* An endpoint's number for a peer: counted from 0 in the order in which peers became known, never reused. */
typedef uint32_t tasuki_peer;

/* In place of a peer in receives and probes: a message from any peer is accepted. */
#define TASUKI_ANY_SOURCE UINT32_MAX

/*
 * Makes a peer known by its address, TASUKI_ADDRESS_LEN bytes, and stores its number in *peer. One address
 * always has one number. Nothing is sent yet. An endpoint may be its own peer. A peer that sends first
 * becomes known by its message.
 */
int tasuki_add_peer(tasuki_endpoint *endpoint, const void *address, tasuki_peer *peer);

/* Writes the address of a peer, TASUKI_ADDRESS_LEN bytes. */
int tasuki_peer_address(tasuki_endpoint *endpoint, tasuki_peer peer, void *address);

/*
 * Writes why a peer was declared failed (TASUKI_EFAILED), in the way of tasuki_describe. Returns the length
 * of the text; 0 if the peer has not failed.
 */
int tasuki_peer_failure(tasuki_endpoint *endpoint, tasuki_peer peer, char *buffer, size_t size);

/* ---- Sending and receiving ----------------------------------------------------------------------------- */

/* Flags of operations. */
enum {
    TASUKI_INJECT = 1,   /* sends: the bytes are copied before the call returns */
    TASUKI_QUIET = 2,    /* no completion if the operation succeeds */
    TASUKI_DELIVERY = 4, /* sends: complete when the message is in the receiver's memory, not before */
    TASUKI_TAGGED = 8,   /* tasuki_message, completions: the message has a tag */
    TASUKI_DATA = 16,    /* tasuki_message of a send, completions: the message carries `data` */
    TASUKI_MULTI = 32,   /* tasuki_message of a receive, completions: one receive takes several messages */
    TASUKI_LAST = 64     /* completions: the operation's memory is the program's again */
};

/*
 * Messages from one endpoint to another are received in the order in which they were sent, as far as receives
 * accept them. Tagged receives accept tagged messages only, and untagged receives untagged ones. A tagged
 * receive accepts a message whose tag equals its own in all bits that are not set in ignore. context is the
 * program's name for the operation, which its completion repeats. These calls never wait, and never ask the
 * program to try again: a message that no receive was posted for is kept, if need be in the sender's memory.
 */

/* Posts a send of len bytes without a tag. flags: TASUKI_INJECT, TASUKI_QUIET, TASUKI_DELIVERY. */
int tasuki_send(tasuki_endpoint *endpoint, tasuki_peer peer, const void *bytes, size_t len, uint32_t flags,
                uint64_t context);

/* Posts a send of len bytes with a tag; otherwise as tasuki_send. */
int tasuki_tsend(tasuki_endpoint *endpoint, tasuki_peer peer, uint64_t tag, const void *bytes, size_t len,
                 uint32_t flags, uint64_t context);

/* Posts a receive of one untagged message of at most len bytes. flags: TASUKI_QUIET. */
int tasuki_recv(tasuki_endpoint *endpoint, tasuki_peer source, void *bytes, size_t len, uint32_t flags,
                uint64_t context);

/* Posts a receive of one tagged message of at most len bytes; otherwise as tasuki_recv. */
int tasuki_trecv(tasuki_endpoint *endpoint, tasuki_peer source, uint64_t tag, uint64_t ignore, void *bytes,
                 size_t len, uint32_t flags, uint64_t context);

/* An operation with everything that it may have: memory in pieces, data, several messages in one receive.
 * Fields that the flags do not ask for are ignored. */
typedef struct tasuki_message {
    tasuki_peer peer;        /* the receiver; of a receive: the sender, or TASUKI_ANY_SOURCE */
    uint32_t flags;          /* those that tasuki_sendmsg or tasuki_recvmsg takes */
    uint64_t tag;            /* with TASUKI_TAGGED: the tag */
    uint64_t ignore;         /* receives with TASUKI_TAGGED: bits of the tag that do not matter */
    uint64_t data;           /* sends with TASUKI_DATA: 64 bits that the message carries beside its bytes */
    const struct iovec *iov; /* the memory, one piece behind the other */
    size_t iov_count;        /* number of pieces; 0 for an empty message */
    uint64_t min_free;       /* receives with TASUKI_MULTI: they end when fewer bytes are left; at least 1 */
    uint64_t context;        /* the program's name for the operation */
} tasuki_message;

/* Posts a send. Flags: TASUKI_TAGGED, TASUKI_DATA, TASUKI_INJECT, TASUKI_QUIET, TASUKI_DELIVERY. */
int tasuki_sendmsg(tasuki_endpoint *endpoint, const tasuki_message *message);

/* Posts a receive. Flags: TASUKI_TAGGED, TASUKI_QUIET, TASUKI_MULTI. */
int tasuki_recvmsg(tasuki_endpoint *endpoint, const tasuki_message *message);

/*
 * Cancels a receive with this context that has no message yet, or otherwise a send that has not started. Puts
 * and gets cannot be cancelled. 0: a completion with TASUKI_ECANCELLED follows. TASUKI_ENOTFOUND: it is too
 * late, or there is no such operation; an operation for which it is too late gives its own completion.
 */
int tasuki_cancel(tasuki_endpoint *endpoint, uint64_t context);

/* ---- Probing ------------------------------------------------------------------------------------------- */

/* A message that has arrived and that no receive was posted for. */
typedef struct tasuki_found {
    tasuki_peer source; /* its sender */
    uint32_t flags;     /* TASUKI_TAGGED, TASUKI_DATA */
    uint64_t tag;       /* 0 if untagged */
    uint64_t data;      /* with TASUKI_DATA: what the message carries beside its bytes */
    uint64_t len;       /* its length, bytes */
    uint64_t claim;     /* from tasuki_claim and tasuki_tclaim: the claimed message's name; otherwise 0 */
} tasuki_found;

/*
 * Looks for an untagged message that a receive from this source would get. Returns 1 and fills *found if
 * there is one, and 0 if not. Makes progress first.
 */
int tasuki_probe(tasuki_endpoint *endpoint, tasuki_peer source, tasuki_found *found);

/* Looks for a tagged message; otherwise as tasuki_probe. */
int tasuki_tprobe(tasuki_endpoint *endpoint, tasuki_peer source, uint64_t tag, uint64_t ignore,
                  tasuki_found *found);

/*
 * Like tasuki_probe and tasuki_tprobe, but also claim the message that they find: no receive and no probe
 * sees it any more. found->claim is its name, until tasuki_recv_claimed or tasuki_discard_claimed.
 */
int tasuki_claim(tasuki_endpoint *endpoint, tasuki_peer source, tasuki_found *found);
int tasuki_tclaim(tasuki_endpoint *endpoint, tasuki_peer source, uint64_t tag, uint64_t ignore,
                  tasuki_found *found);

/* Posts a receive of a claimed message; otherwise as tasuki_recv. Unless it returns TASUKI_EINVAL, the claim
 * has ended. */
int tasuki_recv_claimed(tasuki_endpoint *endpoint, uint64_t claim, void *bytes, size_t len, uint32_t flags,
                        uint64_t context);

/* Drops a claimed message. */
int tasuki_discard_claimed(tasuki_endpoint *endpoint, uint64_t claim);

/* ---- Put and get --------------------------------------------------------------------------------------- */

/*
 * Lets peers write to and read from len bytes at memory, and stores in *key the key that they need besides
 * the endpoint's address. Keys are random, so that nobody can guess one. The memory must stay valid until
 * tasuki_unregister succeeds or tasuki_close returns. It may change at any time without a call of this
 * program, which must read it accordingly: with C11 atomics, or after a message that says that it is ready.
 */
int tasuki_register(tasuki_endpoint *endpoint, void *memory, size_t len, uint64_t *key);

/*
 * Ends what tasuki_register began. After TASUKI_OK nobody touches the memory any more. TASUKI_EBUSY:
 * transfers of peers are under way; no new ones begin; poll, and call this again. TASUKI_ENOTFOUND: there is
 * no such key.
 */
int tasuki_unregister(tasuki_endpoint *endpoint, uint64_t key);

/*
 * Posts a write of len bytes into memory that a peer has registered, offset bytes from its beginning. The
 * completion, of kind TASUKI_PUT, says that the bytes are there. The peer's program need not call anything.
 * Puts and gets that are under way at the same time happen in any order. flags: TASUKI_QUIET. A wrong key,
 * offset or len gives a completion with TASUKI_EREFUSED.
 */
int tasuki_put(tasuki_endpoint *endpoint, tasuki_peer peer, uint64_t key, uint64_t offset, const void *bytes,
               size_t len, uint32_t flags, uint64_t context);

/* Posts a read of len bytes from memory that a peer has registered; otherwise as tasuki_put. The completion,
 * of kind TASUKI_GET, says that the bytes are here. */
int tasuki_get(tasuki_endpoint *endpoint, tasuki_peer peer, uint64_t key, uint64_t offset, void *bytes,
               size_t len, uint32_t flags, uint64_t context);

/* ---- Completions --------------------------------------------------------------------------------------- */

/* Kinds of operations in completions. */
enum {
    TASUKI_SEND = 1,
    TASUKI_RECV = 2,
    TASUKI_PUT = 3,
    TASUKI_GET = 4
};

/* A completion: an operation is over, or a receive with TASUKI_MULTI has taken a message. */
typedef struct tasuki_completion {
    uint64_t context; /* the operation's name, as posted */
    int32_t kind;     /* TASUKI_SEND, TASUKI_RECV, TASUKI_PUT, TASUKI_GET */
    int32_t status;   /* TASUKI_OK, or why it failed */
    tasuki_peer peer; /* the other side; TASUKI_ANY_SOURCE if a receive failed before it was known */
    uint32_t flags;   /* TASUKI_TAGGED, TASUKI_DATA, TASUKI_MULTI, TASUKI_LAST */
    uint64_t tag;     /* receives: the message's tag; 0 if it has none */
    uint64_t data;    /* receives with TASUKI_DATA: what the message carried beside its bytes */
    void *bytes;      /* receives: where the message begins; NULL if it is empty */
    uint64_t len;     /* receives: bytes received; puts and gets: bytes as posted */
    uint64_t total;   /* receives: bytes sent, which are more than len with TASUKI_ETRUNCATED */
} tasuki_completion;

/*
 * Makes progress, stores up to max completions and returns their number. Never sleeps. A program that
 * computes need not call it for the sake of its peers: a thread of the endpoint makes progress in its place.
 */
int tasuki_poll(tasuki_endpoint *endpoint, tasuki_completion *completions, size_t max);

/*
 * Like tasuki_poll, but waits until there is at least one completion: for at most timeout_ms milliseconds,
 * after which it returns 0, or for ever if timeout_ms is negative. It polls for some microseconds before it
 * sleeps.
 */
int tasuki_wait(tasuki_endpoint *endpoint, tasuki_completion *completions, size_t max, int timeout_ms);

#ifdef __cplusplus
}
#endif

#endif /* TASUKI_H */
