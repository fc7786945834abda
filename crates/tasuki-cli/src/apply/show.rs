//! Prints reports of `apply`, `diff` and `undo`, and how hosts are.

use super::summary;
use tasuki_apply::HostStatus;
use tasuki_host::{Change, Mode, Report};
use tasuki_terminal::{Failure, paragraph, print_json, table};

/// Blanks before what follows the first line of a summary's line.
const SUMMARY_INDENT: usize = 4;

/// How reports are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// As JSON.
    Json,
    /// With a row for every change that would be made.
    Full,
    /// With a few lines for each host, and the option that shows all.
    Short,
    /// With a few lines for each host.
    Brief,
}

/// Prints reports of `apply`, `diff` or `undo`. `verb` says what happens to a setting: `changed` or
/// `restored`.
pub fn reports(reports: &[Report], verb: &str, mode: Mode, form: Form) -> Result<(), Failure> {
    if form == Form::Json {
        return print_json(&reports);
    }
    if mode == Mode::Show && form == Form::Full {
        changes(reports);
    }
    for report in reports {
        for note in &report.notes {
            eprintln!("{}: {note}", report.host);
        }
    }
    for report in reports {
        let count = report.changes.len();
        let things = if count == 1 { "thing" } else { "things" };
        match (report.done, count) {
            (true, 0) => println!("{}: nothing to do", report.host),
            (true, _) => println!("{}: {count} {things} {verb}", report.host),
            (false, 0) if report.problems.is_empty() => println!("{}: nothing to do", report.host),
            (false, _) if report.problems.is_empty() => {
                println!("{}: {count} {things} would be {verb}", report.host);
            }
            _ => {}
        }
        if mode == Mode::Show && form != Form::Full {
            for line in summary::lines(&report.changes) {
                println!("  {}", paragraph(&line, SUMMARY_INDENT).replace(summary::NO_BREAK, " "));
            }
        }
    }
    let is_cut = form == Form::Short && reports.iter().any(|report| !report.changes.is_empty());
    if mode == Mode::Show && is_cut {
        println!("--full shows every one of them");
    }
    let problems: Vec<_> = reports.iter().flat_map(|report| &report.problems).collect();
    problems.iter().for_each(|problem| eprintln!("tasuki: {problem}"));
    let is_untouched = mode == Mode::Change && !reports.iter().any(|report| report.done);
    if !problems.is_empty() && is_untouched && reports.len() > 1 {
        eprintln!("tasuki: no host was changed");
    }
    Ok(())
}

/// Prints a table with a row for every change.
fn changes(reports: &[Report]) {
    let mut rows = table(["host", "what", "is", "becomes"]);
    let all = reports.iter().flat_map(|report| report.changes.iter().map(move |change| (report, change)));
    for (report, Change { key, from, to }) in all {
        rows.add_row([report.host.clone(), key.to_string(), from.to_string(), to.to_string()]);
    }
    if rows.row_count() > 0 {
        println!("{rows}\n");
    }
}

/// Prints how hosts are.
pub fn status(answers: &[HostStatus], json: bool) -> Result<(), Failure> {
    if json {
        return print_json(&answers);
    }
    let mut rows = table(["host", "cluster", "set", "differ", "NIC", "address", "MTU", "state"]);
    for answer in answers {
        let Some(status) = &answer.status else { continue };
        let cluster = status.cluster.clone().unwrap_or_else(|| "nothing applied".into());
        let first =
            [answer.host.clone(), cluster, status.changed.to_string(), status.drift.len().to_string()];
        let mut first = Some(first);
        for link in status.links.iter().filter(|link| link.interface != tasuki_cluster::IDENTITY_INTERFACE) {
            let state = match (link.up, link.carrier) {
                (true, true) => "up",
                (true, false) => "NO CARRIER",
                _ => "DOWN",
            };
            let mut row = first.take().unwrap_or_default().to_vec();
            let address = link.address.map_or("no IP".to_owned(), |address| address.to_string());
            let mtu = link.mtu.to_string();
            row.extend([link.interface.clone(), address, mtu, state.to_owned()]);
            rows.add_row(row);
        }
        if let Some(first) = first {
            rows.add_row(first);
        }
    }
    if rows.row_count() > 0 {
        println!("{rows}");
    }
    for answer in answers {
        if let Some(problem) = &answer.problem {
            eprintln!("tasuki: {problem}");
        }
        if let Some(detours) = answer.status.as_ref().and_then(|status| status.led_around.as_ref()) {
            println!("{}: {detours}", answer.host);
        }
        if let Some(striping) = answer.status.as_ref().and_then(|status| status.striping.as_ref()) {
            println!("{}: striping, {striping}", answer.host);
        }
        if let Some(following) = answer.status.as_ref().and_then(|status| status.following.as_ref()) {
            let nics = following.nics.join(", ");
            match following.runs {
                true => println!("{}: the interrupt delay of {nics} follows the load", answer.host),
                false => println!(
                    "{}: the interrupt delay of {nics} does not follow the load: `tasuki tune run` does not \
                     run; `tasuki apply` starts it",
                    answer.host
                ),
            }
        }
        for Change { key, from, to } in answer.status.iter().flat_map(|status| &status.drift) {
            println!("{}: {key} was set to {to} and is {from}", answer.host);
        }
        if answer.status.as_ref().is_some_and(|status| status.restarted) {
            println!(
                "{}: restarted since; `tasuki apply` sets it up again, with --persist at every start",
                answer.host
            );
        }
    }
    Ok(())
}
