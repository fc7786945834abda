//! Peers that die, and endpoints that close.

tuning! {
    /// Liveness: when a peer's process is taken to be gone.
    pub mod liveness {
        /// Time between two rounds, in which peers are looked after. The statistics page is brought up to
        /// date as often.
        ROUND_NS: u64 = 200_000_000, "ns";
        why "A death is noticed within a second or two, and a round costs a system call for each peer of a \
             few.";
        gain "Barrier of 2 between hosts 1.02 x (1.01 to 1.05); again 1.03 x \
              (docs/results/constants.md)";
        measure "20000000", two_hosts "--pair pingpong:8 --all barrier";
        adr 4;

        /// Peers on this host, and many peers on other hosts, are looked after in one of so many rounds.
        ALL_EVERY: u64 = 4, "rounds";
        why "Each costs a system call; 64 peers every 0.8 s are 80 calls a second.";
        measure "1", oversubscribed "--all barrier --all allreduce:8 --pair pingpong:8";
        adr 4;

        /// So many peers on other hosts, or fewer, are knocked at in every round.
        FEW: usize = 8, "peers";
        why "That costs little: 8 datagrams of 16 bytes in a fifth of a second.";
        measure "0", bound "the death of one of a few peers is noticed in one of ALL_EVERY rounds, half a \
                            second later";
        adr 4;

        /// After so many time-outs in a row a peer is knocked at out of turn.
        TIMEOUTS: u32 = 5, "time-outs";
        why "Most likely it is dead: together they take 60 ms at least, which is longer than a peer that \
             waits for a processor most often takes.";
        measure "1000", bound "the death of one of many peers is noticed in one of ALL_EVERY rounds, half a \
                               second later";
        adr 4;

        /// A first contact that takes longer than this is reported to the user.
        UNANSWERED_NS: u64 = 10_000_000_000, "ns";
        why "Ranks of a job start within seconds of each other; a longer silence most often means a wrong \
             address or a firewall.";
        measure "1000000000", bound "users whose ranks start seconds after each other read of a firewall \
                                     that is not there";

        /// Seconds after which a peer that has never answered a greeting counts as failed. The variable
        /// TASUKI_GREETING overrides it.
        GREETING_S: u32 = 60, "s";
        why "A firewall that drops UDP, or a wrong address, would have a program wait for ever. A peer that \
             has been greeted has opened its endpoint, and its helper thread answers whatever the program \
             does.";
        measure "5", bound "a rank fails whose peer opens its endpoint later than that; the tests of \
                            refusals set a time of their own";
        adr 4;

        /// Refusals of one socket that are read in one poll.
        REFUSALS_MAX: usize = 64, "refusals";
        why "A flood of forged refusals must not keep the program from everything else.";
        measure "0", test "-p tasuki-engine --test suite unanswered";
        adr 4;

        /// A refusal that proves nothing makes us knock, but not sooner than this after the knock before.
        HINT_PAUSE_NS: u64 = 10_000_000, "ns";
        why "Forged refusals come in any number, and each must not become a datagram to the peer.";
        measure "0", bound "each forged refusal makes the endpoint send a datagram to the peer";
        adr 4;

        /// Knocks whose refusals are recognised.
        KNOCKS: usize = 4, "knocks";
        why "A refusal may arrive after the next knock has been sent.";
        measure "1", test "-p tasuki-engine --lib liveness::trial";
        adr 4;

        /// Rounds without a sign of life after a refused knock, after which a peer is gone.
        ROUNDS: u32 = 3, "rounds";
        why "The first round is due at any time, so they take two fifths of a second at least; what was \
             under way when the knock was refused has arrived by then.";
        measure "1", test "-p tasuki-engine --lib liveness::trial";
        adr 4;

        /// However often a host's refusals were wrong, a trial takes no more rounds than this.
        ROUNDS_MAX: u32 = 150, "rounds";
        why "They take half a minute. Without a bound the death of the process would never be noticed.";
        measure "1000000", test "-p tasuki-engine --lib liveness::trial";
        adr 4;

        /// A trial takes so many times as many rounds if the host, though knocked at in every round, has
        /// refused nothing more.
        UNREPEATED: u32 = 2, "times";
        why "Hosts bound how many refusals they send (Linux: six at once, then one each second, shared by \
             all ranks of a host), so silence of the host proves less.";
        measure "1", test "-p tasuki-engine --lib liveness::trial";
        adr 4;

        /// A trial takes so many times as many rounds, but no more than the bound, if the host has refused
        /// nothing at the addresses of its NICs, where datagrams have reached the peer.
        CONTRADICTED: u32 = 8, "times";
        why "A firewall that refuses datagrams to one address must not make a process that is stopped for \
             some seconds count as dead: 8 times 3 rounds are 4.8 s.";
        measure "1", test "-p tasuki-engine --lib liveness::trial";
        adr 4;
    }

    /// Leaving: closing an endpoint or a connection.
    pub mod leaving {
        /// Seconds that closing an endpoint waits at most for the last acknowledgement. The variable
        /// TASUKI_LINGER overrides it.
        LINGER_S: u32 = 10, "s";
        why "A peer that lives answers within a second; one that does not must not keep a job from ending.";
        measure "0", bound "an endpoint leaves without waiting for an acknowledgement, and if its last \
                            packet is lost so is what was in it";

        /// When nothing has moved for this time and all that was sent has been acknowledged, an endpoint no
        /// longer waits for its peers' programs.
        QUIET: Duration = Duration::from_millis(300), "ns";
        why "What is left then depends on programs that will not act: messages that they never receive.";
        measure "3000000000", bench "--shape star:16 --unshaped --mpi openmpi-4.1 --all barrier --pair \
                                     pingpong:8";

        /// Time after the goodbyes after which the hosts of silent peers are knocked at for the first time;
        /// then after twice as long, and so on.
        FIRST_KNOCK: Duration = Duration::from_millis(4), "ns";
        why "A peer that has heard all that it waited for leaves at once. If its last packet was lost, what \
             is sent to it again goes nowhere, and a raw lane does not say so.";
        gain "Before closing endpoints knocked, one of 16 ranks often left 0.4 s after the others, with 64 \
              ranks some 2 s in the worst case (docs/results/startup.md)";
        measure "400000000", cost "-p tasuki-engine --test suite closing_timed";

        /// Longest pause between two rounds of a closing endpoint.
        PAUSE: Duration = Duration::from_millis(1), "ns";
        why "Packets wake it; what comes through shared memory does not.";
        measure "50000000", cost "-p tasuki-engine --test suite closing_timed";

        /// Shortest probe time-out of an endpoint that leaves.
        PTO: Duration = Duration::from_millis(10), "ns";
        why "When all processes of a program leave at once they compete for the processors, so answers are \
             late, and nothing else waits for them.";
        gain "With longer greetings, which came in the same step: end of 64 ranks on two cores 0.51 s, \
              before 0.59 s, over TCP 0.46 s (docs/results/startup.md)";
        measure "2000000", test "-p tasuki-proto --test suite bounds";

        /// So much longer that time-out is for each connection.
        PTO_EACH: Duration = Duration::from_millis(1), "ns";
        why "The more processes leave at once, the later answers are.";
        measure "0", test "-p tasuki-proto --test suite bounds";

        /// Longest time that a connection stays in the closing state and answers its peer.
        CLOSING_MAX: Duration = Duration::from_secs(2), "ns";
        why "It is several of the longest time-outs (0.3 s), so a peer whose last acknowledgement was lost \
             still gets an answer.";
        measure "0", test "-p tasuki-proto --test suite";

        /// So often the closing state begins anew while something that was sent is not acknowledged.
        CLOSING_ROUNDS: u32 = 4, "rounds";
        why "With the first one these are the 10 s of LINGER_S. Rounds and not seconds, because the time for \
             which a process is stopped must not count.";
        measure "0", test "-p tasuki-proto --test suite closing";
    }
}
