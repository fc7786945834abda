//! Asking every host of a cluster the same: a lab's hosts through the lab, real machines over ssh, this machine
//! without either.

use crate::{bench::LabNetwork, failure::Failure};
use std::{ffi::OsString, process::Command, thread, time::Duration};
use tasuki_bench::process::run_limited;
use tasuki_cluster::{Cluster, HostId};
use tasuki_lab::{Lab, LabError};

/// How long a host may take to answer.
const LIMIT: Duration = Duration::from_secs(20);

/// Hosts to ask.
pub enum Places {
    /// This machine alone.
    Here,
    /// A lab that is up.
    Lab(Box<LabNetwork>),
    /// The machines of a cluster file.
    Cluster(Cluster),
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
            return Ok(Places::Cluster(Cluster::load(file)?));
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
        let commands: Vec<(Option<String>, Command)> = match self {
            Places::Here => {
                let mut command = Command::new("/proc/self/exe");
                command.args(words);
                vec![(None, command)]
            }
            Places::Lab(network) => {
                let host = |number: usize| {
                    let program = OsString::from("/run/tasuki/bin/tasuki");
                    let argv = [program].into_iter().chain(words.iter().map(OsString::from));
                    let name = network.cluster.hosts[number].name.clone();
                    (Some(name), network.command(HostId(number), argv))
                };
                (0..network.cluster.hosts.len()).map(host).collect()
            }
            Places::Cluster(cluster) => cluster.hosts.iter().map(|host| over_ssh(host, words)).collect(),
        };
        thread::scope(|scope| {
            let running: Vec<_> = commands
                .into_iter()
                .map(|(host, mut command)| (host, scope.spawn(move || output(&mut command))))
                .collect();
            let answer = |(host, thread): (_, thread::ScopedJoinHandle<'_, _>)| Answer {
                host,
                text: thread.join().unwrap_or_else(|_| Err("the thread that asked it ended".into())),
            };
            running.into_iter().map(answer).collect()
        })
    }
}

fn over_ssh(host: &tasuki_cluster::Host, words: &[&str]) -> (Option<String>, Command) {
    let mut command = Command::new("ssh");
    command.args(["-o", "BatchMode=yes", "-o", "ConnectTimeout=10"]);
    command.arg(host.management.as_ref().unwrap_or(&host.name)).arg("tasuki").args(words);
    (Some(host.name.clone()), command)
}

fn output(command: &mut Command) -> Result<String, String> {
    let output = run_limited(command, LIMIT).map_err(|error| error.to_string())?;
    if output.is_success() {
        return Ok(output.stdout);
    }
    Err(format!("{}: {}", output.reason(), output.stderr_tail(3)))
}
