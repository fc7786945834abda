//! The packet layer: the congestion window.

tuning! {
    /// Pacing: the congestion window of a path.
    pub mod pacing {
        /// Rate that is assumed of a path of unknown rate.
        DEFAULT_RATE: u64 = 125_000_000, "bytes per second";
        why "It is one gigabit per second, the most common cable; measurements replace it within some \
             rounds.";
        measure "12500000", bench "--shape full:2 --rate 100M --mpi mpich-5.0 --pair pingpong:64k,1M --pair \
                                   stream:64k,1M --all barrier";

        /// First window of a path of unknown rate, unless its floor is larger. That of a path of known rate
        /// is its floor.
        WINDOW_INITIAL: u64 = 64 << 10, "bytes";
        why "It is what the queue of a small switch holds for a port.";
        measure "1048576", bench "--shape full:2 --rate 1G --mpi mpich-5.0 --pair pingpong:64k,1M --pair \
                               stream:64k,1M --all barrier";

        /// Smallest window.
        WINDOW_MIN: u64 = 8 << 10, "bytes";
        why "Five full packets: enough to learn of losses by later acknowledgements.";
        measure "1500", test "-p tasuki-proto --lib window";

        /// Largest window. This times the number of rails bounds the bytes under way.
        WINDOW_MAX: u64 = 4 << 20, "bytes";
        why "It is more than a millisecond at 25 Gbit/s.";
        measure "65536", bench "--shape full:2 --unshaped --offloads --mpi mpich-5.0 --pair pingpong:1M,4M \
                                --pair stream:1M,4M --all barrier";

        /// The window grows while a path has less than this queued in the network.
        QUEUE_LOW: u64 = 12 << 10, "bytes";
        why "A path should never run dry between two acknowledgements.";
        measure "0", test "-p tasuki-proto --lib window";

        /// The window shrinks while a path has more than this queued in the network.
        QUEUE_HIGH: u64 = 28 << 10, "bytes";
        why "It is less than the queues of small switches hold (64 KiB per port and more).";
        measure "262144", test "-p tasuki-proto --lib window";

        /// QUEUE_HIGH as a time at the path's rate, and half of it for QUEUE_LOW; the larger bound counts,
        /// bytes or time.
        QUEUE_TIME: Duration = Duration::from_micros(200), "ns";
        why "On fast rails 28 KiB pass within some microseconds, less than a host's own delays.";
        measure "20000", bench "--shape full:2 --unshaped --offloads --mpi mpich-5.0 --pair pingpong:1M,4M \
                                --pair stream:1M,4M --all barrier";

        /// Delay alone does not bring the window below what passes in this time at the configured rate.
        FLOOR_NS: u64 = 1_500_000, "ns";
        why "A host that was busy delays packets as a queue does.";
        measure "0", test "-p tasuki-proto --lib window";

        /// Least such floor.
        FLOOR_MIN: u64 = 44 << 10, "bytes";
        why "Slow rails need some packets under way when a host is busy for a moment.";
        measure "0", test "-p tasuki-proto --lib window";

        /// Largest such floor.
        FLOOR_MAX: u64 = 512 << 10, "bytes";
        why "More than small switches hold would be lost.";
        measure "16777216", test "-p tasuki-proto --lib window";

        /// The floor of a path of unknown rate.
        FLOOR_UNKNOWN: u64 = 64 << 10, "bytes";
        why "It is what the queue of a small switch holds for a port.";
        measure "8192", test "-p tasuki-proto --lib window";

        /// After a round without loss the floor, which loss has lowered, rises by one part in this many.
        FLOOR_GROWTH: u64 = 64, "parts";
        why "Slowly, because what has made the losses may still be there.";
        measure "1", test "-p tasuki-proto --lib window";

        /// Fewest packets of a round.
        ROUND_PACKETS: u64 = 32, "packets";
        why "With fewer, a single loss would be a high rate of loss.";
        measure "1", test "-p tasuki-proto --lib window";

        /// Rounds in which the rate is taken up quickly; after them it falls slowly.
        TRUSTED_ROUNDS: u32 = 8, "rounds";
        why "A host that was busy for a moment does not make a slow path.";
        measure "1000000", test "-p tasuki-proto --lib window";

        /// When there is no queue the window grows by one part in this many each round (and doubles until the
        /// first queue is seen).
        GROWTH: u64 = 8, "parts";
        why "A window that is half of what it should be is right after six rounds, and one that is right \
             overshoots by less than QUEUE_HIGH.";
        measure "2", test "-p tasuki-proto --lib window";

        /// Fewest losses of a round that count.
        LOSSES_MIN: u64 = 3, "packets";
        why "A faulty cable loses single packets, which says nothing about queues.";
        measure "1", test "-p tasuki-proto --lib window";

        /// Loss counts if it is more than one packet in this many (2 %).
        LOSS_SHARE: u64 = 50, "packets";
        why "A faulty cable loses up to about so much, and making room does not help it.";
        gain "1 % loss at 1 Gbit/s: 99 % of what the cable carries, in simulation \
              (docs/internals/packet-layer.md)";
        measure "1000", test "-p tasuki-proto --lib window";

        /// Rounds of loss in a row that count even without a queue.
        LOSSY_ROUNDS: u32 = 3, "rounds";
        why "A short burst of loss costs no throughput; loss that stays may come from a queue that is not \
             seen.";
        measure "1", test "-p tasuki-proto --lib window";

        /// Fewest losses of a round that are a flood.
        FLOOD_LOSSES: u64 = 8, "packets";
        why "Fewer losses may be chance.";
        measure "1000000", test "-p tasuki-proto --lib window";

        /// Loss is a flood, which counts at once, if it is more than one packet in this many (20 %).
        FLOOD_SHARE: u64 = 5, "packets";
        why "No cable in use loses so much; a queue has overflowed.";
        measure "1", test "-p tasuki-proto --lib window";
    }
}
