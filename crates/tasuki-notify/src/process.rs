//! The process that tells a user of a job's end.

use crate::{http, mail, message, rights};
use std::{
    io::{self, Read},
    thread,
    time::Duration,
};
use tasuki_control::{Address, JobView};

/// Most bytes of a job's record.
const RECORD_MAX: u64 = 4 << 20;
/// Pauses between tries.
const PAUSES: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(4)];

/// Tells the user of the job whose record is on standard input of its end, where the record says. `Err`: what
/// keeps it from being told. `user`: the job's user, whose rights this process takes first.
///
/// # Errors
/// In words for the job's user.
pub fn notify_main(user: &str) -> Result<(), String> {
    rights::become_user(user)?;
    let mut bytes = Vec::new();
    io::stdin().take(RECORD_MAX).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    let job: JobView =
        serde_json::from_slice(&bytes).map_err(|error| format!("the job's record: {error}"))?;
    match Address::parse(job.terms.notify.as_deref().unwrap_or_default())? {
        Address::Mail(to) => mail::send(&to, &message::subject(&job), &message::text(&job)),
        Address::Http { host, port, path } => {
            let body = message::record(&job)?;
            again(|| http::post(&host, port, &path, &body))
        }
        Address::Https(url) => {
            let body = message::record(&job)?;
            again(|| http::post_https(&url, &body))
        }
    }
}

/// Tries until it succeeds, a failure lasts, or all tries are made.
fn again(mut what: impl FnMut() -> Result<(), http::Failure>) -> Result<(), String> {
    let mut pauses = PAUSES.iter();
    loop {
        match what() {
            Ok(()) => return Ok(()),
            Err(http::Failure::Lasting(why)) => return Err(why),
            Err(http::Failure::Passing(why)) => match pauses.next() {
                Some(pause) => thread::sleep(*pause),
                None => return Err(format!("{why} ({} tries)", PAUSES.len() + 1)),
            },
        }
    }
}
