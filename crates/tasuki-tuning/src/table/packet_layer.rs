//! The packet layer: acknowledgements, loss, how packets are filled.

tuning! {
    /// Acknowledgements.
    pub mod ack {
        /// Longest time that an acknowledgement waits for a packet to ride on. The peer adds it to its
        /// time-outs.
        DELAY_MAX_US: u32 = 200, "us";
        why "A longer time saves packets when programs answer late, and keeps windows and send buffers full \
             for longer.";
        measure "20", two_hosts "--pair pingpong:8 --pair stream:1k --all barrier";

        /// So many full packets are acknowledged without waiting for a packet to ride on.
        EVERY: u32 = 2, "packets";
        why "As TCP and QUIC do: the sender's window moves on in small steps.";
        measure "16", two_hosts "--pair pingpong:64k,4M --pair stream:64k,4M --all barrier";

        /// As EVERY, for small packets.
        EVERY_SMALL: u32 = 8, "packets";
        why "The messages of a program that exchanges them to and fro acknowledge each other.";
        measure "2", two_hosts "--pair stream:8,512 --pair pingpong:8 --all barrier";

        /// Shortest time between two acknowledgements of full packets.
        SPACING: Duration = Duration::from_micros(20), "ns";
        why "On fast rails two packets take a few microseconds, and an acknowledgement costs both sides as \
             much as a packet.";
        gain "40 or 50 us instead: 0.98 to 1.04 x (docs/results/message-steps.md)";
        measure "0", bench "--shape full:2 --unshaped --offloads --mpi mpich-5.0 --pair pingpong:64k,4M \
                            --pair stream:64k,4M --all barrier";

        /// A packet of at least so many bytes counts as full.
        FULL_BYTES: u16 = 1000, "bytes";
        why "It is most of an Ethernet frame, so it is a part of a long message.";
        measure "65535", two_hosts "--pair pingpong:64k,4M --pair stream:64k,4M --all barrier";

        /// An unchanged run of packet numbers is reported in so many acknowledgements.
        REPORTS_MAX: u8 = 8, "acknowledgements";
        why "Even if most of them are lost, no packet is sent again in vain.";
        measure "1", test "-p tasuki-proto --lib received";

        /// Runs of packet numbers that are remembered per path; older numbers count as received.
        RUNS_MAX: usize = 128, "runs";
        why "Memory is bounded whatever the peer sends; it is twice what one acknowledgement holds.";
        measure "4", test "-p tasuki-proto --test suite";
    }

    /// Loss recovery.
    pub mod loss {
        /// Probe time-out before any round trip was measured; it doubles with every hello.
        PTO_INITIAL: Duration = Duration::from_millis(20), "ns";
        why "Much longer than a round trip of a LAN, so that a peer that is starting is not greeted twice.";
        measure "2000000", test "-p tasuki-proto --test suite bounds";

        /// Shortest probe time-out.
        PTO_MIN: Duration = Duration::from_millis(2), "ns";
        why "With a shorter one, hosts that were busy for a moment would look dead.";
        measure "200000", oversubscribed "--all barrier --all heat:4k --all alltoall:1k --pair pingpong:8";

        /// Longest probe time-out, however often it has doubled.
        PTO_MAX: Duration = Duration::from_millis(300), "ns";
        why "It bounds the time for which a healed network stays idle.";
        measure "60000000000", test "-p tasuki-proto --test suite bounds";

        /// A packet is lost when so many later ones have been acknowledged.
        PACKET_THRESHOLD: u64 = 3, "packets";
        why "RFC 9002, section 6.1.1: fewer would take reordering for loss.";
        measure "1", test "-p tasuki-proto --test suite bounds";

        /// Most reordering that loss detection tolerates after it was wrong: the threshold doubles up to
        /// this.
        THRESHOLD_MAX: u64 = 64, "packets";
        why "A packet that so many later ones have overtaken is lost in any case.";
        measure "3", test "-p tasuki-proto --test suite bounds";

        /// A packet is never declared lost by time alone sooner than this.
        GRANULARITY_NS: u64 = 100_000, "ns";
        why "Schedulers and interrupt delays reorder packets by as much.";
        measure "1000", test "-p tasuki-proto --test suite bounds";

        /// The smallest round trip is forgotten after this time.
        MIN_RTT_AGE: Duration = Duration::from_secs(10), "ns";
        why "Routes change; BBR forgets it after 10 s, too.";
        measure "100000000", test "-p tasuki-proto --test suite";

        /// Packets that are sent again at a time-out if no other rail answers.
        PTO_RESENDS: usize = 2, "packets";
        why "The peer's host may only be busy; RFC 9002, section 6.2.4, allows two probes.";
        measure "64", test "-p tasuki-proto --test suite";

        /// Positions that are sent again first after a time-out, the lowest ones.
        LOWEST_POSITIONS: u32 = 1200, "bytes";
        why "It is about a packet of data. A receiver whose memory is bounded takes the lowest missing \
             position if it refuses all others.";
        measure "0", test "-p tasuki-proto --test suite";

        /// A lost packet is remembered until so many packets after it are settled: acknowledged or lost.
        KEPT_LOST: u64 = 64, "packets";
        why "A late acknowledgement of one shows that its loss was spurious, and raises the threshold.";
        measure "0", test "-p tasuki-proto --test suite";
    }

    /// Packets: how they are filled, and what bounds the packet layer's memory.
    pub mod packets {
        /// A packet with less room than this left counts as full.
        ROOM_MIN: usize = 24, "bytes";
        why "No useful frame fits into less.";
        measure "0", two_hosts "--pair stream:8,64 --all barrier";

        /// Smallest piece of a long message that is cut off to fill the end of a packet.
        PIECE_MIN: usize = 128, "bytes";
        why "Each piece costs its own frame head and a record until it is acknowledged.";
        measure "1", two_hosts "--pair stream:1k,8k --all barrier";

        /// Longest packet whose checksum is computed here, with the processor's instruction for eight bytes;
        /// longer ones go to a library.
        CHECKSUM_SHORT_MAX: usize = 256, "bytes";
        why "The library multiplies with the widest instructions that the processor has, but takes as long \
             as a short packet before it begins.";
        measure "0", two_hosts "--pair pingpong:8,64 --all barrier";

        /// Frames of a packet that are kept from the check and need not be parsed twice.
        FRAMES_KEPT: usize = 2, "frames";
        why "Most packets have an acknowledgement and one other frame.";
        measure "1", two_hosts "--pair pingpong:8 --pair stream:8 --all barrier";

        /// Most bytes of data for which the message layer is asked at once.
        CHUNK: usize = 32 << 10, "bytes";
        why "Short messages pass between two such chunks, and the choice of a rail is taken anew.";
        measure "4096", two_hosts "--pair pingpong:64k,4M --pair stream:64k,4M --all barrier";

        /// Most bytes under way before the peer has answered the hello.
        HELLO_WINDOW: u64 = 16 << 10, "bytes";
        why "A peer that does not answer yet should not be flooded; it is enough for the first messages.";
        measure "1400", test "-p tasuki-proto --test suite bounds";

        /// Most frames of a connection without a complete acknowledgement.
        CHUNKS_MAX: usize = 4096, "frames";
        why "It bounds the sender's records, and with them the gaps that the receiver must remember.";
        measure "4", test "-p tasuki-proto --test suite";

        /// Most ranges of positions acknowledged out of order before no more is sent.
        ACKED_GAPS_MAX: usize = 2048, "ranges";
        why "It bounds the sender's set of acknowledged positions.";
        measure "1", test "-p tasuki-proto --test suite";

        /// Most gaps in the received positions of a connection (16 bytes of memory each).
        GAPS_MAX: usize = 8192, "gaps";
        why "Packets that would make more are refused, so a peer cannot make the set grow.";
        measure "2", test "-p tasuki-proto --test suite";

        /// Gaps beyond GAPS_MAX that a packet may make if it also brings the lowest missing position.
        GAPS_WITH_LOWEST: usize = 4096, "gaps";
        why "Such a packet lets the receiver go on, and must never be refused for what else it holds.";
        measure "0", test "-p tasuki-proto --test suite";

        /// Most connections of an endpoint; further hellos are refused.
        CONNECTIONS_MAX: usize = 65535, "connections";
        why "Names of connections have 16 bits for the place in the table.";
        measure "0", test "-p tasuki-proto --test suite";

        /// Ended connections that are remembered.
        ENDED_MAX: usize = 1024, "connections";
        why "A late hello must not revive one; after so many further ends its packets have left the network.";
        measure "0", test "-p tasuki-proto --test suite";
    }

    /// Peers that were given up.
    pub mod given_up {
        /// Connections that were given up and whose peers are still answered.
        KEPT_MAX: usize = 1024, "connections";
        why "Memory is bounded; peers that live have been told long before so many others were given up.";
        measure "1", test "-p tasuki-proto --test suite given_up";

        /// A peer that was given up is told so at most once in this time, whatever it sends.
        ANSWER_PAUSE_NS: u64 = 20_000_000, "ns";
        why "What it sends may come at the rate of its rails, and one answer is enough if it arrives.";
        measure "0", test "-p tasuki-proto --test suite given_up";

        /// A peer is told so often unasked, after pauses that double from the first probe time-out on.
        TOLD_MAX: u32 = 12, "packets";
        why "One that waits says nothing itself; the last time is after 80 s, when most troubles of networks \
             are over.";
        measure "1", test "-p tasuki-proto --test suite given_up";
    }
}
