//! How often a job is saved: `tasuki submit --checkpoint`, `tasuki run --checkpoint`.

use super::time::duration;
use std::{str::FromStr, time::Duration};
use tasuki_control::Terms;
use tasuki_interval::FAILURES;

/// How often a job is saved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checkpoints {
    /// From one time to the next so long.
    Every(Duration),
    /// As often as is best for hosts that fail so often, by what checkpoints take.
    Best {
        /// From one failure to the next, on the average.
        failures: Duration,
    },
}

impl Checkpoints {
    /// Terms of a job that is saved so, and wants nothing else.
    pub fn terms(wanted: Option<Self>) -> Terms {
        match wanted {
            None => Terms::default(),
            Some(Checkpoints::Every(time)) => Terms { checkpoint: Some(seconds(time)), ..Terms::default() },
            Some(Checkpoints::Best { failures }) => {
                Terms { failures: Some(seconds(failures)), ..Terms::default() }
            }
        }
    }
}

/// Whole seconds, of which a part counts as one.
pub fn seconds(duration: Duration) -> u64 {
    duration.as_secs_f64().ceil() as u64
}

impl FromStr for Checkpoints {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.strip_prefix("auto") {
            Some("") => Ok(Checkpoints::Best { failures: FAILURES }),
            Some(rest) if rest.starts_with(':') => Ok(Checkpoints::Best { failures: duration(&rest[1..])? }),
            _ => duration(text)
                .map(Checkpoints::Every)
                .map_err(|why| format!("{why}, or auto: as often as is best")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_the_best_one_are_read() {
        let hour = Duration::from_secs(3600);
        assert_eq!("60m".parse(), Ok(Checkpoints::Every(hour)));
        assert_eq!("auto".parse(), Ok(Checkpoints::Best { failures: hour * 24 }));
        assert_eq!("auto:168h".parse(), Ok(Checkpoints::Best { failures: hour * 168 }));
        for wrong in ["", "auto:", "auto:0", "auto7h", "automatic", "./a.out", "-1s"] {
            assert!(wrong.parse::<Checkpoints>().is_err(), "{wrong}");
        }
        // A program that stands where the time should.
        assert!("./a.out".parse::<Checkpoints>().is_err_and(|why| why.contains("auto")));
        let terms = |text: &str| Checkpoints::terms(Some(text.parse().expect("it is read")));
        assert_eq!(terms("0.5s"), Terms { checkpoint: Some(1), ..Terms::default() });
        assert_eq!(terms("auto"), Terms { failures: Some(86_400), ..Terms::default() });
        assert!(!Checkpoints::terms(None).is_saved());
    }
}
