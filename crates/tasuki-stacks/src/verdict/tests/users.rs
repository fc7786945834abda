//! Jobs of two users.

use super::*;

/// Two ranks of a user on two hosts, each of which waits for the other one.
fn stuck_of(user: &str) -> (Vec<Snapshot>, Vec<ProcessStacks>) {
    let (mut pages, mut stacks) = circle();
    for (page, process) in pages.iter_mut().zip(&mut stacks) {
        let of_user = |address: &str| format!("{user} {address}");
        page.identity.address = of_user(&page.identity.address);
        page.peers[0].peer.name = of_user(&page.peers[0].peer.name);
        process.address = of_user(&process.address);
        (process.job, process.user) = (Some("7".into()), Some(user.into()));
    }
    (pages, stacks)
}

#[test]
fn jobs_of_two_users_with_one_number_are_judged_apart() {
    let (pages, stacks) = stuck_of("anna");
    let alone = &verdicts(&pages, &stacks, &later(&pages))[0];
    assert_eq!((alone.state, alone.job.as_deref(), alone.user.as_deref()), (State::Stuck, Some("7"), None));
    // Another user's rank says that it is of the job, and its messages move.
    let (mut others, mut other_stacks) = stuck_of("otto");
    others.truncate(1);
    other_stacks.truncate(1);
    let mut moved = later(&others);
    moved[0].endpoint.messages_sent += 1;
    let before = [&pages[..], &others].concat();
    let after = [later(&pages), moved].concat();
    for job in [Some("7"), None] {
        let mut all = [&stacks[..], &other_stacks].concat();
        all.iter_mut().for_each(|process| process.job = job.map(str::to_owned));
        let found = verdicts(&before, &all, &after);
        let told: Vec<_> = found.iter().map(|found| (found.user.as_deref(), found.state)).collect();
        assert_eq!(told, [(Some("anna"), State::Stuck), (Some("otto"), State::GoesOn)], "{job:?}");
    }
}
