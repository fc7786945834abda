//! The output of `tasuki-mpi-bench`: a JSON object per line, for each test and size.

use crate::Unit;
use serde::Deserialize;
use thiserror::Error;

/// Beginning of every line of results. Other lines are remarks of the MPI.
const BEGIN: &str = "{\"test\":";

/// A line of results that does not hold what it should.
#[derive(Debug, Error)]
pub enum OutputError {
    /// The line is not the JSON that the program writes.
    #[error("line {number} of the program's output: {source}: {line}")]
    Malformed {
        /// Line number from 1.
        number: usize,
        /// The line, shortened.
        line: String,
        /// What the parser says.
        source: serde_json::Error,
    },
    /// The line has no times, or times that no clock gives.
    #[error("line {number} of the program's output: samples must be finite and above zero: {line}")]
    Samples {
        /// Line number from 1.
        number: usize,
        /// The line, shortened.
        line: String,
    },
}

/// The result of one run at one point.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Line {
    /// Name of the test.
    pub test: String,
    /// Message size in bytes.
    pub bytes: u64,
    /// Number of ranks of the program.
    pub ranks: u32,
    /// Number of ranks that took part; the others slept.
    pub active_ranks: u32,
    /// Number of hosts on which the ranks found themselves (distinct processor names).
    pub hosts: u32,
    /// User and system time of the ranks that took part, seconds.
    pub cpu_s: f64,
    /// Payload that these ranks moved in that time, bytes.
    pub moved_bytes: f64,
    /// Which data was verified; `None` if the test moves none.
    pub verified: Option<String>,
    /// Time per message or operation, seconds; one value for each batch.
    pub samples: Vec<f64>,
}

impl Line {
    /// The unit in which this test is reported.
    pub fn unit(&self) -> Unit {
        if self.test == "stream" { Unit::MegabytesPerSecond } else { Unit::Microseconds }
    }

    /// The samples in the unit of [`Self::unit`].
    pub fn values(&self) -> Vec<f64> {
        let bytes = self.bytes as f64;
        let is_rate = self.unit() == Unit::MegabytesPerSecond;
        let convert = |seconds: &f64| if is_rate { bytes / seconds / 1e6 } else { seconds * 1e6 };
        self.samples.iter().map(convert).collect()
    }
}

/// The results in a program's standard output.
pub fn parse_lines(output: &str) -> Result<Vec<Line>, OutputError> {
    let ours = output.lines().enumerate().filter(|(_, line)| line.trim_start().starts_with(BEGIN));
    ours.map(|(index, text)| {
        let (number, short) = (index + 1, || text.chars().take(120).collect());
        let line: Line = serde_json::from_str(text.trim()).map_err(|source| OutputError::Malformed {
            number,
            line: short(),
            source,
        })?;
        let good = !line.samples.is_empty() && line.samples.iter().all(|s| s.is_finite() && *s > 0.0);
        if good { Ok(line) } else { Err(OutputError::Samples { number, line: short() }) }
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PINGPONG: &str = concat!(
        r#"{"test":"pingpong","bytes":8,"ranks":4,"active_ranks":2,"hosts":2,"iterations":10,"#,
        r#""operations":2,"#,
        r#""moved_bytes":320,"cpu_s":0.5,"elapsed_s":1,"verified":"every byte","samples":[2e-06,3e-06]}"#
    );

    #[test]
    fn reads_our_lines_among_others() {
        let stream = PINGPONG.replace("pingpong", "stream").replace("\"bytes\":8", "\"bytes\":1000");
        let text = format!("WARNING: no openib\n{PINGPONG}\nhello\n  {stream}\n");
        let lines = parse_lines(&text).unwrap_or_default();
        assert_eq!(lines.len(), 2);
        assert_eq!((lines[0].values(), lines[0].unit()), (vec![2.0, 3.0], Unit::Microseconds));
        // 1000 bytes in 2 us are 500 MB/s.
        assert!((lines[1].values()[0] - 500.0).abs() < 1e-9);
        assert_eq!(lines[1].unit(), Unit::MegabytesPerSecond);
    }

    #[test]
    fn a_damaged_line_is_an_error_with_its_number() {
        let cut = format!("x\n{}", &PINGPONG[..100]);
        assert!(matches!(parse_lines(&cut), Err(OutputError::Malformed { number: 2, .. })));
        for samples in ["[]", "[0]", "[-1]", "[1e999]"] {
            let text = PINGPONG.replace("[2e-06,3e-06]", samples);
            assert!(parse_lines(&text).is_err(), "{samples}");
        }
    }
}
