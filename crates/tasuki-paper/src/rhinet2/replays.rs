//! The NAS programs of tables 10 to 12, replayed from traces of our own kernels.
//!
//! What goes in besides the messages: the time in hosts of a message, which is table 8's of a data packet and
//! its acknowledgement, two thirds of it at the sender; and the computing of table 12, divided evenly among
//! the events of a rank. IS computes in proportion to the keys of a rank.

use super::model::{HEADERS, MOST_DATA, Model, SMALL};
use super::networks::{Named, Routing, fit, mesh, of_32, torus};
use super::programs::{BROKEN_DOWN, OVER_A, OVER_CLOS, PARTS, PROGRAMS};
use super::{Irregular, Rhinet2Error, names};
use crate::cell::Findings;
use crate::data::Rhinet2;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use tasuki_sim::fabric::Fabric;
use tasuki_sim::fabric::trace::{Replay, Replayed, Trace, TraceTimes};
use tasuki_topo::{Network, shapes};

/// Graphs that could be A, and graphs that could be B, on which programs are replayed: an even selection.
const GRAPHS: usize = 5;
/// Number of times that [`programs`] calls `progress`.
pub const PROGRAM_STAGES: u64 = PROGRAMS.len() as u64;

/// A program and its trace.
struct Program {
    name: &'static str,
    ranks: u32,
    trace: Trace,
    file: std::path::PathBuf,
}

/// Replays what traces a folder has; `progress` is called with the name of each program as it begins.
///
/// # Errors
/// If the folder has no trace, one cannot be read, or the simulation fails.
pub fn programs(
    model: &Model,
    data: &Rhinet2,
    folder: &Path,
    mut progress: impl FnMut(&str),
) -> Result<Findings, Rhinet2Error> {
    let graphs = [Irregular::a(data, GRAPHS), Irregular::b(data, GRAPHS)];
    let mut found = Findings::default();
    let mut times = Times::new();
    let mut any = false;
    for name in PROGRAMS {
        progress(name);
        let Some(computing) = computing(data, name) else { continue };
        match read(folder, name, computing)? {
            Some(program) => {
                any = true;
                replay(model, &program, &graphs, &mut found, &mut times)?;
            }
            None => found.notes.push(missing(folder, name)),
        }
    }
    if !any {
        let names = PROGRAMS.iter().filter(|name| computing(data, name).is_some()).map(|name| file(name));
        let names = names.collect::<Vec<_>>().join(", ");
        return Err(Rhinet2Error::NoTraces { folder: folder.into(), names });
    }
    let most = |first: &str, second: &str, gain: &dyn Fn(f64, f64) -> f64| {
        let both = times.iter().filter(|((network, _), _)| network == first);
        let gains =
            both.filter_map(|((_, program), &a)| Some(gain(a, *times.get(&(second.to_owned(), program))?)));
        gains.fold(None, |most: Option<f64>, gain| Some(most.map_or(gain, |most| most.max(gain))))
    };
    if let Some(most) = most("topology A", names::TORUS, &|a, torus| (a / torus - 1.0) * 100.0) {
        found.put("4.4", OVER_A, most);
    }
    if let Some(most) = most(names::CLOS, "torus 4x2", &|clos, torus| (1.0 - torus / clos) * 100.0) {
        found.put("4.4", OVER_CLOS, most);
    }
    Ok(found)
}

/// Seconds by network and program.
type Times = BTreeMap<(String, &'static str), f64>;

/// Seconds for which every rank of a program computes, by table 12; `None` if it does not say.
fn computing(data: &Rhinet2, program: &str) -> Option<f64> {
    let of = |key: &str| data.table12.get(key).map(|parts| parts[0]);
    match program.split('.').collect::<Vec<_>>()[..] {
        ["CG", ..] => of("CG_S_16"),
        ["IS", _, ranks] => Some(of("IS_S_64")? * 64.0 / ranks.parse::<f64>().ok()?),
        _ => None,
    }
}

/// The name of the file with the trace of a program.
fn file(program: &str) -> String {
    let (kernel, rest) = program.split_once('.').unwrap_or((program, ""));
    format!("{}.{rest}.trace", kernel.to_lowercase())
}

fn missing(folder: &Path, program: &str) -> String {
    let parts: Vec<&str> = program.split('.').collect();
    let file = folder.join(file(program));
    format!(
        "{program} is not run, for want of {file}; to record it: mpirun -n {} {} --class {} --trace {file}",
        parts[2],
        parts[0].to_lowercase(),
        parts[1],
        file = file.display()
    )
}

/// The trace of a program with the paper's computing, if there is one.
fn read(folder: &Path, name: &'static str, seconds: f64) -> Result<Option<Program>, Rhinet2Error> {
    let file = folder.join(file(name));
    let text = match fs::read_to_string(&file) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(Rhinet2Error::File { path: file, source }),
    };
    let wrong = |source| Rhinet2Error::Trace { path: file.clone(), source };
    let trace = Trace::parse(&text).map_err(wrong)?;
    let ranks: u32 = name.rsplit('.').next().and_then(|ranks| ranks.parse().ok()).unwrap_or(0);
    if trace.ranks() != ranks as usize {
        let told = format!("{} ranks; {name} has {ranks}", trace.ranks());
        return Err(wrong(tasuki_sim::fabric::trace::TraceError::Missing(told)));
    }
    let trace = trace.with_computing((seconds * 1e12).round() as u64);
    Ok(Some(Program { name, ranks, trace, file }))
}

/// Replays a program on all networks on which the paper ran it.
fn replay(
    model: &Model,
    program: &Program,
    graphs: &[Irregular; 2],
    found: &mut Findings,
    times: &mut Times,
) -> Result<(), Rhinet2Error> {
    // 16 ranks stand on the first host of each of 16 switches, 32 on the first two, 64 on all four.
    let per_switch = program.ranks / 16;
    let mut all = Vec::new();
    for named in [mesh()?, torus()?] {
        let fit = fit(per_switch);
        let net = match named.name {
            names::MESH => shapes::mesh(&[4, 4], &fit),
            _ => shapes::torus(&[4, 4], shapes::PairRing::OneCable, &fit),
        };
        all.push(("T10", Named { net: net?, ..named }));
    }
    if program.ranks <= 32 {
        all.extend(of_32()?.map(|named| ("T11", named)));
    }
    for (item, named) in all {
        let seconds = seconds(one(model, program, &named.net, named.routing)?.end);
        found.put(item, format!("{}, {}", named.name, program.name), seconds);
        times.insert((named.name.to_owned(), program.name), seconds);
    }
    for irregular in graphs {
        let mut runs = Vec::new();
        for &lost in &irregular.chosen {
            let net = irregular.network_of(lost, per_switch)?;
            runs.push(one(model, program, &net, Routing::Structured)?);
        }
        let name = format!("topology {}", irregular.name);
        let ends: Vec<f64> = runs.iter().map(|run| seconds(run.end)).collect();
        let median = found.put_range("T10", format!("{name}, {}", program.name), &ends).value;
        times.insert((name, program.name), median);
        if irregular.name == "A" && BROKEN_DOWN.iter().any(|(_, known)| *known == program.name) {
            break_down(program.name, &runs, found);
        }
    }
    Ok(())
}

/// Table 12: what ranks compute, what they wait, and the rest, each the mean over ranks.
fn break_down(program: &str, runs: &[Replayed], found: &mut Findings) {
    let mean = |list: &[u64]| seconds(list.iter().sum::<u64>()) / list.len().max(1) as f64;
    let parts = runs.iter().map(|run| {
        let (computing, waiting) = (mean(&run.computing), mean(&run.waiting));
        [computing, seconds(run.end) - computing - waiting, waiting]
    });
    let parts: Vec<[f64; 3]> = parts.collect();
    for (at, part) in PARTS.iter().enumerate() {
        let values: Vec<f64> = parts.iter().map(|parts| parts[at]).collect();
        found.put_range("T12", format!("A, {program}, {part}"), &values);
    }
}

/// Replays a program on a network that has a host for every rank, or more.
fn one(model: &Model, program: &Program, net: &Network, routing: Routing) -> Result<Replayed, Rhinet2Error> {
    let tables = model.route(net, routing)?;
    let mut fabric = Fabric::new(net, &tables, model.settings)?;
    let times = TraceTimes {
        send: model.push.send + model.push.done,
        receive: model.push.turn,
        packet_bytes: MOST_DATA,
        header_bytes: HEADERS,
        least_bytes: SMALL,
    };
    let mut replay = Replay::new(&program.trace, fabric.hosts(), times);
    fabric.run(&mut replay, u64::MAX)?;
    replay.finish().map_err(|source| Rhinet2Error::Trace { path: program.file.clone(), source })
}

fn seconds(ps: u64) -> f64 {
    ps as f64 / 1e12
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Data;

    /// A message of 1,000 bytes from the first rank to the last.
    fn program(ranks: u32) -> Program {
        let last = ranks - 1;
        let text = format!("tasuki-trace 1\nranks {ranks}\n0 send {last} 1000 0\n{last} recv 0 1000 0\n");
        let trace = Trace::parse(&text).expect("a trace");
        Program { name: "IS.S.16", ranks, trace, file: "is.S.16.trace".into() }
    }

    /// By hand from the paper: table 8's 8.46 us less both injections and two cables of 25 ns in the hosts,
    /// 1,040 bytes at 4.8 Gbit/s, 0.697 / 2 us for each switch with a cable, and one cable more. From corner
    /// to corner a 4x4 mesh has 7 switches, a torus 3.
    #[test]
    fn a_lone_message_takes_what_the_paper_says_of_its_parts() {
        let model = Model::fitted();
        let inject = |bytes: f64| bytes * 8.0 / 4800.0;
        let hosts = 8.46 - inject(136.0) - inject(1832.0) - 0.05;
        for (shape, switches) in [("mesh", 7.0), ("torus", 3.0)] {
            let net = match shape {
                "mesh" => shapes::mesh(&[4, 4], &fit(1)),
                _ => shapes::torus(&[4, 4], shapes::PairRing::OneCable, &fit(1)),
            };
            let net = net.expect("a network");
            let run = one(&model, &program(16), &net, Routing::Structured).expect("a replay");
            let expected = hosts + inject(1040.0) + switches * 0.697 / 2.0 + 0.025;
            let us = run.end as f64 / 1e6;
            assert!((us - expected).abs() < 0.001, "{shape}: {us} us, by hand {expected}");
        }
    }

    /// Table 12 has 0.00061 s for IS on 64 hosts, so 16 hosts compute four times as long; of LU it says
    /// nothing.
    #[test]
    fn computing_is_that_of_table_12() {
        let data = Data::built_in().expect("the figures of this build can be read").rhinet2;
        let of = |name| computing(&data, name);
        assert_eq!((of("CG.S.16"), of("LU.W.16"), of("IS.S.64")), (Some(0.02551), None, Some(0.00061)));
        assert!(of("IS.S.16").is_some_and(|seconds| (seconds - 0.00244).abs() < 1e-12));
        let folder = Path::new("nowhere");
        let error = programs(&Model::fitted(), &data, folder, |_| ()).expect_err("no traces").to_string();
        assert!(error.contains("nowhere has none of cg.S.16.trace, is.S.16.trace"), "{error}");
    }
}
