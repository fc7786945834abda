//! What a job's user wants of the queue: `tasuki submit --timeout`, `--priority`, `--after` and so on.

use super::{checkpoints::Checkpoints, time::duration};
use clap::Args;
use jiff::{Timestamp, ToSpan, Zoned, civil};
use std::{fmt, str::FromStr, time::Duration};
use tasuki_control::{Address, Array};

/// When a job is to begin, how long it may run, and how often it is run.
#[derive(Debug, Default, Args)]
pub struct TermsArgs {
    /// End the job when it has run so long: 90s, 10m, 24h. With it a short job may begin before longer ones
    /// that wait
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub timeout: Option<Duration>,
    /// A name, for `tasuki jobs`
    #[arg(long)]
    pub name: Option<String>,
    /// Each point counts as an hour of waiting; below 0, after others. Only root may raise it above 0
    #[arg(long, value_name = "POINTS", default_value_t = 0, allow_negative_numbers = true)]
    pub priority: i32,
    /// Begin when these jobs have ended well. If one does not, the job is cancelled
    #[arg(long, value_name = "JOB", value_delimiter = ',')]
    pub after: Vec<JobName>,
    /// Begin when these jobs are over, however they ended
    #[arg(long, value_name = "JOB", value_delimiter = ',')]
    pub after_any: Vec<JobName>,
    /// Do not begin before this time: +2h, 18:30, 2027-01-31, "2027-01-31 18:30"
    #[arg(long, value_name = "TIME", value_parser = begin)]
    pub begin: Option<u64>,
    /// Run the job once for each index, which ranks find in TASUKI_ARRAY_INDEX: 0-9, 0-90:10 in steps,
    /// 0-9%2 at most two at a time
    #[arg(long, value_name = "FIRST-LAST", value_parser = array)]
    pub array: Option<Array>,
    /// Tell of the job's end: mailto:USER@HOST by the host's mailer; http://HOST/PATH or https://HOST/PATH by
    /// a POST of the job's record
    #[arg(long, value_name = "ADDRESS", value_parser = notify)]
    pub notify: Option<String>,
    /// Save the job's processes again and again, from one time to the next so long: 10m, 1h; or auto: as
    /// often as is best for what that takes if the hosts fail once a day, auto:168h: once a week. After its
    /// end, `tasuki restart` has the job go on from there. For MPICH, Intel MPI or no MPI, not with --share
    /// or --array; needs CRIU on its hosts
    #[arg(long, value_name = "DURATION", value_parser = str::parse::<Checkpoints>)]
    pub checkpoint: Option<Checkpoints>,
    /// Send a copy of what each host has of a checkpoint to another host, while the job goes on: `tasuki
    /// restart` gets it back from there if a disk is lost or damaged
    #[arg(long, requires = "checkpoint")]
    pub checkpoint_copy: bool,
}

/// Where to tell of a job's end.
fn notify(text: &str) -> Result<String, String> {
    Address::parse(text).map(|_| text.to_owned())
}

/// A job as users name it: its number, or the number of its array with an index behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobName {
    /// The number.
    pub number: u64,
    /// The index in the array of this number.
    pub index: Option<u32>,
}

impl FromStr for JobName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?} is no job; write its number, or 7_3 for task 3 of array 7");
        let (number, index) = match text.split_once('_') {
            Some((number, index)) => (number, Some(index.parse().map_err(|_| wrong())?)),
            None => (text, None),
        };
        Ok(Self { number: number.parse().map_err(|_| wrong())?, index })
    }
}

impl fmt::Display for JobName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.index {
            Some(index) => write!(f, "{}_{index}", self.number),
            None => write!(f, "{}", self.number),
        }
    }
}

/// The name of a job, as its processes have it.
pub(crate) fn job(text: &str) -> Result<String, String> {
    text.parse::<JobName>().map(|name| name.to_string())
}

/// Indices of an array.
fn array(text: &str) -> Result<Array, String> {
    let wrong = || format!("{text:?} is no array; write 0-9, 0-90:10 in steps, 0-9%2 at most two at a time");
    let number = |text: &str| text.parse::<u32>().map_err(|_| wrong());
    let (range, limit) = match text.split_once('%') {
        Some((range, limit)) => (range, Some(number(limit)?)),
        None => (text, None),
    };
    let (range, step) = match range.split_once(':') {
        Some((range, step)) => (range, number(step)?),
        None => (range, 1),
    };
    let (first, last) = match range.split_once('-') {
        Some((first, last)) => (number(first)?, number(last)?),
        None => (number(range)?, number(range)?),
    };
    let array = Array { first, last, step, limit };
    if array.is_empty() { Err(wrong()) } else { Ok(array) }
}

/// A time to begin at, seconds since 1970.
fn begin(text: &str) -> Result<u64, String> {
    begin_after(text, &Zoned::now())
}

/// A time as it is meant at some other time, in that time's zone.
fn begin_after(text: &str, now: &Zoned) -> Result<u64, String> {
    let wrong =
        || format!("{text:?} is no time; write +2h, 18:30, 2027-01-31, 2027-01-31T18:30 or with a zone");
    let time = if let Some(span) = text.strip_prefix('+') {
        let seconds = duration(span)?.as_secs_f64().ceil() as i64;
        now.timestamp().checked_add(seconds.seconds()).map_err(|_| wrong())?
    } else if let Ok(time) = text.parse::<Timestamp>() {
        time
    } else if let Ok(date) = text.parse::<civil::DateTime>() {
        date.to_zoned(now.time_zone().clone()).map_err(|_| wrong())?.timestamp()
    } else {
        let time = text.parse::<civil::Time>().map_err(|_| wrong())?;
        let today = now.date().to_datetime(time).to_zoned(now.time_zone().clone()).map_err(|_| wrong())?;
        let next = if today < *now {
            today.tomorrow().and_then(|day| day.with().time(time).build())
        } else {
            Ok(today)
        };
        next.map_err(|_| wrong())?.timestamp()
    };
    u64::try_from(time.as_second()).map_err(|_| wrong())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_and_arrays_are_read_or_refused() {
        assert_eq!("7".parse(), Ok(JobName { number: 7, index: None }));
        assert_eq!("7_3".parse(), Ok(JobName { number: 7, index: Some(3) }));
        assert!(["", "x", "7_", "_3", "7_-1"].iter().all(|bad| bad.parse::<JobName>().is_err()));
        let of = |first, last, step, limit| Ok(Array { first, last, step, limit });
        assert_eq!(array("0-9"), of(0, 9, 1, None));
        assert_eq!(array("4"), of(4, 4, 1, None));
        assert_eq!(array("0-90:10%3"), of(0, 90, 10, Some(3)));
        assert!(["", "9-0", "0-9:0", "a-b", "0-9%", "-3"].iter().all(|bad| array(bad).is_err()));
    }

    // Seconds by date(1): TZ=Europe/Berlin date -d '2026-11-27 06:00' +%s
    #[test]
    fn times_are_the_users_own() {
        let now: Zoned = "2026-11-26T07:00+01:00[+01:00]".parse().expect("a time");
        let at = |text: &str| begin_after(text, &now);
        assert_eq!(at("2026-11-27 06:00"), Ok(1_795_755_600));
        assert_eq!(at("2026-11-27T05:00Z"), Ok(1_795_755_600));
        assert_eq!(at("06:00"), Ok(1_795_755_600), "it is past today");
        assert_eq!(at("08:00"), Ok(1_795_676_400), "today");
        assert_eq!(at("+1h"), Ok(1_795_676_400));
        assert_eq!(at("2026-11-27"), Ok(1_795_734_000));
        assert!(["", "+", "tomorrow", "25:00", "1960-01-01"].iter().all(|bad| at(bad).is_err()));
    }
}
