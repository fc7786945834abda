//! `tasuki metrics`: what hosts count, as OpenMetrics text.

use crate::fleet::tell_missing;
use std::{
    net::{SocketAddr, TcpListener},
    process::ExitCode,
    sync::{Mutex, PoisonError},
    thread,
};
use tasuki_args::MetricsArgs;
use tasuki_fleet::{Fleet, host_name};
use tasuki_http::{Names, Reply, Request, Shared};
use tasuki_load::Sampler;
use tasuki_switch::{SwitchAnswer, Switches};
use tasuki_terminal::Failure;

/// The only path that is answered.
const PATH: &str = "/metrics";
/// What the text is (OpenMetrics 1.0, section "Protocol Negotiation").
const MEDIA_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Runs the command.
pub fn run(arguments: &MetricsArgs) -> Result<ExitCode, Failure> {
    if arguments.rules {
        print!("{}", tasuki_metrics::ALERT_RULES);
        return Ok(ExitCode::SUCCESS);
    }
    if arguments.dashboard {
        print!("{}", tasuki_metrics::DASHBOARD);
        return Ok(ExitCode::SUCCESS);
    }
    arguments.output.as_deref().map_or(Ok(()), tasuki_metrics::check_output).map_err(Failure::new)?;
    let fleet = Fleet::find(arguments.lab.as_deref(), arguments.cluster.as_deref())?;
    let mut sampler = Sampler::new(fleet);
    if let Some(address) = arguments.listen {
        let names = arguments.name.iter().cloned().chain([host_name()]);
        return serve(sampler, address, &Names::of_machine(names));
    }
    let Look { text, missing, switches } = look(&mut sampler)?;
    match &arguments.output {
        Some(path) => tasuki_metrics::write_output(path, &text).map_err(Failure::new)?,
        None => print!("{text}"),
    }
    tell_missing(sampler.fleet(), &missing);
    switches.iter().for_each(|problem| eprintln!("tasuki: {problem}"));
    Ok(if missing.is_empty() && switches.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The metrics of all hosts and switches.
struct Look {
    text: String,
    /// Why some hosts do not answer.
    missing: Vec<String>,
    /// What is wrong with switches.
    switches: Vec<String>,
}

/// Asks all hosts and switches at the same time.
fn look(sampler: &mut Sampler) -> Result<Look, Failure> {
    let switches = Switches::of_fleet(sampler.fleet());
    let (answers, switches) = thread::scope(|scope| {
        let switches = scope.spawn(|| switches.ask());
        // A thread that panicked has said so.
        (sampler.look(), switches.join().unwrap_or_default())
    });
    let missing = answers.iter().filter_map(|(host, answer)| {
        let why = answer.as_ref().err()?;
        Some(format!("{host}: {why}"))
    });
    let missing = missing.collect();
    let problems = switches.iter().flat_map(SwitchAnswer::problems).collect();
    let text = tasuki_metrics::openmetrics(answers, switches, sampler.fleet().cluster());
    let text = text.map_err(|_| Failure::new("the metrics cannot be written as text"))?;
    Ok(Look { text, missing, switches: problems })
}

/// Answers requests until Ctrl-C ends the process. Hosts are asked once for all requests that come meanwhile.
fn serve(sampler: Sampler, address: SocketAddr, names: &Names) -> Result<ExitCode, Failure> {
    let cannot = |error| Failure::new(format_args!("cannot listen at {address}: {error}"));
    let listener = TcpListener::bind(address).map_err(cannot)?;
    let at = listener.local_addr().map_err(cannot)?;
    println!("{} at http://{at}{PATH}; Ctrl-C ends", sampler.fleet().title());
    let (sampler, shared) = (Mutex::new(sampler), Shared::default());
    let text = || look(&mut sampler.lock().unwrap_or_else(PoisonError::into_inner)).map(|look| look.text);
    let found = || shared.get(|| text().map_err(|failure| failure.message));
    tasuki_http::serve(&listener, names, |request| answer(request, found))?;
    Ok(ExitCode::SUCCESS)
}

fn answer(request: &Request, text: impl Fn() -> Result<String, String>) -> Reply {
    match (request.method, request.path) {
        ("GET" | "HEAD", PATH) => match text() {
            Ok(text) => Reply::text(MEDIA_TYPE, text),
            Err(why) => Reply::refusal(500, &why),
        },
        ("GET" | "HEAD", _) => Reply::refusal(404, &format!("see {PATH}")),
        _ => Reply::refusal(405, "only GET is answered"),
    }
}
