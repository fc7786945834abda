//! What programs call: the libfabric provider and the C interface.

tuning! {
    /// The libfabric provider.
    pub mod provider {
        /// Longest sleep at a time of a program that waits.
        SLICE: Duration = Duration::from_millis(10), "ns";
        why "A completion that another thread has taken in, or a signal, is noticed after it at the latest.";
        measure "1000000000", bound "a thread of which another one has taken the completion, or that is \
                                     sent a signal, sleeps on for so long";

        /// Longest sleep at a time where several endpoints are waited for, or none.
        SHARED_SLICE: Duration = Duration::from_millis(1), "ns";
        why "Only one of several endpoints can end the sleep, so the others are looked at after it.";
        measure "100000000", bound "what arrives at the other endpoints of one queue waits for so long";

        /// Time that a question for an endpoint's name waits for a host that does not answer, and for each
        /// part of the answer.
        NAME_WAIT: Duration = Duration::from_secs(3), "ns";
        why "TCP sends its first packet again after one second, so one that is lost does not matter.";
        measure "1", test "-p tasuki-ofi --lib names::service";

        /// A listener for such questions that has no descriptor for the next one tries again after this time.
        NAME_PAUSE: Duration = Duration::from_millis(10), "ns";
        why "Without a pause the listener would take a processor until a descriptor is free.";
        measure "0", bound "a process that has run out of descriptors spends a processor on asking for one";

        /// Time that closing a registration waits for transfers that are under way.
        CLOSE_MAX: Duration = Duration::from_secs(10), "ns";
        why "A transfer ends within it if the peer lives, and with an error if it does not; memory must not \
             be given back to the program while a peer may still write to it.";
        measure "0", bound "the registration is not closed, and the program is told FI_EBUSY";

        /// Between two looks whether another thread's call still holds an endpoint that closes.
        CLOSE_POLL: Duration = Duration::from_micros(100), "ns";
        why "Such a call ends within SLICE, so that a hundred looks are enough.";
        measure "1000000000", bound "fi_close takes a second where another thread waits at its queue";

        /// Time for which a process goes on after a peer's death, before it ends.
        GRACE: Duration = Duration::from_secs(1), "ns";
        why "Most launchers end a job of which a rank has died within this time; then the user reads what \
             has happened to that rank, and nothing about the others.";
        measure "0", bound "users read of every rank that it ends because another one has died";
    }

    /// The recorder of messages (TASUKI_TRACE).
    pub mod recorder {
        /// After a call that found nothing, a program that calls again within this time was only on its way
        /// around its loop of waiting.
        WAITING_GAP_NS: u64 = 2_000, "ns";
        why "MPIs take up to a microsecond for that.";
        measure "0", test "-p tasuki-ofi --lib recorder::clock";

        /// In longer gaps the processor may have done something else: the time is held against what the
        /// thread has used of it.
        ASKED_GAP_NS: u64 = 20_000, "ns";
        why "Asking that takes 0.3 us, which shorter gaps do not pay for.";
        measure "0", test "-p tasuki-ofi --lib recorder::clock";

        /// Bytes that are gathered before they are written.
        BUFFER: usize = 64 << 10, "bytes";
        why "A call of the kernel for several thousand records takes no time from a program.";
        measure "1", bound "each record is written by a call of its own, which takes a microsecond from the \
                            program that is recorded";
    }

    /// The C interface, `tasuki.h`.
    pub mod c_interface {
        /// Time for which a wait polls before it sleeps.
        SPIN: Duration = Duration::from_micros(50), "ns";
        why "A wake-up costs tens of microseconds, and the answer of a peer that polls comes sooner.";
        measure "0", bound "each wait for a peer's answer costs a sleep and a wake-up";
    }
}
