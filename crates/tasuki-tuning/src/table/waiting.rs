//! What waiting programs, and the helper thread beside them, do with their processors.

tuning! {
    /// The wait policy: what a poll does that finds nothing.
    pub mod wait {
        /// Fewest polls that look at memory alone between two that also read the clock and ask the sockets.
        BUDGET_MIN: u32 = 8, "polls";
        why "A poll of everything takes about a hundred nanoseconds, one of memory alone a fifth of that; a \
             program that does other things between its polls is still not late for anything.";
        measure "1", two_hosts "--pair pingpong:8 --all barrier";

        /// Most such polls, where all peers are on this host.
        BUDGET_MAX: u32 = 64, "polls";
        why "A message that arrives during a poll of everything waits for it. A program that does nothing \
             but poll spends 64 polls of memory within a few microseconds.";
        gain "Windowed 8 B inside a host with MPICH 1.09 x (1.06 to 1.12), 8 B with Intel MPI 1.05 x (1.00 \
              to 1.14) of the build with 8 polls always (24 repetitions); 1.32 and 1.22 x when it was \
              chosen. Between hosts more polls cost 0.95 x (0.94 to 0.97), so there it stays at BUDGET_MIN \
              (docs/results/message-steps.md)";
        measure "8", one_host "--pair pingpong:8 --pair stream:8 --all barrier";

        /// If a budget was spent in less than this, the next one is twice as large.
        BUDGET_QUICK_NS: u64 = 4_000, "ns";
        why "The next budget will then be spent within 8 us, and what only a full poll finds is not later \
             than that.";
        measure "1", one_host "--pair pingpong:8 --pair stream:8 --all barrier";

        /// If a budget took longer than this, the next one is the smallest.
        BUDGET_SLOW_NS: u64 = 10_000, "ns";
        why "The program does other things between its polls, and timers and sockets must not wait for it.";
        measure "1000000", one_host "--pair pingpong:8 --pair stream:8 --all barrier";

        /// How long the first poll that finds nothing after a send stays for the reply, where all peers are
        /// on this host.
        REPLY_SPIN_NS: u64 = 2_000, "ns";
        why "It is the time of a reply by a peer that yields once before it replies. Some programs yield \
             after each poll, and a message that arrives meanwhile waits.";
        gain "8 B inside a host with MPICH 1.20 x (1.18 to 1.27), with Intel MPI 1.08 x (1.03 to 1.10), \
              together with receives that are left out of the index (docs/results/messages.md); between \
              hosts 0.97 to 1.05 x, none decided";
        measure "0", one_host "--pair pingpong:8 --pair stream:8 --all barrier";

        /// Polls of memory between two reads of the clock in a reply spin.
        REPLY_POLLS: u32 = 16, "polls";
        why "Reading the clock takes as long as a few polls of memory.";
        measure "1", one_host "--pair pingpong:8 --all barrier";

        /// Polls in vain before the processor is offered, if the last offers were taken up by other threads.
        YIELD_POLLS_WANTED: u32 = 2, "polls";
        why "There are more ranks than processors, so the rank that is waited for may be waiting for this \
             processor; two polls take about a microsecond.";
        measure "192", oversubscribed "--pair pingpong:8 --all barrier --all allreduce:8";

        /// Polls in vain before the processor is offered, if nobody takes it.
        YIELD_POLLS_UNWANTED: u32 = 192, "polls";
        why "With a processor for every rank a yield only delays what arrives meanwhile.";
        gain "8 B between hosts 1.09 x (1.08 to 1.10); again 1.10 x \
              (docs/results/constants.md)";
        measure "2", two_hosts "--pair pingpong:8 --all barrier";

        /// After an offer, one part in this many of the polls is left out before the next offer: with 4 a
        /// yield follows every 48 polls after the first 192.
        YIELD_AGAIN_SHARE: u32 = 4, "parts";
        why "A yield takes as long as several polls, so it does not follow each; but a rank that has waited \
             for 192 polls is likely to wait on, and others get the processor sooner.";
        measure "1", oversubscribed "--pair pingpong:8 --all barrier";

        /// A yield that took longer than this has let another thread run.
        YIELD_TAKEN_UP: Duration = Duration::from_micros(5), "ns";
        why "A yield that nobody takes up returns within a microsecond; a thread that gets the processor \
             keeps it for longer than 5 us.";
        measure "50000", oversubscribed "--pair pingpong:8 --all barrier";

        /// Length of a nap: a sleep in a poll, which a packet ends.
        NAP: Duration = Duration::from_micros(50), "ns";
        why "It is short because the program polls other things in the same loop, and because a message \
             through shared memory does not end it.";
        gain "Start of 8 ranks on two cores with naps 0.92 to 0.99 x, without 0.74 to 0.87 x as fast as \
              over TCP (docs/internals/history.md); naps that grow to 0.8 ms took more processor time with \
              32 ranks on a processor, and were given up (decision 10)";
        measure "0", bench "--shape star:16 --unshaped --mpi openmpi-4.1 --all barrier --all alltoall:8 \
                            --pair pingpong:8";
        adr 10;

        /// Yields in a row that returned at once before there may be naps.
        NAP_REFUSED_MIN: u32 = 16, "yields";
        why "Where yields are taken up they are enough, and cheaper; 16 that are not take a few \
             microseconds under oversubscription.";
        measure "1", oversubscribed "--pair pingpong:8 --all barrier --all heat:4k";
        adr 10;

        /// Time without anything for the program before there may be naps.
        NAP_WAITED_MIN_NS: u64 = 1_000_000, "ns";
        why "It is longer than the steps of programs whose ranks take turns on a processor.";
        gain "With 0.1 ms a stencil of four ranks on two cores was slower in most repetitions, not decided \
              (decision 10)";
        measure "100000", oversubscribed "--all heat:4k --all barrier --pair pingpong:8";
        adr 10;

        /// As NAP_WAITED_MIN_NS, while peers are being met.
        NAP_WAITED_MIN_MEETING_NS: u64 = 10_000, "ns";
        why "Many of the peers that are being met have not had a processor since they were greeted, so \
             waiting for them without giving up the processor is in vain.";
        gain "Start of 16 ranks 0.965 x as fast as over TCP with 1 ms, 0.999 x with 0.1 ms (decision 10); \
              10 us instead of 0.1 ms within the spread (docs/results/startup.md). Measured again: start, \
              all to all and end of 16 ranks with Open MPI 4.1 take 1.03 x as long (1.01 to 1.06) with 1 ms \
              as with 10 us, without the all to all 1.00 x (0.93 to 1.05)";
        measure "1000000", bench "--shape star:16 --unshaped --mpi openmpi-4.1 --all alltoall:8 --pair \
                                  pingpong:8";
        adr 10;

        /// As NAP_REFUSED_MIN, while peers are being met.
        NAP_REFUSED_MIN_MEETING: u32 = 2, "yields";
        why "One yield that returns at once may be chance; a second one shows that nobody in the own \
             scheduling group wants the processor.";
        measure "16", bench "--shape star:16 --unshaped --mpi openmpi-4.1 --all alltoall:8 --pair pingpong:8";
        adr 10;

        /// Peers count as being met for so long after one was greeted or has answered.
        MEETING_NS: u64 = 50_000_000, "ns";
        why "It is longer than a rank among many waits for its first turn on a processor.";
        measure "0", bench "--shape star:16 --unshaped --mpi openmpi-4.1 --all alltoall:8 --pair pingpong:8";
        adr 10;

        /// Time after which a program that naps or would nap asks again whether its processors are
        /// oversubscribed.
        ASK_AGAIN_NS: u64 = 1_000_000, "ns";
        why "To ask the kernel takes a few microseconds, a third of a percent of this time.";
        measure "100000", oversubscribed "--pair pingpong:8 --all barrier";
        adr 10;
    }

    /// Whether more threads want to run than there are processors that this process may use.
    pub mod oversubscription {
        /// The answer "there are processors enough" is not asked for again within this time, where it only
        /// permits something (a dual copy).
        FREE_FOR_NS: u64 = 10_000_000, "ns";
        why "To ask the kernel takes two microseconds, and a wrong permission costs little.";
        measure "0", one_host "--pair pingpong:256k,1M --pair stream:256k,1M --all barrier";

        /// The opposite answer is not asked for again within this time.
        OVERSUBSCRIBED_FOR_NS: u64 = 1_000_000, "ns";
        why "On a small machine any thread that runs for a moment makes an oversubscription, so the answer \
             is soon out of date.";
        measure "10000000", one_host "--pair pingpong:256k,1M --pair stream:256k,1M --all barrier";

        /// Having had to wait for a processor counts as evidence for so long.
        DELAY_COUNTS_FOR_NS: u64 = 100_000_000, "ns";
        why "The kernel's time slices take some milliseconds to some tens; evidence must outlive the slice \
             in which there is none.";
        measure "0", test "-p tasuki-engine --lib oversubscription::tests";
        adr 10;

        /// A thread that has waited for a processor for less than this part of the time was not kept from it.
        DELAY_SHARE_MIN: f64 = 0.125, "of the time";
        why "Another thread that wants to run all the time takes half; kernel threads that come and go take \
             less than this.";
        measure "2", test "-p tasuki-engine --lib oversubscription::tests";
        adr 10;

        /// Threads beyond the processors that are no oversubscription: one for so many processors.
        SLACK_PROCESSORS: u32 = 8, "processors per thread";
        why "Kernel threads come and go, so on a large machine a few threads more are no oversubscription.";
        measure "1", test "-p tasuki-engine --lib more_threads_than_processors_are_an_excess";
        adr 10;

        /// The processor quota of the cgroups is read again after this time.
        QUOTA_HOLDS_NS: u64 = 1_000_000_000, "ns";
        why "It changes seldom, and reading it opens several files.";
        measure "0", oversubscribed "--all barrier --pair pingpong:8";
    }

    /// The helper thread, which makes progress for a program that does not call.
    pub mod helper {
        /// A program that was given something at its last call and has not called for so long computes; then
        /// the helper steps in. Also the time between two rounds of the helper while it works.
        COMPUTING: Duration = Duration::from_millis(1), "ns";
        why "What peers wait for is at most so late; rounds that are more frequent would take the processor \
             from programs that are about to call.";
        measure "10000000", two_hosts "--all heat:16k --pair stream:1M";

        /// A program that has used so much processor time since its last call computes, whatever it was given
        /// at that call; then the helper steps in.
        COMPUTED: Duration = Duration::from_millis(1), "ns";
        why "A rank that only waits for a processor uses none, so the helper takes nothing from ranks that \
             work.";
        measure "1000000000", two_hosts "--all heat:16k --pair stream:1M";

        /// A program computes between its calls if it uses more processor time than this for each of them.
        PER_CALL: Duration = Duration::from_micros(100), "ns";
        why "A poll that finds nothing takes some microseconds at most, so a program that waits calls far \
             more often. The first round after the last call of one that computes must not be late.";
        measure "1000000000", two_hosts "--all heat:16k --pair stream:1M";

        /// A program that was given nothing at its last call, has not called for so long and has used no
        /// processor time, does something else after all.
        WAITING: Duration = Duration::from_millis(3), "ns";
        why "Such a program calls again as soon as it gets a processor, and a helper that steps in for it \
             takes the processor from the ranks that work.";
        gain "Until the helper left ranks alone that only wait for a processor, four ranks on two cores \
              took 3.4 x as long as over TCP for a barrier (0.56 x after), LU W 1.3 to 1.7 x (1.09 x after) \
              (docs/results/messages.md)";
        measure "1000000", oversubscribed "--all barrier --all heat:4k --pair pingpong:8";

        /// As WAITING, under oversubscription.
        WAITING_OVERSUBSCRIBED: Duration = Duration::from_millis(100), "ns";
        why "Under oversubscription it takes longer to get a processor.";
        measure "3000000", oversubscribed "--all barrier --all heat:4k --pair pingpong:8";

        /// Longest time between two rounds while the program calls.
        NAP_MAX: Duration = Duration::from_millis(2), "ns";
        why "Every round interrupts something, and the first round after the last call must not be late.";
        gain "8 B between hosts 1.09 x (1.07 to 1.19), barrier of 2 1.18 x (1.10 to 1.24); again 1.19 and \
              1.17 x \
              (docs/results/constants.md)";
        measure "200000", two_hosts "--pair pingpong:8 --all barrier";

        /// As NAP_MAX, under oversubscription, and between two rounds for a program that was given nothing.
        NAP_MAX_OVERSUBSCRIBED: Duration = Duration::from_millis(16), "ns";
        why "The rounds of many helpers take processors from their programs.";
        gain "The rounds of 64 helpers took two processors a tenth of the time, until they were so far \
              apart (docs/internals/transport.md)";
        measure "2000000", bench "--shape star:16 --unshaped --mpi openmpi-4.1 --all barrier --all \
                                  alltoall:8 --pair pingpong:8";

        /// The helper asks in one of so many rounds whether the processors are oversubscribed.
        ASK_EVERY: u32 = 8, "rounds";
        why "To ask takes some microseconds and opens a file of the kernel.";
        measure "1", oversubscribed "--all barrier --pair pingpong:8";

        /// What another thread has learnt about oversubscription counts for so long.
        LEARNT_FOR_NS: u64 = 1_000_000, "ns";
        why "A program under oversubscription asks once a millisecond itself, so the helper need not.";
        measure "0", oversubscribed "--all barrier --pair pingpong:8";
    }

    /// The coalescing watchdog: the helper thread while it looks after coalesced messages.
    pub mod watchdog {
        /// Time between two looks of the watchdog.
        EVERY: Duration = Duration::from_micros(100), "ns";
        why "A message that a program leaves behind is so late. If all processors are busy, each look takes \
             one from a rank for some 20 us.";
        gain "Series of 10 messages, each followed by an answer, took 29 us without coalescing; with looks \
              every 50 us 31 to 36 us, every 100 us 28 to 30, every 200 us 23 to 26, every 400 us 24 to 27, \
              every millisecond 22 to 24 (decision 11, first version)";
        measure "1000000", two_hosts "--pair stream:8 --pair pingpong:8 --all barrier";
        adr 11;

        /// Longest time between two looks, for a program that has not left anything behind for long.
        SELDOM: Duration = Duration::from_micros(800), "ns";
        why "Looks that find nothing only take time.";
        gain "Series of 10 messages took 21 to 23 us with looks that become rare, 28 to 30 with one every \
              100 us (decision 11, first version)";
        measure "100000", two_hosts "--pair stream:8 --pair pingpong:8 --all barrier";
        adr 11;

        /// After so many looks that have found nothing old, the time between two looks is doubled.
        PROOF: u32 = 64, "looks";
        why "A program that leaves messages behind now and then should be noticed before it is trusted.";
        measure "1", two_hosts "--pair stream:8 --pair pingpong:8 --all barrier";
        adr 11;

        /// Time without series after which the watchdog stops looking.
        IDLE: Duration = Duration::from_millis(5), "ns";
        why "Programs often send the next series soon; a wake-up of the watchdog costs a system call.";
        measure "100000", two_hosts "--pair stream:8 --all barrier";
        adr 11;

        /// How much later than asked for the kernel may wake the watchdog (its timer slack).
        SLACK_NS: u64 = 1_000, "ns";
        why "The kernel's default of 50 us would add half again to the time between two looks.";
        measure "50000", two_hosts "--pair stream:8 --all barrier";
        adr 11;

        /// Messages coalesced for longer than this are old: the watchdog sends them.
        OLD_NS: u64 = 40_000, "ns";
        why "A program that is there, and not kept from the processor, sends them within a quarter of this.";
        measure "10000", two_hosts "--pair stream:8 --all barrier";
        adr 11;
    }

    /// Sleeping: calls that block, and the helper thread.
    pub mod sleep {
        /// Longest sleep of an endpoint that has a segment of shared memory.
        LONGEST_SHM: Duration = Duration::from_millis(1), "ns";
        why "Nothing wakes a sleeper when a record arrives through shared memory, so it has to look itself.";
        measure "10000000", bound "a call that sleeps finds what comes through shared memory up to 10 ms \
                                   late";

        /// Longest sleep of an endpoint without a segment.
        LONGEST_NET: Duration = Duration::from_millis(20), "ns";
        why "Packets wake it; other threads may set timers meanwhile.";
        measure "1000000000", bound "a call that sleeps heeds a timer that another thread has set up to a \
                                     second late";
    }
}
