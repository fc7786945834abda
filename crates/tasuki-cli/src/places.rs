//! Asking every host of a cluster the same: a lab's hosts through the lab, real machines over ssh, this machine
//! without either.

use crate::{bench::LabNetwork, failure::Failure};
use nix::{
    sys::memfd::{MFdFlags, memfd_create},
    unistd::gethostname,
};
use std::{
    ffi::{OsStr, OsString},
    fs::File,
    io::{self, Seek, Write},
    process::Command,
    thread,
    time::Duration,
};
use tasuki_bench::process::run_limited;
use tasuki_cluster::{Cluster, Host, HostId, SshTarget};
use tasuki_lab::{Lab, LabError};
use tasuki_launch::quote;

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
    pub text: Result<String, String>,
}

impl Places {
    /// A named lab, a cluster file, the only lab that is up, or this machine if there is none.
    pub fn find(lab: Option<&str>, cluster: Option<&std::path::Path>) -> Result<Self, Failure> {
        if let Some(file) = cluster {
            return Ok(Places::Cluster(Box::new(Cluster::load(file)?)));
        }
        if lab.is_none() && matches!(Lab::find(), Err(LabError::NoneUp)) {
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
                let text = output(&mut this_program(words));
                return vec![Answer { host: None, text }];
            }
            Places::Lab(network) => &network.cluster.hosts,
            Places::Cluster(cluster) => &cluster.hosts,
        };
        let ask = |number: usize| {
            let mut command = match self {
                Places::Lab(network) => in_lab(network, HostId(number), words),
                Places::Cluster(cluster) => {
                    over_ssh(&["ssh"], cluster.ssh_target(HostId(number)), ["tasuki"].iter().chain(words))
                }
                Places::Here => this_program(words),
            };
            output(&mut command)
        };
        let answers = hosts.iter().zip(at_once(hosts.len(), ask));
        let ended = || Err("the thread that asked it ended".into());
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

/// This program, where a host of a lab has it.
pub const HERE: &str = "/run/tasuki/bin/tasuki";

/// The same and its words.
fn there(words: impl IntoIterator<Item = impl AsRef<OsStr>>) -> impl Iterator<Item = OsString> {
    let words = words.into_iter().map(|word| word.as_ref().to_owned());
    [OsString::from(HERE)].into_iter().chain(words)
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

fn output(command: &mut Command) -> Result<String, String> {
    let output = run_limited(command, LIMIT).map_err(|error| error.to_string())?;
    if output.is_success() {
        return Ok(output.stdout);
    }
    Err(format!("{}: {}", output.reason(), output.stderr_tail(3)))
}
