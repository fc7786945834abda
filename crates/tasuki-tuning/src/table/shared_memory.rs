//! Messages inside a host.

tuning! {
    /// The carrier for messages inside a host: rings in shared memory.
    pub mod shm {
        /// Records that one poll takes out of the rings of all peers before anything else gets its turn.
        RECORDS_MAX: usize = 128, "records";
        why "A peer that never stops writing must not keep the sockets and the program's own sends waiting; \
             a turn is long enough that its overhead vanishes.";
        measure "8", one_host "--pair stream:8,1k --all barrier";

        /// Messages up to this length go through the ring whole, if credit allows; longer ones are fetched
        /// out of the sender's memory.
        WHOLE_MAX: u64 = 32 << 10, "bytes";
        why "Both ends copy, one behind the other, and nobody asks; from some length on one copy by the \
             kernel is cheaper than two.";
        gain "Open MPI 5, best of three: all-reduce of 64 KiB 15.9 us instead of 20.3 with 16 KiB, ping-pong \
              of 32 KiB 5.1 instead of 5.4; with 64 KiB a ping-pong of 64 KiB takes 9.7 us instead of 7.6 \
              (docs/results/messages.md)";
        measure "16384", one_host "--pair pingpong:24k,32k --pair stream:24k,32k --all allreduce:64k";

        /// Copies are made in pieces of at most so much.
        COPY_PIECE: usize = 2 << 10, "bytes";
        why "From 2 to 8 KiB on the C library copies by one instruction (rep movsb), which on AMD's Zen 3 \
             and Zen 4 takes fifteen times as long if the addresses agree in their lowest twelve bits but \
             for less than a cache line; and bytes in a ring lie 24 to 72 bytes behind a page's beginning.";
        measure "1000000", one_host "--pair pingpong:4k,8k,16k --pair stream:4k,16k --all barrier";

        /// Size of the buffer through which the kernel copies between two processes, where the destination's
        /// address is beyond the source's by less than 32 bytes in the lowest twelve bits of both.
        AROUND_PIECE: usize = 32 << 10, "bytes";
        why "The kernel copies by one instruction (rep movsb), which is slow there: 64 KiB took 38 us \
             instead of 8 on a Zen 5, and take 11 through such a buffer (14 with 16 KiB, 10 with 64 KiB, \
             which would be much on a stack).";
        measure "16384", one_host "--pair pingpong:48k,64k,96k --all barrier";

        /// Most payload in one record.
        RECORD_PAYLOAD_MAX: usize = 8 << 10, "bytes";
        why "Several records fit into a ring, so the receiver can copy one while the sender fills the next.";
        measure "32768", one_host "--pair pingpong:8k,16k --pair stream:16k --all barrier";
    }

    /// Dual copy: both ends of a long message inside a host copy it at the same time.
    pub mod dual_copy {
        /// Shorter messages are copied by the receiver alone.
        LENGTH_MIN: u64 = 128 << 10, "bytes";
        why "Two system calls and a record that another processor reads cost more than the sender's help \
             brings to a short message.";
        gain "256 KiB 1.49 x (1.32 to 1.52), 1 MiB 1.59 x, 4 MiB 2.00 x as fast as without dual copy, \
              measured again 1.27 (1.00 to 1.37), 1.45 (1.02 to 1.52) and 1.79 x (1.01 to 1.96); with \
              64 KiB as the limit a ping-pong of 64 KiB took 0.89 to 1.00 x of libfabric's shm, and all to \
              all was a fifth slower (docs/results/message-steps.md)";
        measure "1000000000", one_host "--pair pingpong:64k,256k,1M,4M --pair stream:1M,4M --all barrier";

        /// Time for which the receiver, having done its own part, waits for the sender's last part before it
        /// turns to something else.
        SENDER_WAIT_NS: u64 = 25_000, "ns";
        why "So long the copy of a sender's largest part may take. While a copy is under way the next \
             message of that sender cannot be shared.";
        gain "Without the wait all messages of a window but the first are copied by the receiver alone: \
              0.85 to 1.13 x instead of 1.45 to 1.79 x of the speed without dual copy \
              (docs/results/message-steps.md)";
        measure "0", one_host "--pair pingpong:1M,4M --pair stream:1M,4M --all barrier";

        /// With more sends than this under way a dual copy is neither begun nor served.
        SENDS_MAX: usize = 1024, "sends";
        why "The sends are searched for the one that is meant, which would take longer than the copy.";
        gain "Windowed 1 MiB 1.38 x (1.32 to 1.55), 4 MiB 1.57 x (1.45 to 1.74) of the build that begins \
              none while there is a send; again 1.26 and 1.57 x \
              (docs/results/constants.md)";
        measure "0", one_host "--pair stream:1M,4M --all barrier";

        /// One read of a peer's memory copies at most so much.
        READ_MAX: usize = 64 << 20, "bytes";
        why "The kernel's lists of pieces take at least so much in one call, and a system call is nothing \
             beside such a copy.";
        gain "Ping-pong of 1 MiB 1.06 x (1.06 to 1.08), 4 MiB 1.21 x (1.20 to 1.22); again 1.04 and 1.19 x \
              (docs/results/constants.md)";
        measure "65536", one_host "--pair pingpong:64k,1M,4M --all barrier";

        /// Smallest part of a copy, but for the last one, in units of 4 KiB.
        UNITS_MIN: u32 = 8, "units";
        why "A call of the kernel costs as much as the copy of some units.";
        measure "1", one_host "--pair pingpong:256k,1M,4M --pair stream:1M,4M --all barrier";

        /// Largest part that the sender takes.
        UNITS_MAX: u32 = 64, "units";
        why "The receiver has to wait for it, and whatever else comes to the sender has to wait as well.";
        measure "1024", one_host "--pair pingpong:256k,1M,4M --pair stream:1M,4M --all barrier";
    }
}
