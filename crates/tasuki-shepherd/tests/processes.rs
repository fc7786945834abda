//! Ranks that are shell scripts: how they end, what they leave behind, what they write and read, how they
//! stand still, and whose they are.

mod support;

use std::{fs, time::Duration};
use support::{Job, LIMIT, assert_nothing_left, both, processes, run, script, shepherd, without_cgroup};
use tasuki_shepherd::{
    Command, End, Event, INPUT_WINDOW, Ids, JobSpec, Limit, Residence, Shepherd, ShepherdError, Stream, User,
};

#[test]
fn exit_codes_and_signals_of_each_rank_come_back() {
    for job in both("ends", 4, "case $RANK in 0) exit 0;; 1) exit 7;; 2) kill -SEGV $$;; 3) exit 255;; esac")
    {
        let ran = run(&job);
        let ends: Vec<_> = ran.ends.values().copied().collect();
        assert_eq!(ends, [End::Exit(0), End::Exit(7), End::Signal(11), End::Exit(255)], "{}", ran.said());
    }
}

#[test]
fn output_is_whole_lines_and_lacks_nothing() {
    let text = "i=0; while [ $i -lt 300 ]; do echo line $i of $RANK; i=$((i+1)); done; printf end >&2";
    let mut job = Job::start(&script("lines", 3, text));
    let mut cut = Vec::new();
    loop {
        match job.step(LIMIT).unwrap() {
            Some(Event::Output { bytes, whole, stream: Stream::Out, .. })
                if !whole || !bytes.ends_with(b"\n") =>
            {
                cut.push(bytes);
            }
            Some(Event::Ended { .. }) => break,
            _ => {}
        }
    }
    assert_eq!(cut, Vec::<Vec<u8>>::new());
    for rank in 0..3 {
        let expected: String = (0..300).map(|line| format!("line {line} of {rank}\n")).collect();
        assert_eq!(job.out(rank), expected);
        assert_eq!(job.text(rank, Stream::Err), "end", "a last line without its end comes too");
    }
}

#[test]
fn what_is_left_behind_is_killed_even_daemons() {
    // One child in the background, one in a session of its own whose parent has ended, and one that forks
    // on.
    let text = "sleep 1000 & setsid sh -c 'setsid sleep 1000 & exit' & \
                (while :; do setsid sleep 0.05 & sleep 0.01; done) & echo $RANK; sleep 0.2; exit 3";
    for job in both("daemons", 2, text) {
        let (mut ran, state) = Job::started(&job);
        let swept = ran.run_out();
        assert!(swept >= 4, "{swept} were swept: {}", ran.said());
        assert_eq!(ran.ends.values().copied().collect::<Vec<_>>(), [End::Exit(3), End::Exit(3)]);
        assert_nothing_left(&job.id, &state.residence);
    }
}

#[test]
fn a_job_is_asked_to_end_and_killed_when_it_does_not() {
    let text = "trap 'echo asked; [ $RANK = 0 ] && exit 5' TERM; echo up; while :; do sleep 0.05; done";
    for job in both("grace", 2, text) {
        let (mut ran, state) = Job::started(&job);
        (0..2).for_each(|rank| ran.until_written(rank, "up"));
        ran.send(Command::End { grace_ms: 10_000 });
        ran.run_out();
        assert_eq!((ran.ends[&0], ran.ends[&1]), (End::Exit(5), End::Signal(9)), "{}", ran.said());
        assert!(ran.out(1).contains("asked"));
        assert_nothing_left(&job.id, &state.residence);
    }
}

#[test]
fn a_flood_waits_for_its_reader_and_is_whole_then() {
    const LINES: usize = 300_000;
    let text = format!("yes 0123456789012345678901234567890123456789 | head -n {LINES}; echo >&2 done");
    let (mut job, _) = Job::started(&script("flood", 1, &text));
    // Nobody reads for a while; then the rank has not ended, because what waits is bounded.
    std::thread::sleep(Duration::from_millis(500));
    job.send(Command::Query);
    let Event::State(state) = job.until(|event| matches!(event, Event::State(_))) else { unreachable!() };
    assert_eq!(state.ranks[0].end, None, "the rank waits");
    job.run_out();
    assert_eq!(job.out(0).len(), LINES * 41);
    assert_eq!(job.text(0, Stream::Err), "done\n");
}

#[test]
fn a_flood_without_ends_of_lines_is_passed_on_in_parts() {
    let job = run(&script("longline", 1, "head -c 3000000 /dev/zero | tr '\\0' x"));
    assert_eq!(job.out(0).len(), 3_000_000);
}

#[test]
fn standard_input_reaches_rank_0_and_only_that() {
    let mut job = Job::start(&script("input", 2, "cat; echo end of $RANK"));
    job.send(Command::Input { at: 0, bytes: b"one\ntwo\n".to_vec() });
    job.until_written(0, "two");
    job.send(Command::InputEnd);
    job.run_out();
    assert_eq!((job.out(0).as_str(), job.out(1).as_str()), ("one\ntwo\nend of 0\n", "end of 1\n"));
    assert!(job.events.contains(&Event::InputTaken(8)), "{}", job.said());
}

#[test]
fn a_rank_that_never_reads_its_input_holds_nobody_up() {
    let (mut job, _) = Job::started(&script("unread", 1, "sleep 0.3; echo alive; exec 0<&-; sleep 1000"));
    // As much as an owner may send, and the kernel's pipe takes its part of it.
    let mut taken = 0;
    for at in (0..4).map(|part| part * INPUT_WINDOW / 4) {
        job.send(Command::Input { at: at as u64, bytes: vec![b'x'; INPUT_WINDOW / 4] });
    }
    job.until_written(0, "alive");
    job.send(Command::Input { at: INPUT_WINDOW as u64, bytes: vec![b'x'; INPUT_WINDOW / 2] });
    job.send(Command::Query);
    job.until(|event| matches!(event, Event::State(_)));
    job.send(Command::End { grace_ms: 0 });
    job.run_out();
    for event in &job.events {
        if let Event::InputTaken(bytes) = event {
            assert!(*bytes > taken, "it only grows");
            taken = *bytes;
        }
    }
    assert!(taken <= INPUT_WINDOW as u64 * 3 / 2, "{taken}");
    assert!(!job.said().contains("Failed"), "{}", job.said());
}

#[test]
fn a_job_stands_still_and_goes_on() {
    for job in both("freeze", 2, "while :; do echo tick; sleep 0.01; (sleep 0.01); done") {
        let (mut ran, state) = Job::started(&job);
        (0..2).for_each(|rank| ran.until_written(rank, "tick"));
        for _ in 0..3 {
            ran.send(Command::Freeze);
            ran.until(|event| matches!(event, Event::Frozen { .. }));
            // What was written before stands in the pipes, and may be read late; after that nothing comes.
            let late = (0..50).take_while(|_| ran.step(Duration::from_millis(300)).unwrap().is_some());
            assert!(late.count() < 50, "{:?}", state.residence);
            ran.send(Command::Thaw);
            ran.until(|event| matches!(event, Event::Thawed { .. }));
            ran.until(|event| matches!(event, Event::Output { rank: 1, .. }));
        }
        // A job that stands still can be ended, in order and by force.
        ran.send(Command::Freeze);
        ran.until(|event| matches!(event, Event::Frozen { .. }));
        ran.send(Command::End { grace_ms: 100 });
        ran.run_out();
        assert_nothing_left(&job.id, &state.residence);
    }
    let (mut ran, state) = Job::started(&script("freezekill", 2, "sleep 1000 & sleep 1000"));
    ran.send(Command::Freeze);
    ran.until(|event| matches!(event, Event::Frozen { .. }));
    ran.send(Command::End { grace_ms: 0 });
    ran.run_out();
    assert!(matches!(state.residence, Residence::Processes) || ran.ends[&0] == End::Signal(9));
}

/// A shell waits in the kernel for a child that it has made by vfork(2) until the child has begun a program;
/// a child that is stopped before that keeps it there.
#[test]
fn shells_that_do_nothing_but_start_programs_stand_still() {
    let job = without_cgroup(script("forks", 4, "while :; do /bin/true; done"));
    let (mut ran, _) = Job::started(&job);
    for _ in 0..100 {
        ran.send(Command::Freeze);
        match ran.until(|event| matches!(event, Event::Frozen { .. } | Event::Failed { .. })) {
            Event::Failed { what } => panic!("{what}"),
            _ => ran.send(Command::Thaw),
        }
        ran.until(|event| matches!(event, Event::Thawed { .. }));
    }
    ran.send(Command::End { grace_ms: 0 });
    ran.run_out();
}

#[test]
fn a_signal_reaches_every_rank_with_its_group() {
    let text = "trap 'echo got' USR1; echo up; while :; do sleep 0.05; done";
    let (mut job, _) = Job::started(&script("signal", 2, text));
    (0..2).for_each(|rank| job.until_written(rank, "up"));
    // A child that is in the midst of fork and exec may die of it; the shell goes on.
    job.send(Command::Signal(libc::SIGUSR1));
    (0..2).for_each(|rank| job.until_written(rank, "got"));
    job.send(Command::Signal(4711));
    job.until(|event| matches!(event, Event::Failed { what } if what.contains("4711")));
    job.send(Command::End { grace_ms: 0 });
    job.run_out();
}

#[test]
fn ranks_have_the_users_rights_and_nothing_of_the_shepherds() {
    if !nix::unistd::Uid::effective().is_root() {
        eprintln!("SKIPPED ranks_have_the_users_rights: needs root");
        return;
    }
    let text = "id -u; id -g; id -G; umask; pwd; ulimit -n; grep CapEff /proc/self/status; \
                ls -l /proc/self/fd | wc -l; cat /proc/self/cgroup; env | grep -c PMI_";
    let nobody = User::of_uid(65534).unwrap();
    let limits = vec![Limit { resource: libc::RLIMIT_NOFILE as i32, soft: 77, hard: 88 }];
    let mut job = script("user", 1, text);
    let ids = nobody.ids.clone().map(|ids| Ids { groups: vec![65534, 4242], ..ids });
    job.user = Some(User { limits, ids, ..nobody });
    job.program.folder = "/tmp".into();
    job.program.umask = Some(0o027);
    job.program.env.push(("PMI_FD".into(), "3".into()));
    let ran = run(&job);
    let out = ran.out(0);
    let lines: Vec<_> = out.lines().collect();
    assert_eq!(lines[..6], ["65534", "65534", "65534 4242", "0027", "/tmp", "77"], "{}", ran.said());
    assert_eq!(lines[6], "CapEff:\t0000000000000000");
    // total, 0, 1, 2 and the folder that ls itself has open.
    assert_eq!(lines.iter().find(|line| line.parse::<u32>().is_ok_and(|n| n == 5)), Some(&"5"), "{out}");
    assert_eq!(lines.last(), Some(&"0"), "what names another job is not passed on");
}

#[test]
fn no_limit_is_raised_above_the_shepherds_own() {
    let name = "Max realtime priority";
    let line = |text: &str| text.lines().find(|line| line.starts_with(name)).map(str::to_owned).unwrap();
    let own = line(&fs::read_to_string("/proc/self/limits").unwrap());
    let mut job = script("raised", 1, "cat /proc/self/limits");
    let limits = vec![Limit { resource: libc::RLIMIT_RTPRIO as i32, soft: 99, hard: 99 }];
    let user = nix::unistd::Uid::effective().as_raw();
    job.user = Some(User { limits, ..User::of_uid(user).unwrap() });
    let ran = run(&job);
    let hard = |line: &str| line[name.len()..].split_whitespace().nth(1).unwrap().to_owned();
    assert_eq!(hard(&line(&ran.out(0))), hard(&own), "{}", ran.said());
}

#[test]
fn what_cannot_be_started_is_said_and_nothing_runs() {
    let why = |job: &JobSpec| {
        let ran = run(job);
        assert_eq!(processes(&job.id), Vec::<String>::new());
        let found = ran.events.iter().find_map(|event| match event {
            Event::NotStarted { why, .. } => Some(why.clone()),
            _ => None,
        });
        found.unwrap_or_else(|| panic!("{}", ran.said()))
    };
    let job = script("missing", 2, "sleep 1000");
    let mut other = job.clone();
    other.program.folder = "/no/such".into();
    assert_eq!(why(&other), "cannot enter the working directory /no/such: No such file or directory");
    let mut other = job.clone();
    other.program.argv[0] = "/no/such/program".into();
    assert_eq!(why(&other), "cannot run /no/such/program: No such file or directory");
    let mut other = job.clone();
    other.program.argv[0] = "/etc/passwd".into();
    assert_eq!(why(&other), "cannot run /etc/passwd: Permission denied");
    let mut other = job.clone();
    other.ranks[1].cores = vec![1000];
    assert!(why(&other).contains("cores"), "rank 0 was started and is killed");
    if nix::unistd::Uid::effective().is_root() {
        let secret = tempfile::tempdir().unwrap();
        fs::set_permissions(secret.path(), std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
        let mut other = job.clone();
        other.user = Some(User::of_uid(65534).unwrap());
        other.program.folder = secret.path().into();
        let why = why(&other);
        assert!(why.ends_with("(as user nobody): Permission denied"), "{why}");
    }
}

#[test]
fn jobs_that_make_no_sense_are_refused_at_once() {
    let start = |change: fn(&mut JobSpec)| {
        let mut job = script("nonsense", 2, "true");
        change(&mut job);
        Shepherd::start(&shepherd(), &job).unwrap_err().to_string()
    };
    assert!(start(|job| job.id = "../x".into()).contains("letters"));
    assert!(start(|job| job.program.argv.clear()).contains("no program"));
    assert!(start(|job| job.ranks.clear()).contains("at least one"));
    assert!(start(|job| job.ranks[1].rank = 0).contains("once"));
    let error = Shepherd::start(&["/no/such".into()], &script("x", 1, "true")).unwrap_err();
    assert!(matches!(error, ShepherdError::Start { .. }), "{error}");
}

#[test]
fn a_cgroup_is_used_where_there_is_one() {
    let (mut job, state) = Job::started(&script("cgroup", 1, "cat /proc/self/cgroup"));
    job.run_out();
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    let may = nix::unistd::Uid::effective().is_root() && mounts.contains("cgroup2");
    if let (Residence::V2(folder), true) = (&state.residence, may) {
        let name = folder.file_name().unwrap().to_str().unwrap();
        assert!(job.out(0).contains(name), "the rank is in it: {}", job.out(0));
    } else {
        assert!(!may, "{:?}", state.residence);
    }
}
