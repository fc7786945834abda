//! Lanes that a client has given up, and that some process still has, or seems to have.

mod common;

use common::*;
use nix::unistd::{ForkResult, fork, pause};
use std::{
    io::{Read, Write, pipe},
    thread::sleep,
    time::Duration,
};
use tasuki_broker::{Limits, Options};
use tasuki_link::broker::{BrokerError, Outcome};

fn one_lane_each() -> Running {
    let limits = Limits { user_lanes: 1, ..Limits::default() };
    Running::start(Options { limits, ..options() })
}

/// How a request for a lane is answered.
fn outcome(broker: &Running, user: User, endpoint: u32) -> Outcome {
    match as_user(user, || lane(&broker.path, "e0", endpoint).map(drop)) {
        Ok(()) => Outcome::Granted,
        Err(BrokerError::Refused { outcome, .. }) => outcome,
        Err(other) => panic!("{other}"),
    }
}

/// A socket without a ring receives frames as well (packet(7)), so that to keep one is to keep a lane.
#[test]
fn a_lane_counts_as_long_as_anybody_has_its_socket() {
    if !network("a_lane_counts_as_long_as_anybody_has_its_socket") {
        return;
    }
    let broker = one_lane_each();
    let sockets = as_user(MEMBER, || {
        let link = connection(&broker.path);
        let (answer, sockets) = say(&link, &request("e0", 1).to_bytes()).expect("an answer");
        assert_eq!((answer.outcome, sockets.len()), (Outcome::Granted, 1));
        sockets
    });
    for endpoint in 2..22 {
        // Time in which a broker would find that the connection is closed, and give the share back.
        sleep(Duration::from_millis(50));
        assert_eq!(outcome(&broker, MEMBER, endpoint), Outcome::Budget);
        assert_eq!(outcome(&broker, OTHER, 1), Outcome::EndpointTaken);
    }
    drop(sockets);
    eventually("the share is given back", || outcome(&broker, MEMBER, 3) == Outcome::Granted);
}

/// fork(2): the child has all descriptors of its parent. This one lives on after the parent has closed its
/// lane.
#[test]
fn a_forked_child_of_a_client_holds_no_lane() {
    if !network("a_forked_child_of_a_client_holds_no_lane") {
        return;
    }
    let broker = one_lane_each();
    let (mut reader, mut writer) = pipe().expect("a pipe");
    let child = as_user(MEMBER, || {
        let lane = lane(&broker.path, "e0", 1).expect("a lane");
        // SAFETY: the child makes system calls only, and never returns.
        let child = match unsafe { fork() }.expect("a child") {
            ForkResult::Parent { child } => child,
            ForkResult::Child => {
                let _ = writer.write(&[0]);
                loop {
                    pause();
                }
            }
        };
        reader.read_exact(&mut [0]).expect("the child is there");
        drop(lane);
        child
    });
    eventually("the share is given back", || outcome(&broker, MEMBER, 2) == Outcome::Granted);
    nix::sys::signal::kill(child, nix::sys::signal::Signal::SIGKILL).expect("our child");
    nix::sys::wait::waitpid(child, None).expect("its end");
}
