//! Runs of MPI programs under a watchdog: a run that does not end in time is described, rank by rank, and
//! then ended. The limit tells a hang from a slow machine, so it is generous; nothing is measured with it.

use super::{
    Background, MARK, TestLab,
    dump::{Rank, WAITS_FOR_ITS_RUNTIME, describe},
    mpis::{Mpi, peers},
    tasuki, unique,
};
use std::{
    ffi::OsStr,
    fs::{self, File},
    path::Path,
    process::{Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

/// A variable that ranks and launcher have, with a value that marks the run.
pub const RUN_MARK: &str = "TASUKI_TEST_RUN";

/// How often a run is launched if the launcher itself fails.
const LAUNCHES: usize = 2;

const POLL: Duration = Duration::from_millis(20);

/// A run to be started.
pub struct MpiRun {
    label: String,
    mark: String,
    limit: Duration,
    command: Command,
}

impl MpiRun {
    /// `tasuki run` of a program; arguments follow with [`MpiRun::args`].
    pub fn new(lab: &TestLab, mpi: &Mpi, transport: &str, ranks: u32, program: &Path) -> Self {
        let mut command = tasuki();
        command.args(["run", "--lab", &lab.name, "--mpi", mpi.name, "--transport", transport]);
        command.args(["-n", &ranks.to_string()]).arg(program);
        let name = program.file_name().unwrap_or_default().to_string_lossy();
        Self::of(command, lab, format!("{name} over {transport}, {ranks} ranks"))
    }

    /// A run of any command that starts ranks in a lab.
    pub fn of(mut command: Command, lab: &TestLab, label: String) -> Self {
        let mark = unique("run");
        command
            .env("TASUKI_PEERS", peers())
            .env(MARK, &lab.name)
            .env(RUN_MARK, &mark)
            .env("TASUKI_DUMP", "1");
        Self { label, mark, limit: Duration::from_secs(120), command }
    }

    /// Adds arguments of the program.
    pub fn args(mut self, argv: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Self {
        self.command.args(argv);
        self
    }

    /// Sets a variable for the launcher; ranks get those that it passes on.
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.command.env(name, value);
        self
    }

    /// The working directory.
    pub fn folder(mut self, folder: &Path) -> Self {
        self.command.current_dir(folder);
        self
    }

    /// Sets how long it may take before it counts as hanging; the default is 120 s.
    pub fn limit(mut self, seconds: u64) -> Self {
        self.limit = Duration::from_secs(seconds);
        self
    }

    /// Starts it.
    pub fn start(mut self) -> Running {
        self.begin()
    }

    fn begin(&mut self) -> Running {
        let output = tempfile::tempdir().expect("a folder");
        let file = |name: &str| File::create(output.path().join(name)).expect("a file");
        self.command.stdin(Stdio::null()).stdout(file("out")).stderr(file("err"));
        let process = Background(self.command.spawn().expect("tasuki starts"));
        let (label, mark, end) = (self.label.clone(), self.mark.clone(), Instant::now() + self.limit);
        Running { label, mark, end, process, output }
    }

    /// Runs it to its end, however it ends.
    pub fn finish(self) -> Finished {
        self.start().finish()
    }

    /// Runs it, demands success within its limit, and returns what it printed.
    pub fn ok(mut self) -> String {
        for _ in 0..LAUNCHES {
            let finished = self.begin().finish();
            if !finished.never_began() {
                return finished.ok();
            }
            eprintln!("the MPI's launcher lost its daemons; once more: {}", finished.report());
        }
        self.begin().ok()
    }
}

/// A run that has been started. It is ended when this is dropped.
pub struct Running {
    label: String,
    mark: String,
    end: Instant,
    process: Background,
    output: tempfile::TempDir,
}

/// How a run ended.
pub struct Finished {
    /// What was run.
    pub label: String,
    /// How it ended; `None`: the watchdog had to end it.
    pub status: Option<ExitStatus>,
    /// Standard output.
    pub stdout: String,
    /// Standard error, with the state of every rank if the watchdog ended the run.
    pub stderr: String,
}

impl Running {
    /// Its ranks that live.
    pub fn ranks(&self) -> Vec<Rank> {
        Rank::all(RUN_MARK, &self.mark)
    }

    /// What it has printed until now.
    pub fn printed(&self) -> String {
        self.read("out")
    }

    /// What it has written to standard error until now.
    pub fn complained(&self) -> String {
        self.read("err")
    }

    /// Whether it still runs.
    pub fn is_running(&mut self) -> bool {
        self.process.0.try_wait().expect("waits").is_none()
    }

    fn read(&self, name: &str) -> String {
        String::from_utf8_lossy(&fs::read(self.output.path().join(name)).unwrap_or_default()).into_owned()
    }

    /// Waits for the end, and ends it when its time is up.
    pub fn finish(mut self) -> Finished {
        let mut status = None;
        while status.is_none() && Instant::now() < self.end {
            thread::sleep(POLL);
            status = self.process.0.try_wait().expect("waits");
        }
        let mut state = String::new();
        if status.is_none() {
            state = format!("{}: the limit has passed\n{}\n", self.label, describe(&self.ranks()));
            let _ = self.process.0.kill();
            let _ = self.process.0.wait();
        }
        // What ranks say about themselves is long: what is known from outside comes first.
        let (stdout, stderr) = (self.read("out"), state + &self.read("err"));
        Finished { label: self.label, status, stdout, stderr }
    }

    /// Waits for the end and demands success.
    pub fn ok(self) -> String {
        self.finish().ok()
    }

    /// Ends it now, and describes the ranks that still live.
    pub fn end(mut self) -> Finished {
        self.end = Instant::now();
        self.finish()
    }
}

impl Finished {
    /// Whether Open MPI 5's launcher has lost the connection to its own daemons and given up (with status 0)
    /// before any rank began. That was seen once in some thousand runs on a busy machine, and nothing that
    /// carries messages is involved (docs/guide/run.md).
    fn never_began(&self) -> bool {
        self.waited_for_its_runtime()
            || self.stdout.is_empty()
                && self.stderr.contains("UNSUPPORTED DAEMON ERROR STATE: NO PATH TO TARGET")
    }

    /// Whether the watchdog ended it while Open MPI 4.1's runtime had not started a rank. Debian 12's
    /// libpmix 4.2.2 sometimes never answers a process in `PMIx_Init`, over TCP as well
    /// (openpmix/openpmix#2967): docs/guide/run.md has how often.
    pub fn waited_for_its_runtime(&self) -> bool {
        self.status.is_none() && self.stderr.contains(WAITS_FOR_ITS_RUNTIME)
    }

    /// Demands success.
    fn ok(self) -> String {
        assert!(self.status.is_some_and(|status| status.success()), "{}", self.report());
        self.stdout
    }

    /// All that is known about it, for messages.
    pub fn report(&self) -> String {
        let how = self.status.map_or_else(|| "HUNG".into(), |status| status.to_string());
        format!("{}: {how}\n--- printed\n{}\n--- standard error\n{}", self.label, self.stdout, self.stderr)
    }
}
