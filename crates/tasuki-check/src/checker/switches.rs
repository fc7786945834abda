//! Switches beside the stages: what their ports count is asked at the beginning and later.

use crate::{
    finding::Finding,
    judge::witness::{Witness, unasked},
};
use std::thread::{self, JoinHandle};
use tasuki_cluster::Cluster;
use tasuki_switch::{SwitchAnswer, Switches};

/// The switches that are asked, and what they answered at the beginning.
pub(super) struct Ports {
    switches: Switches,
    before: Vec<SwitchAnswer>,
}

impl Ports {
    pub(super) fn of(switches: Switches) -> Self {
        Self { switches, before: Vec::new() }
    }

    /// Asks all switches, while other things are done.
    pub(super) fn ask(&self) -> JoinHandle<Vec<SwitchAnswer>> {
        let switches = self.switches.clone();
        thread::spawn(move || switches.ask())
    }

    /// Takes what switches answered at the beginning. Those that did not are reported, and not asked again.
    pub(super) fn begin(&mut self, asked: JoinHandle<Vec<SwitchAnswer>>) -> Vec<Finding> {
        // A thread that panicked has said so.
        self.before = asked.join().unwrap_or_default();
        self.switches.keep_answering(&self.before);
        unasked(&self.before)
    }

    /// What ports have counted since the beginning; `None`: no switch answers.
    pub(super) fn witness(&self, cluster: &Cluster) -> Option<Witness> {
        (!self.switches.is_empty()).then(|| Witness::new(cluster, &self.before, &self.switches.ask()))
    }
}

/// What ports have counted, as a table of the report.
pub(super) fn table(witness: &Witness, cluster: &Cluster) -> (String, Vec<String>, Vec<Vec<String>>) {
    let names = ["port", "from", "damaged", "no room from it", "no room for it"].map(str::to_owned).to_vec();
    ("Ports of switches during the check".into(), names, witness.rows(cluster))
}
