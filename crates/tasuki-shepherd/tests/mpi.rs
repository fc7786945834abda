//! Real ranks of MPICH 4.3, MPICH 5.0 and Intel MPI, started without their launchers.

mod support;

use support::{
    Job, assert_nothing_left,
    mpi::{Tested, mpis},
    part, run_all,
};
use tasuki_shepherd::{End, Event, Residence};

fn residence(job: &Job) -> Residence {
    let started = job.events.iter().find_map(|event| match event {
        Event::Started(state) => Some(state.residence.clone()),
        _ => None,
    });
    started.expect("it was started")
}

fn run(
    tested: &Tested,
    program: &str,
    arguments: &[&str],
    ranks: u32,
    hosts: u32,
) -> (Vec<Job>, Option<String>) {
    let folder = tempfile::tempdir().unwrap();
    let built = tested.build(program, folder.path());
    let job = tested.job(program, &built, arguments, ranks);
    let parts: Vec<_> = (0..hosts).map(|host| part(&job, host, hosts, ranks)).collect();
    let ran = run_all(&parts);
    ran.0.iter().for_each(|part| assert_nothing_left(&job.id, &residence(part)));
    ran
}

fn is_right(tested: &Tested, program: &str, ranks: u32, hosts: u32, proof: &str) {
    let (jobs, reason) = run(tested, program, &[], ranks, hosts);
    let all: Vec<_> = jobs.iter().map(Job::said).collect();
    let what = format!("{} {program} {ranks} on {hosts}: {}", tested.name, all.join("\n"));
    assert_eq!(reason, None, "{what}");
    let ends: Vec<_> = jobs.iter().flat_map(|job| job.ends.values()).collect();
    assert_eq!(ends, vec![&End::Exit(0); ranks as usize], "{what}");
    assert!(all.iter().any(|said| said.contains(proof)), "{what}");
}

#[test]
fn ranks_of_one_host_find_each_other() {
    for tested in mpis("ranks_of_one_host_find_each_other") {
        for ranks in [1, 2, 8] {
            is_right(&tested, "hello", ranks, 1, "ring ok");
        }
        is_right(&tested, "alltoall", 4, 1, "alltoall ok");
    }
}

#[test]
fn ranks_of_two_hosts_find_each_other_by_joined_fences() {
    for tested in mpis("ranks_of_two_hosts_find_each_other_by_joined_fences") {
        is_right(&tested, "hello", 4, 2, "ring ok");
        is_right(&tested, "alltoall", 5, 2, "alltoall ok");
    }
}
