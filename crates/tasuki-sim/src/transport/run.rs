//! One seed, from its beginning to its verdict.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::defect::Plant;
use super::scenario::Scenario;
use super::world::{Carriage, World};
use tasuki_testkit::Coverage;
use tasuki_testkit::{Text, Trace};

/// Frames that must have arrived before a run counts; its programs go on until then.
const FRAMES_LEAST: u64 = 150;
/// Number of lines of the trace that a failure shows.
const TAIL: usize = 120;

/// How to run a seed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// What carries frames.
    pub carriage: Carriage,
    /// A defect to plant (feature `defects`).
    pub plant: Plant,
    /// Text to keep or print.
    pub text: Text,
}

/// The result of a seed that passed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Hash of everything that happened: equal for two runs of a seed.
    pub hash: u64,
    /// What happened, and how often.
    pub coverage: Coverage,
    /// Number of events of the simulation.
    pub events: u64,
    /// Number of messages that the programs sent.
    pub messages: u64,
    /// Bytes of these messages.
    pub bytes: u64,
    /// Virtual time, ns.
    pub virtual_ns: u64,
}

/// The failure of a seed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The seed.
    pub seed: u64,
    /// What carried frames.
    pub carriage: Carriage,
    /// What went wrong.
    pub complaint: String,
    /// The last lines of the trace.
    pub tail: Vec<String>,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for line in &self.tail {
            writeln!(f, "  {line}")?;
        }
        writeln!(f, "seed {}: {}", self.seed, self.complaint)?;
        write!(
            f,
            "replay: cargo run --release -p tasuki-sim --bin soak -- --seed {}{}\n\
             all of it: TASUKI_SIM_TRACE=1 in front of the same",
            self.seed,
            match self.carriage {
                Carriage::Packets => "",
                Carriage::Lanes => " --lanes",
                Carriage::Perfect => " --perfect",
            }
        )
    }
}

impl std::error::Error for Failure {}

/// Runs one seed. If it fails, it is run again to show how.
pub fn run(seed: u64, options: Options) -> Result<Outcome, Failure> {
    let (complaint, _) = match attempt(seed, options) {
        Ok(outcome) => return Ok(outcome),
        Err(failed) => failed,
    };
    let again = Options { text: Text::Tail(TAIL), ..options };
    let tail = match attempt(seed, again) {
        Err((same, tail)) if same == complaint => tail,
        Err((other, tail)) => [tail, vec![format!("THE SECOND RUN FAILED DIFFERENTLY: {other}")]].concat(),
        Ok(_) => vec!["THE SECOND RUN DID NOT FAIL: the simulation is not deterministic".to_owned()],
    };
    Err(Failure { seed, carriage: options.carriage, complaint, tail })
}

/// Runs one seed once, without its trace; returns the complaint if it fails.
pub fn fails(seed: u64, options: Options) -> Option<String> {
    attempt(seed, options).err().map(|(complaint, _)| complaint)
}

fn attempt(seed: u64, options: Options) -> Result<Outcome, (String, Vec<String>)> {
    let mut scenario = Scenario::new(seed, options.plant, options.carriage, Trace::new(options.text));
    // A panic in a layer is a failure like any other. The state that it leaves behind is only read.
    let result = catch_unwind(AssertUnwindSafe(|| {
        scenario.play()?;
        while frames(&scenario.world) < FRAMES_LEAST {
            scenario.steps_left = 30;
            scenario.world.oracle.cover("run extended");
            scenario.play()?;
        }
        scenario.finish()
    }));
    let world = scenario.world;
    match result {
        Ok(Ok(())) => Ok(Outcome {
            hash: world.oracle.trace.hash(),
            events: world.kernel.happened(),
            messages: world.oracle.sent.len() as u64,
            bytes: world.oracle.sent.iter().map(|sent| sent.len).sum(),
            virtual_ns: world.kernel.now().0,
            coverage: world.oracle.coverage,
        }),
        Ok(Err(complaint)) => Err((complaint, world.oracle.trace.into_lines())),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
            Err((format!("panic: {}", text.unwrap_or_default()), world.oracle.trace.into_lines()))
        }
    }
}

/// Number of frames of the message layers that have arrived.
fn frames(world: &World) -> u64 {
    world.oracle.links.values().map(|link| link.arrived_frames).sum()
}
