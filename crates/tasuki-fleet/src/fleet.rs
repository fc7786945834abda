//! The hosts that a command is about.

use crate::{
    Answer, FleetError, LabHosts, SshHosts, Task, for_each_host, host_name,
    ssh::local,
    task::{Input, Program},
    way::Way,
};
use std::{fs::File, path::Path, process::Command};
use tasuki_cluster::{Cluster, HostId, NicId, Rate};
use tasuki_lab::{Lab, LabError, need_root};
use tasuki_process::{Limited, quote, text_file};

/// Hosts, and how they are reached.
#[derive(Clone, Debug)]
pub enum Fleet {
    /// This machine alone.
    Local,
    /// The hosts of a lab that is up.
    Lab(Box<LabHosts>),
    /// The machines of a cluster file, over ssh.
    Ssh(Box<SshHosts>),
}

impl Fleet {
    /// The machines of a cluster file (this machine, if it is one of them, without ssh), the lab of that
    /// name, the only lab that is up, or this machine if none is.
    ///
    /// # Errors
    /// If the file is wrong, the lab is not up, or several labs are up and none is named.
    pub fn find(lab: Option<&str>, cluster: Option<&Path>) -> Result<Self, FleetError> {
        if let Some(file) = cluster {
            return Ok(Self::Ssh(Box::new(SshHosts::new(Cluster::load(file)?))));
        }
        // Labs are root's: another user's programs do not run in one that happens to be up.
        if lab.is_none() && (need_root().is_err() || matches!(Lab::find(), Err(LabError::NoneUp))) {
            return Ok(Self::Local);
        }
        Ok(Self::Lab(Box::new(LabHosts::running(lab)?)))
    }

    /// What the hosts are called together, for titles.
    pub fn title(&self) -> String {
        match self {
            Self::Local => "this machine".into(),
            Self::Lab(hosts) => format!("lab {}", hosts.lab),
            Self::Ssh(hosts) => format!("cluster {}", hosts.cluster.name),
        }
    }

    /// The cluster whose hosts they are; `None`: this machine alone.
    pub fn cluster(&self) -> Option<&Cluster> {
        match self {
            Self::Local => None,
            Self::Lab(hosts) => Some(&hosts.cluster),
            Self::Ssh(hosts) => Some(&hosts.cluster),
        }
    }

    /// Rate of the line of a NIC of the cluster: what its file says, or in a lab what holds it there. `None`:
    /// nothing holds it, or this machine alone is meant.
    pub fn line_rate(&self, nic: NicId) -> Option<Rate> {
        let of_file = self.cluster()?.nic_of(nic).rate;
        match self {
            Self::Lab(hosts) => hosts.options.line_rate(of_file),
            Self::Local | Self::Ssh(_) => Some(of_file),
        }
    }

    /// The command that sets these hosts up, as a user types it. For this machine alone it has FILE in the
    /// place of a cluster file, as none is known.
    pub fn apply_command(&self) -> String {
        let file = self.cluster().and_then(|cluster| cluster.source.as_ref());
        match (self, file) {
            (Self::Lab(hosts), _) => format!("tasuki apply --lab {}", hosts.lab),
            (_, Some(file)) => format!("tasuki apply {}", quote(file.as_os_str())),
            (_, None) => "tasuki apply FILE".into(),
        }
    }

    /// Number of hosts.
    pub fn len(&self) -> usize {
        self.cluster().map_or(1, |cluster| cluster.hosts.len())
    }

    /// Whether there is no host.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The name of a host, by its number.
    pub fn name(&self, host: usize) -> String {
        self.cluster().map_or_else(host_name, |cluster| cluster.hosts[host].name.clone())
    }

    /// Whether a host is this machine, on which tasks run without ssh.
    pub fn is_here(&self, host: usize) -> bool {
        match self {
            Self::Local => true,
            Self::Lab(_) => false,
            Self::Ssh(hosts) => hosts.target(HostId(host)).is_none(),
        }
    }

    /// A command that runs a task on a host and passes its streams and its exit code on, for callers that
    /// talk with it while it runs. The caller connects the streams, the task's input too, and sees to the
    /// time limit.
    pub fn command(&self, host: usize, task: &Task) -> Command {
        match self {
            Self::Local => local(task),
            Self::Lab(hosts) => hosts.of_task(HostId(host), task),
            Self::Ssh(hosts) => hosts.of_task(HostId(host), task),
        }
    }

    /// Runs a task on a host to its end.
    pub fn run(&self, host: usize, task: &Task) -> Answer {
        let mut command = self.command(host, task);
        let program = command.get_program().to_string_lossy().into_owned();
        let mut limited = Limited::new(task.limit);
        if !task.lasting {
            limited = limited.end_with_parent();
        }
        if let Some(kept) = task.kept {
            limited = limited.keep(kept);
        }
        let open = |input: &Input| match input {
            Input::Text(text) => text_file(text),
            Input::File(path) => File::open(path),
        };
        let input = task.input.as_ref().map(open).transpose();
        let output = input.and_then(|input| match input {
            Some(input) => limited.input(input).run(&mut command),
            None => limited.run(&mut command),
        });
        let name = self.name(host);
        let (label, ssh) = match self {
            Self::Local => ("this machine".into(), None),
            Self::Lab(_) => (name.clone(), None),
            Self::Ssh(hosts) => (name.clone(), Way::of(hosts, HostId(host), &output)),
        };
        let tasuki = called(&command, task);
        Answer { host: name, label, tasuki, ssh, program, output }
    }

    /// Runs the same task on all hosts at once.
    pub fn run_all(&self, task: &Task) -> Vec<Answer> {
        for_each_host(self.len(), |host| self.run(host, task))
    }

    /// Runs on every host, all at once, the task that `task` makes for it. `done` is told the name of a host
    /// that has answered.
    pub fn run_each(&self, task: impl Fn(usize) -> Task + Sync, done: impl Fn(&str) + Sync) -> Vec<Answer> {
        for_each_host(self.len(), |host| {
            let answer = self.run(host, &task(host));
            done(&answer.host);
            answer
        })
    }

    /// Like [`Self::run_each`], but on this machine, if it is one of the hosts, after all others: for tasks
    /// after which the names of other hosts lead elsewhere from here.
    pub fn run_each_here_last(
        &self,
        task: impl Fn(usize) -> Task + Sync,
        done: impl Fn(&str) + Sync,
    ) -> Vec<Answer> {
        let (here, others): (Vec<usize>, Vec<usize>) = (0..self.len()).partition(|host| self.is_here(*host));
        let mut answers = Vec::with_capacity(self.len());
        for hosts in [others, here] {
            answers.extend(for_each_host(hosts.len(), |number| {
                let answer = self.run(hosts[number], &task(hosts[number]));
                done(&answer.host);
                (hosts[number], answer)
            }));
        }
        answers.sort_by_key(|(host, _)| *host);
        answers.into_iter().map(|(_, answer)| answer).collect()
    }
}

/// The `tasuki` that a command over ssh runs on a host, if it does: it stands before the task's arguments.
fn called(command: &Command, task: &Task) -> Option<String> {
    let mut words = command.get_args();
    let before = words.len().checked_sub(task.argv.len() + 1).filter(|_| task.program == Program::Tasuki)?;
    words.nth(before).map(|word| word.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{sync::Mutex, time::Duration};
    use tasuki_lab::LabOptions;

    fn shell(script: &str) -> Task {
        Task::program(["sh", "-c", script])
    }

    #[test]
    fn this_machine_is_one_host_with_its_name() {
        let fleet = Fleet::Local;
        assert_eq!((fleet.len(), fleet.name(0)), (1, host_name()));
        let told = Mutex::new(Vec::new());
        let tell = |name: &str| told.lock().unwrap().push(name.to_owned());
        let answers = fleet.run_each(|_| shell("cat; exit 0").input("fed"), tell);
        assert_eq!(answers.into_iter().next().unwrap().text(), Ok("fed".into()));
        assert_eq!(told.into_inner().unwrap(), [host_name()]);
    }

    #[test]
    fn the_command_that_sets_hosts_up_names_their_file_or_lab() {
        let text = "[[host]]\nname = \"a\"\nnic = [{ name = \"eth1\" }]\n";
        let cluster = Cluster::parse(text, Some(Path::new("my cluster.toml"))).unwrap();
        let lab = LabHosts::new(cluster.clone(), LabOptions::named("ring"));
        let ssh = Fleet::Ssh(Box::new(SshHosts::new(cluster)));
        assert_eq!(ssh.apply_command(), "tasuki apply 'my cluster.toml'");
        assert_eq!(Fleet::Lab(Box::new(lab)).apply_command(), "tasuki apply --lab ring");
    }

    #[test]
    fn errors_name_this_machine_and_why() {
        let failed = Fleet::Local.run(0, &shell("echo broken >&2; exit 4")).text().unwrap_err();
        assert_eq!(failed.to_string(), "this machine: exit code 4: broken");
        let slow = Fleet::Local.run(0, &shell("sleep 1000").limit(Duration::from_millis(100)));
        assert!(slow.text().unwrap_err().why.starts_with("time limit"));
        let absent = Fleet::Local.run(0, &Task::program(["/no such program"])).text().unwrap_err();
        assert!(absent.why.starts_with("cannot run /no such program: "), "{absent}");
    }

    #[test]
    fn an_answer_that_is_cut_is_said_to_be_so_and_a_task_may_have_a_long_one() {
        let long = shell("echo '['; head -c 20000000 /dev/zero | tr '\\0' ' '; echo '7]'");
        let cut = Fleet::Local.run(0, &long).json::<Vec<u8>>().unwrap_err();
        assert!(cut.why.contains("longer than 16 MiB") && cut.remedy.is_none(), "{cut}");
        assert_eq!(Fleet::Local.run(0, &long.long()).json::<Vec<u8>>(), Ok(vec![7]));
    }

    #[test]
    fn hosts_over_ssh_that_cannot_be_reached_are_named_in_their_order() {
        let file = "
            [[host]]
            name = \"b\"
            nic = [{ name = \"eth1\" }]
            [[host]]
            name = \"a\"
            nic = [{ name = \"eth1\" }]
            [[cable]]
            ends = [\"a:eth1\", \"b:eth1\"]";
        let cluster = Cluster::parse(file, None).unwrap();
        let ssh = vec!["/no/ssh".into()];
        let fleet = Fleet::Ssh(Box::new(SshHosts::through(cluster, ssh, vec!["tasuki".into()])));
        let errors: Vec<_> = fleet
            .run_all(&Task::tasuki(["x"]))
            .into_iter()
            .map(|answer| answer.text().unwrap_err())
            .collect();
        assert_eq!(errors.iter().map(|error| error.host.as_str()).collect::<Vec<_>>(), ["b", "a"]);
        assert!(errors.iter().all(|error| error.why.starts_with("cannot run /no/ssh: ")), "{errors:?}");
    }

    #[test]
    fn this_machine_comes_last_where_names_change_and_answers_keep_their_order() {
        let (own, nics) = (host_name(), "nic = [{ name = \"eth1\" }]");
        let file = format!(
            "[[host]]\nname = \"{own}\"\n{nics}\n[[host]]\nname = \"far\"\nmanagement = \"192.0.2.1\"\n{nics}
             [[cable]]\nends = [\"{own}:eth1\", \"far:eth1\"]"
        );
        let cluster = Cluster::parse(&file, None).unwrap();
        // The shell stands for ssh.
        let ssh = ["sh", "-c", "sleep 0.3; echo far"].map(str::to_owned).to_vec();
        let fleet = Fleet::Ssh(Box::new(SshHosts::through(cluster, ssh, vec!["tasuki".into()])));
        let told = Mutex::new(Vec::new());
        let tell = |name: &str| told.lock().unwrap().push(name.to_owned());
        let answers = fleet.run_each_here_last(|_| shell("echo here"), tell);
        let said: Vec<String> = answers.into_iter().map(|answer| answer.text().unwrap()).collect();
        assert_eq!(said, ["here\n", "far\n"]);
        assert_eq!(told.into_inner().unwrap(), ["far".to_owned(), own]);
    }

    #[test]
    fn the_tasuki_of_a_host_is_told_from_other_programs() {
        let file = "[[host]]\nname = \"a\"\nmanagement = \"198.51.100.1\"\nnic = [{ name = \"eth1\" }]";
        let cluster = Cluster::parse(file, None).unwrap();
        let tasuki = ["sudo", "-n", "/opt/tasuki"].map(str::to_owned).to_vec();
        let fleet = Fleet::Ssh(Box::new(SshHosts::through(cluster, vec!["ssh".into()], tasuki)));
        let of = |task: &Task| called(&fleet.command(0, task), task);
        assert_eq!(of(&Task::tasuki(["stats", "--json"])).as_deref(), Some("/opt/tasuki"));
        assert_eq!(of(&Task::program(["id", "-u"])), None);
    }
}
