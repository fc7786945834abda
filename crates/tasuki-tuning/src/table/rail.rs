//! The packet layer: rails and lanes.

tuning! {
    /// Rails: which of them carries data, and when they are probed.
    pub mod rails {
        /// Time-outs in a row after which a rail is down if another one answers.
        DEAD_AFTER: u32 = 3, "time-outs";
        why "Some milliseconds: a single time-out most often means that the peer's host was busy.";
        measure "1000000", test "-p tasuki-proto --test suite";

        /// Silence of all other rails after which the routed rail (31) carries data.
        LAST_RESORT_AFTER: Duration = Duration::from_millis(50), "ns";
        why "The routed rail may lead through relaying hosts; direct rails that are silent for so long are \
             not merely slow.";
        measure "3600000000000", test "-p tasuki-proto --test suite";

        /// Messages and other frames in both directions after which the other rails of a connection are
        /// probed.
        PROVE_AFTER: u64 = 16, "frames";
        why "Most pairs of a large program's ranks exchange no more than a few words, so probing all their \
             rails would be wasted.";
        gain "64 ranks that say a word to each other and end: 340 to 470 packets of a rank, with probes at \
              once and other things of earlier builds 820 to 1,000 (docs/results/startup.md)";
        measure "0", bench "--shape planes:8x2 --unshaped --mpi openmpi-4.1 --all alltoall:8 --all barrier \
                            --pair pingpong:8";

        /// First and shortest time between two probes of a rail; it doubles up to PROBE_MAX.
        PROBE_MIN: Duration = Duration::from_millis(10), "ns";
        why "Several round trips of a busy host.";
        measure "1000000000", test "-p tasuki-proto --test suite";

        /// Longest time between two probes of a rail that is down.
        PROBE_MAX: Duration = Duration::from_millis(500), "ns";
        why "A cable that is back is in use within half a second.";
        measure "600000000000", test "-p tasuki-proto --test suite bounds";

        /// A packet stays on the rail of the packet before it if another rail would deliver it earlier by
        /// less than this.
        STRIPE_SLACK: Duration = Duration::from_micros(20), "ns";
        why "Batches stay together, which the kernel takes and gives more cheaply.";
        measure "0", bench "--shape planes:2x2 --unshaped --offloads --mpi mpich-5.0 --pair pingpong:64k,1M \
                            --pair stream:64k,1M --all barrier";

        /// On a rail with a raw lane and a UDP lane, data goes over UDP if more than this waits.
        STREAM_FROM: u64 = 10 << 10, "bytes";
        why "The kernel takes and gives datagrams in batches (1.6 us each on all processors), raw frames \
             one by one (2.9 us), but a single raw frame is faster.";
        gain "Sending the unasked 12 KiB of a long message in datagrams: all to all of 64 KiB 9 %, \
              ping-pong 6 % faster; with 8 KiB the ping-pong of 8 KiB would take 1.3 times as long \
              (docs/results/message-steps.md)";
        measure "20480", two_hosts "--pair pingpong:8k,12k,64k --pair stream:8k --all alltoall:12k,64k";

        /// As STREAM_FROM, with TASUKI_PRIORITY.
        STREAM_FROM_PRIORITY: u64 = 3 << 10, "bytes";
        why "Frames with a priority must be few, or they wait for each other: grants, and messages of one \
             or two packets.";
        gain "With grants of 8 KiB in raw frames with a priority, too, 64 B beside 16 senders waited 0.36 \
              to 0.62 ms (p99) instead of 18 us, in simulation (decision 9)";
        measure "10240", simulation "-p tasuki-sim --example congestion -- only=1 short=2 seeds=3";
        adr 9;

        /// On rails of at most this rate everything goes over the raw lane.
        SLOW_MBPS: u32 = 200, "Mbit/s";
        why "Processors have time for single frames there, and their headers, 28 bytes shorter, save time \
             on the wire.";
        gain "At 100 Mbit/s IS S with Open MPI went from 0.96 to 0.98 x, Himeno from 0.98 to 1.00 x of TCP \
              (docs/internals/history.md)";
        measure "0", bench "--shape full:2 --rate 100M --mpi openmpi-4.1 --pair pingpong:64k,1M --pair \
                            stream:64k,1M --all barrier";

        /// Time-outs in a row on one lane after which the other lane of its rail takes over.
        LANE_SWITCH_PTOS: u32 = 2, "time-outs";
        why "Packets of one lane may pass those of the other in a switch's queue, so one time-out proves \
             little.";
        measure "1000000", test "-p tasuki-proto --test suite";

        /// Time-outs in a row after which the other rails are probed.
        PROVE_RAILS_PTOS: u32 = 2, "time-outs";
        why "A single one most often means that the peer waits for a processor.";
        measure "1000000", test "-p tasuki-proto --test suite";

        /// Long packets lost in a row after which a path is taken to pass only short ones.
        MTU_HOLE_LOSSES: u32 = 8, "packets";
        why "Its MTU has shrunk: chance and full queues do not choose long packets eight times in a row.";
        measure "1000000", test "-p tasuki-proto --test suite";

        /// Probes of full length without an answer before every second one is short.
        FULL_ATTEMPTS: u32 = 3, "probes";
        why "The rail may pass only short packets.";
        measure "1000000", test "-p tasuki-proto --test suite bounds";

        /// Probes that are remembered, so that a late answer is recognised.
        PROBES_KEPT: usize = 8, "probes";
        why "A reply may come after the next probe, if the route is long or the program polls rarely.";
        measure "1", test "-p tasuki-proto --test suite bounds";

        /// Shortest time after a probe before another is sent because the peer was heard.
        HURRY_AFTER: u64 = 5_000_000, "ns";
        why "The answer to the first may still come.";
        measure "0", test "-p tasuki-proto --test suite";

        /// A path's round trip is known after so many acknowledgements; until then it is taken to be as short
        /// as the shortest that is known.
        KNOWN_AFTER: u32 = 32, "acknowledgements";
        why "Each may have waited for a busy host; the smallest of several is the path's own. Each \
             acknowledges some packets, so that a slow path gets about one long message.";
        measure "1", test "-p tasuki-proto --test suite a_rail_that_was_slow";

        /// A path that has carried nothing for so long is no longer known.
        KNOWN_FOR: u64 = 1_000_000_000, "ns";
        why "If its samples were bad by chance it is tried again; a path that is slow indeed delays one \
             message a second.";
        measure "3600000000000", test "-p tasuki-proto --test suite a_rail_that_was_slow";

        /// Most replies to probes that one path owes at a time.
        REPLIES_MAX: usize = 4, "replies";
        why "An honest peer has no need for more probes at once; a flood of them must not fill memory.";
        measure "0", test "-p tasuki-proto --test suite";

        /// A padded greeting, which tests the MTU of its rail, should have been answered within this time;
        /// otherwise the rail is probed.
        GREETING_ANSWERED: Duration = Duration::from_millis(50), "ns";
        why "With more processes than processors an answer takes this long.";
        measure "3600000000000", test "-p tasuki-proto --test suite a_lost_greeting";
    }
}
