//! What the threads of a simulated program do.

use tasuki_dsm::Access;
use tasuki_testkit::{Check, demand, same};

use super::{Event, Waits, World};
use crate::program::Op;

impl World {
    /// A thread does its next operation, and is called again if it need not wait.
    pub(super) fn step(&mut self, at: usize, number: usize) -> Check {
        let thread = &mut self.hosts[at].threads[number];
        let Some(&op) = thread.ops.front().filter(|_| thread.waits == Waits::No) else { return Ok(()) };
        match op {
            Op::Acquire(lock) => {
                thread.waits = Waits::Lock(lock);
                self.hosts[at].node.acquire(lock, self.now);
                return Ok(());
            }
            Op::Barrier(of) => {
                thread.waits = Waits::Barrier(of);
                *self.hosts[at].came.entry(of).or_default() += 1;
                return demand(self.hosts[at].node.enter_barrier(of), || "it is in a barrier".into());
            }
            Op::Release(lock) => {
                thread.ops.pop_front();
                same("owner of the lock", self.owners.remove(&lock), Some((at, number)))?;
                let now = self.now;
                demand(self.hosts[at].node.release(lock, now), || format!("{lock} is not there"))?;
            }
            _ => self.touch(at, number)?,
        }
        if self.hosts[at].threads[number].waits == Waits::No {
            self.at(5000, Event::Step(at, number));
        }
        Ok(())
    }

    /// A thread touches memory, if that is what it does next and it can.
    pub(super) fn touch(&mut self, at: usize, number: usize) -> Check {
        let thread = &self.hosts[at].threads[number];
        let Some(&op) = thread.ops.front().filter(|_| thread.waits == Waits::No) else { return Ok(()) };
        let (word, access) = match op {
            Op::Read(word) | Op::Until(word, _) => (word, Access::Read),
            Op::Write(word) | Op::Add(word) => (word, Access::Write),
            _ => return Ok(()),
        };
        let (page, index) = word;
        let host = &mut self.hosts[at];
        if host.mapped.get(&page).copied().unwrap_or_default() < access {
            host.threads[number].waits = Waits::Page(page);
            self.at(3000, Event::Fault(at, page, access));
            return Ok(());
        }
        let bytes = host.memory.get_mut(&page).ok_or_else(|| format!("node {at}: {page} has no bytes"))?;
        let truth = self.truth.entry(page).or_default();
        same(format!("node {at} at {word:?}, {op:?}"), bytes[index], truth[index])?;
        match op {
            Op::Until(_, least) if bytes[index] < least => return Ok(()),
            Op::Write(_) => {
                self.values += 1;
                (bytes[index], truth[index]) = (self.values << 32, self.values << 32);
            }
            Op::Add(_) => (bytes[index], truth[index]) = (bytes[index] + 1, truth[index] + 1),
            _ => {}
        }
        host.threads[number].ops.pop_front();
        Ok(())
    }
}
