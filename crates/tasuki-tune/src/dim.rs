//! The kernel's own way to adapt a delay, for comparison: "Net DIM" (Documentation/networking/net_dim.rst,
//! lib/dim, Linux 6.18), which drivers run with `adaptive-rx`. What it does, written anew for the model:
//! every 64 interrupts it compares packets and interrupts per millisecond with those before, and climbs in a
//! table of five delays. It knows nothing of the processor and of programs.

use crate::Sample;

/// Interrupts between two steps (`DIM_NEVENTS`).
pub const EVENTS: u64 = 64;
/// Delays of the table for NICs whose time begins with a frame, microseconds (`NET_DIM_RX_EQE_PROFILES`). The
/// table also bounds frames, by 256, which is beyond what comes in these times here.
const LENGTHS: [u32; 5] = [1, 8, 64, 128, 256];
/// Number of the delay that it begins with.
const FIRST: usize = 1;
/// Share by which two rates must differ to count as different.
const SIGNIFICANT: f64 = 0.1;
/// Steps without reaching a top after which it rests, and the number of steps that it rests then.
const TIRED: usize = 2 * LENGTHS.len();

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// No neighbour was better.
    OnTop,
    /// It has gone to and fro for too long.
    Resting,
    /// It climbs to longer delays.
    Right,
    /// It climbs to shorter delays.
    Left,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    Worse,
    Same,
    Better,
}

/// The algorithm.
#[derive(Clone, Debug)]
pub struct Dim {
    /// Number of the delay in force.
    at: usize,
    state: State,
    /// Steps to longer delays since it last turned there.
    steps_right: usize,
    /// Steps to shorter delays since it last turned there.
    steps_left: usize,
    /// Steps since it was last on top; while it rests, the steps that are left of its rest.
    tired: usize,
    /// Packets and interrupts per second at the last step.
    before: [f64; 2],
}

impl Default for Dim {
    fn default() -> Self {
        Self { at: FIRST, state: State::OnTop, steps_right: 0, steps_left: 0, tired: 0, before: [0.0; 2] }
    }
}

impl Dim {
    /// The delay in force, microseconds.
    pub fn us(&self) -> u32 {
        LENGTHS[self.at]
    }

    /// Takes what has happened since the last step, 64 interrupts ago; returns the delay from now on,
    /// microseconds.
    pub fn step(&mut self, sample: &Sample) -> u32 {
        let now = [sample.packet_rate(), sample.interrupt_rate()];
        let was_on_top = self.state == State::OnTop;
        let change = compare(now, self.before);
        match self.state {
            State::OnTop if change != Change::Same => self.leave(),
            State::OnTop => {}
            State::Resting => {
                self.tired -= 1;
                if self.tired == 0 {
                    self.leave();
                }
            }
            State::Right | State::Left => self.climb(change),
        }
        // As long as it stays on top, rates are compared with those when it got there.
        if !was_on_top || self.state != State::OnTop {
            self.before = now;
        }
        self.us()
    }

    fn climb(&mut self, change: Change) {
        if change != Change::Better {
            self.turn();
        }
        if self.is_on_top() {
            self.park(State::OnTop);
        } else if self.tired == TIRED {
            self.park(State::Resting);
        } else if !self.advance() {
            self.park(State::OnTop);
        }
    }

    fn turn(&mut self) {
        if self.state == State::Right {
            (self.state, self.steps_left) = (State::Left, 0);
        } else {
            (self.state, self.steps_right) = (State::Right, 0);
        }
    }

    /// Whether this is one step back after several ahead: the delay is the best then.
    fn is_on_top(&self) -> bool {
        match self.state {
            State::Right => self.steps_left > 1 && self.steps_right == 1,
            _ => self.steps_right > 1 && self.steps_left == 1,
        }
    }

    fn park(&mut self, state: State) {
        (self.state, self.steps_right, self.steps_left) = (state, 0, 0);
        if state == State::OnTop {
            self.tired = 0;
        }
    }

    fn leave(&mut self) {
        self.state = if self.at > 0 { State::Left } else { State::Right };
        if self.tired < TIRED {
            self.advance();
        }
    }

    /// Takes a step; false, and none is taken, if the table ends there.
    fn advance(&mut self) -> bool {
        match self.state {
            State::Right if self.at + 1 < LENGTHS.len() => {
                self.at += 1;
                self.steps_right += 1;
            }
            State::Left if self.at > 0 => {
                self.at -= 1;
                self.steps_left += 1;
            }
            _ => return false,
        }
        self.tired += 1;
        true
    }
}

/// Compares packets and interrupts per second. More packets are better (the kernel also takes more bytes for
/// better, which the model does not tell from packets); if packets do not differ, fewer interrupts are
/// better.
fn compare(now: [f64; 2], before: [f64; 2]) -> Change {
    if before[0] == 0.0 {
        return if now[0] > 0.0 { Change::Better } else { Change::Same };
    }
    let differs = |which: usize| (now[which] - before[which]).abs() > SIGNIFICANT * before[which];
    match () {
        () if differs(0) && now[0] > before[0] => Change::Better,
        () if differs(0) => Change::Worse,
        () if before[1] > 0.0 && differs(1) && now[1] < before[1] => Change::Better,
        () if before[1] > 0.0 && differs(1) => Change::Worse,
        () => Change::Same,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(packets: f64, interrupts: f64) -> Sample {
        Sample { seconds: 1.0, busy: 0.5, user: 0.5, packets, sent: 0.0, interrupts }
    }

    /// net_dim.rst says where it ends if bandwidth is the same whatever the delay and each longer delay has
    /// half the interrupts: at the longest.
    #[test]
    fn a_stream_that_no_delay_slows_ends_at_the_longest() {
        let mut dim = Dim::default();
        for _ in 0..20 {
            let interrupts = 1e5 / f64::from(dim.us());
            dim.step(&sample(1e5, interrupts));
        }
        assert_eq!(dim.us(), 256);
    }

    /// Packets that come only once the last was answered: every longer delay has fewer packets, which counts
    /// more than that it has fewer interrupts.
    #[test]
    fn answers_that_are_waited_for_end_at_the_shortest() {
        let mut dim = Dim::default();
        let mut last = Vec::new();
        for _ in 0..40 {
            let rate = 1e6 / (20.0 + f64::from(dim.us()));
            last.push(dim.step(&sample(rate, rate)));
        }
        // 1 us and 8 us differ by more than a tenth here.
        assert_eq!(last[30..], [1; 10]);
    }

    /// It goes to and fro between neighbours, which tires it after ten steps; then it rests for ten steps
    /// ("parking tired").
    #[test]
    fn what_does_not_change_tires_it() {
        let mut dim = Dim::default();
        let lengths: Vec<_> = (0..200).map(|_| dim.step(&sample(1000.0, 1000.0))).collect();
        assert!(lengths.iter().all(|us| [1, 8].contains(us)), "{lengths:?}");
        let moves = lengths[100..].windows(2).filter(|pair| pair[0] != pair[1]).count();
        assert!((40..60).contains(&moves), "{moves}: {lengths:?}");
    }
}
