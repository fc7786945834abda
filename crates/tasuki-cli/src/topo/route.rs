//! `tasuki topo route`

use super::steps::steps;
use std::process::ExitCode;
use tasuki_args::RouteArgs;
use tasuki_plan::{CheckedRoutes, ENGINES, EngineRoutes, RouteOptions, Routes, digits, network, routes};
use tasuki_terminal::{Failure, print_json, progress_bar, table};
use tasuki_topo::Limits;

/// Makes routes, checks them and prints what was found; fails where the one engine asked for does, or the
/// check.
pub fn run(arguments: &RouteArgs) -> Result<ExitCode, Failure> {
    arguments.overwrite.check_file(arguments.output.as_deref())?;
    let net = network(&arguments.network)?;
    let options = RouteOptions {
        engine: arguments.engine,
        limits: match arguments.lossy {
            true => Limits::lossy(),
            false => Limits::lossless(arguments.channels),
        },
        pattern: arguments.pattern.map(Into::into),
        entries: arguments.tables,
        output: arguments.output.clone(),
    };
    let bar = progress_bar(ENGINES.len() as u64 + 1).with_prefix("route");
    let routes = routes(&net, &options, &mut steps(&bar));
    bar.finish_and_clear();
    let routes = routes?;
    if arguments.json {
        print_json(&routes)?;
    } else {
        print(&routes);
    }
    Ok(if routes.are_proven() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn print(routes: &Routes) {
    println!("{}: {} hosts, {}\n", routes.network, routes.hosts, kind(routes));
    let header = ["engine", "verdict", "channels", "longer paths", "cables on a path", "with one channel"];
    let mut rows = table(header);
    for made in &routes.engines {
        rows.add_row(match (&made.checked, &made.failed) {
            (Some(checked), _) => [
                made.engine.into(),
                verdict(checked, routes.lossless),
                checked.channels_used.to_string(),
                longer(checked),
                format!("{} on average, {} at most", digits(checked.cables_mean), checked.cables_max),
                one_channel(checked),
            ],
            (None, failed) => {
                // The advice after the semicolon is for a user who asked for this one engine.
                let why = failed.as_deref().and_then(|why| why.split(';').next()).unwrap_or_default();
                [made.engine.into(), format!("no tables: {why}"), "".into(), "".into(), "".into(), "".into()]
            }
        });
    }
    println!("{rows}");
    print_traffic(routes);
    for made in &routes.engines {
        let Some(checked) = made.checked.as_ref().filter(|checked| !checked.tables.is_empty()) else {
            continue;
        };
        let mut rows = table(["at", "to", "next", "port", "channel"]);
        for entry in &checked.tables {
            let (port, channel) = (entry.port.to_string(), entry.channel.to_string());
            rows.add_row([&entry.node, &entry.to, &entry.next, &port, &channel]);
        }
        println!("\nTables of {}\n{rows}", made.engine);
    }
}

fn print_traffic(routes: &Routes) {
    let got = |made: &EngineRoutes| Some((made.engine, made.checked.as_ref()?.traffic.as_ref()?.show()));
    let shown: Vec<(&str, String)> = routes.engines.iter().filter_map(got).collect();
    if !shown.is_empty() {
        let mut rows = table([
            "engine",
            "rate of a flow, Mbit/s, max-min fair; what the best routes could give all together",
        ]);
        for (engine, text) in &shown {
            rows.add_row([*engine, text]);
        }
        println!("\n{rows}");
    }
}

fn kind(routes: &Routes) -> String {
    match routes.lossless {
        true => format!("packets wait (lossless), {} virtual channels", routes.channels),
        false => "packets are dropped where there is no room (no deadlock can arise)".into(),
    }
}

fn verdict(checked: &CheckedRoutes, lossless: bool) -> String {
    checked.refuted.clone().map_or_else(
        || match lossless {
            true => "proven: all delivered, no deadlock".into(),
            false => "proven: all delivered".into(),
        },
        |why| format!("REFUTED: {why}"),
    )
}

fn longer(checked: &CheckedRoutes) -> String {
    match checked.longer {
        0 => "none".into(),
        count => format!("{count} of {}, by up to {}", checked.pairs, checked.excess_max),
    }
}

fn one_channel(checked: &CheckedRoutes) -> String {
    match &checked.circle_with_one_channel {
        None => "no deadlock".into(),
        Some(circle) => format!("deadlock over {}", circle.join(", ")),
    }
}
