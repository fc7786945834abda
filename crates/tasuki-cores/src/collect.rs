//! The core files of all hosts, on the host that has started the job.

use crate::{
    agent::AGENT_COMMAND,
    kernel::Kernel,
    order::{Found, Order, Search},
    receive::receive,
    say,
};
use std::{
    fs,
    io::{self, Read},
    path::{Path, PathBuf},
    process::{Child, Stdio},
    sync::{
        atomic::{AtomicU64, Ordering},
        mpsc::{RecvTimeoutError, channel},
    },
    thread,
    time::{Duration, Instant},
};
use tasuki_fleet::{Fleet, Task, for_each_host};
use tasuki_process::text_file;

/// How long a host may send nothing. Its catalogue may have to unpack a core file before.
const SILENCE: Duration = Duration::from_secs(120);
/// How often is looked whether a host still sends.
const LOOK: Duration = Duration::from_millis(500);

/// What is wanted of a job's core files.
#[derive(Clone, Debug)]
pub struct Cores {
    mark: (String, String),
    to: PathBuf,
    began: Instant,
}

/// What has come of it.
#[derive(Debug, Default)]
pub struct Collected {
    /// A line for each core file: whose it is, and how it is looked at.
    pub cores: Vec<String>,
    /// What was not collected, and why.
    pub problems: Vec<String>,
}

/// A core file that has come.
#[derive(Debug)]
pub(crate) struct Core {
    /// The name of its host.
    pub host: String,
    /// What the host says of it.
    pub found: Found,
    /// Where it is now.
    pub path: PathBuf,
}

impl Cores {
    /// Asks all hosts what their kernels do with core files, and returns with what is wanted what of it will
    /// lose some, a line for hosts of which it is true. Core files are to come to the folder `to`, which
    /// is made if it is not there. `mark` is the environment variable, with its value, by which processes of
    /// the job are known.
    ///
    /// # Errors
    /// If the folder cannot be made. Hosts that do not answer are among the lines.
    pub fn before(fleet: &Fleet, mark: (&str, &str), to: &Path) -> io::Result<(Self, Vec<String>)> {
        fs::create_dir_all(to)?;
        let mut said: Vec<(String, Vec<String>)> = Vec::new();
        for answer in fleet.run_all(&task(&Order::Look)) {
            let label = answer.label().to_owned();
            let warning = match answer.json::<Kernel>() {
                Ok(kernel) => kernel.warning(),
                Err(error) => Some(error.why),
            };
            let Some(warning) = warning else { continue };
            match said.iter_mut().find(|(known, _)| *known == warning) {
                Some((_, hosts)) => hosts.push(label),
                None => said.push((warning, vec![label])),
            }
        }
        let lines = said.into_iter().map(|(warning, hosts)| format!("{}: {warning}", say::hosts(&hosts)));
        let mark = (mark.0.to_owned(), mark.1.to_owned());
        Ok((Self { mark, to: to.to_owned(), began: Instant::now() }, lines.collect()))
    }

    /// Brings the core files of all hosts here, and removes there what has come whole. Ranks began in
    /// `folder`, with `program`; `failed` says that the job did.
    pub fn collect(&self, fleet: &Fleet, folder: &Path, program: &Path, failed: bool) -> Collected {
        let age = self.began.elapsed().as_secs();
        let search = Search { mark: self.mark.clone(), folder: folder.to_owned(), age, failed };
        let parts = for_each_host(fleet.len(), |host| {
            let (mut cores, mut problems) = self.fetch(fleet, host, &search);
            cores.sort_by_key(|core| (core.found.rank, core.found.process));
            problems.extend(remove(fleet, host, &cores));
            let name = fleet.name(host);
            (cores, problems.into_iter().map(move |problem| format!("{name}: {problem}")).collect::<Vec<_>>())
        });
        let mut collected = Collected::default();
        for (cores, problems) in parts {
            collected.cores.extend(cores.iter().map(|core| say::line(core, program)));
            collected.problems.extend(problems);
        }
        collected
    }

    /// What has come from a host, and what there is to tell of it.
    fn fetch(&self, fleet: &Fleet, host: usize, search: &Search) -> (Vec<Core>, Vec<String>) {
        let (name, mut cores, mut notes) = (fleet.name(host), Vec::new(), Vec::new());
        let mut problems = Vec::new();
        let order = Order::Give(search.clone());
        let ended = stream(fleet, host, &order, |from| {
            let keep = |found, path| cores.push(Core { host: name.clone(), found, path });
            receive(from, &name, &self.to, keep, |note| notes.push(note))
        });
        problems.extend(notes);
        if let Err(error) = ended {
            problems.push(format!("its core files were not all brought here, and stay there: {error}"));
        }
        (cores, problems)
    }
}

/// Removes on a host the files that have come from it. What fails is told.
fn remove(fleet: &Fleet, host: usize, cores: &[Core]) -> Option<String> {
    let files: Vec<PathBuf> = cores.iter().filter_map(|core| core.found.path.clone()).collect();
    if files.is_empty() {
        return None;
    }
    let failed = fleet.run(host, &task(&Order::Remove(files))).text().err()?;
    Some(format!("what has been brought here was not removed there: {}", failed.why))
}

fn task(order: &Order) -> Task {
    Task::tasuki([AGENT_COMMAND]).input(serde_json::json!(order).to_string())
}

/// A stream of which is known how much has come.
struct Counted<'a, R>(R, &'a AtomicU64);

impl<R: Read> Read for Counted<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.0.read(buffer)?;
        self.1.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

/// Gives a host an order, and `read` what it answers. It is ended if nothing comes for long.
fn stream(
    fleet: &Fleet,
    host: usize,
    order: &Order,
    read: impl FnOnce(&mut dyn Read) -> io::Result<()> + Send,
) -> io::Result<()> {
    let mut command = fleet.command(host, &Task::tasuki([AGENT_COMMAND]));
    command.stdin(text_file(&serde_json::json!(order).to_string())?).stdout(Stdio::piped());
    let mut child = command.spawn()?;
    let Some(output) = child.stdout.take() else { return Err(io::Error::other("it has no output")) };
    let come = AtomicU64::new(0);
    thread::scope(|scope| {
        let (tell, told) = channel();
        let come = &come;
        // The thread ends when the child does, which then writes no more.
        scope.spawn(move || {
            let ended = read(&mut Counted(output, come));
            let _ = tell.send(ended);
        });
        let (mut before, mut since, mut is_killed) = (0, Instant::now(), false);
        let ended = loop {
            match told.recv_timeout(LOOK) {
                Ok(ended) => break ended,
                Err(RecvTimeoutError::Disconnected) => break Err(io::Error::other("it was not read")),
                Err(RecvTimeoutError::Timeout) => {}
            }
            let now = come.load(Ordering::Relaxed);
            if now != before {
                (before, since) = (now, Instant::now());
            } else if since.elapsed() > SILENCE && !is_killed {
                child.kill()?;
                is_killed = true;
            }
        };
        end(&mut child)?;
        match is_killed {
            true => Err(io::Error::other(format!("nothing has come for {} s", SILENCE.as_secs()))),
            false => ended,
        }
    })
}

/// Ends what has nothing more to send.
fn end(child: &mut Child) -> io::Result<()> {
    let until = Instant::now() + LOOK;
    while child.try_wait()?.is_none() {
        if Instant::now() >= until {
            child.kill()?;
            child.wait()?;
            return Ok(());
        }
        thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}
