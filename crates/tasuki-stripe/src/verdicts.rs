//! What `tasuki watch` says of the ways: it hears every NIC's greetings and so knows sooner than the kernel.

use crate::{Found, StripeError, error::doing};
use aya::maps::{Array, MapData};
use tasuki_sys::clock::monotonic_ns;

/// The program's tables for the watch. While it is told something at least every second, the program believes the watch;
/// otherwise it asks the kernel, which is told of a lost carrier up to a second late and of a silent cable never.
pub struct Verdicts {
    program: u32,
    dead: Array<MapData, u32>,
    heartbeat: Array<MapData, u64>,
    said: Vec<u32>,
}

impl Verdicts {
    /// Opens the tables of a running program. Needs root.
    pub fn open(found: &Found) -> Result<Self, StripeError> {
        let dead: Array<_, u32> = found.array("verdicts")?.try_into().map_err(doing("use a table"))?;
        let heartbeat = found.array("heartbeat")?.try_into().map_err(doing("use a table"))?;
        let said = vec![0; dead.len() as usize];
        Ok(Self { program: found.program, dead, heartbeat, said })
    }

    /// Whether these are the tables of this program.
    pub fn is_of(&self, found: &Found) -> bool {
        self.program == found.program
    }

    /// Says which slots of each peer are dead, one bit each, in the order of the plan.
    pub fn say(&mut self, dead: &[u32]) -> Result<(), StripeError> {
        for ((number, said), dead) in (0..).zip(&mut self.said).zip(dead) {
            if said != dead {
                self.dead.set(number, dead, 0).map_err(doing("write a verdict"))?;
                *said = *dead;
            }
        }
        self.heartbeat.set(0, monotonic_ns(), 0).map_err(doing("write the heartbeat"))
    }

    /// Nobody will say anything any more: from now on the kernel is asked.
    pub fn leave(&mut self) -> Result<(), StripeError> {
        self.heartbeat.set(0, 0, 0).map_err(doing("write the heartbeat"))
    }
}
