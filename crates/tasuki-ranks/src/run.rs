//! Running a job of ranks to its end.

use crate::{
    RanksError,
    connection::{Connection, Said, Word},
    input,
    interrupt::Interrupt,
    order::{AGENT_COMMAND, Order},
    owner::Owner,
};
use std::{
    io::{self, Write},
    sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, channel, sync_channel},
    thread,
    time::{Duration, Instant},
};
use tasuki_fleet::{Fleet, Task};
use tasuki_job::{PlainJob, PlainRequest, run_name};
use tasuki_shepherd::{JobSpec, OwnerEnd, Program, RankSpec, Stream};

/// How many words of all hosts wait to be heard. Ranks that write faster than their output is read wait, too.
const WORDS: usize = 256;
/// How long hosts may take until their agents have said a first word.
const GREETING: Duration = Duration::from_secs(60);

/// How a job is run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Begin every line with the rank that wrote it.
    pub label: bool,
    /// End the job when it has run for so long.
    pub timeout: Option<Duration>,
}

/// How a job has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// Exit code: 0 if all ranks ended with 0, else that of what went wrong first.
    pub code: u8,
    /// What went wrong first.
    pub why: Option<String>,
}

/// What takes the output of ranks.
pub(crate) type Show<'a> = &'a mut dyn FnMut(Stream, &[u8]) -> io::Result<()>;

/// Runs a job with this process's streams and signals. Returns its exit code.
///
/// # Errors
/// If there cannot be such a job, or hosts are not reached; no rank has begun then.
pub fn run(request: &PlainRequest<'_>, fleet: &Fleet, options: Options) -> Result<u8, RanksError> {
    if matches!(fleet, Fleet::Local) {
        eprintln!("tasuki: all ranks run on this machine: no --cluster FILE, and no lab, was named");
    }
    Ok(run_job(request.prepare(fleet)?, fleet, options, &mut show)?.code)
}

/// Writes what a rank has written to the stream of this process that has its name.
///
/// # Errors
/// If it cannot be written.
pub fn show(stream: Stream, bytes: &[u8]) -> io::Result<()> {
    if stream == Stream::Err {
        return io::stderr().write_all(bytes);
    }
    let mut out = io::stdout().lock();
    out.write_all(bytes)?;
    out.flush()
}

/// Runs a job to its end; `show` takes what its ranks write.
///
/// # Errors
/// As [`run`].
pub fn run_job(job: PlainJob, fleet: &Fleet, options: Options, show: Show<'_>) -> Result<Ended, RanksError> {
    let (tell, told) = sync_channel(WORDS);
    // Signals are caught from before the start, so that none is lost.
    let interrupt = Interrupt::catch(tell.clone())?;
    let id = run_name()?;
    let connections = connect(&job, fleet, &tell)?;
    let port = match greet(&job, fleet, &told, &interrupt) {
        Ok(port) => port,
        Err(why) => {
            connections.into_iter().for_each(Connection::close);
            return Err(RanksError::Hosts(why));
        }
    };
    let job = if job.has_port() { job } else { job.met_at(port) };
    for (node, connection) in connections.iter().enumerate() {
        connection.send(order(&job, node, &id)?);
    }
    let (ready, taken) = channel();
    thread::spawn(move || input::feed(&tell, &taken));
    let names = job.parts.iter().map(|part| fleet.name(part.host));
    Ok(Owner::new(names, connections, (interrupt, ready), options, show).watch(&told))
}

/// Starts the agents of all hosts that have ranks.
fn connect(job: &PlainJob, fleet: &Fleet, tell: &SyncSender<Word>) -> Result<Vec<Connection>, RanksError> {
    let task = Task::tasuki([AGENT_COMMAND]);
    let start = |(node, host): (usize, usize)| {
        let started = Connection::start(fleet.command(host, &task), node, tell.clone());
        started.map_err(|why| RanksError::Hosts(format!("{}: {why}", fleet.name(host))))
    };
    job.parts.iter().map(|part| part.host).enumerate().map(start).collect()
}

/// Waits for the first word of every agent. Returns a port that is free on the host of rank 0.
fn greet(job: &PlainJob, fleet: &Fleet, told: &Receiver<Word>, interrupt: &Interrupt) -> Result<u16, String> {
    let end = Instant::now() + GREETING;
    let mut ports: Vec<Option<u16>> = vec![None; job.parts.len()];
    let mut lost = Vec::new();
    let name = |node: usize| fleet.name(job.parts[node].host);
    while ports.contains(&None) {
        if interrupt.take().is_some() {
            return Err("interrupted before any rank had begun".into());
        }
        match told.recv_timeout(end.saturating_duration_since(Instant::now())) {
            Ok(Word::Host(node, Said::Hello(hello))) => ports[node] = Some(hello.port),
            Ok(Word::Host(node, Said::Gone(why))) => {
                lost.push(format!("{}: it does not answer: {why}", name(node)));
                ports[node] = Some(0);
            }
            Ok(_) => {}
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                let silent = (0..ports.len()).filter(|node| ports[*node].is_none());
                lost.extend(silent.map(|node| format!("{}: it does not answer", name(node))));
                break;
            }
        }
    }
    if lost.is_empty() { Ok(ports[0].unwrap_or_default()) } else { Err(lost.join("\n")) }
}

/// What the agent of a host is told first, as bytes.
fn order(job: &PlainJob, node: usize, id: &str) -> Result<Vec<u8>, RanksError> {
    let part = &job.parts[node];
    let rank = |(place, rank): (usize, &u32)| RankSpec {
        rank: *rank,
        env: job.of_rank(node, place),
        cores: Vec::new(),
    };
    let spec = JobSpec {
        id: id.into(),
        program: Program {
            argv: job.argv.clone(),
            env: job.env.clone(),
            folder: job.folder.clone(),
            umask: None,
        },
        ranks: part.ranks.iter().enumerate().map(rank).collect(),
        user: None,
        pmi: None,
        owner: OwnerEnd::Kill,
        cgroup: None,
    };
    let order = Order { spec, folders: job.folders.clone() };
    let mut line = serde_json::to_vec(&order).map_err(io::Error::from)?;
    line.push(b'\n');
    Ok(line)
}
