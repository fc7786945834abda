//! All hosts of a fleet, asked once whenever their counters are wanted.

use crate::{HostSample, host_agent::HostAgent};
use std::thread;
use tasuki_fleet::Fleet;

/// Asks the hosts of a fleet.
pub struct Sampler {
    fleet: Fleet,
    hosts: Vec<HostAgent>,
}

impl Sampler {
    /// Of the hosts of a fleet, none of which has been asked yet.
    pub fn new(fleet: Fleet) -> Self {
        Self { hosts: (0..fleet.len()).map(HostAgent::new).collect(), fleet }
    }

    /// The hosts.
    pub fn fleet(&self) -> &Fleet {
        &self.fleet
    }

    /// Asks all hosts at once. Each comes with its name; an error says why it does not answer.
    pub fn look(&mut self) -> Vec<(String, Result<HostSample, String>)> {
        let fleet = &self.fleet;
        thread::scope(|scope| {
            let hosts = self.hosts.iter_mut();
            let asked: Vec<_> = hosts.map(|host| scope.spawn(|| host.look(fleet))).collect();
            let answers = asked.into_iter().enumerate().map(|(number, answer)| {
                let answer = answer.join().unwrap_or_else(|_| Err("asking it failed".into()));
                (fleet.name(number), answer)
            });
            answers.collect()
        })
    }
}
