//! `tasuki run --debug`: ranks stop where they enter MPI, each with a debugger.

use super::{interrupted, show, talk};
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use std::{
    env,
    os::unix::process::{CommandExt, ExitStatusExt},
    process::{Child, Command, ExitCode, Stdio},
    thread,
    time::{Duration, Instant},
};
use tasuki_args::RunArgs;
use tasuki_debug::{
    Ranks, STOPS, Target,
    session::{Interrupted, Session},
};
use tasuki_fleet::Fleet;
use tasuki_job::random_digits;
use tasuki_process::end_with_parent;
use tasuki_terminal::{Failure, counted};

/// How long a launcher may take to start all ranks, which then stand before their program.
const START: Duration = Duration::from_secs(90);
/// How long debuggers may take for a command before the program begins.
const PREPARE: Duration = Duration::from_secs(30);
/// How often is looked for ranks, and for the end of the job.
const LOOK: Duration = Duration::from_millis(50);
/// How long a job may take to end when it is told to.
const END: Duration = Duration::from_secs(15);

/// Runs the job as a process of its own, and debuggers beside it.
pub fn run(arguments: &RunArgs) -> Result<ExitCode, Failure> {
    let fleet = Fleet::find(arguments.program.lab.as_deref(), arguments.cluster.as_deref())?;
    let mut session = Session::new(Ranks::new(&fleet))?;
    let name = random_digits().map_err(|error| Failure::new(format!("no random name: {error}")))?;
    let mut job = Job::start(&name)?;
    if let Some(code) = stand(&mut session, &mut job, &name, arguments.program.ranks)? {
        return Ok(code);
    }
    let lost = session.attach().map_err(interrupted)?;
    if !lost.is_empty() {
        lost.iter().for_each(|problem| eprintln!("tasuki: {problem}"));
        return Err(Failure::new("the job is ended: not all of its ranks have a debugger"));
    }
    begin(&mut session, &arguments.stop_at);
    let ended = talk(&mut session, &arguments.debugger);
    session.end();
    ended?;
    job.wait(&session)
}

/// Waits until all ranks stand before their program. `Some`: the job has ended instead.
fn stand(session: &mut Session, job: &mut Job, name: &str, count: u32) -> Result<Option<ExitCode>, Failure> {
    let end = Instant::now() + START;
    loop {
        let mut problems = session.ranks.find(&Target::Standing(name.into()));
        let found = session.ranks.members.len();
        if found == count as usize {
            problems.extend(session.ranks.set_apart());
        }
        if !problems.is_empty() {
            return Err(Failure::new(problems.join("\n")));
        }
        if found == count as usize {
            return Ok(None);
        }
        if let Some(code) = job.ended()? {
            return Ok(Some(code));
        }
        if session.was_interrupted() {
            return Err(interrupted(Interrupted));
        }
        if Instant::now() >= end {
            let (found, seconds) = (counted(found, "rank", "s"), START.as_secs());
            let why = format!("only {found} of {count} ready after {seconds} s: the job is ended");
            return Err(Failure::new(why));
        }
        thread::sleep(LOOK);
    }
}

/// Lets all ranks run into the function where they are to stop, and says where they are.
fn begin(session: &mut Session, stop_at: &[String]) {
    let all = session.of(&[]);
    let default: Vec<String> = STOPS.map(String::from).to_vec();
    let functions = if stop_at.is_empty() { &default } else { stop_at };
    for function in functions {
        session.perform(&all, &format!("tbreak {function}"), Some(PREPARE), |_, _| {});
    }
    session.perform(&all, "continue", None, |_, _| {});
    let stopped = session.of(&[]);
    session.perform(&stopped, "delete", Some(PREPARE), |_, _| {});
    session.perform(&stopped, "bt", Some(PREPARE), |session, answers| show(session, "bt", &answers));
    for member in &session.ranks.members {
        if let tasuki_debug::State::Gone(why) = &member.state {
            eprintln!("tasuki: rank {}: {why}", member.name());
        }
    }
}

/// This command without debuggers, as a process of its own, which runs the launcher.
struct Job(Child);

impl Job {
    fn start(name: &str) -> Result<Self, Failure> {
        let mut command = Command::new(env::current_exe()?);
        // Its first argument is `run`.
        command.args(["run", "--stand", name]).args(env::args_os().skip(2));
        // What is typed, Ctrl-C too, is for debuggers.
        command.stdin(Stdio::null()).process_group(0);
        end_with_parent(&mut command);
        Ok(Self(command.spawn()?))
    }

    /// Its exit code if it has ended.
    fn ended(&mut self) -> Result<Option<ExitCode>, Failure> {
        let Some(status) = self.0.try_wait()? else { return Ok(None) };
        let code = status.code().or_else(|| Some(128 + status.signal()?)).unwrap_or(1);
        Ok(Some(ExitCode::from(u8::try_from(code).unwrap_or(1))))
    }

    /// Waits for its end. Ctrl-C ends it.
    fn wait(&mut self, session: &Session) -> Result<ExitCode, Failure> {
        loop {
            if let Some(code) = self.ended()? {
                return Ok(code);
            }
            if session.was_interrupted() {
                self.signal(Signal::SIGINT);
            }
            thread::sleep(LOOK);
        }
    }

    fn signal(&self, signal: Signal) {
        if let Ok(pid) = i32::try_from(self.0.id()) {
            // It is not reaped yet.
            let _ = kill(Pid::from_raw(pid), signal);
        }
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        if matches!(self.0.try_wait(), Ok(None)) {
            self.signal(Signal::SIGTERM);
            let end = Instant::now() + END;
            while matches!(self.0.try_wait(), Ok(None)) && Instant::now() < end {
                thread::sleep(LOOK);
            }
            // It has ended by now unless it hangs.
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }
}
