//! What cablings give to a program, as text.

use super::ProgramTime;
use crate::{Ranked, digits};
use std::collections::BTreeSet;

/// A cable that is busy for this share of the time or longer is called full.
const FULL: f64 = 0.8;
/// A cable that is busy for less than this share of the time does not matter.
const IDLE: f64 = 0.2;

/// What the columns of [`program_rows`] mean.
pub const PROGRAM_COLUMNS: &str = "\
time: until the last rank was done; the computing is that of the recording. to best: as many times the \
best one's. busiest cable: the direction of a cable that sent for the largest share of the time, and that \
share; all: the mean of all cables. hops, most: switches and relaying hosts that a packet passed, on \
average and at most. waiting: of the time of a rank, mean.";

/// The heading and the rows of a table, a row for each cabling, in this order.
pub fn program_rows(ranked: &[Ranked]) -> ([&'static str; 10], Vec<[String; 10]>) {
    let head = ["", "cabling", "time", "to best", "busiest cable", "busy", "all", "hops", "most", "waiting"];
    let best =
        ranked.iter().filter_map(|one| Some(one.program.as_ref()?.time_us)).fold(f64::INFINITY, f64::min);
    let row = |one: &Ranked| {
        let program = one.program.as_ref()?;
        let busiest = program.cables.first();
        Some([
            one.number.to_string(),
            one.what.clone(),
            time(program.time_us),
            format!("{:.2}", program.time_us / best),
            busiest.map_or_else(|| "-".into(), |cable| format!("{} - {}", cable.from, cable.to)),
            busiest.map_or_else(|| "-".into(), |cable| percent(cable.busy_share)),
            percent(program.cables_busy_share),
            program.hops_mean.map_or_else(|| "-".into(), |mean| format!("{mean:.2}")),
            program.hops_mean.map_or_else(|| "-".into(), |_| program.hops_most.to_string()),
            percent(program.waiting_mean_us / program.time_us.max(1e-6)),
        ])
    };
    (head, ranked.iter().filter_map(row).collect())
}

/// Why the program takes as long as it does on a cabling, in a sentence.
pub fn program_why(program: &ProgramTime) -> String {
    let waiting = program.waiting_mean_us / program.time_us.max(1e-6);
    let full = full_cables(program);
    let hops = match program.hops_mean {
        Some(mean) if mean > 0.0 => format!("packets pass {} switches or relays on average", digits(mean)),
        Some(_) => "all packets go to a neighbour".into(),
        None => "no message leaves its host".into(),
    };
    let Some(cable) = program.cables.first() else {
        return format!("{hops}: the cabling does not matter");
    };
    let (name, busy) = (format!("{} - {}", cable.from, cable.to), percent(cable.busy_share));
    let bound = if full > 0 {
        let full = match full {
            1 => format!("{name} is full"),
            2 => format!("{name} and one other cable are full"),
            _ => format!("{name} and {} other cables are full", full - 1),
        };
        format!("{full} ({busy} of the time), and the program waits for them")
    } else if cable.busy_share < IDLE && waiting < IDLE {
        format!("it computes: ranks wait {} of the time, {name} is busy {busy} of it", percent(waiting))
    } else if cable.busy_share < IDLE {
        format!(
            "ranks wait {} of the time for messages or each other, and {name} is busy only {busy} of it: not \
             the cables' rate counts, but latency",
            percent(waiting)
        )
    } else {
        format!(
            "{name} is busy {busy} of the time, in bursts for which ranks wait ({} of the time)",
            percent(waiting)
        )
    };
    let unused = match program.unused_cables {
        0 => String::new(),
        1 => "; one cable carries nothing".into(),
        count => format!("; {count} cables carry nothing"),
    };
    format!("{bound}; {hops}{unused}")
}

/// Number of cables of which a direction is full.
fn full_cables(program: &ProgramTime) -> usize {
    let full = program.cables.iter().filter(|cable| cable.busy_share >= FULL);
    // Both directions of a cable have the same two ends.
    let ends = full
        .map(|cable| if cable.from < cable.to { [&cable.from, &cable.to] } else { [&cable.to, &cable.from] });
    ends.collect::<BTreeSet<_>>().len()
}

/// A time in a unit that fits, with three digits or more.
fn time(us: f64) -> String {
    match us {
        us if us >= 1e6 => format!("{:.3} s", us / 1e6),
        us if us >= 1e3 => format!("{:.3} ms", us / 1e3),
        us => format!("{us:.3} us"),
    }
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}
