use super::*;
use nix::sys::signal::kill;

fn shell(limits: Limited, script: &str) -> Output {
    limits.run(Command::new("sh").args(["-c", script])).unwrap()
}

const LONG: Duration = Duration::from_secs(60);

/// Whether a process is there, or will be gone within a minute.
fn ends(process: &str) -> bool {
    let pid = Pid::from_raw(process.trim().parse().unwrap());
    let end = Instant::now() + LONG;
    while kill(pid, None).is_ok() && Instant::now() < end {
        thread::sleep(Duration::from_millis(5));
    }
    kill(pid, None) == Err(Errno::ESRCH)
}

#[test]
fn keeps_output_and_exit_code() {
    for limits in [Limited::new(LONG), Limited::probe(LONG)] {
        let output = shell(limits, "echo out; echo one >&2; echo >&2; echo two >&2; exit 3");
        assert_eq!((output.stdout.as_str(), output.code), ("out\n", Some(3)));
        assert_eq!(output.stderr_tail(5), "one\ntwo");
        assert_eq!((output.reason().as_str(), output.is_success()), ("exit code 3", false));
    }
    assert_eq!(shell(Limited::new(LONG), "kill -KILL $$").reason(), "signal 9");
}

#[test]
fn ends_what_takes_too_long_and_keeps_what_it_said() {
    let kinds: [fn(Duration) -> Limited; 2] = [Limited::new, Limited::probe];
    for limited in kinds {
        // On a busy machine a shell may not even have begun after a second.
        let tries = [1, 5, 30].into_iter().map(|seconds| {
            let output = shell(limited(Duration::from_secs(seconds)), "echo begun; sleep 1000; echo never");
            assert!(output.timed_out && !output.is_success());
            output
        });
        let output = tries.into_iter().find(|output| !output.stdout.is_empty()).expect("it has begun");
        assert_eq!((output.stdout.as_str(), output.reason().as_str()), ("begun\n", "time limit"));
    }
}

#[test]
fn is_not_held_up_by_what_the_command_leaves_behind() {
    // The sleeper keeps standard output open for longer than any test may take.
    let output = shell(Limited::new(LONG), "sleep 600 & echo $!");
    assert_eq!(output.code, Some(0));
    let sleeper = output.stdout.trim().parse().map(Pid::from_raw).unwrap();
    assert!(kill(sleeper, Signal::SIGKILL).is_ok(), "what a command leaves behind goes on");
}

#[test]
fn a_probe_leaves_nothing_behind() {
    let output = shell(Limited::probe(LONG), "sleep 600 & echo $!");
    assert_eq!(output.code, Some(0));
    assert!(ends(&output.stdout));
}

#[test]
fn a_flood_is_cut_and_blocks_nothing() {
    let flood = "head -c 40000000 /dev/zero; echo end >&2";
    for (limits, kept) in [(Limited::new(LONG), KEPT_BYTES), (Limited::probe(LONG), PROBE_KEPT_BYTES)] {
        let output = shell(limits, flood);
        assert_eq!((output.code, output.stdout.len(), output.is_cut), (Some(0), kept, true));
    }
    let kept = shell(Limited::probe(LONG).keep(5), "echo 12345").stdout;
    assert_eq!(kept, "12345");
    let errors = shell(Limited::probe(LONG), "head -c 3000000 /dev/zero >&2; echo end >&2").stderr;
    assert!(errors.len() <= PROBE_KEPT_BYTES + 8192 && errors.ends_with("end\n"), "{}", errors.len());
}

#[test]
fn reads_its_standard_input() {
    let limits = Limited::new(LONG).input(crate::text_file("fed").unwrap());
    let output = shell(limits, "cat");
    assert_eq!((output.stdout.as_str(), output.is_cut), ("fed", false));
}

/// A shell runs this test program again, which starts a sleeper; then the shell kills the test program.
#[test]
fn a_command_ends_with_the_process_that_started_it() {
    const ROLE: &str = "TASUKI_PROCESS_TEST_ROLE";
    if std::env::var_os(ROLE).is_some() {
        let limits = Limited::new(LONG).end_with_parent();
        shell(limits, "echo $$ > \"$TASUKI_PROCESS_TEST_ROLE\"; exec sleep 600");
        return;
    }
    let file = std::env::temp_dir().join(format!("tasuki-process-test-{}", std::process::id()));
    let name = std::thread::current().name().unwrap().to_owned();
    let mut command = Command::new(std::env::current_exe().unwrap());
    let mut parent = command.args([&name, "--exact"]).env(ROLE, &file).spawn().unwrap();
    let sleeper = loop {
        match std::fs::read_to_string(&file) {
            Ok(text) if text.ends_with('\n') => break text,
            _ => thread::sleep(Duration::from_millis(5)),
        }
    };
    parent.kill().unwrap();
    parent.wait().unwrap();
    std::fs::remove_file(&file).unwrap();
    assert!(ends(&sleeper));
}
