//! What carries messages: files of shared memory, datagrams, and the broker of raw lanes.

tuning! {
    /// Segments: the files of shared memory that hold the rings of an endpoint.
    pub mod segments {
        /// Visits in vain after which a ring is left alone until its sender rings the doorbell.
        IDLE_VISITS_MAX: u32 = 4096, "visits";
        why "Looking costs about a nanosecond; an armed doorbell costs its sender a contended cache line per \
             message.";
        measure "1", one_host "--pair pingpong:8 --pair stream:8 --all barrier";

        /// How often a file that was just made is looked at because somebody sweeps it away before it is
        /// locked.
        SWEPT_MAX: usize = 5000, "looks";
        why "With the pauses between them they take five seconds, longer than a sweeper stays off its \
             processor.";
        measure "0", test "-p tasuki-ring --test sweep";

        /// The time between two such looks.
        SWEPT_PAUSE: Duration = Duration::from_millis(1), "ns";
        why "A sweeper needs microseconds, unless it is off its processor.";
        measure "0", bound "a maker looks SWEPT_MAX times within milliseconds and gives up while a sweeper \
                            that is off its processor still holds the file";

        /// Departures that are kept, at most, until the program asks for them.
        DEPARTURES_MAX: usize = 8192, "departures";
        why "A segment has at most 4,096 senders, and each leaves once before its place is given on.";
        measure "1", bound "the oldest departure is forgotten, and its sender's death is noticed by the \
                            liveness rounds alone";
    }

    /// Statistics pages: what other programs read of an endpoint.
    pub mod pages {
        /// Size of the largest page that is read.
        BYTES_MAX: usize = 4 << 20, "bytes";
        why "It is six times what an endpoint makes; a file may say any size of itself.";
        measure "1000000000000", test "-p tasuki-ring --test strangers pages_larger_than";

        /// Records of a page that are read again and again, at most, because they are being written.
        TORN_MAX: u64 = 64, "records";
        why "No writer is at more of them at the same time, so what a page with more of them says is not \
             true.";
        measure "1000000000000", bound "a page whose every record claims to be under way takes its reader \
                                        TRIES_MAX reads for each";

        /// How often such a record is read anew, at most.
        TRIES_MAX: usize = 1000, "reads";
        why "Writing takes some tens of nanoseconds, unless the writer is off its processor.";
        measure "1", bound "records that are just being written are missing in what other programs read";
    }

    /// Datagrams: UDP between hosts.
    pub mod datagrams {
        /// Bytes of packets that can wait for the kernel, at most.
        WAITING_BYTES: usize = 1 << 20, "bytes";
        why "It is more than the 128 packets of a turn, unless these are of 9000 bytes; what does not fit \
             stays with the packet layer.";
        measure "10000", test "-p tasuki-link --test namespace a_full_send_buffer";

        /// Batches that can wait for the kernel, at most; each has at least one packet.
        WAITING_BATCHES: usize = 1024, "batches";
        why "A megabyte of packets of an Ethernet's usual MTU makes fewer, even if none can be joined.";
        measure "1", test "-p tasuki-link --test loopback different_packets_share_a_system_call";

        /// Batches in one sendmmsg, at most.
        SENT_MAX: usize = 64, "batches";
        why "A system call is then a small part of what they cost; the kernel takes up to 1,024.";
        measure "1", test "-p tasuki-link --test loopback different_packets_share_a_system_call";

        /// Datagrams in one recvmmsg, at most.
        RECEIVED_MAX: usize = 16, "datagrams";
        why "Each has a buffer of up to 66 KiB, which should stay in the processor's cache; where the kernel \
             joins datagrams, one is up to 64 packets.";
        measure "1", bench "--shape full:2 --unshaped --mpi mpich-5.0 --pair stream:64k,4M --all \
                            alltoall:64k";

        /// Bytes of a buffer if the kernel joins datagrams: those of the largest one, and some cache lines.
        JOINED_BYTES: usize = (64 << 10) + 2112, "bytes";
        why "Buffers a power of two apart would evict each other from the cache.";
        measure "65536", bench "--shape full:2 --unshaped --offloads --mpi mpich-5.0 --pair \
                                pingpong:64k,4M --pair stream:64k,4M --all barrier";

        /// Bytes of a buffer if the kernel joins nothing: more than any Ethernet's MTU, and some cache lines.
        PLAIN_BYTES: usize = (16 << 10) + 2112, "bytes";
        why "Buffers a power of two apart would evict each other from the cache.";
        measure "16384", two_hosts "--pair pingpong:64k,4M --pair stream:64k,4M --all barrier";

        /// A peer sends a stream, for which a socket of its own is opened, if this many more datagrams have
        /// come from it than from all others together.
        STREAM: u32 = 256, "datagrams";
        why "To open a socket takes some microseconds, and another peer may send more soon; 256 are less \
             than half a megabyte.";
        measure "4000", test "-p tasuki-link --test follower";

        /// While packets come by that socket, one in so many calls asks the first socket as well.
        FIRST_EVERY: u32 = 8, "calls";
        why "The stream is what most calls are for; a datagram of another peer waits for some microseconds.";
        measure "1000000", test "-p tasuki-link --test follower a_stream_does_not_hide_others";

        /// How often a send or receive is tried again after an error that may be an old one.
        OLD_ERRORS_MAX: u32 = 4, "errors";
        why "The kernel reports an ICMP error once, at the next call whatever that is, also if it is for \
             another address.";
        measure "0", test "-p tasuki-link --test loopback a_closed_port_is_a_refusal";

        /// Refusals of this host that are kept, at most, until somebody asks for them.
        OWN_REFUSALS_MAX: usize = 64, "refusals";
        why "More of them say nothing new.";
        measure "0", test "-p tasuki-link --test namespace no_route_is_a_refusal_of_our_own";
    }

    /// The broker, which opens raw lanes for programs without privileges.
    pub mod broker {
        /// Pause before connecting again to a broker whose queue of connections is full.
        AGAIN: Duration = Duration::from_millis(2), "ns";
        why "To open a lane takes the broker about as long.";
        measure "100000000", bench "--shape star:16 --unshaped --mpi openmpi-4.1 --all barrier";

        /// Time that a program that starts waits for the broker at most, for all lanes together.
        TIMEOUT: Duration = Duration::from_secs(2), "ns";
        why "An absent broker costs nothing; this is for one that is there and does not answer. At the first \
             lane of a host it may have to be started.";
        measure "0", test "-p tasuki-broker --test clients";

        /// As TIMEOUT, for a background thread, for which nothing waits.
        TIMEOUT_IN_BACKGROUND: Duration = Duration::from_secs(30), "ns";
        why "A slow host takes seconds to start the broker, and a program that gets no lane then has none \
             to its end.";
        measure "2000000000", bound "the program has no raw lanes to its end, and sends all in datagrams";
    }
}
