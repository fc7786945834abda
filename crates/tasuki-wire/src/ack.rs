//! Acknowledgements: runs of packet numbers, highest first, as in RFC 9000 section 19.3.

use std::fmt;

use crate::cursor::{Reader, Writer};
use crate::drop_reason::DropReason;
use crate::emit_error::EmitError;
use crate::ids::Path;
use crate::limits::{MAX_ACK_RUNS, MAX_PACKET_NUMBER};

/// Packet numbers `first..=last`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// Lowest number.
    pub first: u64,
    /// Highest number, at least `first`.
    pub last: u64,
}

/// An acknowledgement: packets of one path that have arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack<'a> {
    /// The path whose packet numbers these are; the ack itself may come on another.
    pub path: Path,
    /// Time between the arrival of the highest number and the sending of this frame, microseconds.
    pub delay_us: u64,
    /// The packets that have arrived.
    pub runs: Runs<'a>,
}

/// The runs of an acknowledgement, borrowed from a packet (already checked) or from the caller's own list.
#[derive(Clone, Copy)]
pub struct Runs<'a>(Source<'a>);

#[derive(Clone, Copy)]
enum Source<'a> {
    List(&'a [Run]),
    /// The first run, and the bytes of the others.
    Wire(Run, &'a [u8]),
}

impl<'a> Runs<'a> {
    /// Runs to send: descending, with at least one number missing between two of them, at most
    /// [`MAX_ACK_RUNS`]. Checked when the frame is emitted.
    pub fn new(runs: &'a [Run]) -> Runs<'a> {
        Runs(Source::List(runs))
    }

    /// The run, if it is the only one.
    pub fn only(&self) -> Option<Run> {
        match self.0 {
            Source::List([run]) => Some(*run),
            Source::Wire(run, []) => Some(run),
            _ => None,
        }
    }

    /// The runs, highest first.
    pub fn iter(&self) -> impl Iterator<Item = Run> + use<'a> {
        let (list, mut state) = match self.0 {
            Source::List(list) => (list, None),
            Source::Wire(first, rest) => (&[][..], Some((first, Reader::new(rest)))),
        };
        let wire = std::iter::from_fn(move || {
            let (run, mut rest) = state.take()?;
            // The bytes were checked when the packet was parsed, so an error here means that they have ended.
            if let Ok(next) = read_below(&mut rest, run) {
                state = Some((next, rest));
            }
            Some(run)
        });
        list.iter().copied().chain(wire)
    }
}

impl PartialEq for Runs<'_> {
    fn eq(&self, other: &Runs<'_>) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Eq for Runs<'_> {}

impl fmt::Debug for Runs<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter().map(|run| run.first..=run.last)).finish()
    }
}

//= docs/reference/wire.md#ack
//# The first run ends at `largest` and
//# holds `run` more numbers below it.
fn read_run(reader: &mut Reader<'_>, last: u64) -> Result<Run, DropReason> {
    let first = last.checked_sub(reader.var()?).ok_or(DropReason::Ack)?;
    Ok(Run { first, last })
}

//= docs/reference/wire.md#ack
//# Each further run ends `gap` + 2 below the beginning of the run before it.
fn read_below(reader: &mut Reader<'_>, above: Run) -> Result<Run, DropReason> {
    let gap = reader.var()?;
    let last = above.first.checked_sub(gap).and_then(|n| n.checked_sub(2)).ok_or(DropReason::Ack)?;
    read_run(reader, last)
}

impl<'a> Ack<'a> {
    //= docs/reference/wire.md#ack
    //# No run may reach below 0, and none ends above 2^48 - 1.
    pub(crate) fn read(reader: &mut Reader<'a>) -> Result<Ack<'a>, DropReason> {
        let path = Path::from_byte(reader.u8()?).ok_or(DropReason::Ack)?;
        let delay_us = reader.var()?;
        let largest = reader.var()?;
        if largest > MAX_PACKET_NUMBER {
            return Err(DropReason::Ack);
        }
        let first = read_run(reader, largest)?;
        let count = usize::from(reader.u8()?);
        if count >= MAX_ACK_RUNS {
            return Err(DropReason::Ack);
        }
        let all = reader.rest();
        let mut above = first;
        for _ in 0..count {
            above = read_below(reader, above)?;
        }
        let others = &all[..all.len() - reader.rest().len()];
        Ok(Ack { path, delay_us, runs: Runs(Source::Wire(first, others)) })
    }

    pub(crate) fn write(&self, writer: &mut Writer<'_>) -> Result<(), EmitError> {
        writer.u8(self.path.to_byte()?);
        writer.var(self.delay_us);
        if let Some(run) = self.runs.only().filter(|run| run.last <= MAX_PACKET_NUMBER) {
            // The most frequent case: nothing is lost.
            writer.var(run.last);
            writer.var(run.last.checked_sub(run.first).ok_or(EmitError::Ack)?);
            writer.u8(0);
            return Ok(());
        }
        let mut runs = self.runs.iter();
        let first = runs.next().filter(|run| run.last <= MAX_PACKET_NUMBER).ok_or(EmitError::Ack)?;
        writer.var(first.last);
        writer.var(first.last.checked_sub(first.first).ok_or(EmitError::Ack)?);
        let count = self.runs.iter().skip(1).count();
        if count >= MAX_ACK_RUNS {
            return Err(EmitError::Ack);
        }
        writer.u8(count as u8);
        let mut above = first;
        for run in runs {
            let gap = above.first.checked_sub(run.last).and_then(|gap| gap.checked_sub(2));
            writer.var(gap.ok_or(EmitError::Ack)?);
            writer.var(run.last.checked_sub(run.first).ok_or(EmitError::Ack)?);
            above = run;
        }
        Ok(())
    }
}
