//! Setting up, restoring and asking all hosts of a fleet: every one runs `tasuki VERB --host NAME --json`
//! itself.

use crate::{ApplyOptions, HostOptions, HostStatus, report::failed};
use serde::de::DeserializeOwned;
use std::time::Duration;
use tasuki_fleet::{Answer, Fleet, Task};
use tasuki_host::{Mode, Report};

/// How long a host may take. Hundreds of settings take a second; the rest is for slow disks and logins.
const LIMIT: Duration = Duration::from_secs(120);

/// How far the work on a fleet has got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step<'a> {
    /// So many hosts are asked for something, which has this title.
    Begin(&'a str, usize),
    /// This host has answered.
    Done(&'a str),
    /// All hosts have answered.
    End,
}

/// Told of every [`Step`], from several threads.
type Progress<'a> = &'a (dyn Fn(Step<'_>) + Sync);

/// Applies the fleet's cluster to all its hosts: first all are asked whether they could, and if one cannot,
/// none is changed. A lab's offloads and rates go before the options' own where these leave them open.
pub fn apply_all(
    fleet: &Fleet,
    host_options: &HostOptions,
    options: &ApplyOptions,
    mode: Mode,
    progress: Progress<'_>,
) -> Vec<Report> {
    let mut options = options.clone();
    if let Fleet::Lab(lab) = fleet {
        // Offloads that are on are left as they are: on is how the lab has made its NICs.
        options.offloads = options.offloads.or((!lab.options.offloads).then_some(false));
        options.rate = options.rate.or(lab.options.rate);
    }
    let mut argv = options.argv_with_unit();
    argv.extend(host_options.argv());
    let text = fleet.cluster().map(|cluster| cluster.to_toml());
    let verb = Verb { name: "apply", argv, input: text };
    change(fleet, &verb, mode, progress)
}

/// Restores all hosts: first all are asked whether they could, and if one cannot, none is changed.
pub fn undo_all(fleet: &Fleet, options: &HostOptions, mode: Mode, progress: Progress<'_>) -> Vec<Report> {
    change(fleet, &Verb { name: "undo", argv: options.argv(), input: None }, mode, progress)
}

/// How all hosts are.
pub fn status_all(fleet: &Fleet, options: &HostOptions, progress: Progress<'_>) -> Vec<HostStatus> {
    let verb = Verb { name: "status", argv: options.argv(), input: None };
    let mut answers = ask(fleet, &verb, &[], "status", progress, |host, problem| HostStatus {
        host,
        status: None,
        problem: Some(problem),
    });
    if let Fleet::Lab(lab) = fleet
        && !lab.options.bare
    {
        answers.iter_mut().for_each(|answer| answer.as_built(&lab.cluster.name));
    }
    answers
}

/// A subcommand that every host runs.
struct Verb {
    name: &'static str,
    /// Its further arguments.
    argv: Vec<String>,
    /// The cluster, as standard input, if the subcommand wants it.
    input: Option<String>,
}

impl Verb {
    /// The task for a host.
    fn task(&self, host: &str, further: &[&str]) -> Task {
        let file = self.input.is_some().then_some("-");
        let fixed = [self.name].into_iter().chain(file).chain(["--host", host, "--json"]);
        let argv = fixed.chain(further.iter().copied()).chain(self.argv.iter().map(String::as_str));
        let task = Task::tasuki(argv).limit(LIMIT);
        match &self.input {
            Some(text) => task.input(text.as_str()),
            None => task,
        }
    }
}

fn change(fleet: &Fleet, verb: &Verb, mode: Mode, progress: Progress<'_>) -> Vec<Report> {
    let problem = |host: String, problem: String| failed(&host, problem);
    let first = if mode == Mode::Show { "--dry-run" } else { "--check" };
    let checked = ask(fleet, verb, &[first], "checking", progress, problem);
    if mode != Mode::Change || checked.iter().any(|report: &Report| !report.problems.is_empty()) {
        return checked;
    }
    let mut changed = ask(fleet, verb, &[], verb.name, progress, problem);
    for (report, checked) in changed.iter_mut().zip(checked) {
        // What was noted while the host was changed follows what was noted before.
        let noted = std::mem::replace(&mut report.notes, checked.notes);
        let new: Vec<_> = noted.into_iter().filter(|note| !report.notes.contains(note)).collect();
        report.notes.extend(new);
    }
    changed
}

/// Runs a subcommand on every host at once, on this machine last if it is set up. Each answers with a list of
/// one value; `problem` makes the value of a host that does not.
fn ask<T: DeserializeOwned>(
    fleet: &Fleet,
    verb: &Verb,
    further: &[&str],
    title: &str,
    progress: Progress<'_>,
    problem: impl Fn(String, String) -> T,
) -> Vec<T> {
    progress(Step::Begin(title, fleet.len()));
    let changes_hosts = further.is_empty() && verb.name != "status";
    let task = |host| {
        let task = verb.task(&fleet.name(host), further);
        if changes_hosts { task.lasting() } else { task }
    };
    let done = |host: &str| progress(Step::Done(host));
    // After `apply` names of hosts lead over cables, to hosts that may not have been set up yet.
    let answers = match changes_hosts && verb.name == "apply" {
        true => fleet.run_each_here_last(task, done),
        false => fleet.run_each(task, done),
    };
    progress(Step::End);
    let value = |answer: Answer| {
        let host = answer.host.clone();
        let several = answer.odd("it reports of several hosts");
        match answer.json::<Vec<T>>() {
            Ok(mut all) if all.len() == 1 => all.remove(0),
            Ok(_) => problem(host, several.to_string()),
            Err(error) => problem(host, error.to_string()),
        }
    };
    answers.into_iter().map(value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_told_its_name_and_reads_the_cluster() {
        let verb = Verb { name: "apply", argv: vec!["--force".into()], input: Some("text".into()) };
        let expected = Task::tasuki(["apply", "-", "--host", "n1", "--json", "--check", "--force"]);
        assert_eq!(verb.task("n1", &["--check"]), expected.limit(LIMIT).input("text"));
        let verb = Verb { name: "undo", argv: Vec::new(), input: None };
        assert_eq!(verb.task("n2", &[]), Task::tasuki(["undo", "--host", "n2", "--json"]).limit(LIMIT));
    }

    #[test]
    fn what_was_noted_before_and_during_the_change_is_told() {
        let file = "[[host]]\nname = \"far\"\nmanagement = \"192.0.2.1\"\nnic = [{ name = \"eth1\" }]\n";
        let cluster = tasuki_cluster::Cluster::parse(file, None).unwrap();
        let script = r#"
            case "$*" in *--check*) notes='"both", "before"';; *) notes='"both", "during"';; esac
            echo "[{\"host\":\"far\",\"changes\":[],\"notes\":[$notes],\"problems\":[],\"done\":true}]""#;
        // The shell stands for ssh.
        let shell = ["sh", "-c", script].map(str::to_owned).to_vec();
        let hosts = tasuki_fleet::SshHosts::through(cluster, shell, vec!["tasuki".into()]);
        let fleet = Fleet::Ssh(Box::new(hosts));
        let reports = undo_all(&fleet, &HostOptions::default(), Mode::Change, &|_| ());
        assert_eq!(reports[0].notes, ["both", "before", "during"], "{reports:?}");
    }
}
