//! Asking gdb for the threads of a process and their frames.

use crate::{
    frame::{Frame, Thread},
    halted,
    mi::{Answer, answers},
    modules::Modules,
};
use serde_json::Value;
use std::{collections::HashMap, ffi::OsStr, fs, io, process::Command, time::Duration};
use tasuki_process::{Limited, text_file};

/// How long gdb may take for one process. It reads the symbols of a hundred libraries within a few seconds.
pub const LIMIT: Duration = Duration::from_secs(30);
/// Frames of a thread that are asked for; a recursion that is deeper is cut off at its outer end.
const FRAMES_MAX: u32 = 256;
/// Threads of a process that are asked for.
const THREADS_MAX: usize = 256;
/// Lengths of instructions that call a function: by its distance on arm64 and x86-64, by a table on x86-64.
const CALL_BYTES: [u64; 3] = [4, 5, 6];
/// What goes before the frames: settings, the process, its threads.
const ATTACH: u32 = 4;
const THREADS: u32 = 5;
const FIRST_FRAMES: u32 = 6;

/// The threads of a process, the first one first. It stands still for as long as gdb looks.
///
/// # Errors
/// In words: gdb is not there, the kernel does not let it look at the process, or that does not run.
pub(crate) fn threads(pid: u32) -> Result<Vec<Thread>, String> {
    threads_by(OsStr::new("gdb"), LIMIT, pid)
}

fn threads_by(program: &OsStr, limit: Duration, pid: u32) -> Result<Vec<Thread>, String> {
    let count = fs::read_dir(format!("/proc/{pid}/task")).map_or(0, Iterator::count).min(THREADS_MAX);
    if count == 0 {
        return Err("it has ended".into());
    }
    if let Some(why) = halted::why(pid) {
        return Err(why);
    }
    let input = text_file(&orders(pid, count)).map_err(|error| format!("no file for orders: {error}"))?;
    let mut gdb = Command::new(program);
    // Without the user's own start files: they may run commands, and print.
    gdb.args(["--quiet", "-nx", "-nh", "--interpreter=mi"]);
    let run = Limited::new(limit).input(input).end_with_parent().run(&mut gdb);
    let output = run.map_err(|error| not_run(&error))?;
    if !output.is_success() {
        halted::let_go(pid);
    }
    if output.timed_out {
        return Err(format!("gdb has not answered within {} s", limit.as_secs()));
    }
    let answers = answers(&output.stdout);
    let Some(attached) = answers.iter().find(|answer| answer.token == ATTACH) else {
        return Err(format!("gdb did not answer: {}", output.stderr_tail(1)));
    };
    if attached.class == "error" {
        return Err(refusal(text(attached.results.get("msg"))));
    }
    let context = Context { modules: Modules::of(pid), calls: calls(&output.stdout) };
    let threads = read(pid, &answers, &context);
    if threads.iter().all(|thread| thread.frames.is_empty()) {
        return Err("gdb has found no frame of it".into());
    }
    Ok(threads)
}

/// All that gdb is told. Nothing is loaded from the network or from folders beside libraries.
fn orders(pid: u32, threads: usize) -> String {
    let mut orders = format!(
        "1-gdb-set debuginfod enabled off\n2-gdb-set auto-load off\n3-gdb-set confirm off\n\
         {ATTACH}-target-attach {pid}\n{THREADS}-thread-info\n"
    );
    for (number, token) in (1..=threads).zip(FIRST_FRAMES..) {
        orders += &format!("{token}-stack-list-frames --thread {number} 0 {}\n", FRAMES_MAX - 1);
    }
    // What each frame has called: functions that end in a jump into another one have no frame of their own.
    for offset in CALL_BYTES {
        let frames = format!("frame apply {FRAMES_MAX} -q -s x/i $pc-{offset}");
        orders += &format!("-interpreter-exec console \"thread apply all -q -s {frames}\"\n");
    }
    orders + "-target-detach\n-gdb-exit\n"
}

/// Why gdb could not be run, and what helps.
pub fn not_run(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "there is no gdb on this host: apt-get install gdb".to_owned(),
        _ => format!("cannot run gdb: {error}"),
    }
}

/// What is said of a process that gdb cannot attach to, and what helps.
pub fn refusal(said: &str) -> String {
    let said = said.trim_end_matches('.');
    if !said.contains("not permitted") {
        return format!("gdb: {said}");
    }
    let scope = fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").unwrap_or_default();
    match scope.trim() {
        "" | "0" => {
            format!("gdb: {said}: ask as root, or as the user of the process; another debugger may have it")
        }
        _ => format!("gdb: {said}: ask as root, or allow it: sysctl kernel.yama.ptrace_scope=0"),
    }
}

fn text(value: Option<&Value>) -> &str {
    value.and_then(Value::as_str).unwrap_or_default()
}

fn read(pid: u32, answers: &[Answer], context: &Context) -> Vec<Thread> {
    let of = |token| answers.iter().find(|answer| answer.token == token && answer.class == "done");
    let known = of(THREADS).and_then(|answer| answer.results.get("threads")?.as_array());
    let thread = |known: &Value| {
        let number: u32 = text(known.get("id")).parse().ok()?;
        let stack = of(FIRST_FRAMES - 1 + number)?.results.get("stack")?.as_array()?;
        Some(Thread {
            id: light_weight_process(text(known.get("target-id"))).unwrap_or(pid),
            name: text(known.get("name")).into(),
            frames: stack.iter().map(|frame| read_frame(frame, context)).collect(),
        })
    };
    let mut threads: Vec<Thread> = known.into_iter().flatten().filter_map(thread).collect();
    threads.sort_by_key(|thread| (thread.id != pid, thread.id));
    threads
}

/// What is known besides frames.
struct Context {
    modules: Modules,
    /// Functions of other libraries, by the addresses to which they return.
    calls: HashMap<u64, String>,
}

/// Reads what [`orders`] has had disassembled, lines as `0x5586a9188fe1 <f+331>: call 0x5586 <MPI_Wait@plt>`.
/// Where no call stands, whatever the bytes happen to mean names no function.
fn calls(output: &str) -> HashMap<u64, String> {
    let printed = output.lines().filter_map(|line| line.strip_prefix("~\""));
    let lines = printed.flat_map(|text| text.split("\\n"));
    let call = |line: &str| {
        let (address, instruction) = line.trim().split_once(':')?;
        let address = address.split(' ').next()?.strip_prefix("0x")?;
        let (call, function) = instruction.rsplit_once('<')?;
        let (function, _) = function.split_once("@plt").or_else(|| function.split_once("@got"))?;
        let mut words = call.split("\\t").flat_map(str::split_whitespace);
        let is_call = words.any(|word| matches!(word, "call" | "callq" | "bl"));
        is_call.then_some((u64::from_str_radix(address, 16).ok()?, function.to_owned()))
    };
    let found: Vec<(u64, String)> = lines.filter_map(call).collect();
    let returns = |(at, function): &(u64, String)| CALL_BYTES.map(|length| (at + length, function.clone()));
    found.iter().flat_map(returns).collect()
}

/// The kernel's number of a thread that gdb calls `Thread 0x7f2ffe79b740 (LWP 2867)`, `LWP 2867` or, where it
/// is alone, `process 2867`.
fn light_weight_process(target: &str) -> Option<u32> {
    let number = target.rsplit(' ').next()?.trim_end_matches(')');
    number.parse().ok()
}

fn read_frame(frame: &Value, context: &Context) -> Frame {
    let known = |name| frame.get(name).and_then(Value::as_str).map(str::to_owned);
    let address = known("addr").and_then(|text| u64::from_str_radix(text.trim_start_matches("0x"), 16).ok());
    Frame {
        function: known("func").filter(|name| name != "??"),
        file: known("file"),
        line: known("line").and_then(|line| line.parse().ok()),
        // gdb names the library only of frames without a line.
        library: known("from").or_else(|| context.modules.library(address?)),
        calls: address.and_then(|address| context.calls.get(&address).cloned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::{
        sys::signal::{Signal, kill},
        unistd::Pid,
    };
    use std::process::Child;
    use tasuki_testkit::scripts::write_program;

    #[test]
    fn threads_are_numbered_as_the_kernel_does() {
        assert_eq!(light_weight_process("Thread 0x7f2ffe79b740 (LWP 2867)"), Some(2867));
        assert_eq!(light_weight_process("LWP 2867"), Some(2867));
        assert_eq!(light_weight_process("process 2867"), Some(2867));
        assert_eq!(light_weight_process(""), None);
    }

    #[test]
    fn calls_of_functions_in_other_libraries_are_read() {
        let printed = [
            r#"~"   0x5586a9188fe1 <f+331>:\tcall   0x5586a9188040 <MPI_Waitall@plt>\n""#,
            r#"~"   0x30 <m>:\tnop\n   0x40 <m+6>:\tcall   0x338 <f>\n""#,
            r#"~"   0x7f00 <g+1>:\tcall   *0x2fe2(%rip)        # 0x7fff <MPI_Wait@got.plt>\n""#,
            r#"~"   0x60 <g+1>:\tmov    0x2fe2(%rip),%rax        # 0x7fff <MPI_Test@got.plt>\n""#,
        ];
        let found = calls(&printed.join("\n"));
        let of = |address: u64| found.get(&address).map(String::as_str);
        assert_eq!(of(0x5586_a918_8fe6), Some("MPI_Waitall"));
        assert_eq!(of(0x7f06), Some("MPI_Wait"));
        assert!(![0x45, 0x65, 0x66].iter().any(|&address| of(address).is_some()), "{found:?}");
    }

    /// A process that sleeps, and ends with the test.
    struct Sleeper(Child);

    impl Sleeper {
        fn new() -> Self {
            Self(Command::new("sleep").arg("300").spawn().expect("it starts"))
        }

        fn is_stopped(&self) -> bool {
            let stat = fs::read_to_string(format!("/proc/{}/stat", self.0.id())).expect("it lives");
            stat.rsplit_once(") ").expect("a state").1.starts_with(['T', 't'])
        }

        /// Waits until it is stopped, or is not any more, for as long as a test may take.
        fn becomes(&self, stopped: bool) {
            while self.is_stopped() != stopped {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    }

    impl Drop for Sleeper {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    #[test]
    fn a_debugger_that_is_ended_leaves_no_process_stopped() {
        let (sleeper, folder) = (Sleeper::new(), tempfile::tempdir().expect("a folder"));
        let pid = sleeper.0.id();
        // What gdb leaves if it is ended before it has seen that its process has stopped.
        let script = folder.path().join("gdb");
        write_program(&script, &format!("#!/bin/sh\nkill -STOP {pid}\nexec sleep 300\n"));
        let error = threads_by(script.as_os_str(), Duration::from_millis(500), pid).expect_err("no answer");
        assert!(error.contains("has not answered"), "{error}");
        sleeper.becomes(false);
    }

    #[test]
    fn a_process_that_is_stopped_is_said_to_be_and_stays_so() {
        let sleeper = Sleeper::new();
        let pid = sleeper.0.id();
        kill(Pid::from_raw(pid as i32), Signal::SIGSTOP).expect("signals");
        sleeper.becomes(true);
        let error = threads(pid).expect_err("it does not run");
        assert!(error.contains(&format!("kill -CONT {pid}")), "{error}");
        assert!(sleeper.is_stopped());
    }

    #[test]
    fn a_process_that_has_ended_is_said_to() {
        assert_eq!(threads(u32::MAX), Err("it has ended".into()));
    }
}
