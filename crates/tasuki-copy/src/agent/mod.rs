//! The agent, which runs on every host while a job's files are there: it makes the job's folder, receives and
//! passes on, and removes the folder when the job has ended or the program that gives orders is gone.

mod folder;
mod relay;

use crate::{
    protocol::{Answer, Order},
    sum::{self, Key},
};
use folder::JobFolder;
use relay::{Relay, Trouble};
use std::{
    fs,
    io::{self, BufRead, Write},
    net::TcpListener,
    path::Path,
};

/// Where jobs have their folders: a place that every host has, and in which every user may write.
const PLACE: &str = "/tmp";

/// What an agent holds.
#[derive(Default)]
struct Agent {
    folder: Option<JobFolder>,
    listener: Option<TcpListener>,
}

/// Does what the lines of `input` order until it ends or something fails, and answers each with a line on
/// `output`. A folder that is still there then is removed.
///
/// # Errors
/// If the input cannot be read or nobody reads the output; the folder is removed all the same.
pub fn run(mut input: impl BufRead, mut output: impl Write) -> io::Result<()> {
    let mut agent = Agent::default();
    let mut line = String::new();
    loop {
        line.clear();
        if input.read_line(&mut line)? == 0 {
            return Ok(());
        }
        let answer = match serde_json::from_str(&line) {
            Err(error) => {
                Err(Trouble::own(format!("not an order: {error}; is this tasuki of another version?")))
            }
            Ok(order) => agent.obey(order, &mut input),
        };
        let failed = answer.is_err();
        let answer = answer.unwrap_or_else(|trouble| Answer::Failed {
            why: trouble.why,
            remedy: trouble.remedy,
            follows: trouble.follows,
        });
        serde_json::to_writer(&mut output, &answer)?;
        output.write_all(b"\n")?;
        output.flush()?;
        if failed {
            // What follows may be the rest of a file, and no order.
            return Ok(());
        }
    }
}

impl Agent {
    fn obey(&mut self, order: Order, input: &mut impl BufRead) -> Result<Answer, Trouble> {
        match order {
            Order::Look { key, compared, needed } => Ok(look(key, &compared, &needed)),
            Order::Open { job, bytes, listen } => {
                JobFolder::sweep(Path::new(PLACE));
                self.folder = Some(JobFolder::make(Path::new(PLACE), &job, bytes)?);
                self.listener = listen.map(relay::listen).transpose()?;
                let port = self.listener.as_ref().and_then(|socket| socket.local_addr().ok());
                Ok(Answer::Open { port: port.map(|address| address.port()) })
            }
            Order::Pass { items, key, next } => {
                let folder =
                    self.folder.as_ref().ok_or_else(|| Trouble::own("it was not told to open".into()))?;
                folder.announce(&items)?;
                let relay = Relay { folder, items: &items, key, next: next.as_ref() };
                let sums = match self.listener.take() {
                    Some(listener) => relay.run(relay::accept(&listener, key)?),
                    None => relay.run(input),
                };
                Ok(Answer::Passed(sums?))
            }
            Order::End => {
                let kept = self.folder.take().map(JobFolder::end).transpose()?;
                Ok(Answer::Ended(kept.flatten()))
            }
        }
    }
}

fn look(key: Key, compared: &[String], needed: &[String]) -> Answer {
    let seen = |path: &String| {
        let path = Path::new(path);
        let bytes = fs::metadata(path).ok().filter(fs::Metadata::is_file)?.len();
        Some((bytes, sum::of_file(path, key).ok()?))
    };
    let missing = needed.iter().enumerate().filter(|(_, path)| !Path::new(path).exists());
    Answer::Sight {
        compared: compared.iter().map(seen).collect(),
        missing: missing.map(|(number, _)| number).collect(),
    }
}
