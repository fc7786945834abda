//! Parallel programs on (a) to (d), verified, beside one host alone and controls in which the sums of the
//! rates are equal.

use super::{
    NETWORKS,
    networks::{Networks, Setting, titles},
};
use crate::{
    BenchError, Machine,
    lab::{
        LabBuilder, MpiAccess, Session,
        kernels::{KernelStacks, Kernels, check_classes},
    },
    nas::{
        Class, Kernel, NasRecord, NasReport,
        challenge::{self, ChallengeRecord},
        cross,
    },
};
use serde::Serialize;
use std::time::Duration;
use tasuki_cluster::Rate;

/// What is measured.
#[derive(Clone, Debug)]
pub struct CrossKernels {
    /// Rate of every NIC but those of controls.
    pub rate: Rate,
    /// Interrupt delay of (a) and (b), us.
    pub delay_us: u32,
    /// MTU of the NICs, bytes.
    pub mtu: u32,
    /// Hosts, with a rank on each: 2, 4 or 8.
    pub hosts: u32,
    /// Short names of the networks ([`NETWORKS`]); none: all that so many hosts have.
    pub networks: Vec<String>,
    /// Sizes of the programs.
    pub classes: Vec<Class>,
    /// How often.
    pub repetitions: usize,
    /// Longest time for one run.
    pub limit: Duration,
}

/// All records, as JSON has them.
#[derive(Serialize)]
struct Records<'a> {
    machine: Machine,
    networks: &'a [Setting],
    /// What the kernels gave.
    records: Vec<NasRecord>,
    /// What hpcc measures beside Linpack.
    hpcc: Vec<ChallengeRecord>,
    interrupted: bool,
}

/// The labs of all networks. They end with this value.
pub struct CrossLabs(Networks);

/// What came of it.
pub struct CrossKernelsReport {
    /// What the kernels gave.
    pub measured: NasReport,
    /// As a table.
    pub text: String,
    /// As JSON.
    pub json: String,
}

impl CrossKernels {
    /// Refuses at once what would fail later.
    pub fn check(&self, kernels: &[Kernel]) -> Result<(), BenchError> {
        if ![2, 4, 8].contains(&self.hosts) {
            return Err(BenchError::refused(format!("--hosts {}: 2, 4 or 8", self.hosts)));
        }
        for wanted in &self.networks {
            if !NETWORKS.iter().any(|(short, _)| short == wanted) {
                let known = NETWORKS.map(|(short, _)| short).join(", ");
                return Err(BenchError::refused(format!("there is no network '{wanted}': {known}")));
            }
            if self.hosts == 2 && wanted == "b-control" {
                return Err(BenchError::refused(
                    "--network b-control: two hosts have one cable, which needs no control",
                ));
            }
        }
        check_classes(kernels, &self.classes)
    }

    /// Whether this network, by its long name, is to be measured.
    pub(super) fn wants(&self, network: &str) -> bool {
        let short = NETWORKS.iter().find(|(_, name)| *name == network).map(|(short, _)| *short);
        self.networks.is_empty() || self.networks.iter().any(|wanted| Some(wanted.as_str()) == short)
    }

    /// Stands all networks up.
    pub fn up(&self, builder: &dyn LabBuilder) -> Result<CrossLabs, BenchError> {
        Networks::up(self, builder).map(CrossLabs)
    }

    /// Runs the kernels on all networks in turn, and takes the networks down.
    pub fn measure(
        &self,
        CrossLabs(mut networks): CrossLabs,
        programs: &[KernelStacks],
        mpis: &dyn MpiAccess,
        session: Session<'_>,
    ) -> Result<CrossKernelsReport, BenchError> {
        let kernels = Kernels {
            networks: &networks.labs,
            programs,
            classes: &self.classes,
            ranks: &[],
            repetitions: self.repetitions,
            limit: self.limit,
            mpis,
        };
        let measured = kernels.run(session)?;
        let notes = NOTES.to_owned() + &networks.count();
        let text = titles(&networks.settings, self.hosts)
            + &cross::table(&measured, &notes)
            + &challenge::table(&measured);
        let json = serde_json::to_string_pretty(&Records {
            machine: Machine::here(),
            networks: &networks.settings,
            records: measured.records(),
            hpcc: challenge::records(&measured),
            interrupted: measured.interrupted,
        })?;
        Ok(CrossKernelsReport { measured, text, json })
    }
}

/// Below the table.
const NOTES: &str = "All ranks share this machine's processors. (b) against its control, (d) against its \
    own: with an equal sum of rates the gain is gone where it is the gain of more links.\n";
