//! What `tasuki watch` says of the rails: it hears the hellos of every NIC, and so knows sooner than the
//! kernel which are dead.

use crate::{Found, StripeError, error::doing};
use aya::maps::{Array, MapData};
use tasuki_sys::clock::monotonic_ns;

/// The program's tables that the watch writes. The program believes the watch as long as it is told something
/// at least every second. Otherwise it asks the kernel, which hears of a lost carrier up to a second late and
/// never of a silent cable.
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

    /// Says which slots of each peer are dead: by peer in the order of the plan, one bit per slot.
    pub fn say(&mut self, dead: &[u32]) -> Result<(), StripeError> {
        for ((number, said), dead) in (0..).zip(&mut self.said).zip(dead) {
            if said != dead {
                self.dead.set(number, dead, 0).map_err(doing("write a verdict"))?;
                *said = *dead;
            }
        }
        self.heartbeat.set(0, monotonic_ns(), 0).map_err(doing("write the heartbeat"))
    }

    /// Tells the program that the watch ends, so that it asks the kernel from now on.
    pub fn leave(&mut self) -> Result<(), StripeError> {
        self.heartbeat.set(0, 0, 0).map_err(doing("write the heartbeat"))
    }
}
