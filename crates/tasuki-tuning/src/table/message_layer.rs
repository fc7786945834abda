//! The message layer: credit, grants, matching.

tuning! {
    /// Credit: bytes that a peer may send unasked.
    pub mod credit {
        /// Payload is charged in multiples of this. Both ends must have the same value.
        GRANULE: u64 = 64, "bytes";
        why "It is a cache line, and about what a small slab of buffers loses to rounding.";
        measure "1024", test "-p tasuki-msg --lib config";

        /// Charge for the envelope of a message. Both ends must have the same value.
        ENVELOPE: u64 = 1024, "bytes";
        why "It is more than a message's record and its places in the match lists cost at the receiver, so \
             messages that were sent against credit never take more memory than the pool, even if they are \
             empty.";
        gain "An envelope takes about 800 bytes with four kinds of wildcard in use and 50,000 tags \
              (docs/internals/message-layer.md)";
        measure "64", test "-p tasuki-msg --test allocation";

        /// Credit that two endpoints have at each other before any frame has passed. Both ends must have the
        /// same value.
        INITIAL: u64 = 4096, "bytes";
        why "It is enough for the first short messages of a conversation (one of 3 KiB, or three short \
             ones), which otherwise would have to be requested and granted, a turn of a processor each.";
        gain "64 ranks of Open MPI on two cores: they met within 0.95 s, before 1.05 s, over TCP 0.89 s \
              (docs/results/startup.md)";
        measure "0", bench "--shape star:16 --unshaped --mpi openmpi-4.1 --all alltoall:8 --pair pingpong:8";

        /// Memory for messages for which no receive is posted yet, in MiB. The variable TASUKI_POOL overrides
        /// it.
        POOL_MIB: u32 = 32, "MiB";
        why "It is 512 KiB for each of 64 peers, and little beside a program's own memory.";
        measure "1", two_hosts "--pair stream:1k,8k --pair pingpong:8k --all barrier";

        /// Most of that memory that one peer may hold.
        PEER_MAX: u64 = 4 << 20, "bytes";
        why "It is more than a peer sends in one round trip at 25 Gbit/s; more would only move memory from \
             the sender to the receiver.";
        measure "65536", two_hosts "--pair stream:1k,8k --all barrier";

        /// A peer's share is not reduced below this for the sake of peers that may never appear.
        SHARE_MIN: u64 = 512 << 10, "bytes";
        why "Most programs of many ranks talk to few peers.";
        measure "4096", bench "--shape star:16 --unshaped --mpi openmpi-4.1 --all alltoall:8,1k --pair \
                               pingpong:8";

        /// More credit is told when a peer lacks at least one part in this many of its share.
        RETURN_SHARE: u64 = 4, "parts";
        why "Small amounts of credit would cost a frame for each message; a peer that has three quarters \
             left does not run dry.";
        measure "1", two_hosts "--pair stream:1k,8k --all barrier";
    }

    /// Grants of the adaptive controller, which grants at the rate at which granted bytes arrive.
    pub mod grants {
        /// Messages up to this length are sent whole without a grant, if credit allows.
        EAGER_MAX: u64 = 16 << 10, "bytes";
        why "A grant takes a round trip, which is long beside the time of a short message; all senders of a \
             receiver may send so much at the same time, and a switch's queue must hold it.";
        measure "4096", two_hosts "--pair pingpong:8k,16k --pair stream:8k,16k --all barrier";

        /// So much of a longer message is sent without a grant: the ATM paper's B.
        UNSCHEDULED: u64 = 12 << 10, "bytes";
        why "A switch's queue must hold as much from every sender at the same time; it covers the round \
             trip of the first grant at 1 Gbit/s.";
        gain "With 16 KiB instead, all to all of 16 hosts in simulation 87.7 to 94.3 % of what the cables \
              carry in 40 seeds, with 12 KiB 92.2 to 93.7 % (docs/results/grants.md)";
        measure "16384", simulation "-p tasuki-sim --example congestion -- only=1 traffic=1 seeds=10";

        /// Smallest grant.
        QUANTUM_MIN: u64 = 8 << 10, "bytes";
        why "Each grant costs a frame, and its data a batch of packets.";
        gain "Grants of 4 KiB: no gain recorded (docs/results/grants.md)";
        measure "4096", simulation "-p tasuki-sim --example congestion -- only=1 seeds=3";

        /// Largest grant.
        QUANTUM_MAX: u64 = 256 << 10, "bytes";
        why "On fast networks a grant must not cost more than a small part of its data; more than this \
             gains nothing.";
        measure "16384", two_hosts "--pair pingpong:1M,4M --pair stream:1M,4M --all barrier";

        /// Smallest window of granted bytes of one sender, and the window at the beginning; half of it if
        /// there are several senders.
        WINDOW_MIN: u64 = 32 << 10, "bytes";
        why "A receiver with a slow processor takes bytes in bursts, and a smaller window runs dry between \
             them.";
        gain "With 16 KiB the p99 of 64 B beside 16 senders is 208 us instead of 370, but a receiver with \
              half a processor gets 93.5 % of what it can take of messages of 500 KB, not 95 % \
              (docs/results/grants.md)";
        measure "16384", simulation "-p tasuki-sim --example congestion -- only=1 seeds=3";

        /// Largest window of granted bytes.
        WINDOW_MAX: u64 = 4 << 20, "bytes";
        why "It is more than one millisecond at 25 Gbit/s.";
        measure "262144", two_hosts "--pair pingpong:1M,4M --pair stream:1M,4M --all barrier";

        /// The window grows while less than this waits in queues.
        QUEUE_LOW: u64 = 12 << 10, "bytes";
        why "Eight full packets in the queue keep a cable busy between two grants.";
        measure "24576", simulation "-p tasuki-sim --example congestion -- only=1 seeds=3";

        /// The window shrinks while more than this waits in queues.
        QUEUE_HIGH: u64 = 32 << 10, "bytes";
        why "It is half of what the smallest switches hold for a port, and a short message waits for so \
             much.";
        measure "65536", simulation "-p tasuki-sim --example congestion -- only=1 seeds=3";

        /// QUEUE_HIGH as a time at the measured rate; half of it for QUEUE_LOW. The larger bound counts,
        /// bytes or time.
        QUEUE_NS: u64 = 200_000, "ns";
        why "On fast networks 32 KiB pass within some microseconds, less than processors wait for each \
             other.";
        measure "50000", two_hosts "--pair pingpong:1M,4M --pair stream:1M,4M --all barrier";

        /// A single sender may have a queue that is so many times as long in time.
        LONE_SENDER_FACTOR: u64 = 5, "times";
        why "On fast hosts processors wait for each other longer than networks do, and no other sender \
             waits behind a single one.";
        measure "1", two_hosts "--pair pingpong:1M,4M --pair stream:1M,4M --all barrier";

        /// A sender's share of the window is granted in so many parts.
        PER_SHARE: u64 = 8, "grants";
        why "Each part arrives before the next is granted, so a sender does not run dry between them.";
        measure "1", two_hosts "--pair pingpong:1M,4M --pair stream:1M,4M --all barrier";

        /// The shortest time of a grant is forgotten after this.
        SHORTEST_AGE_NS: u64 = 10_000_000_000, "ns";
        why "Routes change. It is as long as the packet layer keeps the smallest round trip.";
        measure "100000000", simulation "-p tasuki-sim --example congestion -- only=1 seeds=3";

        /// The highest rate is forgotten after this.
        BEST_AGE_NS: u64 = 10_000_000_000, "ns";
        why "What a receiver can take changes with what else its host does.";
        measure "100000000", simulation "-p tasuki-sim --example congestion -- only=1 seeds=3";

        /// If senders take turns, and the rate is below the highest by more than one part in this many, the
        /// senders are taken to be busy with other receivers.
        BEST_SLACK: u64 = 32, "parts";
        why "Measured rates scatter by a few percent.";
        measure "4", simulation "-p tasuki-sim --example congestion -- only=1 traffic=1 seeds=3";

        /// Measurements for which senders then do not take turns.
        NO_TURNS_SAMPLES: u32 = 128, "measurements";
        why "Long enough to see whether more arrives, and short enough that a queue which forms is gone \
             soon.";
        measure "0", simulation "-p tasuki-sim --example congestion -- only=1 traffic=1 seeds=3";

        /// Measurements for which senders do not take turns while the highest rate is unknown.
        NO_TURNS_AT_START: u32 = 4, "measurements";
        why "If they took turns from the beginning, the rate that this gives would be taken for the highest.";
        measure "0", simulation "-p tasuki-sim --example congestion -- only=1 traffic=1 seeds=3";

        /// Shortest time without arrivals after which a sender that waits for its turn gets a grant anyway
        /// (it is four times the shortest time of a grant, within bounds).
        TURN_WAIT_MIN: u64 = 4_000_000, "ns";
        why "A sender that has a grant may be kept from its processor for some milliseconds.";
        measure "100000", simulation "-p tasuki-sim --example congestion -- only=1 traffic=1 seeds=3";

        /// Longest such time.
        TURN_WAIT_MAX: u64 = 20_000_000, "ns";
        why "No message may hang on a process that is stopped.";
        measure "1000000000000", test "-p tasuki-msg --lib adaptive";

        /// Bytes that were written off may arrive after all: of this many arriving bytes one counts as such.
        WRITE_OFF_SHARE: u64 = 8, "bytes";
        why "Which bytes arrive is not known; if all of them counted, a stopped sender's grants would be \
             forgotten at once.";
        measure "1", test "-p tasuki-msg --lib adaptive";
    }

    /// The fixed window (TASUKI_RATE=window), and senders that keep to the ATM paper's rates
    /// (TASUKI_RATE=static).
    pub mod fixed_rate {
        /// Messages up to this length are sent whole without a grant.
        EAGER_MAX: u64 = 16 << 10, "bytes";
        why "As for the adaptive controller: a grant takes a round trip.";
        measure "4096", simulation "-p tasuki-sim --example receivers";

        /// So much of a longer message is sent without a grant.
        UNSCHEDULED: u64 = 64 << 10, "bytes";
        why "It covers the round trip of the first grant on fast networks; nothing protects a switch's \
             queue in this mode.";
        measure "12288", simulation "-p tasuki-sim --example congestion -- seeds=1";

        /// Granted bytes that may be under way from all senders together.
        WINDOW: u64 = 4 << 20, "bytes";
        why "About rate times round trip of the fastest networks.";
        gain "Beside adaptive grants, 16 senders to one in simulation: p99 of 64 B 8150 us instead of 370, \
              2.77 % sent again instead of none (docs/results/grants.md)";
        measure "262144", simulation "-p tasuki-sim --example congestion -- seeds=1";

        /// Size of one grant.
        QUANTUM: u64 = 256 << 10, "bytes";
        why "Each grant costs a frame.";
        measure "16384", simulation "-p tasuki-sim --example congestion -- seeds=1";

        /// Smallest piece that a sender with a rate sends at once.
        PIECE_MIN: u64 = 1 << 10, "bytes";
        why "It is about a packet.";
        measure "1", test "-p tasuki-msg --lib pace";

        /// Largest piece that a sender with a rate sends at once.
        PIECE_MAX: u64 = 8 << 10, "bytes";
        why "Between two pieces the sender waits; a receiver's buffer must hold a piece beside what waits \
             in it.";
        measure "1048576", test "-p tasuki-msg --lib pace";

        /// A sender that was late catches up with one part in this many of the receiver's buffer at once.
        CATCH_UP: u64 = 16, "parts";
        why "So little does not overflow a buffer that is nearly full, and timers are late by more than \
             nothing.";
        measure "1", test "-p tasuki-rate --lib model";
    }

    /// Matching: finding the receive for a message.
    pub mod matching {
        /// Classes of receives (ignored bits, and whether the source matters) that are remembered, and thus
        /// list entries for each unexpected message. Beyond it a search is a plain walk.
        CLASSES_MAX: usize = 8, "classes";
        why "MPIs use three or four, and each costs a message about 100 bytes.";
        gain "With four classes an envelope takes about 800 bytes, with 50,000 tags \
              (docs/internals/message-layer.md)";
        measure "1", test "-p tasuki-msg --test suite probing_beside_a_full_queue";

        /// Empty match lists that are always kept.
        EMPTY_LISTS: usize = 64, "lists";
        why "A program that uses a few tags again and again then makes no list anew.";
        measure "0", bound "a program that takes turns among a few tags has its empty lists dropped, and \
                            made anew, all the time";

        /// Starts of messages that leave in a row while bytes of long messages wait.
        STARTS_PER_BULK: u32 = 16, "starts";
        why "Short messages go first, but a stream of them must not stop a long message for ever.";
        measure "4294967295", test "-p tasuki-msg --test suite";

        /// Keys of cancelled sends that may stay in the queue of a peer's sends, besides half of the queue.
        CANCELLED_MIN: usize = 16, "sends";
        why "To remove them goes through the whole queue, which cancelled sends must have paid for; and \
             they must not pile up in a program that cancels all that it posts.";
        measure "1000000", test "-p tasuki-msg --lib keys_of_cancelled_sends_do_not_pile_up";
    }
}
