//! A mesh of threads that send over channels.

use std::convert::Infallible;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use tasuki_collectives::{Incoming, Mesh, Outgoing};

/// A process that sends over a channel to each other one.
pub struct Threads {
    rank: usize,
    to: Vec<Sender<Vec<u8>>>,
    from: Vec<Receiver<Vec<u8>>>,
}

impl Mesh for Threads {
    type Error = Infallible;

    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.to.len()
    }

    fn exchange(
        &mut self,
        outgoing: &[Outgoing<'_>],
        incoming: &mut [Incoming<'_>],
        arrived: &mut dyn FnMut(usize, &mut [u8]),
    ) -> Result<(), Infallible> {
        for Outgoing { to, bytes } in outgoing {
            assert_ne!(*to, self.rank, "a message to itself");
            self.to[*to].send(bytes.to_vec()).expect("the other is there");
        }
        for (index, Incoming { from, bytes }) in incoming.iter_mut().enumerate() {
            let message = self.from[*from].recv().expect("the other is there");
            assert_eq!(message.len(), bytes.len(), "from {from} to {}", self.rank);
            bytes.copy_from_slice(&message);
            arrived(index, bytes);
        }
        Ok(())
    }
}

/// Runs a function at each of so many processes, and returns what it gives there. No message is left over.
pub fn run<T: Send>(size: usize, body: impl Fn(&mut Threads) -> Result<T, Infallible> + Sync) -> Vec<T> {
    let mut processes: Vec<_> =
        (0..size).map(|rank| Threads { rank, to: Vec::new(), from: Vec::new() }).collect();
    for from in 0..size {
        for to in 0..size {
            let (sender, receiver) = channel();
            processes[from].to.push(sender);
            processes[to].from.push(receiver);
        }
    }
    let results = thread::scope(|scope| {
        let threads: Vec<_> = processes
            .iter_mut()
            .map(|process| scope.spawn(|| body(process).unwrap_or_else(|never| match never {})))
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
    });
    let left = |process: &Threads| process.from.iter().any(|from| from.try_recv().is_ok());
    assert!(!processes.iter().any(left), "a message that nobody has received");
    results
}
