//! Checking a protocol: as it is, and with each of its sites made wrong.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Once;
use std::time::{Duration, Instant};

use crate::plan::{self, Defect, Machine, Noted, Site};

/// A small program over a protocol.
pub struct Scenario {
    /// What happens in it.
    pub name: &'static str,
    /// One execution: panics if it sees what must not be.
    pub run: fn(),
    /// How often at most a thread is interrupted where it could go on.
    pub preemptions: usize,
    /// Whether one thread of it dies: it is run once for each number of accesses that the thread makes
    /// before.
    pub deadly: bool,
}

/// A site whose defect no scenario finds, and why that is right.
pub struct Excuse {
    /// The defect.
    pub defect: Defect,
    /// A part of the source's line.
    pub source: &'static str,
    /// Why nothing goes wrong, or why the model cannot show it.
    pub reason: &'static str,
}

/// A protocol and how it is checked.
pub struct Protocol {
    /// Its name.
    pub name: &'static str,
    /// The ends of the paths of the files whose sites are made wrong.
    pub files: &'static [&'static str],
    /// Whether relaxed stores are made late.
    pub late: bool,
    /// Programs over it.
    pub scenarios: &'static [Scenario],
    /// What they do not find.
    pub excuses: &'static [Excuse],
}

/// What is made wrong, if anything is.
type Planted = Option<(Site, Defect)>;

/// What a run of a scenario noted.
#[derive(Default)]
struct Run {
    noted: Noted,
    /// What the scenario or the checker panicked with.
    failure: Option<String>,
}

impl Scenario {
    /// Runs all executions on a machine, of a thread that dies after so many accesses if one does.
    fn run_on(&self, machine: Machine, planted: Planted, deadline: Option<usize>) -> Run {
        let (run, preemptions) = (self.run, self.preemptions);
        quiet();
        // A thread of its own: a check that fails leaves loom's state behind.
        let thread = std::thread::Builder::new().name(QUIET.to_owned()).spawn(move || {
            plan::begin(machine, planted, deadline);
            let mut builder = loom::model::Builder::new();
            builder.preemption_bound = Some(preemptions);
            builder.max_branches = 20_000;
            let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                builder.check(move || {
                    plan::begin_execution();
                    crate::file::begin_execution();
                    run();
                });
            }));
            Run { noted: plan::end(), failure: outcome.err().map(|payload| text(&*payload)) }
        });
        thread.expect("a thread").join().expect("it caught what happened in it")
    }

    /// Runs the scenario on both machines, with a defect or none, and with all deaths if a thread dies in it.
    /// Ends at the first failure.
    fn check(&self, planted: Planted) -> Run {
        let mut all = Run::default();
        for machine in [Machine::FenceBefore, Machine::FenceAfter] {
            for deadline in 0.. {
                let run = self.run_on(machine, planted, self.deadly.then_some(deadline));
                let died = run.noted.died;
                all.noted.sites.extend(run.noted.sites);
                all.noted.executions += run.noted.executions;
                let death = if died { format!(", death after {deadline} accesses") } else { String::new() };
                all.failure = run.failure.map(|failure| format!("{machine:?}{death}: {failure}"));
                if all.failure.is_some() {
                    return all;
                }
                if !died {
                    break;
                }
            }
        }
        all
    }
}

/// Name of threads of the system whose panics are expected, and reported in another way.
const QUIET: &str = "model";

/// Panics of those threads print nothing.
fn quiet() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if std::thread::current().name() != Some(QUIET) {
                usual(info);
            }
        }));
    });
}

fn text(payload: &(dyn std::any::Any + Send)) -> String {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("a panic without text");
    assert!(!text.contains("maximum number of branches"), "the scenario is too long for the checker: {text}");
    text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().trim().to_owned()
}

/// Checks a protocol: every scenario passes, and some scenario finds each defect that has no excuse. Panics
/// if not.
pub fn check(protocol: &Protocol) {
    report(protocol, &defects(protocol, false), |found| found);
}

/// Checks that no excuse of a protocol is out of date: the defect can be planted, and no scenario finds it.
/// Panics if not.
pub fn check_excuses(protocol: &Protocol) {
    let (defects, reached) = defects(protocol, true);
    for excuse in protocol.excuses {
        let planted = defects.iter().any(|&(site, defect)| is_about(excuse, site, defect));
        assert!(
            planted,
            "{}: {:?} `{}`: there is nothing to excuse",
            protocol.name, excuse.defect, excuse.source
        );
    }
    report(protocol, &(defects, reached), |found| !found);
}

/// Plants all defects and panics unless each is found, or not found, as it is to be.
fn report(
    protocol: &Protocol,
    (defects, reached): &(Vec<(Site, Defect)>, Vec<Reached>),
    is_right: fn(bool) -> bool,
) {
    let begun = Instant::now();
    let mut wrong = Vec::new();
    for &(site, defect) in defects {
        let found = find(site, defect, reached);
        let outcome = match &found {
            Some((scenario, failure)) => format!("found by \"{scenario}\": {failure}"),
            None => "found by no scenario".to_owned(),
        };
        let line = format!("{defect:?} {}\n    {outcome}", place(site));
        println!("  {line}");
        if !is_right(found.is_some()) {
            wrong.push(line);
        }
    }
    println!("{}: {} defects, {:.2?}", protocol.name, defects.len(), begun.elapsed());
    assert!(wrong.is_empty(), "{}:\n{}", protocol.name, wrong.join("\n"));
}

fn is_about(excuse: &Excuse, site: Site, defect: Defect) -> bool {
    excuse.defect == defect && place(site).contains(excuse.source)
}

type Reached = (&'static Scenario, Duration, BTreeMap<Site, BTreeSet<Defect>>);

/// Runs all scenarios as they are, which must pass, and gives the defects that can be planted: those that are
/// excused, or the others.
fn defects(protocol: &Protocol, excused: bool) -> (Vec<(Site, Defect)>, Vec<Reached>) {
    let mut reached: Vec<Reached> = Vec::new();
    for scenario in protocol.scenarios {
        let since = Instant::now();
        let run = scenario.check(None);
        let (took, executions) = (since.elapsed(), run.noted.executions);
        println!("{}: \"{}\": {executions} executions, {took:.2?}", protocol.name, scenario.name);
        assert!(run.failure.is_none(), "{}: \"{}\": {:?}", protocol.name, scenario.name, run.failure);
        reached.push((scenario, took, run.noted.sites));
    }
    reached.sort_by_key(|&(_, took, _)| took);
    let sites = reached.iter().flat_map(|(_, _, sites)| sites);
    let own = sites.filter(|(site, _)| protocol.files.iter().any(|file| site.file.ends_with(file)));
    let all = own.flat_map(|(site, defects)| defects.iter().map(|&defect| (*site, defect)));
    let all: BTreeSet<_> = all.filter(|&(_, defect)| defect != Defect::Late || protocol.late).collect();
    let is_excused =
        |&(site, defect): &_| protocol.excuses.iter().any(|excuse| is_about(excuse, site, defect));
    (all.into_iter().filter(|planted| is_excused(planted) == excused).collect(), reached)
}

/// The scenario that finds a defect, and how. Those that take the least time are tried first.
fn find(site: Site, defect: Defect, reached: &[Reached]) -> Option<(&'static str, String)> {
    reached.iter().filter(|(_, _, sites)| sites.contains_key(&site)).find_map(|(scenario, _, _)| {
        let failure = scenario.check(Some((site, defect))).failure?;
        Some((scenario.name, failure))
    })
}

/// Where a site is, and what stands there.
fn place(site: Site) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let source = std::fs::read_to_string(root.join(site.file)).unwrap_or_default();
    let line = source.lines().nth(site.line as usize - 1).unwrap_or_default().trim();
    let file = site.file.rsplit("../").next().unwrap_or(site.file);
    format!("{file}:{}: {line}", site.line)
}
