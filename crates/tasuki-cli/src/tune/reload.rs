//! Loading a driver again, for parameters that it reads only then.

use crate::failure::Failure;
use nix::{ifaddrs::getifaddrs, net::if_::if_nametoindex};
use std::{
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};
use tasuki_host::{Delay, Report, Setup};

/// How long interfaces may take to come back.
const LIMIT: Duration = Duration::from_secs(30);

/// Refuses where that would take addresses, and with them routes and connections, away.
pub fn check(setup: &Setup, drivers: &[String]) -> Result<(), Failure> {
    for driver in drivers {
        let addresses =
            getifaddrs()?.filter(|own| own.address.is_some_and(|address| address.as_sockaddr_in().is_some()));
        let names: Vec<_> = addresses.map(|own| own.interface_name).collect();
        if let Some(interface) = setup.interfaces_of(driver).into_iter().find(|name| names.contains(name)) {
            return Err(Failure::new(format!(
                "{interface} has an IPv4 address, which would go if {driver} were unloaded: take it away first (`tasuki undo`, and \
                 `tasuki apply` afterwards), or leave --reload out and restart the machine"
            )));
        }
    }
    Ok(())
}

/// Loads the drivers again, or says that somebody must.
pub fn now_or_later(report: &mut Report, drivers: &[String], now: bool, delay: Delay) -> Result<(), Failure> {
    if !report.problems.is_empty() {
        return Ok(());
    }
    for driver in drivers {
        if !now || !report.done {
            report.notes.push(format!(
                "{driver} has the delay {delay} from the next time that it is loaded: at the next start, or now by --reload"
            ));
            continue;
        }
        reload(driver)?;
        report.notes.push(format!("{driver} was unloaded and loaded again; its NICs are down"));
    }
    Ok(())
}

fn reload(driver: &str) -> Result<(), Failure> {
    let before = interfaces();
    modprobe(&["-r", driver])?;
    modprobe(&[driver])?;
    let begun = Instant::now();
    while let Some(missing) = before.iter().find(|name| if_nametoindex(name.as_str()).is_err()) {
        if begun.elapsed() > LIMIT {
            return Err(Failure::new(format!("{driver} was loaded again, but {missing} does not come back")));
        }
        thread::sleep(Duration::from_millis(50));
    }
    Ok(())
}

fn interfaces() -> Vec<String> {
    super::present()
}

fn modprobe(words: &[&str]) -> Result<(), Failure> {
    let output = Command::new("modprobe").args(words).stdin(Stdio::null()).output();
    let output = output.map_err(|error| Failure::new(format!("modprobe: {error} (apt-get install kmod)")))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(Failure::new(format!("modprobe {}: {said}", words.join(" "))))
}
