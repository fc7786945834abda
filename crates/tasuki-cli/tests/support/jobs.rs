//! Labs whose hosts run the resident runtime.

use super::Background;
use super::{MARK, TestLab, background, eventually, mpis::peers, ok, tasuki, text, unique};
use std::{
    fs,
    path::Path,
    process::{Command, Output},
};

/// A variable that the processes of one job have, and no daemon.
pub const JOB_MARK: &str = "TASUKI_TEST_JOB";

/// A lab with the runtime: so many hosts with a slot each.
pub struct Cluster {
    /// The lab.
    pub lab: TestLab,
}

impl Cluster {
    /// Builds it.
    pub fn up(stem: &str, hosts: u32) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("cluster.toml");
        let shape = format!("full:{hosts}");
        fs::write(&file, ok(tasuki().args(["cluster", "new", &shape, "--cores", "1"]))).expect("writes");
        Self::of_file(stem, &file)
    }

    /// Builds that of a cluster file.
    pub fn of_file(stem: &str, file: &Path) -> Self {
        Self { lab: TestLab::up(stem, &[&file.to_string_lossy(), "--runtime"]) }
    }

    /// A command about the lab's jobs.
    pub fn command(&self, name: &str, arguments: &[&str]) -> Command {
        let mut command = tasuki();
        command.arg(name).args(["--lab", &self.lab.name]).args(arguments);
        command.env("TASUKI_PEERS", peers()).env(MARK, &self.lab.name).current_dir("/");
        command
    }

    /// Runs a command about the lab's jobs to its end.
    pub fn output(&self, name: &str, arguments: &[&str]) -> Output {
        self.command(name, arguments).output().expect("tasuki starts")
    }

    /// A command about the lab's jobs, in a host, of a user that every Debian has: `nobody`, `daemon`.
    pub fn as_user(&self, user: &str, host: &str, arguments: &[&str]) -> Command {
        let mut words = vec!["setpriv", "--reuid", user, "--regid", "nogroup", "--clear-groups"];
        words.push(tasuki_lab_program());
        words.extend(arguments);
        let mut command = self.lab.exec(host, &words);
        command.current_dir("/");
        command
    }

    /// Demands that a command is refused with these words.
    pub fn refused(&self, name: &str, arguments: &[&str], words: &str) {
        let output = self.output(name, arguments);
        assert!(!output.status.success() && text(&output).contains(words), "{words}: {}", text(&output));
    }

    /// Submits a job; returns its number.
    pub fn submit(&self, arguments: &[&str]) -> String {
        ok(&mut self.command("submit", arguments)).trim().to_owned()
    }

    /// Submits a shell script as so many processes with a mark of their own; returns number and mark.
    pub fn script(&self, ranks: u32, script: &str) -> (String, String) {
        let mark = unique("job");
        let mut command = self.command("submit", &["-n", &ranks.to_string(), "sh", "-c", script]);
        (ok(command.env(JOB_MARK, &mark)).trim().to_owned(), mark)
    }

    /// Submits a job whose processes have a mark of their own.
    pub fn marked(&self, arguments: &[&str]) -> Marked {
        let mark = unique("job");
        let mut command = self.command("submit", arguments);
        Marked { number: ok(command.env(JOB_MARK, &mark)).trim().to_owned(), mark }
    }

    /// Starts `tasuki run --resident`.
    pub fn run(&self, arguments: &[&str]) -> Background {
        background(self.command("run", &["--resident"]).args(arguments))
    }

    /// All jobs.
    pub fn jobs(&self) -> serde_json::Value {
        let said = ok(&mut self.command("jobs", &["--history", "--json"]));
        serde_json::from_str(&said).expect("JSON")
    }

    /// A job.
    pub fn job(&self, number: &str) -> serde_json::Value {
        let jobs = self.jobs();
        let number: u64 = number.parse().expect("a number");
        let is_it = |job: &&serde_json::Value| job["id"].as_u64() == Some(number);
        jobs.as_array().expect("a list").iter().find(is_it).expect("the job").clone()
    }

    /// Waits for a job's state.
    pub fn until(&self, number: &str, state: &str) -> serde_json::Value {
        eventually(&format!("job {number} {state}"), || {
            let job = self.job(number);
            let is_so = job["state"] == state;
            assert!(is_so || job["ended"].is_null(), "job {number} is not {state}, and over: {job}");
            is_so
        });
        self.job(number)
    }

    /// The process id of a host's daemon, inside the host.
    pub fn daemon(&self, host: &str) -> String {
        let program = tasuki_lab_program();
        let said = self.lab.run(host, &[program, "daemon", "--status", "--json"]);
        let notes: serde_json::Value = serde_json::from_str(&said).expect("JSON");
        notes[0]["pid"].to_string()
    }

    /// Kills the daemon of a host.
    pub fn kill_daemon(&self, host: &str) {
        self.lab.run(host, &["kill", "-9", &self.daemon(host)]);
    }

    /// Starts the daemon of a host again.
    pub fn restart(&self, host: &str) {
        self.lab.run(host, &[tasuki_lab_program(), "daemon", "--start"]);
    }
}

/// A job whose processes have a mark of their own.
pub struct Marked {
    /// Its number.
    pub number: String,
    /// The mark.
    pub mark: String,
}

/// The parent of a process, if it is there: of a rank, its shepherd.
pub fn parent(pid: i32) -> Option<i32> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("PPid:"))?.trim().parse().ok()
}

/// The `tasuki` command inside a host.
pub fn tasuki_lab_program() -> &'static str {
    "/run/tasuki/bin/tasuki"
}

/// Processes that have a job's mark and share memory with each other: they have met.
pub fn joined(mark: &str) -> Vec<i32> {
    let serves = |pid: &i32| {
        let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
        tasks
            .filter_map(|task| fs::read_to_string(task.path().join("comm")).ok())
            .any(|name| name == "tasuki-pages\n")
    };
    processes(mark).into_iter().filter(serves).collect()
}

/// Processes that have a job's mark.
pub fn processes(mark: &str) -> Vec<i32> {
    let wanted = format!("{JOB_MARK}={mark}");
    let carries = |pid: &i32| {
        let environment = fs::read(Path::new("/proc").join(pid.to_string()).join("environ"));
        environment.unwrap_or_default().split(|&byte| byte == 0).any(|entry| entry == wanted.as_bytes())
    };
    let entries = fs::read_dir("/proc").expect("/proc").flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter(carries).collect()
}
