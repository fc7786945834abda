//! The demonstration at the end of `tasuki up`.

use crate::bench::{Bar, LabMpis, Networks};
use std::{
    cell::RefCell,
    collections::BTreeSet,
    path::{Path, PathBuf},
    sync::atomic::AtomicBool,
};
use tasuki_args::transport::Wanted;
use tasuki_bench::{figure::significant, lab::mpi::BuiltStack};
use tasuki_fleet::{Fleet, Task};
use tasuki_job::{Readiness, lacking};
use tasuki_terminal::{Failure, table};
use tasuki_up::{Demonstration, Shown};

/// Removes the file that is its name, and folders that are empty without it.
const REMOVE: &str = r#"rm -f "$0"; rmdir -p --ignore-fail-on-non-empty "$(dirname "$0")""#;

/// Measures, and prints the figures unless `quiet`. What cannot be measured is told; the cluster runs without
/// it.
pub fn show(fleet: &Fleet, provider: Option<PathBuf>, interrupted: &AtomicBool, quiet: bool) -> Shown {
    let shown = measure(fleet, provider, interrupted).unwrap_or_else(|failure| Shown {
        mpi: None,
        notes: vec![format!("nothing was measured: {}", failure.message)],
        figures: Vec::new(),
    });
    if !quiet {
        print(&shown);
    }
    shown
}

fn measure(fleet: &Fleet, provider: Option<PathBuf>, interrupted: &AtomicBool) -> Result<Shown, Failure> {
    let networks = match fleet {
        Fleet::Lab(hosts) => Networks::of_lab(hosts.as_ref().clone())?,
        _ => Networks::of_machines(fleet, Readiness::SetUp)?,
    };
    let mpis = LabMpis::over(&[Wanted::Tcp, Wanted::Tasuki])?.with_provider(provider);
    let copies = Copies::new(fleet);
    let place = |stacks: Vec<BuiltStack>| {
        copies.expect(&stacks);
        networks.place(stacks).map_err(|failure: Failure| failure.message)
    };
    let testbed = networks.testbeds.first_chunk().ok_or_else(|| Failure::new("there are no hosts"))?;
    let bar = Bar::default();
    Ok(Demonstration { testbed, mpis: &mpis, place: &place, progress: &bar, interrupted }.run())
}

/// Programs that the demonstration copies to machines that lack them. They go with this value: what is not
/// the person's own must not stay there.
struct Copies<'a> {
    fleet: &'a Fleet,
    /// Machines that lacked a program, by name, and the program.
    lacked: RefCell<BTreeSet<(String, PathBuf)>>,
}

impl<'a> Copies<'a> {
    fn new(fleet: &'a Fleet) -> Self {
        Self { fleet, lacked: RefCell::default() }
    }

    /// Remembers which machines lack the programs of these stacks.
    fn expect(&self, stacks: &[BuiltStack]) {
        if !matches!(self.fleet, Fleet::Ssh(_)) {
            return;
        }
        let programs: BTreeSet<PathBuf> =
            stacks.iter().filter_map(|stack| stack.detected.argv.first().map(PathBuf::from)).collect();
        for program in programs {
            let lacking = lacking(self.fleet, std::slice::from_ref(&program)).unwrap_or_default();
            let named = lacking.into_iter().map(|(host, _)| (host, program.clone()));
            self.lacked.borrow_mut().extend(named);
        }
    }
}

impl Drop for Copies<'_> {
    fn drop(&mut self) {
        for (host, program) in self.lacked.borrow().iter() {
            let script = [Path::new("sh"), Path::new("-c"), Path::new(REMOVE), program];
            let number = (0..self.fleet.len()).find(|number| self.fleet.name(*number) == *host);
            // A machine that does not answer any more keeps a program of some kilobytes.
            number.map(|number| self.fleet.run(number, &Task::program(script)));
        }
    }
}

fn print(shown: &Shown) {
    let figure = |value: Option<f64>| value.map_or("-".into(), significant);
    match &shown.mpi {
        Some(mpi) => {
            println!("{mpi}, over its own TCP and over Tasuki, beside the raw limit of the cables:");
            let mut rows = table(["what", "unit", "limit", "tcp", "tasuki", "tasuki is"]);
            for line in &shown.figures {
                rows.add_row([
                    line.what.clone(),
                    line.unit.clone(),
                    figure(line.limit),
                    figure(line.tcp),
                    figure(line.tasuki),
                    line.gain.map_or("-".into(), |gain| format!("{gain:.2} x")),
                ]);
            }
            println!("{rows}");
        }
        None if shown.figures.is_empty() => {}
        None => {
            println!("Without an MPI, between two hosts that share a cable or switch:");
            let mut rows = table(["what", "unit", "median"]);
            for line in &shown.figures {
                rows.add_row([line.what.clone(), line.unit.clone(), figure(line.limit)]);
            }
            println!("{rows}");
        }
    }
    shown.notes.iter().for_each(|note| eprintln!("tasuki: {note}"));
}
