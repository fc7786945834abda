//! Sends of the program: inline, coalesced, copied; and how the sockets are served.

tuning! {
    /// Inline: short messages to other hosts that are sent within the call.
    pub mod inline {
        /// Longer messages are not sent within the call; they take the general path.
        MESSAGE_MAX: usize = 256, "bytes";
        why "An inline message is copied into the packet and into the send queue at once, which pays for \
             short ones; longer ones gain little, and fill a packet by themselves.";
        measure "0", two_hosts "--pair pingpong:8,64,256 --pair stream:8 --all barrier";
        adr 11;

        /// A packet of at most so many bytes leaves at once if it is the first of a turn; longer ones wait
        /// for a batch.
        PACKET_MAX: usize = 512, "bytes";
        why "Most often a short packet is the only one, and to learn whether another follows takes as long \
             as to send it.";
        measure "0", two_hosts "--pair pingpong:8,64,512 --all barrier";

        /// Most packets in a row that take the path of the packet before; after them the path is chosen anew.
        PATH_REUSE_MAX: u32 = 16, "packets";
        why "To choose a rail takes longer than the rest of an inline send, and within 16 short packets \
             little changes.";
        measure "0", two_hosts "--pair pingpong:8 --pair stream:8 --all barrier";
    }

    /// Coalescing: short messages to one peer on another host wait for each other and share packets.
    pub mod coalesce {
        /// Messages of a series that are sent inline; those after them are coalesced.
        FIRST: u32 = 3, "messages";
        why "The peer can begin with the first ones, and a program that sends only a few never waits.";
        gain "64 messages of 8 B in a row: 4.2 times the rate without coalescing; in the first version 4.8 \
              to 5.9 times, 7 system calls instead of 64, ping-pong and barrier as before \
              (docs/results/message-steps.md)";
        measure "4294967295", two_hosts "--pair stream:8 --pair pingpong:8 --all barrier";
        adr 11;

        /// Most messages in one packet.
        MESSAGES_MAX: u32 = 16, "messages";
        why "The system call is then a small part of what a message costs, and the first of them does not \
             wait for long.";
        measure "4", two_hosts "--pair stream:8 --all barrier";
        adr 11;

        /// Most bytes in one packet, with what the messages need besides their payload.
        BYTES_MAX: usize = 1100, "bytes";
        why "It is less than a packet of the smallest MTU (1280) holds beside its headers.";
        measure "300", two_hosts "--pair stream:8,64 --all barrier";
        adr 11;

        /// What a message is reckoned to need in a packet besides its payload.
        HEAD_BYTES: usize = 24, "bytes";
        why "It is about what a tagged envelope takes; if it is too small, a packet overflows into a second \
             one.";
        measure "64", two_hosts "--pair stream:8 --all barrier";
        adr 11;

        /// Two messages further apart than this, of which the first was coalesced, are not of one series.
        GAP_NS: u64 = 8_000, "ns";
        why "The program does something else in between, and may not send again soon.";
        measure "1000", two_hosts "--pair stream:8 --all barrier";
        adr 11;

        /// As GAP_NS, after a message that was sent inline.
        GAP_AFTER_CALL_NS: u64 = 16_000, "ns";
        why "To send it takes some microseconds, and more if the kernel is interrupted.";
        measure "2000", two_hosts "--pair stream:8 --all barrier";
        adr 11;

        /// If coalesced messages are older than this at the next poll, the program is taken to have been
        /// away.
        AWAY_NS: u64 = 100_000, "ns";
        why "A program that waits for an answer polls within a few microseconds after its series; one that \
             comes later has computed, and its messages should not have waited.";
        measure "1000", two_hosts "--pair stream:8 --all barrier";
        adr 11;

        /// No message waits for longer than this while others follow.
        AGE_MAX_NS: u64 = 10_000, "ns";
        why "It bounds what coalescing adds to the latency of a message in an endless stream.";
        measure "1000", two_hosts "--pair stream:8 --all barrier";
        adr 11;

        /// For so long nothing is coalesced after messages were left behind for the first time.
        DISTRUST_MIN_NS: u64 = 1_000_000, "ns";
        why "A program that lost its processor in the middle of a series does not compute after its series, \
             and soon coalesces again.";
        measure "100000000", two_hosts "--pair stream:8 --all barrier";
        adr 11;

        /// For so long nothing is coalesced after messages were left behind many times; each time it is twice
        /// as long as the time before.
        DISTRUST_MAX_NS: u64 = 100_000_000, "ns";
        why "A program that computes after each series is held up for some 0.1 ms in 100 ms at most.";
        measure "1000000", two_hosts "--pair stream:8 --all barrier";
        adr 11;

        /// After so many series of which nothing was left behind the time of distrust is halved.
        KEPT: u32 = 64, "series";
        why "A program that leaves messages behind more often than that computes after its series; one that \
             does so less often has lost its processor.";
        measure "100000", two_hosts "--pair stream:8 --all barrier";
        adr 11;

        /// No more messages than this wait in the packet layer to share a packet.
        QUEUED_MAX: u64 = 64, "messages";
        why "If packets cannot leave, because the window is full, messages take the general path, which has \
             flow control.";
        measure "16", two_hosts "--pair stream:8 --all barrier";
        adr 11;
    }

    /// Sends that are copied so that they complete before they are acknowledged.
    pub mod sends {
        /// Sends of at most this size that cannot complete at once are copied and reported as complete.
        COPY_MAX: u64 = 16 << 10, "bytes";
        why "For the program to wait for a round trip costs more than the copy.";
        measure "0", two_hosts "--pair pingpong:1k,8k,16k --pair stream:1k,8k --all barrier";

        /// Total size of such copies.
        COPY_TOTAL: u64 = 16 << 20, "bytes";
        why "Beyond it the program waits for its sends, as it would with any transport; otherwise a sender \
             that is faster than its receiver would fill its memory.";
        measure "65536", two_hosts "--pair stream:1k,8k --all barrier";

        /// Capacity of the largest bounce buffer that is kept for reuse. Bounce buffers hold such copies, and
        /// messages that arrive before their receive is posted.
        POOLED_BYTES: usize = 16 << 10, "bytes";
        why "It is the longest message that is copied; larger buffers are rare and would bind memory.";
        measure "0", two_hosts "--pair stream:1k,8k --pair pingpong:8k --all barrier";

        /// Number of bounce buffers that are kept for reuse.
        POOLED_COUNT: usize = 64, "buffers";
        why "A window of an MPI is often 64 messages. All of them together are 1 MiB.";
        measure "0", two_hosts "--pair stream:1k,8k --pair pingpong:8k --all barrier";
    }

    /// The sockets between hosts: how many packets at a time, and how often they are asked.
    pub mod sockets {
        /// Packets that are taken from one raw lane, or handed to all sockets, before anything else gets its
        /// turn.
        PACKETS_MAX: usize = 128, "packets";
        why "A stream must not keep completions and acknowledgements waiting; batches this long hide the \
             cost of a turn.";
        gain "16 to 44 packets at a time with a poll for arrivals between them: all to all up to 1.04 x, 4 \
              MiB 0.84 to 0.99 x (docs/results/message-steps.md)";
        measure "32", two_hosts "--pair pingpong:64k,4M --pair stream:64k,4M --all alltoall:64k";

        /// Datagrams that are taken from one socket before what follows from them is done.
        DATAGRAMS_MAX: usize = 32, "datagrams";
        why "An answer that lets the peer go on should not wait until the rest of a long message has been \
             taken in.";
        measure "128", two_hosts "--pair pingpong:64k,4M --pair stream:64k --all alltoall:64k";

        /// Time between two polls of the UDP sockets while messages arrive otherwise (by raw lane or shared
        /// memory).
        PAUSE_NS: u64 = 4_000, "ns";
        why "A poll of the sockets is a system call, during which a message that arrives otherwise waits.";
        gain "8 B between hosts 1.05 x (1.04 to 1.06), barrier of 2 1.07 x (1.06 to 1.09); again 1.04 and \
              1.07 x \
              (docs/results/constants.md)";
        measure "0", two_hosts "--pair pingpong:8 --all barrier";

        /// Longest such time, where all peers are on this host: there it doubles with each poll in vain.
        PAUSE_MAX_NS: u64 = 16_000, "ns";
        why "Where all peers are on this host datagrams are rare.";
        gain "8 B inside a host: Intel MPI 0.171 to 0.147 us, MPICH 1.024 to 0.961 us, medians of six turns \
              (docs/results/message-steps.md)";
        measure "4000", one_host "--pair pingpong:8 --pair stream:8 --all barrier";

        /// So much longer the UDP sockets may be left alone by a poll that has found a message elsewhere.
        SERVED_EXTRA_NS: u64 = 16_000, "ns";
        why "The program waits for that message, and a system call would delay it.";
        gain "Barrier of 2 between hosts 1.03 x (1.01 to 1.06); again 1.02 x \
              (docs/results/constants.md)";
        measure "0", one_host "--pair pingpong:8 --pair stream:8 --all barrier";

        /// A socket is hot from this level on: it is not watched by epoll(7) but asked at every poll. A
        /// packet raises the level by one, a poll that finds none lowers it by one.
        HOT: u32 = 64, "packets";
        why "To be watched costs a socket something for each datagram that arrives or leaves, which matters \
             for streams alone.";
        gain "Watching the sending socket took 4 % of a sender's time (docs/results/message-steps.md)";
        measure "4294967295", two_hosts "--pair pingpong:64k,4M --pair stream:64k,4M --all barrier";

        /// The level of a socket goes no higher than this.
        HOTTEST: u32 = 128, "packets";
        why "So many polls in vain after a stream the socket is asked in vain, a system call each.";
        measure "4096", two_hosts "--pair pingpong:8,64k --pair stream:64k --all barrier";

        /// While a socket is hot, the watched ones are asked for in one of so many polls.
        WATCHED_EVERY: u32 = 8, "polls";
        why "The stream is what most polls are for; a datagram at another socket waits for some \
             microseconds.";
        measure "1", two_hosts "--pair stream:64k,4M --all barrier";
    }

    /// Raw lanes: Ethernet frames through packet sockets.
    pub mod raw_lanes {
        /// Memory for the receive rings of one host, divided among its processors and NICs, in MiB. The
        /// variable TASUKI_RINGS overrides it.
        HOST_MIB: u32 = 64, "MiB";
        why "The memory is locked. It is 1 MiB for each of 64 processors with a NIC.";
        measure "1", two_hosts "--pair stream:8,1k,8k --pair pingpong:8k --all barrier";

        /// Largest receive ring of a lane.
        RING_MAX: u64 = 1 << 20, "bytes";
        why "Streams go over UDP, so more is not needed, and the kernel clears a ring when it is opened, \
             which takes up to a millisecond per MiB.";
        gain "Clearing 2 MiB took 2.5 ms on a virtual machine, 8 % of what 64 ranks took longer to start \
              than over TCP (docs/results/startup.md)";
        measure "131072", two_hosts "--pair stream:8,1k,8k --pair pingpong:8k --all barrier";

        /// Frames that can wait for the kernel, at most.
        FRAMES_MAX: usize = 256, "frames";
        why "It is twice what a turn hands over.";
        measure "16", two_hosts "--pair stream:8,1k,8k --all barrier";

        /// Frames in one sendmmsg, at most.
        SENT_MAX: usize = 64, "frames";
        why "A system call is then a small part of what they cost.";
        measure "1", two_hosts "--pair stream:8,1k,8k --all barrier";

        /// After so many flushes in a row that found the NIC's queue full the frames that wait are dropped.
        STUCK: u32 = 64, "flushes";
        why "With the queueing discipline bypassed a cable that is down looks as a queue that is full.";
        measure "1000000000", bound "frames for a cable that is down stay queued, and no others are sent \
                                     there";

        /// Size of the send buffer to ask for.
        SEND_BUFFER: u32 = 4 << 20, "bytes";
        why "A frame counts until the NIC has sent it; so many bytes are some milliseconds at 10 Gbit/s.";
        measure "65536", two_hosts "--pair stream:8,1k,8k --all barrier";
    }

    /// Prefetch: bytes of a long message are fetched into the cache before they are copied into packets.
    pub mod prefetch {
        /// A copy into a packet that is shorter than this is not part of a long message.
        LENGTH_MIN: usize = 1000, "bytes";
        why "A packet of a long message is nearly as long as the MTU, and behind a short copy nothing \
             follows that is worth fetching.";
        measure "1000000", bench "--shape full:2 --unshaped --offloads --mpi mpich-5.0 --pair \
                                  pingpong:64k,4M --pair stream:64k,4M --all barrier";

        /// Packets between the one into which bytes are copied and the one whose bytes are fetched.
        PACKETS_AHEAD: usize = 3, "packets";
        why "When memory is read in one go the processor fetches ahead by itself; here the reading stops \
             after each packet. Three packets are about the time that memory takes to answer.";
        gain "Reading the program's memory took 13 % of a sender's time, and 1 % with three packets ahead \
              (docs/results/message-steps.md)";
        measure "0", bench "--shape full:2 --unshaped --offloads --mpi mpich-5.0 --pair pingpong:64k,4M \
                            --pair stream:64k,4M --all barrier";
    }

    /// The engine's turns.
    pub mod engine {
        /// Rounds of settling in one call: each does what follows from the round before (sending makes
        /// releases, releases make completions).
        SETTLE_ROUNDS: u32 = 8, "rounds";
        why "Others must get their turn, and chains of causes are seldom longer.";
        measure "1", two_hosts "--pair pingpong:8,64k --pair stream:64k,4M --all barrier";

        /// A program that posts a long message makes progress if it has made none for this time.
        POSTING_NS: u64 = 200_000, "ns";
        why "Otherwise the helper thread takes a program that posts for a millisecond for one that computes, \
             and steps in, which takes the lock from it.";
        measure "1000000000", two_hosts "--pair stream:64k --all barrier";

        /// Ports that are tried until one is free on the identity address and all NICs at once.
        PORT_TRIES: usize = 32, "ports";
        why "The kernel proposes a free port of the first address; that it is taken on another is rare, and \
             32 times in a row means that ports have run out.";
        measure "1", bound "an endpoint fails to open where the port that the kernel proposes is taken on \
                            another NIC";
    }
}
