//! `tasuki dashboard`: hosts, cables, ranks and jobs live in a browser.

use serde::Serialize;
use std::{
    io::{self, Write},
    process::ExitCode,
};
use tasuki_args::DashboardArgs;
use tasuki_dashboard::{Dashboard, Options};
use tasuki_fleet::Fleet;
use tasuki_terminal::{Failure, print_json_line};

/// What `--json` prints.
#[derive(Serialize)]
struct Opened {
    url: String,
}

/// Serves the page until Ctrl-C ends the process.
pub fn run(arguments: &DashboardArgs) -> Result<ExitCode, Failure> {
    let fleet = Fleet::find(arguments.lab.as_deref(), arguments.cluster.as_deref())?;
    let title = fleet.title();
    let options = Options {
        listen: arguments.listen,
        names: arguments.name.clone(),
        token_file: arguments.token_file.clone(),
        findings: arguments.findings.clone(),
    };
    let dashboard = Dashboard::open(fleet, &options)?;
    if arguments.json {
        print_json_line(&Opened { url: dashboard.url() })?;
    } else {
        say(&title, &dashboard, &options);
    }
    io::stdout().flush()?;
    dashboard.serve()?;
    Ok(ExitCode::SUCCESS)
}

fn say(title: &str, dashboard: &Dashboard, options: &Options) {
    let (url, address) = (dashboard.url(), dashboard.address());
    println!("{title} at {url}");
    match &options.token_file {
        Some(path) => println!("TOKEN is what {} holds; the page also asks for it", path.display()),
        None => println!("whoever has this address sees the hosts; the token is drawn anew at every start"),
    }
    if address.ip().is_loopback() {
        println!("from another machine: ssh -L {0}:{address} HOST, and open it there", address.port());
    } else {
        println!("plain HTTP: whoever is on the network in between can read it; ssh -L encrypts");
    }
    if let Some(bytes) = dashboard.history_bytes() {
        println!("an hour and a day are kept in memory, in at most {}", tasuki_terminal::bytes(bytes as u64));
    }
    println!("Ctrl-C ends it");
}
