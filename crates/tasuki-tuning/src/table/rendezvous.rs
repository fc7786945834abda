//! Long messages and one-sided transfers.

tuning! {
    /// Streams: long messages between hosts by TCP, where packets come fast and one by one.
    pub mod streams {
        /// Pieces of messages go by stream from this length on, or if the early part of their message is as
        /// long.
        PUSH_MIN: u64 = 6 << 10, "bytes";
        why "A short piece costs less in packets than two more calls to the kernel.";
        measure "16384", two_hosts "--offloads --pair pingpong:8k,16k --pair stream:8k,16k --all \
                                     allreduce:8k";
        adr 18;

        /// PUSH_MIN where the NIC does not cut TCP segments itself (tx-tcp-segmentation).
        PUSH_MIN_ALONE: u64 = 12 << 10, "bytes";
        why "There the kernel takes each segment through all of its layers, as it does a packet.";
        measure "6144", two_hosts "--pair pingpong:8k,16k --pair stream:8k,16k --all allreduce:8k";
        adr 18;

        /// Messages up to this length go whole without a grant, if credit allows; longer ones are asked for.
        WHOLE_MAX: u64 = 256 << 10, "bytes";
        why "To ask for bytes takes a round trip in which nothing is sent. TCP itself bounds what is under \
             way in the network, so that a switch's queue need not hold as much from every sender.";
        measure "16384", two_hosts "--pair pingpong:64k,256k --pair stream:64k,256k --all alltoall:64k";
        adr 18;

        /// Bytes that are kept before it is known where they belong.
        AHEAD_ROOM: usize = 64 << 10, "bytes";
        why "What comes before its receive is copied twice, in portions that stay in the processor's cache.";
        measure "8192", two_hosts "--pair stream:16k,64k --all barrier";
        adr 18;

        /// For so long after something has come by a stream the next message may begin in it (for half as
        /// long after something was sent); otherwise its beginning goes in a packet, which is found sooner.
        HOT_NS: u64 = 1_000_000, "ns";
        why "Within it the receiver looks at the stream each time that it looks at all sockets, which costs \
             a call to the kernel.";
        measure "0", two_hosts "--pair pingpong:16k,64k --pair stream:16k,64k --all barrier";
        adr 18;

        /// Longer messages begin in a packet: the receiver knows where the bytes belong when they come.
        STARTS_MAX: u64 = 32 << 10, "bytes";
        why "A packet costs one call more at either side, which matters less for a longer message.";
        measure "262144", two_hosts "--pair pingpong:64k --pair stream:64k --all barrier";
        adr 18;

        /// For so long after something has come by a stream every poll looks at it.
        BUSY_NS: u64 = 200_000, "ns";
        why "An answer is often under way. Some MPIs yield the processor after each poll, so that eight \
             polls take microseconds.";
        measure "0", two_hosts "--pair pingpong:16k,64k --all barrier";
        adr 18;

        /// Streams by which nothing is expected are looked at so often, in case that a beginning was late.
        LOOK_EVERY_NS: u64 = 1_000_000, "ns";
        why "A message that begins in a stream is late by more than half of HOT_NS only if TCP had to send \
             it again, which takes longer than this.";
        measure "200000000", bound "a message of which TCP had to send the beginning again is found up to a \
                                    fifth of a second late";
        adr 18;

        /// LOOK_EVERY_NS for each stream of an endpoint, so that many streams take no more time than one.
        LOOK_PAUSE_NS: u64 = 50_000, "ns";
        why "To look at a stream takes about 0.2 us: 0.4 % of the time.";
        measure "0", bench "--shape star:16 --unshaped --mpi openmpi-4.1 --all alltoall:64k --pair \
                            pingpong:8";
        adr 18;

        /// Records that are handed to the kernel in one call.
        RECORDS_MAX: usize = 16, "records";
        why "A call costs as much as a few records of the shortest kind; more would only wait in it.";
        measure "1", two_hosts "--pair stream:8k,16k --all barrier";
        adr 18;

        /// Pieces of memory that are handed to the kernel in one call.
        PIECES_MAX: usize = 512, "pieces";
        why "The kernel takes no more than 1,024 (UIO_MAXIOV).";
        measure "2", two_hosts "--offloads --pair stream:16k,64k --all barrier";
        adr 18;

        /// Bytes that were asked for travel in records of at most this length.
        PULLED_MAX: u64 = 1 << 20, "bytes";
        why "Pieces of other messages pass between two such records.";
        measure "65536", two_hosts "--pair stream:1M,4M --all barrier";
        adr 18;

        /// Bytes that are read beyond a record, or before its head is known.
        AHEAD_MAX: usize = 2048, "bytes";
        why "They are copied once more; what comes behind them is read straight to where it belongs. It is \
             enough for the beginning of a message with its first bytes, and the head of the next piece.";
        measure "16384", two_hosts "--pair pingpong:8k,16k --pair stream:8k,16k --all barrier";
        adr 18;

        /// Bytes that a stream moves in one direction before anything else gets its turn.
        TURN_MAX: usize = 4 << 20, "bytes";
        why "It is as much as the kernel has room for; what is handed over at once leaves as \
             acknowledgements come, without a call.";
        gain "Pieces of 64 KiB to 1 MiB, and send buffers of 0.25 to 0.5 MiB, were slower in most turns \
              (decision 12)";
        measure "262144", two_hosts "--pair pingpong:64k,1M,4M --pair stream:1M,4M --all barrier";
        adr 12;

        /// While a stream is at work, a sleeper looks again after this time.
        POLL_AGAIN_NS: u64 = 200_000, "ns";
        why "Nothing wakes it, because to be woken costs something for each segment.";
        gain "Pauses of 25 to 50 us between two reads of a program that polls made 4 MiB slower by 4 to 25 \
              % (decision 12); what this pause of a sleeper costs was not measured";
        measure "1000000", two_hosts "--pair pingpong:4M --pair stream:4M --all barrier";
        adr 12;

        /// If nothing was sent by a stream in so many polls after all that was known to come has come by it,
        /// the kernel is asked to acknowledge that; at once if that was so the last time.
        ACK_POLLS: u32 = 8, "polls";
        why "A send is complete when its bytes are acknowledged, and the kernel may wait 40 ms for something \
             that it can send the acknowledgement with. A program that answers does so within a few polls.";
        measure "1000000000", two_hosts "--offloads --pair away:64k,256k --all alltoall:256k";
        adr 18;

        /// As ACK_POLLS in the middle of a message; and an answer that takes longer counts as none.
        ACK_AFTER_NS: u64 = 100_000, "ns";
        why "Between two pieces of a message the kernel acknowledges by itself, unless the peer has stopped \
             sending; and to read a piece may take longer than an answer.";
        measure "1000000000", two_hosts "--offloads --pair away:64k,256k --all alltoall:256k";
        adr 18;

        /// If nothing of what was asked for arrives for this time, it goes in packets.
        STALLED_NS: u64 = 1_000_000_000, "ns";
        why "The rail may be dead, and packets find another; TCP itself would try for minutes. A peer that \
             is busy for a moment must not lose its stream.";
        measure "600000000000", test "-p tasuki-engine --test suite streams";
        adr 12;

        /// A stream that does not come about within this time is given up.
        OPENING_MAX_NS: u64 = 5_000_000_000, "ns";
        why "A firewall may drop the connection without a word; messages go in packets meanwhile.";
        measure "600000000000", bound "a peer whose firewall drops the connection is waited for that long, \
                                       while messages go in packets";
        adr 12;

        /// A peer is invited at most so often.
        INVITATIONS_MAX: u32 = 3, "invitations";
        why "A stream that has failed three times will fail again, and each failure costs a second.";
        measure "1000000", test "-p tasuki-engine --test suite streams";
        adr 12;

        /// A stream that is coming about is polled as often as possible for so long, and now and then later.
        EAGER_NS: u64 = 20_000_000, "ns";
        why "On a local network a connection is there within a millisecond.";
        measure "0", two_hosts "--pair stream:4M --all barrier";
        adr 12;

        /// Time between two judgements about whether packets should give way to a stream.
        JUDGE_EVERY_NS: u64 = 20_000_000, "ns";
        why "Within a fiftieth of a second a fast cable brings thousands of packets, enough to judge by.";
        measure "200000000", two_hosts "--pair pingpong:4M --pair stream:4M --all barrier";
        adr 12;

        /// A peer to which so many messages of a middle length went fast in packets, and more than went
        /// slowly, is invited.
        FREQUENT: u32 = 16, "messages";
        why "To open a stream costs some hundred microseconds, which a few dozen messages make good.";
        measure "1000000000", two_hosts "--pair pingpong:16k,64k --all allreduce:64k";
        adr 18;

        /// After so many messages their counts are halved.
        REMEMBERED: u32 = 256, "messages";
        why "What a shaper has saved passes fast, and a program's first messages are slow; both are \
             forgotten.";
        measure "1000000000", two_hosts "--pair pingpong:16k,64k --all allreduce:64k";
        adr 18;

        /// If a socket has received fewer packets than this between two judgements, they say nothing.
        PACKETS_MIN: u64 = 2_000, "packets";
        why "Fewer packets in a fiftieth of a second are no load worth a stream.";
        measure "1000000000", two_hosts "--pair pingpong:64k,4M --pair stream:64k,4M --all alltoall:64k";
        adr 12;

        /// Packets that are shorter than this on average are not those of long messages.
        PACKET_BYTES_MIN: u64 = 1_000, "bytes";
        why "A stream carries messages from PUSH_MIN on, whose packets are as long as the MTU.";
        measure "0", test "-p tasuki-engine --lib stream::choose";
        adr 12;

        /// Packets of at least this length on average cost less than a stream.
        PACKET_BYTES_END: u64 = 2_500, "bytes";
        why "At MTU 9000 a packet costs little more than one of 1500 bytes, and carries six times as much.";
        measure "100000", bench "--shape full:2 --unshaped --mtu 9000 --mpi mpich-5.0 --pair \
                                 pingpong:64k,4M --pair stream:64k,4M --all barrier";
        adr 12;

        /// Rate from which processors are the limit and not the cable, in bytes per second.
        RATE_MIN: f64 = 160e6, "bytes per second";
        why "No cable of 1 Gbit/s carries so much (125 MB/s), and at that rate packets do not fill a \
             processor.";
        measure "0", bench "--shape full:2 --rate 1G --mpi mpich-5.0 --pair pingpong:64k,4M --pair \
                            stream:64k,4M --all barrier";
        adr 12;

        /// At most one of so many datagrams may have been joined with others by the kernel.
        JOINED_MAX: u64 = 64, "datagrams";
        why "Where the kernel joins datagrams they cost less than TCP: 4 MiB take two thirds to three \
             quarters of its processor time.";
        measure "0", bench "--shape full:2 --unshaped --offloads --mpi mpich-5.0 --pair pingpong:64k,4M \
                            --pair stream:64k,4M --all barrier";
        adr 12;

        /// Size of the send buffer to ask for.
        SEND_BUFFER: usize = 4 << 20, "bytes";
        why "What is in it leaves as the receiver's acknowledgements come, without a system call.";
        measure "262144", two_hosts "--pair pingpong:1M,4M --pair stream:1M,4M --all barrier";
        adr 12;
    }

    /// Length-coded bulk: long messages in datagrams without headers (TASUKI_BULK=length).
    pub mod bulk {
        /// Shorter messages go in frames.
        LENGTH_MIN: u64 = 64 << 10, "bytes";
        why "A round takes a round trip, as a grant does, but its control messages cost more than a grant.";
        measure "1048576", test "-p tasuki-engine --test suite bulk";

        /// A pass is over when the sender has said so and nothing has arrived for this time; twice as long
        /// after each pass of which nothing arrived.
        GRACE_NS: u64 = 500_000, "ns";
        why "What the sender says travels by another socket and may overtake packets.";
        measure "0", cost "-p tasuki-engine --test suite framings_compared";

        /// After more passes in a row than this of which nothing arrived, the message goes in frames.
        BARREN_MAX: u32 = 6, "passes";
        why "The rail carries nothing, and frames find another one; seven passes with doubling pauses take \
             64 ms.";
        measure "20", bound "a long message over a rail that carries nothing waits for a quarter of an hour \
                             before it goes in frames";

        /// After so many passes in which not everything arrived as it was sent, the message goes in frames.
        PASSES_MAX: u16 = 500, "passes";
        why "The checksums may be of bytes that the program has changed since, and then will never agree.";
        measure "65535", bound "a message that the program changes while it is sent takes a hundred times \
                                as many passes before it goes in frames";

        /// Datagrams in one system call, at most.
        BATCH: usize = 64, "datagrams";
        why "A system call is then a small part of what they cost.";
        measure "8", cost "-p tasuki-engine --test suite framings_compared";

        /// Batches that are received before anything else gets its turn.
        RX_BATCHES: usize = 4, "batches";
        why "A batch is up to 64 datagrams; acknowledgements and other peers wait meanwhile.";
        measure "1", cost "-p tasuki-engine --test suite framings_compared";

        /// Batches that are sent before anything else gets its turn.
        TX_BATCHES: usize = 4, "batches";
        why "As for RX_BATCHES, at the sender.";
        measure "1", cost "-p tasuki-engine --test suite framings_compared";

        /// Datagrams of an earlier round that are dropped before the next round begins.
        STALE_MAX: usize = 4096, "datagrams";
        why "A socket buffer holds fewer; the bound is for a peer that does not stop sending.";
        measure "0", bound "datagrams of an earlier round take places of the next one, which are filled \
                            again in a later pass";

        /// What a kernel charges a socket buffer for a datagram besides its bytes, at most; it rounds the sum
        /// up to a power of two.
        KERNEL_BYTES: usize = 768, "bytes";
        why "A round has no more packets than the socket buffer holds, or packets of each round are lost. \
             Linux charges its record of a packet (struct sk_buff and struct skb_shared_info).";
        measure "0", cost "-p tasuki-engine --test suite framings_compared";

        /// When the kernel has no room for datagrams, it is asked again after this time.
        RETRY_NS: u64 = 50_000, "ns";
        why "A send queue that is full empties by hundreds of packets in that time at 10 Gbit/s.";
        measure "5000000", cost "-p tasuki-engine --test suite framings_compared";
    }

    /// One-sided transfers: put and get.
    pub mod rma {
        /// Puts of up to this size travel in their request.
        INLINE_PUT_MAX: usize = 4096, "bytes";
        why "One more copy costs less than another message.";
        measure "0", cost "-p tasuki-engine --test suite puts_timed";
    }
}
