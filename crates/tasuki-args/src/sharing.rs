//! How a job gets on with others.

use clap::Args;
use std::time::Duration;
use tasuki_control::Sharing;

/// How a job for the resident runtime gets on with others.
#[derive(Debug, Default, Args)]
pub struct SharingArgs {
    /// Begin also where other jobs of this kind hold the slots, and take turns with them: all ranks of one
    /// job run at once, for a slice of time. None: the job's slots are its own
    #[arg(long)]
    pub share: bool,
    /// Begin at once; all jobs that have ranks on the same hosts stand still until it is over. For root
    #[arg(long, conflicts_with = "share")]
    pub urgent: bool,
    /// Memory that each rank needs, as 500M or 2G. Jobs whose memory does not fit beside that of others wait;
    /// where all say what they need, more of them may take turns
    #[arg(long, value_parser = memory)]
    pub memory: Option<u64>,
}

impl SharingArgs {
    /// As the daemons speak of it.
    pub fn sharing(&self) -> Sharing {
        Sharing { share: self.share, urgent: self.urgent, memory: self.memory }
    }
}

/// Reads a number of bytes with its unit: K, M, G or T, powers of 1024.
fn memory(text: &str) -> Result<u64, String> {
    let wrong = || format!("{text} is no amount of memory: write it as 500M or 2G");
    let (number, unit) = text.split_at_checked(text.len().saturating_sub(1)).ok_or_else(wrong)?;
    let shift = ["K", "M", "G", "T"].iter().position(|known| unit.eq_ignore_ascii_case(known));
    let shift = shift.ok_or_else(wrong)? as u32 * 10 + 10;
    let number: u64 = number.parse().map_err(|_| wrong())?;
    let bytes = number.checked_mul(1 << shift).filter(|bytes| *bytes > 0);
    bytes.ok_or_else(wrong)
}

/// Reads the length of a slice: 1 ms to 60 s.
pub fn slice(text: &str) -> Result<Duration, String> {
    let wrong = || format!("{text} is no slice: write a time from 1ms to 60s, as 100ms");
    let (number, unit) = match text.strip_suffix("ms") {
        Some(number) => (number, 1),
        None => (text.strip_suffix('s').ok_or_else(wrong)?, 1000),
    };
    let number: u64 = number.parse().map_err(|_| wrong())?;
    let millis = number.checked_mul(unit).filter(|millis| (1..=60_000).contains(millis));
    millis.map(Duration::from_millis).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_need_a_unit_and_fit() {
        assert_eq!((memory("500M"), memory("2g")), (Ok(500 << 20), Ok(2 << 30)));
        for wrong in ["", "2", "G", "0G", "-1G", "1.5G", "99999999999T", "€"] {
            assert!(memory(wrong).is_err_and(|error| error.contains("500M")), "{wrong}");
        }
        assert_eq!(
            (slice("100ms"), slice("2s")),
            (Ok(Duration::from_millis(100)), Ok(Duration::from_secs(2)))
        );
        for wrong in ["", "5", "0ms", "61s", "1us", "ms"] {
            assert!(slice(wrong).is_err(), "{wrong}");
        }
    }
}
