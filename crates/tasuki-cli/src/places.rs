//! Asking every host of a cluster the same: a lab's hosts through the lab, real machines over ssh, this machine
//! without either.

use crate::{bench::LabNetwork, failure::Failure};
use nix::{
    sys::memfd::{MFdFlags, memfd_create},
    unistd::gethostname,
};
use std::{
    ffi::{OsStr, OsString},
    fmt,
    fs::File,
    io::{self, Seek, Write},
    process::Command,
    thread,
    time::Duration,
};
use tasuki_cluster::{Cluster, Host, HostId, SshTarget};
use tasuki_lab::{HOST_PROGRAM, Lab, LabError, need_root};
use tasuki_process::{Output, quote, run_limited};

/// How long a host may take to answer.
const LIMIT: Duration = Duration::from_secs(20);

/// Hosts to ask.
pub enum Places {
    /// This machine alone.
    Here,
    /// A lab that is up.
    Lab(Box<LabNetwork>),
    /// The machines of a cluster file.
    Cluster(Box<Cluster>),
}

/// What a host said, or why it said nothing.
pub struct Answer {
    /// Its name; none: this machine.
    pub host: Option<String>,
    /// What the command printed.
    pub text: Result<String, Unanswered>,
}

/// Why a host said nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unanswered {
    /// What is known of it.
    pub why: String,
    /// What helps, as a command where there is one.
    pub remedy: Option<String>,
}

impl fmt::Display for Unanswered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.remedy {
            Some(remedy) => write!(f, "{}; {remedy}", self.why),
            None => f.write_str(&self.why),
        }
    }
}

/// What a shell, and so ssh, says of a command that it does not find.
pub const NOT_FOUND: i32 = 127;
/// What ssh says when it cannot reach a host (ssh(1), "EXIT STATUS").
pub const NOT_REACHED: i32 = 255;

impl Unanswered {
    /// Of a command that failed on a machine that ssh reaches like this.
    pub fn over_ssh(target: SshTarget<'_>, output: &Output) -> Self {
        let said = output.stderr_tail(3);
        let said = said.trim_end_matches('.');
        let (why, remedy) = match output.code {
            Some(NOT_REACHED) => (
                format!("it does not answer: {said}"),
                Some(format!("try `ssh {target} true`; `management` and `ssh` in the cluster file say how it is reached")),
            ),
            Some(NOT_FOUND) => (
                format!("it has no tasuki: {said}"),
                Some("install it there, where a login without a terminal finds it, or say where it is with --remote".into()),
            ),
            _ => (format!("{}: {said}", output.reason()), None),
        };
        Self { why, remedy }
    }

    fn plainly(why: impl ToString) -> Self {
        Self { why: why.to_string(), remedy: None }
    }
}

impl Places {
    /// A named lab, a cluster file, the only lab that is up, or this machine if there is none.
    pub fn find(lab: Option<&str>, cluster: Option<&std::path::Path>) -> Result<Self, Failure> {
        if let Some(file) = cluster {
            return Ok(Places::Cluster(Box::new(Cluster::load(file)?)));
        }
        // Labs are root's: another user's programs do not run in one that happens to be up.
        if lab.is_none() && (need_root().is_err() || matches!(Lab::find(), Err(LabError::NoneUp))) {
            return Ok(Places::Here);
        }
        Ok(Places::Lab(Box::new(LabNetwork::running(lab)?)))
    }

    /// In words, for titles.
    pub fn title(&self) -> String {
        match self {
            Places::Here => "this machine".into(),
            Places::Lab(network) => format!("lab {}", network.lab),
            Places::Cluster(cluster) => format!("cluster {}", cluster.name),
        }
    }

    /// Runs `tasuki WORDS` on every host at the same time.
    pub fn ask(&self, words: &[&str]) -> Vec<Answer> {
        let hosts: &[Host] = match self {
            Places::Here => {
                let text = output(&mut this_program(words), None);
                return vec![Answer { host: None, text }];
            }
            Places::Lab(network) => &network.cluster.hosts,
            Places::Cluster(cluster) => &cluster.hosts,
        };
        let ask = |number: usize| match self {
            Places::Lab(network) => output(&mut in_lab(network, HostId(number), words), None),
            Places::Cluster(cluster) => {
                let target = cluster.ssh_target(HostId(number));
                output(&mut over_ssh(&["ssh"], target, ["tasuki"].iter().chain(words)), Some(target))
            }
            Places::Here => output(&mut this_program(words), None),
        };
        let answers = hosts.iter().zip(at_once(hosts.len(), ask));
        let ended = || Err(Unanswered::plainly("the thread that asked it ended"));
        answers
            .map(|(host, text)| Answer { host: Some(host.name.clone()), text: text.unwrap_or_else(ended) })
            .collect()
    }
}

/// This program again, on this machine.
pub fn this_program(words: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Command {
    let mut command = Command::new("/proc/self/exe");
    command.args(words);
    command
}

/// This program in a host of a lab.
pub fn in_lab(
    network: &LabNetwork,
    host: HostId,
    words: impl IntoIterator<Item = impl AsRef<OsStr>>,
) -> Command {
    network.command(host, there(words))
}

/// The same; what it leaves behind in the background goes on.
pub fn lasting_in_lab(
    network: &LabNetwork,
    host: HostId,
    words: impl IntoIterator<Item = impl AsRef<OsStr>>,
) -> Command {
    network.lasting(host, there(words))
}

/// The same and its words.
fn there(words: impl IntoIterator<Item = impl AsRef<OsStr>>) -> impl Iterator<Item = OsString> {
    let words = words.into_iter().map(|word| word.as_ref().to_owned());
    [OsString::from(HOST_PROGRAM)].into_iter().chain(words)
}

/// A command on a machine by `ssh` (program and options), which asks nobody for a password and does not wait long for a machine that
/// is off. The words pass the shell over there unchanged, and no name from a cluster file can be an option: each follows an option
/// or the `--` that ends them.
pub fn over_ssh(
    ssh: &[impl AsRef<OsStr>],
    target: SshTarget<'_>,
    words: impl IntoIterator<Item = impl AsRef<OsStr>>,
) -> Command {
    let mut command = Command::new(&ssh[0]);
    command.args(&ssh[1..]).args(["-o", "BatchMode=yes", "-o", "ConnectTimeout=10"]);
    if let Some(port) = target.port {
        command.args(["-p", &port.to_string()]);
    }
    for (option, name) in [("-J", target.jump), ("-l", target.user)] {
        if let Some(name) = name {
            command.args([option, name]);
        }
    }
    command.args(["--", target.address]).args(words.into_iter().map(|word| quote(word.as_ref())));
    command
}

/// A file in memory with this text, as standard input.
pub fn as_input(text: &str) -> io::Result<File> {
    let mut file = File::from(memfd_create(c"input", MFdFlags::MFD_CLOEXEC)?);
    file.write_all(text.as_bytes())?;
    file.rewind()?;
    Ok(file)
}

/// Asks all hosts at once, by their numbers; `None` where that came to grief.
pub fn at_once<T: Send>(hosts: usize, ask: impl Fn(usize) -> T + Sync) -> Vec<Option<T>> {
    let ask = &ask;
    thread::scope(|scope| {
        let asked: Vec<_> = (0..hosts).map(|number| scope.spawn(move || ask(number))).collect();
        asked.into_iter().map(|thread| thread.join().ok()).collect()
    })
}

/// The name of this machine without its domain.
pub fn host_name() -> String {
    let name = gethostname().unwrap_or_default();
    let name = name.to_string_lossy();
    name.split('.').next().unwrap_or_default().to_owned()
}

/// What a command printed; `target`: it runs on a machine that ssh reaches like this.
fn output(command: &mut Command, target: Option<SshTarget<'_>>) -> Result<String, Unanswered> {
    let output = run_limited(command, LIMIT).map_err(|error| {
        Unanswered::plainly(format!("cannot run {}: {error}", command.get_program().display()))
    })?;
    match target {
        _ if output.is_success() => Ok(output.stdout),
        Some(target) => Err(Unanswered::over_ssh(target, &output)),
        None => Err(Unanswered::plainly(format!("{}: {}", output.reason(), output.stderr_tail(3)))),
    }
}
