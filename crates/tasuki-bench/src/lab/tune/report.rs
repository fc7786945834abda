//! What was measured, as table and JSON.

use super::polling::Polling;
use crate::{
    BenchError, Machine, ending,
    load::{Done, Timer},
    stats::{PairedRatio, median},
    table::borderless,
};
use serde::Serialize;
use serde_json::Value;
use std::fmt::Write;

/// What was counted in some time under some delay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub(super) struct Run {
    /// Turns of the program per second.
    pub turns: f64,
    /// How often per second the kernel was woken to take packets, which stands for interrupts.
    pub interrupts: f64,
    /// Packets per second.
    pub packets: f64,
    /// Share of the host's processor that the program had, its system calls included.
    pub program: f64,
    /// Share of the host's processor that the kernel took for packets.
    pub kernel: f64,
    /// Mean delay, microseconds.
    pub us: f64,
    /// Questions that had to be asked again.
    pub asked_again: u64,
}

impl Run {
    /// From what the program and the kernel's polling thread did; `us`: the mean delay, microseconds.
    pub fn new(done: &Done, polling: Polling, us: f64) -> Self {
        let seconds = done.seconds().max(1e-9);
        Self {
            turns: done.turns as f64 / seconds,
            interrupts: polling.woken / seconds,
            packets: done.packets as f64 / seconds,
            program: done.program_s / seconds,
            kernel: polling.seconds / seconds,
            us,
            asked_again: done.asked_again,
        }
    }

    fn mean(runs: &[Self]) -> Self {
        let of =
            |value: &dyn Fn(&Self) -> f64| runs.iter().map(value).sum::<f64>() / runs.len().max(1) as f64;
        Self {
            turns: of(&|run| run.turns),
            interrupts: of(&|run| run.interrupts),
            packets: of(&|run| run.packets),
            program: of(&|run| run.program),
            kernel: of(&|run| run.kernel),
            us: of(&|run| run.us),
            asked_again: runs.iter().map(|run| run.asked_again).sum(),
        }
    }
}

/// A fixed delay.
#[derive(Clone, Debug, Serialize)]
struct Fixed {
    /// The delay, microseconds.
    us: u32,
    /// By repetition what came of it, one [`Run`] per level.
    runs: Vec<Vec<Run>>,
}

/// A level, or two in turn.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Row {
    /// The levels.
    pub levels: Vec<usize>,
    fixed: Vec<Fixed>,
    /// By repetition what came of the controller, one [`Run`] per turn.
    controlled: Vec<Vec<Run>>,
    /// By repetition, what the controller did in each period.
    logs: Vec<Vec<Value>>,
}

/// What is made of a row.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct Verdict {
    /// By fixed delay in microseconds: turns over those of the best fixed delay of each level, mean over
    /// levels, median over repetitions.
    fixed: Vec<(u32, f64)>,
    /// The fixed delay with the most turns, microseconds.
    best_us: u32,
    /// That is better than the shortest and than the longest, by more than chance (95 %).
    between: bool,
    /// The controller over the best fixed delay, by repetition. It is made of medians, so that a disturbance
    /// of the machine that takes half of a window counts as one window, however much it took.
    ratio: PairedRatio,
    /// What came of the controller, mean over all turns.
    controller: Run,
}

impl Row {
    /// A row without any figures yet.
    pub fn new(levels: Vec<usize>, delays: &[u32]) -> Self {
        let fixed = delays.iter().map(|us| Fixed { us: *us, runs: Vec::new() }).collect();
        Self { levels, fixed, controlled: Vec::new(), logs: Vec::new() }
    }

    /// Its levels in words.
    pub fn name(&self) -> String {
        match self.levels[..] {
            [level] => format!("level {level}"),
            _ => {
                let levels: Vec<_> = self.levels.iter().map(usize::to_string).collect();
                format!("levels {} in turn", levels.join(" and "))
            }
        }
    }

    /// The fixed delays, microseconds.
    pub fn delays(&self) -> impl Iterator<Item = u32> {
        self.fixed.iter().map(|fixed| fixed.us)
    }

    /// Adds a repetition of a fixed delay.
    pub fn add_fixed(&mut self, us: u32, runs: Vec<Run>) {
        self.fixed.iter_mut().filter(|fixed| fixed.us == us).for_each(|fixed| fixed.runs.push(runs.clone()));
    }

    /// Adds a repetition of the controller, with its log.
    pub fn add_controlled(&mut self, runs: Vec<Run>, log: Vec<Value>) {
        self.controlled.push(runs);
        self.logs.push(log);
    }

    /// What is made of the row; `None`: nothing was measured.
    fn verdict(&self) -> Option<Verdict> {
        if self.controlled.is_empty() {
            return None;
        }
        let of_level = |runs: &[Run], level: usize| {
            let turns: Vec<f64> =
                runs.iter().skip(level).step_by(self.levels.len()).map(|run| run.turns).collect();
            turns.iter().sum::<f64>() / turns.len().max(1) as f64
        };
        // A level's turns count by what its best fixed delay makes of it.
        let best_of = |level: usize| {
            let typical = |fixed: &Fixed| {
                middle(&fixed.runs.iter().map(|runs| of_level(runs, level)).collect::<Vec<_>>())
            };
            self.fixed.iter().map(typical).fold(0.0, f64::max)
        };
        let best: Vec<f64> = (0..self.levels.len()).map(best_of).collect();
        let score = |runs: &Vec<Run>| {
            let parts = best.iter().enumerate().map(|(level, best)| of_level(runs, level) / best);
            parts.sum::<f64>() / best.len() as f64
        };
        let scores: Vec<(u32, Vec<f64>)> =
            self.fixed.iter().map(|fixed| (fixed.us, fixed.runs.iter().map(score).collect())).collect();
        let own: Vec<f64> = self.controlled.iter().map(score).collect();
        let (best_us, of_best) = scores.iter().max_by(|(_, a), (_, b)| middle(a).total_cmp(&middle(b)))?;
        let ends = [scores.first()?, scores.last()?];
        let beats = |(_, end): &(u32, Vec<f64>)| {
            PairedRatio::of(of_best, end).is_some_and(|ratio| ratio.is_decided() && ratio.median > 1.0)
        };
        let runs: Vec<Run> = self.controlled.iter().flatten().copied().collect();
        Some(Verdict {
            best_us: *best_us,
            between: ends.into_iter().all(beats),
            ratio: PairedRatio::of(&own, of_best)?,
            fixed: scores.iter().map(|(us, scores)| (*us, middle(scores))).collect(),
            controller: Run::mean(&runs),
        })
    }

    fn best_run(&self, us: u32) -> Run {
        let runs =
            self.fixed.iter().filter(|fixed| fixed.us == us).flat_map(|fixed| fixed.runs.iter().flatten());
        Run::mean(&runs.copied().collect::<Vec<_>>())
    }
}

fn in_words(ratio: &PairedRatio) -> String {
    if ratio.is_undecided() {
        return ratio.to_string();
    }
    let unsure = if ratio.interval.confidence < 0.95 { " ?" } else { "" };
    format!("{:.3} ({:.3} to {:.3}){unsure}", ratio.median, ratio.interval.low, ratio.interval.high)
}

/// The median; 0 if there are no values.
fn middle(values: &[f64]) -> f64 {
    median(values).unwrap_or_default()
}

/// What was measured.
#[derive(Serialize)]
pub struct TuneReport {
    /// What it was measured on.
    pub machine: Machine,
    /// The timer that kept interrupts apart: the NIC's or the kernel's.
    pub timer: Timer,
    /// Levels, and pairs of levels in turn.
    pub(super) rows: Vec<Row>,
    /// What came to grief.
    pub failures: Vec<String>,
    /// It was ended early.
    pub interrupted: bool,
}

/// Below the table.
const NOTES: &str = "Best fixed: by turns per second, of those tried; it is chosen from the runs with which \
    it is compared, which flatters it. Controller: `tasuki tune run`, its turns over those of the best fixed \
    delay: median of the repetitions, and the interval that holds the true one with 95 % (`?`: fewer than \
    six repetitions cannot say). Interrupts: wake-ups of the kernel's polling thread. Program / kernel: \
    shares of the host's processor.\n";

impl TuneReport {
    /// As JSON, with what was made of each row.
    pub fn json(&self) -> Result<String, BenchError> {
        let mut value = serde_json::to_value(self)?;
        for (row, text) in self.rows.iter().zip(value["rows"].as_array_mut().into_iter().flatten()) {
            text["verdict"] = serde_json::to_value(row.verdict())?;
        }
        Ok(serde_json::to_string_pretty(&value)?)
    }

    /// As a table.
    pub fn text(&self) -> String {
        let timer = match self.timer {
            Timer::Kernel => "the kernel's timer",
            Timer::Nic => "the timer of an emulated NIC, which costs the host nothing",
        };
        let mut text =
            format!("{}; veth polled by a thread of the kernel; delays by {timer}\n", self.machine);
        let mut shown = borderless([
            "",
            "best fixed",
            "turns/s",
            "interrupts/s",
            "program / kernel",
            "off",
            "longest",
            "controller",
            "of the best",
            "interrupts/s",
            "program / kernel",
        ]);
        for (row, verdict) in self.rows.iter().filter_map(|row| Some((row, row.verdict()?))) {
            let part = |end: Option<&(u32, f64)>| end.map_or(String::new(), |(_, part)| format!("{part:.3}"));
            let shares = |run: &Run| format!("{:.0} / {:.0} %", 100.0 * run.program, 100.0 * run.kernel);
            let (best, own) = (row.best_run(verdict.best_us), &verdict.controller);
            shown.add_row([
                row.name(),
                format!("{} us{}", verdict.best_us, if verdict.between { ", between" } else { "" }),
                format!("{:.0}", best.turns),
                format!("{:.0}", best.interrupts),
                shares(&best),
                part(verdict.fixed.first()),
                part(verdict.fixed.last()),
                format!("{:.0} us", own.us),
                in_words(&verdict.ratio),
                format!("{:.0}", own.interrupts),
                shares(own),
            ]);
        }
        // Writing into a text cannot fail.
        let _ = writeln!(text, "{shown}");
        text += NOTES;
        text + &ending(&self.failures, self.interrupted)
    }
}
