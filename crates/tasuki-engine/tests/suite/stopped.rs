//! What peers on the same host have sent before they left is received by a process that did not run when they
//! left: as on a busy machine, where a process may wait for a processor for half a second.

use std::{
    fs,
    io::BufRead,
    path::Path,
    sync::mpsc::{Receiver, channel},
    thread::sleep,
    time::Duration,
};

use tasuki_engine::{Address, Completion, Endpoint, Failure, Options, Standing};
use tasuki_ring::Token;

use crate::node::{Lane, Node, options, run};
use crate::other::Other;

/// Longer than a round of looking after peers, which is a fifth of a second: the first poll after it begins a
/// round.
const STOPPED: Duration = Duration::from_millis(250);

/// Peers on this host are looked after in one round of four: these many stops meet such a round in all
/// likelihood.
const LEAVERS: usize = 16;

const GREETING: u64 = 1;
const ANSWER: u64 = 2;
const LAST_WORDS: u64 = 3;
const WORDS: usize = 3;

/// What the other process does: it greets whom it is told of, and says when all words of a peer have come.
#[test]
fn helper() {
    let Ok(_) = std::env::var("TASUKI_TASK") else { return };
    let told = Options { on_failure: Some(|_| println!("SAYS failed")), ..options(Lane::Shared) };
    let endpoint = Endpoint::open(&told).unwrap();
    println!("SAYS {:x}", endpoint.address());
    let mut node = Node::acquainted(vec![endpoint]).pop().unwrap();
    let lines = lines();
    loop {
        node.turn();
        match lines.try_recv().as_deref() {
            Ok("end") => return node.endpoint.close(),
            Ok("greet") => greet(&mut node, &lines.recv().unwrap().parse().unwrap()),
            Ok("say") => {
                node.peers.push(node.endpoint.add_peer(&lines.recv().unwrap().parse().unwrap()));
                node.send(node.peers.len() - 1, Some(LAST_WORDS), &[3; 8]);
                println!("SAYS said");
            }
            Ok("expect") => {
                node.recv(Some(node.peers.len() - 1), Some(LAST_WORDS), 0, 8);
                println!("SAYS expects");
            }
            Ok("words") => (0..WORDS).for_each(|_| {
                node.recv(None, Some(LAST_WORDS), 0, 8);
            }),
            Ok(other) => panic!("no task: {other}"),
            Err(_) => {}
        }
        let came = |tag: u64| {
            let is = move |done: &&Completion| matches!(done, Completion::Recv { tag: of, .. } if *of == tag);
            node.done.iter().filter(is).count()
        };
        if came(ANSWER) == 1 {
            println!("SAYS met");
            node.done.clear();
        } else if came(LAST_WORDS) == WORDS {
            println!("SAYS got");
            node.done.clear();
        } else if node.done.iter().any(|done| matches!(done, Completion::Error { send: false, .. })) {
            println!("SAYS error");
            node.done.clear();
        }
    }
}

fn lines() -> Receiver<String> {
    let (tell, lines) = channel();
    std::thread::spawn(move || {
        std::io::stdin().lock().lines().map_while(Result::ok).for_each(|said| drop(tell.send(said)));
    });
    lines
}

fn greet(node: &mut Node, address: &Address) {
    let peer = node.endpoint.add_peer(address);
    node.peers.push(peer);
    node.recv(Some(node.peers.len() - 1), Some(ANSWER), 0, 8);
    node.send(node.peers.len() - 1, Some(GREETING), &[1; 8]);
}

/// An endpoint here, and its number for the other process's endpoint.
pub fn leaver(of: &Address) -> Vec<Node> {
    let mut node = Node::acquainted(vec![Endpoint::open(&options(Lane::Shared)).unwrap()]).pop().unwrap();
    let peer = node.endpoint.add_peer(of);
    node.peers.push(peer);
    vec![node]
}

/// The other process says a word to the endpoint and has one of it.
pub fn meet(all: &mut [Node], other: &mut Other) {
    all[0].recv(Some(1), Some(GREETING), 0, 8);
    other.tell("greet");
    other.tell(&format!("{:x}", all[0].endpoint.address()));
    run(all, |all| !all[0].done.is_empty());
    all[0].send(1, Some(ANSWER), &[2; 8]);
    assert_eq!(other.hear_with(|| all[0].turn()), "met");
    all[0].done.clear();
}

/// Says its last words and leaves while the other process stands still.
fn leave(mut leaver: Vec<Node>, other: &mut Other) {
    other.tell("words");
    other.stop();
    sleep(STOPPED);
    for _ in 0..WORDS {
        leaver[0].send(1, Some(LAST_WORDS), &[3; 8]);
    }
    run(&mut leaver, |all| {
        all[0].done.iter().filter(|done| matches!(done, Completion::Send { .. })).count() >= WORDS
    });
    leaver.pop().unwrap().endpoint.close();
    other.go_on();
    assert_eq!(other.hear_with(|| {}), "got");
}

#[test]
fn last_words_of_peers_that_are_known_arrive() {
    let (mut other, address) = Other::start("stopped::helper", "");
    for _ in 0..LEAVERS {
        let mut all = leaver(&address);
        meet(&mut all, &mut other);
        leave(all, &mut other);
    }
    other.finish(|| {});
}

#[test]
fn words_of_peers_that_nobody_knew_arrive() {
    let (mut other, address) = Other::start("stopped::helper", "");
    for _ in 0..LEAVERS {
        leave(leaver(&address), &mut other);
    }
    other.finish(|| {});
}

/// A process that sends something to a peer before it has looked what that one has said finds nobody there.
/// Returns whether the send has failed.
fn send_to_one_that_has_spoken() -> bool {
    let (mut other, address) = Other::start("stopped::helper", "");
    let mut all = leaver(&address);
    other.tell("say");
    other.tell(&format!("{:x}", all[0].endpoint.address()));
    assert_eq!(other.hear_with(|| {}), "said");
    let name = Token::derive(&address.secret, address.incarnation, address.endpoint);
    let folder = tempfile::tempdir_in("/dev/shm").expect("a folder");
    let segment = Path::new("/dev/shm").join(format!("tasuki-ring.{name}"));
    let kept = folder.path().join("segment");
    fs::hard_link(&segment, &kept).expect("its segment");
    other.kill();
    // Every segment that is made has those of the killed swept away, and others of this machine make some.
    let _is_there_still = fs::hard_link(&kept, &segment);
    all[0].send(1, Some(ANSWER), &[2; 8]);
    let words = all[0].recv(None, Some(LAST_WORDS), 0, 8);
    let peer = all[0].peers[1];
    run(&mut all, |all| all[0].endpoint.standing(peer) != Standing::Present);
    all[0].turn();
    let is_received = |done: &Completion| matches!(done, Completion::Recv { .. });
    assert!(all[0].done.iter().any(is_received), "{:?}", all[0].done);
    assert_eq!(all[0].bytes(words), [3; 8]);
    // A receive from anybody hangs where one that has spoken is said to have left well.
    assert_eq!(all[0].endpoint.standing(peer), Standing::Failed);
    let sends = all[0].done.iter().filter(|done| !is_received(done)).collect::<Vec<_>>();
    match sends[..] {
        [Completion::Error { send: true, failure: Failure::PeerFailed, peer: Some(of), .. }] => *of == peer,
        [Completion::Send { .. }] => false,
        _ => panic!("{sends:?}"),
    }
}

/// Another process of this machine may sweep the segment of the killed one away before that is found dead.
/// Then it may as well be on another host: a short message to it counts as sent.
#[test]
fn a_peer_that_was_never_met_has_not_ended_before_its_words_have_come() {
    assert!((0..20).any(|_| send_to_one_that_has_spoken()), "no send has failed");
}
