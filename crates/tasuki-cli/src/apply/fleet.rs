//! All hosts of a cluster: every one runs `tasuki ... --host NAME --json` itself.

use super::{load, show::HostStatus};
use crate::{
    args::HostsArgs,
    bench::LabNetwork,
    failure::Failure,
    places::{Unanswered, as_input, at_once, host_name, in_lab, lasting_in_lab, over_ssh, this_program},
    terminal::progress_bar,
};
use serde::de::DeserializeOwned;
use std::{path::Path, process::Command, time::Duration};
use tasuki_cluster::{Cluster, Host, HostId, SshTarget};
use tasuki_host::{Mode, Report};
use tasuki_process::Limited;

/// How long a host may take. Hundreds of settings take a second; the rest is for slow disks and logins.
const LIMIT: Duration = Duration::from_secs(120);

/// The hosts of a cluster, and the way to them.
pub struct Fleet {
    cluster: Cluster,
    way: Way,
    /// Options about the hosts that every host is told too.
    words: Vec<String>,
}

enum Way {
    Lab(Box<LabNetwork>),
    Ssh {
        /// Program and options.
        ssh: Vec<String>,
        /// The `tasuki` command over there, `sudo` before it if asked for.
        remote: Vec<String>,
    },
}

impl Fleet {
    /// The hosts of a lab or of a cluster file; `None`: only this machine is meant.
    pub fn of(file: Option<&Path>, hosts: &HostsArgs) -> Result<Option<Self>, Failure> {
        if hosts.here || hosts.host.is_some() {
            return Ok(None);
        }
        let mut words: Vec<String> = hosts.force.then(|| "--force".into()).into_iter().collect();
        if let Some(folder) = &hosts.state_dir {
            words.extend(["--state-dir".into(), folder.display().to_string()]);
        }
        if let Some(name) = &hosts.lab {
            let network = LabNetwork::running(Some(name))?;
            let cluster = match file {
                Some(file) => load(file)?.with_lab_macs(),
                None => network.cluster.clone(),
            };
            return Ok(Some(Self { cluster, way: Way::Lab(Box::new(network)), words }));
        }
        let Some(file) = file else { return Ok(None) };
        let (ssh, remote) = hosts.remote.words()?;
        Ok(Some(Self { cluster: load(file)?, way: Way::Ssh { ssh, remote }, words }))
    }

    /// Whether the lab has offloads on; `None`: real machines.
    pub fn offloads(&self) -> Option<bool> {
        match &self.way {
            Way::Lab(network) => Some(network.options.offloads),
            Way::Ssh { .. } => None,
        }
    }

    /// The rate that a lab has for all cables, for the tables of rails that `apply` writes.
    fn rate(&self, verb: &str) -> Vec<String> {
        let rate = match &self.way {
            Way::Lab(network) if verb == "apply" => network.options.rate,
            _ => None,
        };
        rate.map_or_else(Vec::new, |rate| vec!["--rate".into(), rate.to_string()])
    }

    /// Has every host change: first all are asked whether they could, and if one cannot, none is changed.
    pub fn change(&self, verb: &str, words: &[String], mode: Mode) -> Vec<Report> {
        let with = |extra: &str| words.iter().cloned().chain([extra.to_owned()]).collect::<Vec<_>>();
        let first = if mode == Mode::Show { "--dry-run" } else { "--check" };
        let checked = reports(self.ask(verb, &with(first), "checking"));
        if mode != Mode::Change || checked.iter().any(|report| !report.problems.is_empty()) {
            return checked;
        }
        let mut changed = reports(self.ask(verb, words, verb));
        // Once something is done, the notes would speak of what it was like before.
        for (report, checked) in changed.iter_mut().zip(checked) {
            report.notes = checked.notes;
        }
        changed
    }

    /// How every host is.
    pub fn status(&self) -> Vec<HostStatus> {
        let answers = self.ask::<Vec<HostStatus>>("status", &[], "status");
        let status = |(host, answer): (String, Result<Vec<HostStatus>, String>)| match answer {
            Ok(mut all) if all.len() == 1 => all.remove(0),
            Ok(_) => HostStatus { problem: Some(odd(&host)), host, status: None },
            Err(problem) => HostStatus { host, status: None, problem: Some(problem) },
        };
        answers.into_iter().map(status).collect()
    }

    /// Runs `tasuki VERB` with these words on every host at once.
    fn ask<T: DeserializeOwned + Send>(
        &self,
        verb: &str,
        words: &[String],
        title: &str,
    ) -> Vec<(String, Result<T, String>)> {
        let bar = progress_bar(self.cluster.hosts.len() as u64).with_prefix(title.to_owned());
        let text = if verb == "apply" { self.cluster.to_toml() } else { String::new() };
        let ask = |number: usize| {
            let host = &self.cluster.hosts[number];
            let command = self.command(number, verb, words);
            let target = matches!(self.way, Way::Ssh { .. }).then(|| self.cluster.ssh_target(HostId(number)));
            let answer = answer(host, target, command, &text);
            bar.inc(1);
            bar.set_message(host.name.clone());
            (host.name.clone(), answer)
        };
        let ended = || (String::new(), Err("the thread that asked ended".to_owned()));
        let answers = at_once(self.cluster.hosts.len(), ask).into_iter();
        let answers = answers.map(|answer| answer.unwrap_or_else(ended)).collect();
        bar.finish_and_clear();
        answers
    }

    fn command(&self, number: usize, verb: &str, words: &[String]) -> Command {
        let host = &self.cluster.hosts[number];
        let file = (verb == "apply").then_some("-");
        let fixed = [verb].into_iter().chain(file).chain(["--host", &host.name, "--json"]);
        let words = fixed.map(str::to_owned).chain(words.iter().cloned()).chain(self.words.iter().cloned());
        let words: Vec<String> = words.chain(self.rate(verb)).collect();
        match &self.way {
            // What `apply` starts there shall stay.
            Way::Lab(network) if verb == "apply" => lasting_in_lab(network, HostId(number), words),
            Way::Lab(network) => in_lab(network, HostId(number), words),
            Way::Ssh { .. } if host.name == host_name() => this_program(words),
            Way::Ssh { ssh, remote } => {
                let target = self.cluster.ssh_target(HostId(number));
                over_ssh(ssh, target, remote.iter().chain(&words))
            }
        }
    }
}

fn odd(host: &str) -> String {
    format!("{host}: its tasuki answered oddly; is it of another version? Install the same on all hosts")
}

/// What one host answers, or why it does not.
fn answer<T: DeserializeOwned>(
    host: &Host,
    target: Option<SshTarget<'_>>,
    mut command: Command,
    text: &str,
) -> Result<T, String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let fail = |error: std::io::Error| format!("{}: cannot run {program}: {error}", host.name);
    let input = as_input(text).map_err(fail)?;
    let output = Limited::new(LIMIT).input(input).run(&mut command).map_err(fail)?;
    // A host that has something to report does so whatever its exit code is.
    if let Ok(answer) = serde_json::from_str(&output.stdout) {
        return Ok(answer);
    }
    let host = &host.name;
    Err(match (output.code, target) {
        (Some(0), _) => odd(host),
        (_, Some(target)) => format!("{host}: {}", Unanswered::over_ssh(target, &output)),
        (_, None) => format!("{host}: {}: {}", output.reason(), output.stderr_tail(3)),
    })
}

fn reports(answers: Vec<(String, Result<Vec<Report>, String>)>) -> Vec<Report> {
    let report = |(host, answer): (String, Result<Vec<Report>, String>)| {
        let problem = match answer {
            Ok(mut all) if all.len() == 1 => return all.remove(0),
            Ok(_) => odd(&host),
            Err(problem) => problem,
        };
        Report { host, problems: vec![problem], ..Report::default() }
    };
    answers.into_iter().map(report).collect()
}
