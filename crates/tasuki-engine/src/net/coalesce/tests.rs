//! Programs of several habits, and how long their messages wait.

use super::*;

const PEER: Peer = Peer(1);
const SECOND: u64 = 1_000_000_000;

/// A program that sends series of messages, 300 ns apart, and polls some time after each series.
struct Program {
    coalescer: Coalescer,
    now: u64,
    polls: u64,
}

impl Program {
    fn new() -> Program {
        Program { coalescer: Coalescer::new(), now: 10 * SECOND, polls: 0 }
    }

    fn send(&mut self, peer: Peer) -> Departure {
        self.send_more(peer, false)
    }

    fn send_more(&mut self, peer: Peer, more: bool) -> Departure {
        self.now += 300;
        let now = Time(self.now);
        let departure = self.coalescer.next(peer, more, (self.polls, 0), now);
        match departure {
            Departure::Now => {
                assert!(!self.coalescer.has_messages(), "the message would overtake those that are coalesced")
            }
            Departure::AfterCoalesced => self.coalescer.release(),
            Departure::Coalesced => {
                if self.coalescer.add(8, more, now) {
                    self.coalescer.release();
                }
            }
        }
        departure
    }

    fn poll(&mut self, after: u64) {
        self.now += after;
        self.polls += 1;
        if self.coalescer.is_coalescing() {
            self.coalescer.polled(Time(self.now));
        }
        self.coalescer.release();
    }

    /// Sends a series and polls `after` ns later. Gives how many messages were coalesced.
    fn series(&mut self, count: u32, after: u64) -> u32 {
        let coalesced = (0..count).filter(|_| self.send(PEER) == Departure::Coalesced).count();
        self.poll(after);
        coalesced as u32
    }

    /// Sends until a message stays behind.
    fn begin(&mut self) {
        while !self.coalescer.has_messages() {
            self.send(PEER);
        }
    }

    /// The helper comes and sends what is coalesced.
    fn helped(&mut self) {
        assert!(self.coalescer.has_messages());
        self.coalescer.abandon(Time(self.now));
        self.coalescer.release();
    }
}

#[test]
fn the_first_messages_of_a_series_leave_directly_and_the_others_share_packets() {
    let mut program = Program::new();
    assert_eq!(program.series(64, 500), 64 - coalesce::FIRST);
    assert_eq!(program.series(coalesce::FIRST, 500), 0);
}

#[test]
fn messages_far_from_each_other_are_never_coalesced() {
    let mut program = Program::new();
    for _ in 0..1000 {
        program.now += coalesce::GAP_AFTER_CALL_NS;
        assert_eq!(program.send(PEER), Departure::Now);
    }
}

#[test]
fn messages_to_another_peer_and_pauses_take_along_what_is_coalesced() {
    let mut program = Program::new();
    program.begin();
    assert_eq!(program.send(Peer(2)), Departure::AfterCoalesced);
    program.begin();
    program.now += coalesce::GAP_NS;
    assert_eq!(program.send(PEER), Departure::AfterCoalesced);
}

#[test]
fn a_series_as_long_as_the_last_one_leaves_nothing_behind() {
    let mut program = Program::new();
    for count in [10, 50, 5] {
        program.series(count, 500);
        (0..count).for_each(|_| assert_ne!(program.send(PEER), Departure::AfterCoalesced));
        assert!(!program.coalescer.has_messages(), "{count}");
        program.poll(500);
    }
}

#[test]
fn no_message_waits_for_long_while_others_follow() {
    let mut program = Program::new();
    let mut since = None;
    for _ in 0..10_000 {
        program.now += coalesce::GAP_NS / 2;
        program.send(PEER);
        if program.coalescer.has_messages() {
            assert!(program.now - *since.get_or_insert(program.now) <= coalesce::AGE_MAX_NS);
        } else {
            since = None;
        }
    }
}

#[test]
fn what_is_coalesced_fits_into_a_packet() {
    let mut coalescer = Coalescer { expected: 1000, ..Coalescer::new() };
    for (len, most) in [(8, coalesce::MESSAGES_MAX as usize), (256, 4)] {
        let count = 1 + (0..).take_while(|_| !coalescer.add(len, false, Time(1))).count();
        assert_eq!(count, most, "{len} bytes each");
        coalescer.release();
    }
}

/// For how long nothing is coalesced now, ns, to the microsecond.
fn distrust(program: &mut Program) -> u64 {
    let begin = program.now;
    while program.series(10, 500) == 0 {}
    program.now - begin
}

#[test]
fn nothing_is_coalesced_for_a_while_after_messages_were_left_behind() {
    for helper in [true, false] {
        let mut program = Program::new();
        program.begin();
        if helper {
            program.helped();
            program.poll(1_000);
        } else {
            program.poll(coalesce::AWAY_NS + 1);
        }
        let pause = distrust(&mut program);
        let expected = coalesce::DISTRUST_MIN_NS - 10_000..coalesce::DISTRUST_MIN_NS + 10_000;
        assert!(expected.contains(&pause), "helper: {helper}, {pause} ns");
    }
}

/// A program that goes on to leave messages behind is delayed in ever fewer series, and a program that only
/// loses its processor now and then coalesces again soon.
#[test]
fn distrust_grows_with_each_series_left_behind_and_shrinks_with_series_kept() {
    let mut program = Program::new();
    let mut left_behind = |kept: u32| {
        (0..kept).for_each(|_| _ = program.series(10, 500));
        program.begin();
        program.helped();
        program.poll(1_000);
        distrust(&mut program)
    };
    let often: Vec<u64> = (0..10).map(|_| left_behind(3)).collect();
    for pair in often.windows(2).filter(|pair| pair[1] < coalesce::DISTRUST_MAX_NS - 100_000) {
        assert!((1.9..=2.1).contains(&(pair[1] as f64 / pair[0] as f64)), "{often:?}");
    }
    assert!(often[9] <= coalesce::DISTRUST_MAX_NS + 10_000, "{often:?}");
    let seldom: Vec<u64> = (0..10).map(|_| left_behind(3 * coalesce::KEPT)).collect();
    assert!(seldom[9] < coalesce::DISTRUST_MIN_NS * 4, "{seldom:?}");
}

/// Whatever a program does after its series, messages are left behind in at most one series per
/// [`coalesce::DISTRUST_MAX_NS`], apart from those that it takes to find out that it is such a program.
#[test]
fn a_program_that_computes_after_each_series_is_seldom_delayed() {
    let mut program = Program::new();
    let (begin, mut left_behind) = (program.now, 0);
    for series in 0..10_000 {
        // Never as long as the series before.
        for _ in 0..5 + series % 7 {
            program.send(PEER);
        }
        if program.coalescer.has_messages() {
            left_behind += 1;
            program.helped();
        }
        program.poll(1_000_000);
    }
    let doublings = u64::from((coalesce::DISTRUST_MAX_NS / coalesce::DISTRUST_MIN_NS).ilog2());
    let most = (program.now - begin) / coalesce::DISTRUST_MAX_NS + doublings + 1;
    assert!(left_behind as u64 <= most, "{left_behind} series, at most {most}");
}

#[test]
fn a_series_that_the_program_announces_is_coalesced_from_its_first_to_its_last_message() {
    let mut program = Program::new();
    for _ in 0..3 {
        for _ in 0..4 {
            assert_eq!(program.send_more(PEER, true), Departure::Coalesced);
            assert!(program.coalescer.has_messages());
        }
        assert_eq!(program.send(PEER), Departure::Coalesced, "the last one shares their packet");
        assert!(!program.coalescer.has_messages(), "and takes them along");
        program.poll(500);
    }
    // A program that announces and does not keep its word is helped like any other.
    program.send_more(PEER, true);
    program.helped();
    assert_eq!(program.send_more(PEER, true), Departure::Coalesced, "its word counts again");
}
