//! Real MPI ranks that end badly: every job comes to an end with a reason, and nothing of it is left.

mod support;

use support::{
    Job, LIMIT, assert_nothing_left,
    mpi::{Tested, mpis},
    part, run_all,
};
use tasuki_shepherd::{Command, End, Event, JobSpec, State};

fn job(tested: &Tested, program: &str, arguments: &[&str], ranks: u32, folder: &std::path::Path) -> JobSpec {
    let built = tested.build(program, folder);
    tested.job(program, &built, arguments, ranks)
}

#[test]
fn abort_comes_with_its_code_from_another_host_too() {
    for tested in mpis("abort_comes_with_its_code_from_another_host_too") {
        let folder = tempfile::tempdir().unwrap();
        let job = job(&tested, "fault", &["abort", "7"], 4, folder.path());
        let (jobs, reason) = run_all(&[part(&job, 0, 2, 4), part(&job, 1, 2, 4)]);
        let all: Vec<_> = jobs.iter().map(Job::said).collect();
        let reason = reason.unwrap_or_else(|| panic!("{}: no reason: {}", tested.name, all.join("\n")));
        assert!(reason.contains("Abort") && reason.contains("code: 7"), "{}: {reason}", tested.name);
    }
}

#[test]
fn a_killed_rank_is_lost_and_its_end_is_told() {
    for tested in mpis("a_killed_rank_is_lost_and_its_end_is_told") {
        let folder = tempfile::tempdir().unwrap();
        let job = part(&job(&tested, "wait", &[], 3, folder.path()), 0, 1, 3);
        let (mut ran, state) = Job::started(&job);
        ran.until_written(0, "all here");
        let victim = pid(&state, 2);
        nix::sys::signal::kill(nix::unistd::Pid::from_raw(victim), nix::sys::signal::SIGKILL).unwrap();
        ran.until(|event| *event == Event::RankEnded { rank: 2, end: End::Signal(9) });
        assert!(ran.events.contains(&Event::Lost { rank: 2 }), "{}: {}", tested.name, ran.said());
        ran.send(Command::End { grace_ms: 0 });
        ran.run_out();
        assert_nothing_left(&job.id, &state.residence);
    }
}

fn pid(state: &State, rank: u32) -> i32 {
    state.ranks.iter().find(|of| of.rank == rank).expect("a rank").pid as i32
}

#[test]
fn a_rank_that_leaves_mpi_without_a_word_does_not_hang_the_job() {
    for tested in mpis("a_rank_that_leaves_mpi_without_a_word_does_not_hang_the_job") {
        let folder = tempfile::tempdir().unwrap();
        // Rank 1 exits with code 0 after MPI_Init; Hydra waits for ever then.
        let job = job(&tested, "wait", &["leave"], 2, folder.path());
        let (_, reason) = run_all(&[part(&job, 0, 1, 2)]);
        assert!(reason.as_ref().is_some_and(|why| why.contains("Lost")), "{}: {reason:?}", tested.name);
    }
}

#[test]
fn a_rank_that_is_no_mpi_program_does_not_hang_the_others() {
    for tested in mpis("a_rank_that_is_no_mpi_program_does_not_hang_the_others") {
        let folder = tempfile::tempdir().unwrap();
        let built = tested.build("hello", folder.path());
        let text = format!("[ $PMI_RANK = 1 ] && exit 0; exec {}", built.display());
        let job = tested.job("mixed", std::path::Path::new("/bin/sh"), &["-c", &text], 2);
        let (_, reason) = run_all(&[part(&job, 0, 2, 2), part(&job, 1, 2, 2)]);
        let why = reason.unwrap_or_default();
        assert!(why.contains("rank 1 ended while"), "{}: {why}", tested.name);
    }
}

#[test]
fn an_mpi_job_stands_still_and_goes_on_with_right_results() {
    for tested in mpis("an_mpi_job_stands_still_and_goes_on_with_right_results") {
        let folder = tempfile::tempdir().unwrap();
        let job = part(&job(&tested, "wait", &["sum"], 2, folder.path()), 0, 1, 2);
        let (mut ran, _) = Job::started(&job);
        ran.until_written(0, "all here");
        for _ in 0..5 {
            ran.send(Command::Freeze);
            ran.until(|event| matches!(event, Event::Frozen { .. }));
            ran.send(Command::Thaw);
            ran.until(|event| matches!(event, Event::Thawed { .. }));
        }
        ran.send(Command::Signal(libc::SIGUSR1));
        ran.run_out();
        assert_eq!(
            ran.ends.values().collect::<Vec<_>>(),
            [&End::Exit(0); 2],
            "{}: {}",
            tested.name,
            ran.said()
        );
        assert!(ran.out(0).contains("sums right"), "{}", ran.said());
    }
}

/// An ordinary user who reaches this checkout, in which the MPIs lie: its owner, or, if that is root, the
/// user `nobody`. `None` if root's folders let no other user in.
fn ordinary_user() -> Option<u32> {
    use std::os::unix::fs::MetadataExt;
    let checkout = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let owner = std::fs::metadata(checkout).unwrap().uid();
    let lets_in = |folder: &std::path::Path| std::fs::metadata(folder).unwrap().mode() & 0o001 != 0;
    if owner != 0 { Some(owner) } else { checkout.ancestors().all(lets_in).then_some(65534) }
}

#[test]
fn an_ordinary_users_ranks_find_each_other() {
    if !nix::unistd::Uid::effective().is_root() {
        eprintln!("SKIPPED an_ordinary_users_ranks_find_each_other: needs root");
        return;
    }
    let Some(user) = ordinary_user() else {
        let checkout = env!("CARGO_MANIFEST_DIR");
        eprintln!("SKIPPED an_ordinary_users_ranks_find_each_other: only root may enter {checkout}");
        return;
    };
    for tested in mpis("an_ordinary_users_ranks_find_each_other") {
        let folder = tempfile::tempdir().unwrap();
        std::fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let mut job = job(&tested, "hello", &[], 2, folder.path());
        job.user = Some(tasuki_shepherd::User::of_uid(user).unwrap());
        std::os::unix::fs::chown(folder.path(), Some(user), None).unwrap();
        let (jobs, reason) = run_all(&[part(&job, 0, 1, 2)]);
        assert_eq!(reason, None, "{}: {}", tested.name, jobs[0].said());
        assert!(jobs[0].said().contains("ring ok"), "{}: {}", tested.name, jobs[0].said());
    }
}

/// A job of one rank that runs a script of bash, which redirects to descriptors above 9 too.
fn bash(stem: &str, text: &str) -> JobSpec {
    let mut job = support::script(stem, 1, text);
    job.program.argv[0] = "/bin/bash".into();
    job
}

#[test]
fn a_hostile_rank_is_cut_off_with_a_reason() {
    let text = "printf 'cmd=init pmi_version=1 pmi_subversion=1\\nGET / HTTP/1.1\\n' >&$PMI_FD; \
                head -c 1000000 /dev/zero >&$PMI_FD; sleep 1000";
    let job = bash("hostile", text);
    let (jobs, reason) = run_all(&[part(&job, 0, 1, 1)]);
    let why = reason.unwrap_or_else(|| panic!("{}", jobs[0].said()));
    assert!(why.contains("Refused") && why.contains("GET / HTTP"), "{why}");
    // One that asks without end and never reads is not answered without end.
    let text = "printf 'cmd=init pmi_version=1 pmi_subversion=1\\n' >&$PMI_FD; \
                yes cmd=get_maxes >&$PMI_FD & sleep 0.5; echo up; sleep 1000";
    let (mut ran, state) = Job::started(&part(&bash("greedy", text), 0, 1, 1));
    ran.until_written(0, "up");
    let status = std::fs::read_to_string(format!("/proc/{}/status", state.pid)).unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap().trim();
    let kilobytes: u64 = peak.split(' ').next().unwrap().parse().unwrap();
    assert!(kilobytes < 30_000, "the shepherd's memory: {peak}");
    ran.send(Command::End { grace_ms: 0 });
    assert!(ran.step(LIMIT).unwrap().is_some());
    ran.run_out();
}
