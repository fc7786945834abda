//! Eight levels of load, from a program that only waits to one that only computes, and machines to run them
//! on.

use crate::model::{Costs, Load};

/// How many levels there are, numbered from 0.
pub const LEVELS: usize = 8;

/// A machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Machine {
    /// Its name.
    pub name: &'static str,
    /// Where the numbers are from.
    pub source: &'static str,
    /// What things cost.
    pub costs: Costs,
    /// Time from a question to the arrival of its answer, nanoseconds.
    pub round_trip_ns: f64,
    /// Shortest delay, first step above none and longest delay, microseconds. What arrives within the longest
    /// fits in the NIC's ring.
    pub bounds_us: [u32; 3],
}

impl Machine {
    /// The machines that are known.
    pub const ALL: [Machine; 2] = [Self::PAPER, Self::PRESENT];

    /// Environment 2 of the papers.
    pub const PAPER: Machine = Machine {
        name: "pentium4",
        source: "nic-distribution, 3.2: 22.1 MB/s of TCP, packets of 1,448 B, at 60 % of a Pentium 4 are \
                 37.5 us for a packet with its interrupt, divided as measured on `present`; a round trip of \
                 100 us is assumed (the papers' figure of latency is lost)",
        costs: Costs { interrupt_ns: 29_400.0, packet_ns: 8_100.0 },
        round_trip_ns: 100_000.0,
        bounds_us: [0, 10, 1280],
    };

    /// The machine that Tasuki was measured on.
    pub const PRESENT: Machine = Machine {
        name: "present",
        source: "veth with GRO and threaded NAPI, Linux 6.18, a virtual machine of 2 cores: run time of the \
                 kernel thread against its wake-ups and packets, twice 12 runs: 10.0 and 8.9 us, 2.0 and 3.1 \
                 us; 22 us is a UDP round trip",
        costs: Costs { interrupt_ns: 9_400.0, packet_ns: 2_600.0 },
        round_trip_ns: 22_000.0,
        bounds_us: [0, 10, 640],
    };
}

/// Level `number` on a machine, from 0 (nothing but waiting) to 7 (nothing but computing while a stream comes
/// in that would take the whole processor if every packet interrupted). In between, computing per answer
/// doubles from level to level, beginning with a quarter of a round trip, and the stream grows by equal
/// parts.
pub fn level(machine: &Machine, number: usize) -> Load {
    let number = number.min(LEVELS - 1);
    let part = number as f64 / (LEVELS - 1) as f64;
    let Costs { interrupt_ns, packet_ns } = machine.costs;
    let trips = if number == 0 { 0.0 } else { 0.25 * 2f64.powi(number as i32 - 1) };
    Load {
        compute_ns: trips * machine.round_trip_ns,
        waits: number < LEVELS - 1,
        round_trip_ns: machine.round_trip_ns,
        stream_rate: part * 1e9 / (interrupt_ns + packet_ns),
    }
}
