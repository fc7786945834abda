//! Commands that wait for their job outlive daemons, too: what they read reaches rank 0 once and whole, what
//! ranks write reaches them, and so does the exit code.

use crate::checkpoints::is_skipped;
use crate::support::{
    Background, TestLab, eventually,
    jobs::{Cluster, Marked, processes, tasuki_lab_program},
    ok, skip_without_root,
};
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use serde_json::Value;
use std::{
    io::{Read, Write},
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex},
    thread::{self, JoinHandle},
};

/// A command that runs in a host, with what it has said so far.
struct Lasting {
    child: Background,
    output: Arc<Mutex<Vec<u8>>>,
    readers: Vec<JoinHandle<()>>,
    errors: Arc<Mutex<Vec<u8>>>,
}

impl Lasting {
    /// Starts `tasuki` in a host with these words, its input being fed by the caller.
    fn start(lab: &TestLab, host: &str, words: &[&str]) -> Self {
        let mut command: Command = lab.exec(host, &[&[tasuki_lab_program()], words].concat());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child: Child = command.current_dir("/").spawn().expect("it starts");
        let (output, errors) = (Arc::default(), Arc::default());
        let out = gather(child.stdout.take().expect("a pipe"), &output);
        let err = gather(child.stderr.take().expect("a pipe"), &errors);
        Self { child: Background(child), output, readers: vec![out, err], errors }
    }

    fn said(&self) -> Vec<u8> {
        self.output.lock().expect("no panic").clone()
    }

    fn errors(&self) -> String {
        String::from_utf8_lossy(&self.errors.lock().expect("no panic")).into_owned()
    }

    /// Waits until so many processes have the mark of its job.
    fn until_there(&mut self, mark: &str, count: usize) {
        eventually("all ranks", || {
            let ended = self.child.0.try_wait().expect("waits");
            assert!(ended.is_none(), "{ended:?}: {}", self.errors());
            processes(mark).len() == count
        });
    }

    /// Its exit code and all that it has said.
    fn end(mut self) -> (Option<i32>, Vec<u8>, String) {
        eventually("the command's end", || self.child.0.try_wait().expect("waits").is_some());
        let code = self.child.0.wait().expect("waits").code();
        self.readers.drain(..).for_each(|reader| reader.join().expect("no panic"));
        (code, self.said(), self.errors())
    }
}

/// Reads a pipe to its end.
fn gather(mut pipe: impl Read + Send + 'static, to: &Arc<Mutex<Vec<u8>>>) -> JoinHandle<()> {
    let to = Arc::clone(to);
    thread::spawn(move || {
        let mut bytes = [0; 4096];
        while let Ok(length) = pipe.read(&mut bytes)
            && length > 0
        {
            to.lock().expect("no panic").extend(&bytes[..length]);
        }
    })
}

/// Numbered lines.
fn lines(numbers: std::ops::Range<u32>) -> Vec<u8> {
    numbers.map(|number| format!("line {number}\n")).collect::<String>().into_bytes()
}

#[test]
fn a_command_with_input_outlives_the_daemon_of_any_host() {
    let test = "a_command_with_input_outlives_the_daemon_of_any_host";
    if skip_without_root(test) {
        return;
    }
    let cluster = Cluster::up("attended", 3);
    // The queue is on n1, rank 0 on n2, whose slots are the first ones that are free.
    let block = cluster.marked(&["-n", "1", "sleep", "1000"]);
    cluster.until(&block.number, "running");
    let mut random = tasuki_random::Random::new(crate::support::seed(&format!("--test runtime {test}")));
    for (at, victims) in [
        ("n3", &["n1"][..]),
        ("n3", &["n2"]),
        ("n3", &["n3"]),
        ("n1", &["n1"]),
        ("n2", &["n2"]),
        ("n1", &["n2"]),
        ("n3", &["n1", "n2", "n3"]),
    ] {
        // More than all buffers on the way hold, in parts: before, while and after a daemon is away.
        let script = "cat; exit 7";
        let mut command =
            Lasting::start(&cluster.lab, at, &["run", "--resident", "-n", "1", "sh", "-c", script]);
        let mut input = command.child.0.stdin.take().expect("a pipe");
        input.write_all(&lines(0..10_000)).expect("it reads");
        let first = lines(0..5000);
        eventually("the first lines", || command.said().starts_with(&first));
        victims.iter().for_each(|host| cluster.kill_daemon(host));
        let writer = thread::spawn(move || {
            input.write_all(&lines(10_000..40_000)).expect("it reads");
            input
        });
        thread::sleep(std::time::Duration::from_millis(random.below(600)));
        victims.iter().for_each(|host| cluster.restart(host));
        let mut input = writer.join().expect("no panic");
        input.write_all(&lines(40_000..50_000)).expect("it reads");
        drop(input);
        let (code, said, errors) = command.end();
        let whole = lines(0..50_000);
        let sizes = format!("{} of {} bytes", said.len(), whole.len());
        assert!(said == whole, "{at} {victims:?}: {sizes}: {errors}");
        assert_eq!(code, Some(7), "{at} {victims:?}: {errors}");
        let is_missed = victims.contains(&at) || victims.contains(&"n1");
        assert_eq!(errors.contains("its output follows when the daemons are back"), is_missed, "{errors}");
    }
}

#[test]
fn attach_goes_on_when_daemons_begin_anew() {
    let test = "attach_goes_on_when_daemons_begin_anew";
    if skip_without_root(test) {
        return;
    }
    let cluster = Cluster::up("attached", 2);
    let script = "i=0; until [ -e /run/over ]; do echo $RANK $i; i=$((i+1)); sleep 0.01; done; exit 3";
    let job: Marked = cluster.marked(&["-n", "2", "sh", "-c", script]);
    let command = Lasting::start(&cluster.lab, "n2", &["attach", &job.number]);
    for victims in [&["n2"][..], &["n1"], &["n1", "n2"]] {
        let known = command.said().len();
        eventually("more lines", || command.said().len() > known);
        victims.iter().for_each(|host| cluster.kill_daemon(host));
        victims.iter().for_each(|host| cluster.restart(host));
    }
    ["n1", "n2"].iter().for_each(|host| drop(cluster.lab.sh(host, "touch /run/over")));
    let (code, said, errors) = command.end();
    let said = String::from_utf8_lossy(&said).into_owned();
    for rank in ["0 ", "1 "] {
        let own: Vec<u32> = said.lines().filter_map(|line| line.strip_prefix(rank)?.parse().ok()).collect();
        assert!(own.len() > 3, "{errors}");
        assert_eq!(own, (0..own.len() as u32).collect::<Vec<_>>(), "{errors}");
    }
    assert_eq!(code, Some(3), "{errors}");
}

#[test]
fn a_signal_that_comes_while_the_daemon_is_away_cancels_the_job_when_it_is_back() {
    let test = "a_signal_that_comes_while_the_daemon_is_away_cancels_the_job_when_it_is_back";
    if skip_without_root(test) {
        return;
    }
    let cluster = Cluster::up("signalled", 2);
    let mark = crate::support::unique("attended");
    let words =
        ["run", "--resident", "-n", "2", "--export", &format!("TASUKI_TEST_JOB={mark}"), "sleep", "1000"];
    let mut command = Lasting::start(&cluster.lab, "n2", &words);
    command.until_there(&mark, 2);
    cluster.kill_daemon("n2");
    eventually("that it is noticed", || command.errors().contains("its output follows"));
    kill(Pid::from_raw(command.child.0.id() as i32), Signal::SIGINT).expect("it runs");
    eventually("its words", || command.errors().contains("is cancelled when the daemons are back"));
    cluster.restart("n2");
    let (code, _, errors) = command.end();
    assert_eq!(code, Some(130), "{errors}");
    assert!(errors.contains("cancelled: cancelled by root"), "{errors}");
    assert_eq!(processes(&mark), [0; 0]);
}

/// Input that comes while the job of a command is saved reaches rank 0 once and whole; after the command's
/// end the job goes on without it. What is done is told to programs, too.
#[test]
fn a_command_whose_job_is_saved_loses_no_input() {
    let test = "a_command_whose_job_is_saved_loses_no_input";
    if is_skipped(test) {
        return;
    }
    let cluster = Cluster::up("image-run", 2);
    let words = ["run", "--checkpoint", "auto:24h", "-n", "1", "sh", "-c", "cat; exit 7"];
    let mut command = Lasting::start(&cluster.lab, "n2", &words);
    let mut input = command.child.0.stdin.take().expect("a pipe");
    input.write_all(&lines(0..100)).expect("it reads");
    eventually("the first lines", || command.said() == lines(0..100));
    // Nothing is known of its costs yet, and it says how often it would be saved.
    let view = cluster.job("1");
    assert_eq!((view["interval"].as_u64(), view["checkpoint"].is_null()), (Some(416), true), "{view}");
    for round in 1..=4_u32 {
        let from = round * 10_000;
        let writer = thread::spawn(move || {
            let start = if round == 1 { 100 } else { from - 10_000 };
            input.write_all(&lines(start..from)).expect("it reads");
            input
        });
        let said = ok(&mut cluster.command("checkpoint", &["1", "--json"]));
        let said: Value = serde_json::from_str(&said).expect("JSON");
        assert!(said[0]["checkpoint"]["bytes"].is_u64() && said[0]["error"].is_null(), "{said}");
        input = writer.join().expect("no panic");
        eventually("all lines", || command.said() == lines(0..from));
    }
    let shown = ok(&mut cluster.command("jobs", &[]));
    assert!(shown.contains("checkpoint") && shown.contains("MiB in "), "{shown}");
    drop(input);
    let (code, said, errors) = command.end();
    assert_eq!(code, Some(7), "{errors}");
    assert!(said == lines(0..40_000), "{} bytes: {errors}", said.len());
    // It has read all of its input, which is at its end then.
    let restarted = ok(&mut cluster.command("restart", &["1", "--json"]));
    let restarted: Value = serde_json::from_str(&restarted).expect("JSON");
    assert_eq!(restarted[0]["epoch"], cluster.job("1")["checkpoint"]["epoch"], "{restarted}");
    eventually("its end", || cluster.job("1")["exit"] == 7);
    let refused = cluster.output("checkpoint", &["1", "--json"]);
    let said: Value = serde_json::from_slice(&refused.stdout).expect("JSON");
    assert_eq!(
        (refused.status.code(), said[0]["error"].as_str()),
        (Some(1), Some("job 1 is failed already"))
    );
}
