//! Asking switches what their ports count, beside the stages.

use super::Checker;
use crate::{
    finding::Finding,
    judge::witness::{Witness, merge, unasked},
};
use std::thread::{self, JoinHandle};
use tasuki_switch::SwitchAnswer;

impl Checker<'_> {
    /// Asks all switches, while other things are done.
    pub(super) fn ask_switches(&self) -> JoinHandle<Vec<SwitchAnswer>> {
        let switches = self.switches.clone();
        thread::spawn(move || switches.ask())
    }

    /// Takes what switches answered at the beginning. Those that did not are not asked again.
    pub(super) fn meet_switches(&mut self, asked: JoinHandle<Vec<SwitchAnswer>>) {
        // A thread that panicked has said so.
        self.switches_before = asked.join().unwrap_or_default();
        self.report.findings.extend(unasked(&self.switches_before));
        self.switches.keep_answering(&self.switches_before);
    }

    /// What ports have counted since the beginning.
    pub(super) fn witness(&self) -> Witness {
        Witness::new(self.cluster, &self.switches_before, &self.switches.ask())
    }

    /// Adds what ports have counted during the whole check to what NICs have, and to the tables.
    pub(super) fn look_at_ports(&mut self, errors: &mut Vec<Finding>, seconds: f64) {
        if self.switches.is_empty() {
            return;
        }
        let witness = self.witness();
        merge(errors, witness.errors(self.cluster, seconds, self.options.errors_per_hour));
        let names =
            ["port", "from", "damaged", "no room from it", "no room for it"].map(str::to_owned).to_vec();
        self.report.tables.push((
            "Ports of switches during the check".into(),
            names,
            witness.rows(self.cluster),
        ));
    }
}
