//! Clients of all kinds: which of them get a lane and which do not, what they can hold, and that no client's
//! conduct costs another anything.

mod common;

use common::*;
use nix::sys::socket::{MsgFlags, accept, recv};
use std::{
    io,
    os::{
        fd::{AsFd, AsRawFd, OwnedFd},
        unix::fs::PermissionsExt,
    },
    path::Path,
};
use tasuki_broker::{Limits, Listener, Options, ServeError};
use tasuki_link::broker::{Broker, BrokerError, Outcome};
use tasuki_random::Random;
use tasuki_sys::packet::{PacketRing, PacketSocket, RingLayout};
use tasuki_testkit::replay::Replay;

fn refused(result: Result<impl Sized, BrokerError>) -> Outcome {
    match result {
        Err(BrokerError::Refused { outcome, .. }) => outcome,
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("granted"),
    }
}

fn open_to_all(path: &Path) {
    std::fs::set_permissions(path, PermissionsExt::from_mode(0o666)).expect("its mode");
}

#[test]
fn members_and_root_are_served_and_nobody_else() {
    if !network("members_and_root_are_served") {
        return;
    }
    let broker = Running::start(options());
    for (endpoint, user) in [MEMBER, OTHER].into_iter().enumerate() {
        as_user(user, || lane(&broker.path, "e0", endpoint as u32).map(drop)).expect("a lane");
    }
    lane(&broker.path, "e0", 10).map(drop).expect("root gets one too");
    let error = as_user(STRANGER, || lane(&broker.path, "e0", 11).map(drop)).unwrap_err();
    assert!(matches!(error, BrokerError::Forbidden { .. }) && error.is_for_all(), "{error}");
    // The socket's file has been made accessible to all users by mistake: the broker still asks for the
    // group.
    open_to_all(&broker.path);
    assert_eq!(as_user(STRANGER, || refused(lane(&broker.path, "e0", 12))), Outcome::NotMember);
    assert_eq!(as_user(STRANGER, || refused(Broker::at(&broker.path).would_give("e0"))), Outcome::NotMember);
}

#[test]
fn lanes_are_given_of_the_clusters_nics_alone() {
    if !network("lanes_are_given_of_the_clusters_nics_alone") {
        return;
    }
    let broker = Running::start(options());
    as_user(MEMBER, || {
        for nic in ["other0", "lo", "nowhere", "e0\u{e9}"] {
            assert_eq!(refused(lane(&broker.path, nic, 1)), Outcome::Nic, "{nic}");
            assert_eq!(refused(Broker::at(&broker.path).would_give(nic)), Outcome::Nic, "{nic}");
        }
        Broker::at(&broker.path).would_give("e1").expect("yes");
    });
}

/// Older kernels do not let a socket be tied to a NIC that is down (since Linux 6.12 or so they do): that is
/// a refusal, and costs no share.
#[test]
fn a_nic_that_was_down_is_served_when_it_is_up() {
    if !network("a_nic_that_was_down_is_served_when_it_is_up") {
        return;
    }
    let limits = Limits { user_lanes: 1, ..Limits::default() };
    let broker = Running::start(Options { limits, ..options() });
    let link = |state: &str| {
        let status = std::process::Command::new("ip").args(["link", "set", "e0", state]).status();
        assert!(status.expect("ip").success());
    };
    link("down");
    as_user(MEMBER, || match lane(&broker.path, "e0", 1) {
        Ok(lane) => drop(lane),
        refusal => assert_eq!(refused(refusal), Outcome::Failed),
    });
    link("up");
    as_user(MEMBER, || eventually("a lane", || lane(&broker.path, "e0", 1).is_ok()));
}

#[test]
fn nobody_gets_another_users_endpoint() {
    if !network("nobody_gets_another_users_endpoint") {
        return;
    }
    let broker = Running::start(options());
    let mine = as_user(MEMBER, || lane(&broker.path, "e0", 42)).expect("a lane");
    as_user(OTHER, || {
        for nic in ["e0", "e1"] {
            assert_eq!(refused(lane(&broker.path, nic, 42)), Outcome::EndpointTaken, "{nic}");
        }
    });
    let second = as_user(MEMBER, || lane(&broker.path, "e1", 42)).expect("the other NIC's lane");
    assert_eq!(as_user(MEMBER, || refused(lane(&broker.path, "e1", 42))), Outcome::EndpointTaken);
    drop((mine, second));
    // The owner gets the endpoint id again as soon as the old lane is closed; other users do not get it for a
    // while.
    eventually("the owner's new lane", || as_user(MEMBER, || lane(&broker.path, "e0", 42)).is_ok());
    assert_eq!(as_user(OTHER, || refused(lane(&broker.path, "e0", 42))), Outcome::EndpointTaken);
}

#[test]
fn what_one_user_holds_is_bounded_and_comes_back() {
    if !network("what_one_user_holds_is_bounded") {
        return;
    }
    let limits = Limits { user_bytes: 4 << 20, ..Limits::default() };
    let broker = Running::start(Options { limits, ..options() });
    let lanes = as_user(MEMBER, || {
        let mut lanes = Vec::new();
        let outcome = loop {
            match lane(&broker.path, "e0", lanes.len() as u32) {
                Ok(lane) => lanes.push(lane),
                refusal => break refused(refusal),
            }
        };
        assert_eq!(outcome, Outcome::Budget);
        let bytes: usize = lanes.iter().map(|lane| lane.ring_bytes()).sum();
        assert!(lanes.len() >= 8 && bytes <= 4 << 20, "{} lanes with {bytes} bytes", lanes.len());
        lanes
    });
    as_user(OTHER, || lane(&broker.path, "e0", 5000).map(drop)).expect("another user's");
    let count = lanes.len();
    drop(lanes);
    eventually("as much as before", || {
        let again: Vec<_> =
            (0..count).map_while(|at| as_user(MEMBER, || lane(&broker.path, "e0", at as u32)).ok()).collect();
        again.len() == count
    });
}

#[test]
fn a_lane_counts_as_long_as_anybody_has_its_ring() {
    if !network("a_lane_counts_as_long_as_anybody_has_its_ring") {
        return;
    }
    let limits = Limits { user_lanes: 1, ..Limits::default() };
    let broker = Running::start(Options { limits, ..options() });
    as_user(MEMBER, || {
        let link = connection(&broker.path);
        let (answer, mut sockets) = say(&link, &request("e0", 1).to_bytes()).expect("an answer");
        let socket = PacketSocket::adopt(sockets.remove(0), "e0", ETHERTYPE).expect("its socket");
        let layout = RingLayout { slot_bytes: answer.slot_bytes, slots: answer.slots };
        let ring: PacketRing = socket.map_ring(layout).expect("its ring");
        drop(link);
        for endpoint in 2..20 {
            assert_eq!(refused(lane(&broker.path, "e0", endpoint)), Outcome::Budget);
        }
        drop(ring);
        eventually("the share is given back", || lane(&broker.path, "e0", 3).is_ok());
    });
}

#[test]
fn garbage_is_answered_or_hung_up_on() {
    if !network("garbage_is_answered_or_hung_up_on") {
        return;
    }
    let broker = Running::start(options());
    let replay = Replay { variable: "TASUKI_SEED", command: "cargo test -p tasuki-broker --test clients" };
    let mut generator = Random::new(replay.one(|| u64::from(std::process::id())));
    let mut random = move |below| generator.below(below);
    as_user(MEMBER, || {
        let (mut answered, mut granted) = (0, 0);
        for round in 0..2000 {
            let mut bytes = request("e0", round).to_bytes().to_vec();
            match random(3) {
                0 => bytes = (0..random(100)).map(|_| random(256) as u8).collect(),
                1 => bytes.truncate(random(40) as usize),
                _ => bytes[random(40) as usize] = random(256) as u8,
            }
            let link = connection(&broker.path);
            if let Some((answer, sockets)) = say(&link, &bytes) {
                answered += 1;
                granted += u32::from(answer.outcome == Outcome::Granted);
                assert_eq!(sockets.len() == 1, answer.slots > 0, "{answer:?}");
            }
        }
        assert!(answered > 1000 && granted > 0 && granted < answered, "{answered} answers, {granted} lanes");
        // A client of another version is told that the broker does not speak it.
        let mut bytes = request("e0", 1).to_bytes();
        bytes[4] = 9;
        let (answer, _) = say(&connection(&broker.path), &bytes).expect("an answer");
        assert!(answer.outcome == Outcome::Unreadable && answer.text.contains("version 9"), "{answer:?}");
        // Two requests on one connection, or descriptors sent along with one, make the broker take the lane
        // back.
        let link = connection(&broker.path);
        say(&link, &request("e0", 7777).to_bytes()).expect("an answer");
        assert!(say(&link, &request("e0", 7778).to_bytes()).is_none(), "two lanes on one connection");
        lane(&broker.path, "e0", 9999).map(drop).expect("a lane after all that");
    });
}

#[test]
fn a_user_who_holds_every_connection_he_can_holds_up_nobody_else() {
    if !network("a_user_who_holds_every_connection") {
        return;
    }
    let broker = Running::start(options());
    // Connections that send nothing, until the broker accepts no more of them, and many requests whose
    // answers are not read.
    let (silent, unread) = as_user(MEMBER, || {
        let silent: Vec<OwnedFd> = (0..400).map(|_| connection(&broker.path)).collect();
        let unread: Vec<OwnedFd> = (0..200)
            .map(|endpoint| {
                let link = connection(&broker.path);
                let bytes = request("e0", endpoint).to_bytes();
                let flags = nix::sys::socket::MsgFlags::MSG_NOSIGNAL;
                // Sending fails if the broker has closed the connection already.
                let _ = nix::sys::socket::send(link.as_raw_fd(), &bytes, flags);
                link
            })
            .collect();
        (silent, unread)
    });
    as_user(OTHER, || {
        for endpoint in 10_000..10_020 {
            lane(&broker.path, "e0", endpoint).map(drop).expect("a lane, all the while");
        }
    });
    // The broker closes the silent connections after a while.
    for link in &silent {
        assert!(hear(link).is_none());
    }
    drop((silent, unread));
    eventually("a lane for the first user again", || {
        as_user(MEMBER, || lane(&broker.path, "e0", 20_000)).is_ok()
    });
}

#[test]
fn without_a_broker_there_is_an_error_at_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("broker.sock");
    let absent =
        || matches!(lane(&path, "lo", 1), Err(error @ BrokerError::Absent { .. }) if error.is_for_all());
    assert!(absent(), "no file");
    drop(std::os::unix::net::UnixListener::bind(&path).expect("a socket"));
    assert!(absent(), "a file at which nobody listens");
    let long = folder.path().join("x".repeat(200));
    assert!(matches!(lane(&long, "lo", 1), Err(BrokerError::Absent { .. })));
}

/// Another user has made a socket where a broker is looked for. A lane of that user's would hand every
/// message of the program to that user.
#[test]
fn a_socket_of_another_user_is_no_brokers() {
    if !network("a_socket_of_another_user_is_no_brokers") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o777)).expect("its mode");
    let path = folder.path().join("broker.sock");
    let listener = as_user(STRANGER, || Listener::bind(&path, STRANGER.gid).expect("listens"));
    let error = Broker::at(&path).would_give("e0").unwrap_err();
    assert!(
        matches!(error, BrokerError::Stranger { user, .. } if user == STRANGER.uid) && error.is_for_all(),
        "{error}"
    );
    // The listener has got a connection, and not a byte.
    let taken = accept(listener.as_fd().as_raw_fd()).expect("a connection");
    let mut room = [0; 64];
    assert_eq!(recv(taken, &mut room, MsgFlags::MSG_DONTWAIT), Ok(0));
    // The owner of the socket may use it.
    as_user(STRANGER, || {
        let silent = Broker::at(&path).would_give("e0").unwrap_err();
        assert!(matches!(silent, BrokerError::Silent { .. }), "{silent}");
    });
}

/// A broker that is stopped does not answer. A program waits for it once, for all lanes together.
#[test]
fn a_broker_that_says_nothing_is_given_up() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("broker.sock");
    let _listener = Listener::bind(&path, 0).expect("listens");
    let options = tasuki_link::RawOptions { nic: "lo".into(), endpoint: 1, ring_bytes: 0 };
    let mut broker = Broker::at(&path);
    for _ in 0..3 {
        let error = broker.lane(&options).map(drop).unwrap_err();
        let BrokerError::Silent { ref source, .. } = error else { panic!("{error}") };
        assert!(source.kind() == io::ErrorKind::TimedOut && error.is_for_all());
    }
}

#[test]
fn a_place_is_taken_over_from_the_dead_and_from_nobody_else() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("run/broker.sock");
    let first = Listener::bind(&path, 0).expect("listens");
    assert!(matches!(Listener::bind(&path, 0), Err(ServeError::Taken(_))));
    // After SIGKILL the broker's file is still there.
    let left = folder.path().join("left");
    std::fs::hard_link(&path, &left).expect("a link");
    // A child that another thread starts has a copy of the socket until it runs its program.
    let child = first.as_fd().try_clone_to_owned().expect("a copy");
    drop(first);
    assert!(!path.exists(), "removed by its owner");
    std::fs::rename(&left, &path).expect("back");
    let second = Listener::bind(&path, 0).expect("listens in its place");
    drop((second, child));
    std::fs::write(&path, "precious").expect("a file");
    assert!(Listener::bind(&path, 0).is_err());
    assert_eq!(std::fs::read_to_string(&path).expect("still there"), "precious");
}
