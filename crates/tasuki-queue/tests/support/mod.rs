//! A queue of hosts with a slot each, and jobs for it.
#![allow(dead_code)] // Every test program uses its own part.

use tasuki_control::{Bytes, Exit, Kind, Spread, State, Terms, User, Work};
use tasuki_queue::{Action, Client, Queue, Refusal};

/// A command on the first host.
pub const CLIENT: Client = Client { host: 0, session: 1 };

pub fn user(name: &str) -> User {
    User { name: name.into(), is_root: name == "root" }
}

/// Something to run.
pub fn work(ranks: u32) -> Work {
    Work {
        ranks,
        argv: vec![Bytes::from(&b"/bin/true"[..])],
        env: Vec::new(),
        folder: Bytes::from(&b"/"[..]),
        umask: 0o22,
        limits: Vec::new(),
        kind: Kind::Pmi1,
        mpi: None,
        spread: Spread::ByNode,
        over_tasuki: false,
        attended: false,
    }
}

/// A queue of so many hosts of one slot each, all up at the second 0.
pub fn queue(hosts: usize) -> Queue {
    let mut queue = Queue::new((1..=hosts).map(|number| (format!("n{number}"), Some(1))));
    (0..hosts).for_each(|host| queue.host_up(0, host, 8));
    queue
}

pub fn ask(queue: &mut Queue, now: u64, ranks: u32, terms: Terms) -> Result<u64, Refusal> {
    queue.submit(now, &user("anna"), work(ranks), terms, CLIENT)
}

/// What is to be done.
pub fn drain(queue: &mut Queue) -> Vec<Action> {
    std::iter::from_fn(|| queue.poll_action()).collect()
}

pub fn state(queue: &Queue, job: u64) -> State {
    queue.view(job).expect("a job").state
}

pub fn reason(queue: &Queue, job: u64) -> String {
    queue.view(job).expect("a job").reason.clone().unwrap_or_default()
}

/// All ranks of a job end, with this code, and nothing of it is left.
pub fn finish(queue: &mut Queue, now: u64, job: u64, code: i32) {
    for part in queue.view(job).expect("a job").parts.clone() {
        let host = part.host[1..].parse::<usize>().expect("a number") - 1;
        part.ranks.iter().for_each(|&rank| queue.rank_ended(now, host, job, rank, Exit::Code(code)));
        queue.left(now, host, job);
    }
}
