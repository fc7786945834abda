//! The hosts of a lab that is up.

use crate::{
    FleetError,
    task::{Program, Task},
    this_program,
};
use std::{
    ffi::{OsStr, OsString},
    process::Command,
};
use tasuki_cluster::{Cluster, HostId};
use tasuki_lab::{HOST_PROGRAM, Lab, LabOptions};

/// The hosts of a lab that is up, and what they are supposed to be.
#[derive(Clone, Debug)]
pub struct LabHosts {
    /// Name of the lab.
    pub lab: String,
    /// The hosts, cables and addresses that commands are about, MAC addresses filled in: the lab's own, or
    /// those of another file ([`LabHosts::held_against`]).
    pub cluster: Cluster,
    /// How the lab was built.
    pub options: LabOptions,
    /// The lab's own name of every host of `cluster`.
    names: Vec<String>,
    /// Whether this process is in one of its hosts, where the lab has no name.
    is_around: bool,
}

impl LabHosts {
    /// The lab of this name, or the one that is meant when none is named ([`Lab::choose`]).
    ///
    /// # Errors
    /// If no such lab is up, several could be meant, or it does not answer.
    pub fn running(name: Option<&str>) -> Result<Self, FleetError> {
        let lab = Lab::choose(name)?;
        let status = lab.status()?;
        let cluster = Cluster::parse(&status.cluster, status.source.as_deref())?;
        Ok(Self { is_around: lab.name().is_none(), ..Self::new(cluster, status.options) })
    }

    /// A lab that was built of this cluster with these options.
    pub fn new(cluster: Cluster, options: LabOptions) -> Self {
        let cluster = cluster.with_lab_macs();
        let names = cluster.hosts.iter().map(|host| host.name.clone()).collect();
        Self { lab: options.name.clone(), cluster, options, names, is_around: false }
    }

    /// This lab, compared with another plan of what it should be. A host of the plan is the lab's host of the
    /// same name, or, if the lab has no such name, the one at the same place in the list.
    pub fn held_against(self, cluster: Cluster) -> Self {
        let cluster = cluster.with_lab_macs();
        let last = self.names.len().saturating_sub(1);
        let own = |(number, name): (usize, &String)| match self.cluster.host(name) {
            Some(_) => name.clone(),
            None => self.names.get(number.min(last)).cloned().unwrap_or_default(),
        };
        let names = cluster.hosts.iter().map(|host| &host.name).enumerate().map(own).collect();
        Self { cluster, names, ..self }
    }

    /// A command in a host, as a process of its own. When that process ends, everything that the command has
    /// started is ended, on every host of the lab.
    pub fn command(&self, host: HostId, argv: impl IntoIterator<Item = OsString>) -> Command {
        self.exec(host, &["--job"], argv)
    }

    /// `tasuki` in a host, with these arguments, as [`Self::command`] has it.
    pub fn tasuki(&self, host: HostId, argv: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Command {
        self.of_task(host, &Task::tasuki(argv))
    }

    pub(crate) fn of_task(&self, host: HostId, task: &Task) -> Command {
        let program = match task.program {
            Program::Tasuki => Some(OsString::from(HOST_PROGRAM)),
            Program::Any => None,
        };
        // A job ends with its client; what is no job is like a command of ssh.
        let options: &[&str] = if task.lasting { &[] } else { &["--job"] };
        self.exec(host, options, program.iter().chain(&task.argv))
    }

    fn exec(
        &self,
        host: HostId,
        options: &[&str],
        argv: impl IntoIterator<Item = impl AsRef<OsStr>>,
    ) -> Command {
        let mut command = this_program(["lab", "exec"]);
        command.args(options);
        if !self.is_around {
            command.args(["--lab", &self.lab]);
        }
        command.args([&self.names[host.0], "--"]).args(argv);
        command
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tasuki_cluster::generate::{Options, generate};

    fn line(command: &Command) -> String {
        let argv: Vec<_> = command.get_args().map(|argument| argument.to_string_lossy()).collect();
        argv.join(" ")
    }

    fn lab() -> LabHosts {
        let cluster = generate(&"full:3".parse().unwrap(), &Options::default()).unwrap();
        LabHosts::new(cluster, LabOptions::named("l"))
    }

    #[test]
    fn only_what_may_stay_is_not_a_job() {
        let task = Task::tasuki(["apply", "-"]);
        let program = "/run/tasuki/bin/tasuki apply -";
        assert_eq!(line(&lab().of_task(HostId(1), &task)), format!("lab exec --job --lab l n2 -- {program}"));
        let lasting = task.lasting();
        assert_eq!(line(&lab().of_task(HostId(1), &lasting)), format!("lab exec --lab l n2 -- {program}"));
        assert_eq!(
            line(&lab().command(HostId(0), ["ip", "route"].map(OsString::from))),
            "lab exec --job --lab l n1 -- ip route"
        );
    }

    #[test]
    fn in_a_host_of_the_lab_its_name_is_not_given() {
        let lab = LabHosts { is_around: true, ..lab() };
        let command = lab.command(HostId(0), ["id".into()]);
        assert_eq!(line(&command), "lab exec --job n1 -- id");
    }

    #[test]
    fn a_plan_with_its_hosts_in_another_order_reaches_them_by_name() {
        let mut plan = lab().cluster;
        plan.hosts.reverse();
        plan.hosts[2].name = "other".into();
        let lab = lab().held_against(plan);
        let reached: Vec<_> =
            (0..3).map(|number| line(&lab.command(HostId(number), ["id".into()]))).collect();
        for (line, name) in reached.iter().zip(["n3", "n2", "n3"]) {
            assert_eq!(*line, format!("lab exec --job --lab l {name} -- id"));
        }
    }
}
