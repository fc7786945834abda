//! Bursts are measured some at a time.

use crate::{BenchError, raw::Drain};

/// Bursts between two steps of the progress.
const CHUNK: u32 = 50;

/// So many bursts, of which `measure` measures some at a time, and what came to grief. After a failure no
/// more are measured, and what was measured before is kept; a failure at the beginning is an error.
pub(super) fn gathered(
    bursts: u32,
    mut measure: impl FnMut(u32) -> Result<Drain, BenchError>,
) -> Result<(Drain, Vec<String>), BenchError> {
    let mut all = measure(bursts.min(CHUNK))?;
    let mut left = bursts.saturating_sub(CHUNK);
    while left > 0 {
        match measure(left.min(CHUNK)) {
            Ok(drain) => {
                all.bursts.extend(drain.bursts);
                all.cpu_s += drain.cpu_s;
            }
            Err(error) => {
                return Ok((all, vec![format!("after {} of {bursts} bursts: {error}", bursts - left)]));
            }
        }
        left = left.saturating_sub(CHUNK);
    }
    Ok((all, Vec::new()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::raw::{Burst, Protocol};
    use tasuki_rate::Slow;

    /// Measures bursts, but no more than so many in all.
    fn until(most: u32) -> impl FnMut(u32) -> Result<Drain, BenchError> {
        let mut done = 0;
        move |bursts| {
            done += bursts;
            if done > most {
                return Err(BenchError::refused("the host went away"));
            }
            let (sent_bytes, first_bytes, seconds) = (9000, 1500, 1e-3);
            let burst = Burst {
                sent_bytes,
                send_seconds: seconds,
                taken_bytes: sent_bytes,
                first_bytes,
                take_seconds: seconds,
            };
            let bursts = vec![burst; bursts as usize];
            let (protocol, slow, packet_bytes) = (Protocol::Udp, Slow::No, 1500);
            Ok(Drain { protocol, slow, packet_bytes, buffer_bytes: 100_000, bursts, cpu_s: 0.5 })
        }
    }

    #[test]
    fn a_failure_in_the_end_keeps_the_bursts_before_it() {
        for (bursts, most, kept) in [(120, 120, 120), (120, 119, 100), (120, 60, 50), (7, 7, 7), (0, 0, 0)] {
            let (drain, failures) = gathered(bursts, until(most)).expect("bursts");
            assert_eq!((drain.bursts.len(), failures.is_empty()), (kept, bursts <= most));
            let words = format!("after {kept} of {bursts} bursts: the host went away");
            assert!(failures.iter().all(|said| *said == words), "{failures:?}");
        }
        assert!(gathered(120, until(49)).is_err());
    }
}
